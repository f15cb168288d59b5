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

package registry_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/command/commandtest"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

func TestRegistry(t *testing.T) {
	t.Parallel()
	w := commandtest.WithNodes(t)
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(server.Close)
	port := server.URL[strings.LastIndex(server.URL, ":")+1:]
	w.Engine.AddImage(engine.Image{Tags: []string{"localhost/capcon/registry:3.0.0"}}, nil)
	containerCluster := &infrav1.ContainerCluster{}
	commandtest.Update(w, "demo", containerCluster, func(cluster *infrav1.ContainerCluster) {
		cluster.Labels = map[string]string{clusterv1.ClusterNameLabel: "demo"}
	})

	commandtest.Contains(t, w.MustRun("registry", "up", "--port", port), "registry: listening on localhost:"+port, "cluster demo: configured to pull from localhost:"+port, "simulated push localhost:"+port+"/app:dev")
	w.Get("demo", containerCluster)
	registry := must.Get(w.Engine.InspectContainer(t.Context(), "capcon-registry"))(t)
	want := []infrav1.Registry{{Host: "localhost:" + port, Mirrors: []infrav1.RegistryMirror{{
		URL: "http://" + network.Addresses(registry, "capcon")[0].String() + ":5000",
	}}}}
	if diff := cmp.Diff(want, containerCluster.Spec.Registries); diff != "" {
		t.Errorf("registries of the cluster (-want +got):\n%s", diff)
	}
	commandtest.Contains(t, w.MustRun("gc"), "belongs to the local registry; remove it with capcon registry down")

	commandtest.Contains(t, w.MustRun("registry", "down"), "Removed local registry localhost:"+port)
	w.Get("demo", containerCluster)
	if registries := containerCluster.Spec.Registries; len(registries) > 0 {
		t.Errorf("registries of the cluster after its removal: %v", registries)
	}
	commandtest.Contains(t, w.MustRun("registry", "down"), "No local registry found.")
}
