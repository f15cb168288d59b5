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

package manifests_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/capi-samples/cluster-api-provider-container/contract/internal/core"
	"github.com/capi-samples/cluster-api-provider-container/contract/internal/manifests"
)

// TestReadCore reads the manifests of Cluster API itself, which are a kustomization.
func TestReadCore(t *testing.T) {
	t.Parallel()
	directory, err := core.Manifests(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	read, err := manifests.Read(directory)
	if err != nil {
		t.Fatal(err)
	}
	if !read.NeedServer() {
		t.Error("it has webhooks, which nothing serves")
	}
	crds, err := read.CRDs(manifests.Server{Host: "127.0.0.1", Port: 1, CABundle: []byte("ca")})
	if err != nil {
		t.Fatal(err)
	}
	urls := map[string]int{}
	for _, crd := range crds {
		if c := crd.Spec.Conversion; c != nil && c.Webhook != nil {
			urls[*c.Webhook.ClientConfig.URL]++
		}
		if crd.Labels["cluster.x-k8s.io/provider"] != "cluster-api" {
			t.Errorf("%s does not have the label of its kustomization", crd.Name)
		}
	}
	if diff := cmp.Diff(map[string]int{"https://127.0.0.1:1/convert": len(crds)}, urls); diff != "" {
		t.Errorf("conversion webhooks (-want +got):\n%s", diff)
	}
}

// TestReadDirectory reads YAML files of a directory that is no kustomization.
func TestReadDirectory(t *testing.T) {
	t.Parallel()
	read, err := manifests.Read("testdata")
	if err != nil {
		t.Fatal(err)
	}
	if read.NeedServer() || len(read.OfKind("CustomResourceDefinition")) != 1 || len(read) != 2 {
		t.Errorf("got %v", read)
	}
	if _, err := manifests.Read("missing"); err == nil {
		t.Error("a directory that is missing is no error")
	}
}
