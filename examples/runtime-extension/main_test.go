/*
Copyright 2026 The cluster-api-provider-container Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/yaml"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	runtimecatalog "sigs.k8s.io/cluster-api/api/runtime/catalog"
	runtimehooksv1 "sigs.k8s.io/cluster-api/api/runtime/hooks/v1alpha1"
	runtimev1 "sigs.k8s.io/cluster-api/api/runtime/v1beta2"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine/enginetest"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane/extensions"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// The management plane's client calls the example by the ExtensionConfig that it writes.
func TestExample(t *testing.T) {
	t.Parallel()
	opts := options{host: "127.0.0.1", port: int(enginetest.FreeLocalPort(t)), dir: t.TempDir()}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, opts) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the example ended with %v", err)
		}
	})

	catalog := runtimecatalog.New()
	must.Succeed(t, runtimehooksv1.AddToCatalog(catalog))
	client := extensions.New(catalog, fake.NewClientBuilder().Build())
	must.Eventually(t, time.Minute, "the example is discovered", func(ctx context.Context) error {
		manifest, err := os.ReadFile(filepath.Join(opts.dir, "extensionconfig.yaml"))
		if err != nil {
			return err
		}
		config := &runtimev1.ExtensionConfig{}
		if err := yaml.UnmarshalStrict(manifest, config); err != nil {
			return err
		}
		discovered, err := client.Discover(ctx, config)
		if err != nil {
			return err
		}
		return client.WarmUp(&runtimev1.ExtensionConfigList{Items: []runtimev1.ExtensionConfig{*discovered}})
	})

	cluster := &clusterv1.Cluster{}
	call := func() int32 {
		request, response := &runtimehooksv1.BeforeClusterCreateRequest{}, &runtimehooksv1.BeforeClusterCreateResponse{}
		request.Cluster.Annotations = cluster.Annotations
		must.Succeed(t, client.CallAllExtensions(t.Context(), runtimehooksv1.BeforeClusterCreate, cluster, request, response))
		return response.RetryAfterSeconds
	}
	if after := call(); after != 5 {
		t.Errorf("a Cluster that is not approved is created after %d seconds, want 5", after)
	}
	cluster.Annotations = map[string]string{approval: ""}
	if after := call(); after != 0 {
		t.Errorf("an approved Cluster waits for %d seconds", after)
	}
}

// Readers of the guide copy the example into a module of their own.
func TestExampleStandsAlone(t *testing.T) {
	t.Parallel()
	source := string(must.Get(os.ReadFile("main.go"))(t))
	if lines := strings.Count(source, "\n"); lines > 150 {
		t.Errorf("the example has %d lines, want at most 150", lines)
	}
	if strings.Contains(source, "capi-samples/") {
		t.Error("the example imports packages of this repository")
	}
}
