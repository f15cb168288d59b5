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

package command

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

func TestRegistry(t *testing.T) {
	t.Parallel()
	w, _ := loadWorld(t)
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(server.Close)
	port := server.URL[strings.LastIndex(server.URL, ":")+1:]
	w.engine.AddImage(engine.Image{Tags: []string{"localhost/capcon/registry:3.0.0"}}, nil)
	containerCluster := &infrav1.ContainerCluster{}
	key := client.ObjectKey{Namespace: "default", Name: "demo"}
	must.Succeed(t, w.client.Get(t.Context(), key, containerCluster))
	containerCluster.Labels = map[string]string{clusterv1.ClusterNameLabel: "demo"}
	must.Succeed(t, w.client.Update(t.Context(), containerCluster))

	code, out, errs := w.run("registry", "up", "--port", port)
	if code != 0 {
		t.Fatalf("code %d: %s%s", code, out, errs)
	}
	mustContain(t, out+errs, "registry: listening on localhost:"+port, "cluster demo: configured to pull from localhost:"+port, "push localhost:"+port+"/app:dev")
	must.Succeed(t, w.client.Get(t.Context(), key, containerCluster))
	registry := must.Get(w.engine.InspectContainer(t.Context(), "capcon-registry"))(t)
	want := []infrav1.Registry{{Host: "localhost:" + port, Mirrors: []infrav1.RegistryMirror{{
		URL: "http://" + network.Addresses(registry, "capcon")[0].String() + ":5000",
	}}}}
	if diff := cmp.Diff(want, containerCluster.Spec.Registries); diff != "" {
		t.Errorf("registries of the cluster (-want +got):\n%s", diff)
	}
	_, out, _ = w.run("gc")
	mustContain(t, out, "belongs to the local registry; remove it with capcon registry down")

	if code, out, errs = w.run("registry", "down"); code != 0 {
		t.Fatalf("code %d: %s%s", code, out, errs)
	}
	mustContain(t, out, "Removed local registry localhost:"+port)
	must.Succeed(t, w.client.Get(t.Context(), key, containerCluster))
	if registries := containerCluster.Spec.Registries; len(registries) > 0 {
		t.Errorf("registries of the cluster after its removal: %v", registries)
	}
	_, out, _ = w.run("registry", "down")
	mustContain(t, out, "No local registry found.")
}
