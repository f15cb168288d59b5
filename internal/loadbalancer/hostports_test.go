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

package loadbalancer_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/haproxy"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/loadbalancer"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// serviceSpec is the load balancer of a Service with these ports.
func serviceSpec(name string, ports ...uint16) loadbalancer.Spec {
	s := spec()
	s.Service = loadbalancer.Service{Namespace: "default", Name: name, UID: "uid-" + name}
	s.HostPorts, s.Config.Frontends = map[uint16]uint16{}, nil
	for _, port := range ports {
		s.HostPorts[port] = 0
		frontend := config("a").Frontends[0]
		frontend.Name, frontend.Port = "port", port
		if port != 80 {
			frontend.Name = "other-port"
		}
		s.Config.Frontends = append(s.Config.Frontends, frontend)
	}
	return s
}

// TestTakenHostPortMoves alone: clients know the others.
func TestTakenHostPortMoves(t *testing.T) {
	t.Parallel()
	eng, _ := newEngine(t)
	s := serviceSpec("web", 80, 443)
	before := must.Get(ensure(t.Context(), eng, s))(t)
	must.Succeed(t, loadbalancer.Delete(t.Context(), eng, s))
	eng.OccupyHostPort(before.HostPorts[80])
	after := must.Get(ensure(t.Context(), eng, s))(t)
	if after.HostPorts[443] != before.HostPorts[443] || after.HostPorts[80] == before.HostPorts[80] || after.HostPorts[80] == 0 {
		t.Errorf("host ports %v became %v, want another one for port 80 alone", before.HostPorts, after.HostPorts)
	}
}

// TestHostPortsOfStopped: a port that a container has recorded is not chosen, although
// nothing listens on it while the container does not run.
func TestHostPortsOfStopped(t *testing.T) {
	t.Parallel()
	eng, _ := newEngine(t)
	s := serviceSpec("web", 80)
	free := must.Get(ensure(t.Context(), eng, s))(t)
	must.Succeed(t, loadbalancer.Delete(t.Context(), eng, s))

	// The load balancer of a control plane, pinned to this port.
	pinned := spec()
	pinned.HostPorts[6443] = free.HostPorts[80]
	stopped := must.Get(ensure(t.Context(), eng, pinned))(t)
	must.Succeed(t, eng.StopContainer(t.Context(), stopped.Name, 0))

	got := must.Get(ensure(t.Context(), eng, s))(t)
	if got.HostPorts[80] == free.HostPorts[80] {
		t.Errorf("host port %d is that of stopped container %q", got.HostPorts[80], stopped.Name)
	}
}

func TestHostPortRange(t *testing.T) {
	t.Parallel()
	eng, _ := newEngine(t)
	s := serviceSpec("web", 80, 443)
	s.HostPortRange = network.HostPortRange{First: 25000, Last: 25001}
	state := must.Get(ensure(t.Context(), eng, s))(t)
	ports := []uint16{state.HostPorts[80], state.HostPorts[443]}
	slices.Sort(ports)
	if diff := cmp.Diff([]uint16{25000, 25001}, ports); diff != "" {
		t.Errorf("host ports: -want +got:\n%s", diff)
	}
	other := serviceSpec("other", 80)
	other.HostPortRange = s.HostPortRange
	if _, err := ensure(t.Context(), eng, other); !errors.Is(err, loadbalancer.ErrNoHostPort) {
		t.Errorf("Ensure: %v, want ErrNoHostPort", err)
	}
	if _, err := eng.InspectContainer(t.Context(), other.Name()); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("a container was created: %v", err)
	}
}

// TestHostPort is known while the container does not run.
func TestHostPort(t *testing.T) {
	t.Parallel()
	eng, _ := newEngine(t)
	running := must.Get(ensure(t.Context(), eng, serviceSpec("web", 80, 443)))(t)
	must.Succeed(t, eng.StopContainer(t.Context(), running.Name, 0))
	stopped := must.Get(loadbalancer.Inspect(t.Context(), eng, running.Name))(t)
	for _, port := range []uint16{80, 443, 8080} {
		if got := stopped.HostPort(port); got != running.HostPorts[port] || running.HostPort(port) != running.HostPorts[port] {
			t.Errorf("host port of %d: %d and %d, want %d", port, running.HostPort(port), got, running.HostPorts[port])
		}
	}
	spec, _ := eng.Spec(running.Name)
	if got := spec.Labels[identity.LabelPorts]; got != "80,443" {
		t.Errorf("label %q, want 80,443", got)
	}
}

// TestServiceIsRefusedAtFirstStart: the process runs and says what haproxy refuses; without
// it the engine would start the container again and again.
func TestServiceIsRefusedAtFirstStart(t *testing.T) {
	t.Parallel()
	eng, processes := newEngine(t)
	processes.Refuse("too many words")
	s := serviceSpec("web", 80)
	state := must.Get(ensure(t.Context(), eng, s))(t)
	if weights := processes.Weights(state.Name); len(weights) > 0 {
		t.Errorf("it was started with backends %v, which haproxy has not accepted", weights)
	}
	_, err := loadbalancer.Sync(t.Context(), eng, state, s.Config)
	var rejected *loadbalancer.RejectedError
	if !errors.As(err, &rejected) || rejected.Message != "too many words" {
		t.Fatalf("Sync: %v, want a RejectedError", err)
	}
	processes.Refuse("")
	must.Get(loadbalancer.Sync(t.Context(), eng, state, s.Config))(t)
	if diff := cmp.Diff(map[string]int{"a": haproxy.FullWeight}, processes.Weights(state.Name)); diff != "" {
		t.Errorf("backends: -want +got:\n%s", diff)
	}
}
