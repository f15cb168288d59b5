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

// Package env runs an etcd and a kube-apiserver for tests that need what no
// fake has: validation by CRDs, subresources, tables and watches.
package env

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/capi-samples/cluster-api-provider-container/config/crd"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane/manifests"
)

// startTimeout is many times what a start takes; a busy host needs some of it.
const startTimeout = time.Minute

// Start runs an API server with the CRDs of Cluster API and of this provider,
// without webhooks, until the test ends. It skips tests under -short, and
// fails where the programs are missing.
func Start(tb testing.TB) *rest.Config {
	tb.Helper()
	if testing.Short() {
		tb.Skip("runs etcd and kube-apiserver; leave out -short for it")
	}
	etcd, apiServer := program(tb, "etcd", "etcd"), program(tb, "kubernetes", "kube-apiserver")
	environment := &envtest.Environment{
		ControlPlaneStartTimeout: startTimeout,
		ControlPlaneStopTimeout:  startTimeout,
		ControlPlane: envtest.ControlPlane{
			Etcd:      &envtest.Etcd{Path: etcd},
			APIServer: &envtest.APIServer{Path: apiServer},
		},
	}
	// Without it the API server looks for the address of the default route,
	// and a host that is offline has none.
	environment.ControlPlane.APIServer.Configure().Set("advertise-address", "127.0.0.1")
	config, err := environment.Start()
	if err != nil {
		tb.Fatalf("start the API server: %v", err)
	}
	tb.Cleanup(func() {
		if err := environment.Stop(); err != nil {
			tb.Errorf("stop the API server: %v", err)
		}
	})
	if err := install(tb.Context(), config); err != nil {
		tb.Fatal(err)
	}
	return config
}

// install leaves the webhooks out: nobody serves them here.
func install(ctx context.Context, config *rest.Config) error {
	// Conversion is not asked for either: all is read as it is stored.
	all, err := manifests.Objects(manifests.Server{URL: "https://127.0.0.1:1"}, crd.FS)
	if err != nil {
		return fmt.Errorf("read manifests: %w", err)
	}
	var definitions []*unstructured.Unstructured
	for _, object := range all {
		if object.GetKind() == "CustomResourceDefinition" {
			definitions = append(definitions, object)
		}
	}
	if err := manifests.Install(ctx, config, definitions); err != nil {
		return fmt.Errorf("install CRDs: %w", err)
	}
	return nil
}

// program finds a program among KUBEBUILDER_ASSETS, or among what the images
// are made of.
func program(tb testing.TB, artifact, name string) string {
	tb.Helper()
	if assets := os.Getenv("KUBEBUILDER_ASSETS"); assets != "" {
		return filepath.Join(assets, name)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		tb.Fatalf("find the cache: %v", err)
	}
	pattern := filepath.Join(cache, "cluster-api-provider-container", "images", "artifacts", artifact, "*", name)
	found, err := filepath.Glob(pattern)
	if err != nil || len(found) == 0 {
		tb.Fatalf("%s is missing (%s): run \"make images\" first, or name a directory that has it in KUBEBUILDER_ASSETS", name, pattern)
	}
	return found[len(found)-1]
}
