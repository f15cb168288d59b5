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

package localregistry

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

const image = "localhost/capcon/registry:3.0.0"

// serve what a registry answers, on a free port.
func serve(t *testing.T) uint16 {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(server.Close)
	return must.Get(netip.ParseAddrPort(strings.TrimPrefix(server.URL, "http://")))(t).Port()
}

func world() *simulated.Engine {
	e := simulated.New()
	e.AddImage(engine.Image{Tags: []string{image}}, nil)
	return e
}

func TestLife(t *testing.T) {
	t.Parallel()
	e, port := world(), serve(t)
	created := must.Get(Ensure(t.Context(), e, image, "capcon", port))(t)
	if created.HostPort != port || created.Network != "capcon" || !created.Address.IsValid() {
		t.Errorf("registry: %+v", created)
	}
	must.Succeed(t, e.StopContainer(t.Context(), Name, 0))
	again := must.Get(Ensure(t.Context(), e, image, "capcon", 0))(t)
	if diff := cmp.Diff(created.URL()+created.Host(), again.URL()+again.Host()); diff != "" {
		t.Errorf("a registry that was stopped keeps its place (-want +got):\n%s", diff)
	}
	if container := must.Get(e.InspectContainer(t.Context(), Name))(t); container.Status != engine.StatusRunning {
		t.Errorf("status: %s", container.Status)
	}
	other := new(PortError)
	if _, err := Ensure(t.Context(), e, image, "capcon", port+1); !errors.As(err, &other) || other.Port != port {
		t.Errorf("another port: %v", err)
	}
	must.Get(Remove(t.Context(), e))(t)
	if _, found, err := Find(t.Context(), e); found || err != nil {
		t.Errorf("after Remove: %v, %v", found, err)
	}
	if _, err := e.InspectNetwork(t.Context(), "capcon"); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("the network that it created: %v", err)
	}
	if removed := must.Get(Remove(t.Context(), e))(t); removed {
		t.Error("a registry that is gone was removed")
	}
}

// Each Pod of a cluster reaches the registry, without credentials.
func TestNothingIsDeletedInTheRegistry(t *testing.T) {
	t.Parallel()
	if got := spec(image, 1).Environment["REGISTRY_STORAGE_DELETE_ENABLED"]; got != "false" {
		t.Errorf("deletion is enabled: %q", got)
	}
}

func TestEnsureRefuses(t *testing.T) {
	t.Parallel()
	e := world()
	must.Get(e.CreateContainer(t.Context(), engine.Spec{Name: Name, Image: image}))(t)
	for name, call := range map[string]func() error{
		"Ensure": func() error { _, err := Ensure(t.Context(), e, image, "capcon", 0); return err },
		"Remove": func() error { _, err := Remove(t.Context(), e); return err },
	} {
		if err := call(); !errors.Is(err, engine.ErrConflict) || !strings.Contains(err.Error(), `container "capcon-registry" is not the local registry; remove or rename it`) {
			t.Errorf("%s with a container of another owner: %v", name, err)
		}
	}
}

// TestIncompleteIsRemoved: the remedy that its error names works.
func TestIncompleteIsRemoved(t *testing.T) {
	t.Parallel()
	e := world()
	incomplete := spec(image, 1)
	delete(incomplete.Labels, identity.LabelHostPorts)
	must.Get(e.CreateContainer(t.Context(), incomplete))(t)
	if _, _, err := Find(t.Context(), e); !errors.Is(err, ErrIncomplete) {
		t.Fatalf("Find: %v", err)
	}
	if removed := must.Get(Remove(t.Context(), e))(t); !removed || len(e.VolumeNames()) > 0 {
		t.Errorf("removed %t, volumes %v", removed, e.VolumeNames())
	}
}
