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
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/internal/haproxy"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/loadbalancer"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

func TestEnsureCreates(t *testing.T) {
	t.Parallel()
	eng, _, state := ensured(t)
	if !state.Exists || !state.Running || state.Paused || state.Generation == "" || len(state.Backends) != 0 {
		t.Errorf("state %+v, want it running without backends", state)
	}
	if !netip.MustParsePrefix("10.7.0.0/24").Contains(state.Address()) {
		t.Errorf("address %s, want a static one of the network", state.Address())
	}
	hostPort := state.HostPorts[6443]
	if hostPort < 20000 || hostPort >= 30000 {
		t.Errorf("host port %d, want one outside of the ephemeral range", hostPort)
	}
	got, _ := eng.Spec(state.Name)
	want := engine.Spec{
		Name: state.Name, Hostname: state.Name, Image: testImage, User: "99:99",
		Entrypoint: []string{"haproxy", "-W", "-db", "-f", "/usr/local/etc/haproxy/haproxy.cfg"},
		Attachment: engine.Attachment{Network: "capcon", Addresses: []netip.Addr{state.Address()}},
		Ports:      []engine.PortBinding{{HostAddress: netip.MustParseAddr("127.0.0.1"), HostPort: hostPort, ContainerPort: 6443}},
		Security:   engine.Security{DropAllCapabilities: true, AddCapabilities: []string{"NET_BIND_SERVICE"}, NoNewPrivileges: true},
		Resources:  engine.Resources{MemoryBytes: 512 << 20, Pids: 512, OpenFiles: 10000},
		Restart:    engine.RestartUnlessStopped,
		StopSignal: "SIGTERM",
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(engine.Spec{}, "Labels"), cmpopts.EquateComparable(netip.Addr{})); diff != "" {
		t.Errorf("spec: -want +got:\n%s", diff)
	}
	if !testOwner.Owns(got.Labels) || got.Labels[identity.LabelRole] != "load-balancer" || got.Labels[identity.LabelAddress] != state.Address().String() {
		t.Errorf("labels %v", got.Labels)
	}
	var methods []string
	for _, call := range eng.MutatingCalls() {
		methods = append(methods, call.Method)
	}
	if diff := cmp.Diff([]string{"CreateNetwork", "CreateContainer", "Upload", "StartContainer", "Exec"}, methods); diff != "" {
		t.Errorf("calls: -want +got:\n%s", diff)
	}
}

func TestEnsureAgain(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		// change the world or the spec.
		change func(*testing.T, *simulated.Engine, *loadbalancer.Spec, loadbalancer.State)
		// recreated and stopped are the expected outcome.
		recreated, stopped bool
	}{
		"Running": {
			reason: "What runs is left alone.",
		},
		"OtherImage": {
			reason: "What runs is not replaced for another image.",
			change: func(_ *testing.T, eng *simulated.Engine, s *loadbalancer.Spec, _ loadbalancer.State) {
				s.Image = "localhost/other:v1"
				eng.AddImage(engine.Image{Tags: []string{s.Image}}, nil)
			},
		},
		"OtherPorts": {
			reason: "Sync loads a port that is added, also one below 1024.",
			change: func(_ *testing.T, _ *simulated.Engine, s *loadbalancer.Spec, _ loadbalancer.State) {
				s.Config.Frontends = append(s.Config.Frontends, haproxy.Frontend{Name: "port-443", Port: 443})
			},
		},
		"Exited": {
			reason: "What ended is started, in its place.",
			change: func(t *testing.T, eng *simulated.Engine, _ *loadbalancer.Spec, state loadbalancer.State) {
				must.Succeed(t, eng.WriteFile(state.Name, haproxy.ConfigPath, []byte("broken")))
				must.Succeed(t, eng.StopContainer(t.Context(), state.Name, 0))
			},
		},
		"PinnedAddress": {
			reason: "It has the address that is pinned.",
			change: func(_ *testing.T, _ *simulated.Engine, s *loadbalancer.Spec, _ loadbalancer.State) {
				s.Addresses = []netip.Addr{netip.MustParseAddr("10.7.0.9")}
			},
			recreated: true,
		},
		"PinnedHostPort": {
			reason: "It has the port that is pinned.",
			change: func(_ *testing.T, _ *simulated.Engine, s *loadbalancer.Spec, _ loadbalancer.State) {
				s.HostPorts = map[uint16]uint16{6443: 7001}
			},
			recreated: true,
		},
		"MorePorts": {
			reason: "Ports are published when a container is created.",
			change: func(_ *testing.T, _ *simulated.Engine, s *loadbalancer.Spec, state loadbalancer.State) {
				s.HostPorts = map[uint16]uint16{6443: state.HostPorts[6443], 80: 8080}
			},
			recreated: true,
		},
		"OtherHostAddress": {
			reason: "It listens where it should.",
			change: func(_ *testing.T, _ *simulated.Engine, s *loadbalancer.Spec, _ loadbalancer.State) {
				s.HostAddresses = map[uint16]netip.Addr{6443: netip.IPv4Unspecified()}
			},
			recreated: true,
		},
		"ExitedOtherImage": {
			reason: "Another image is the remedy for one that does not run.",
			change: func(t *testing.T, eng *simulated.Engine, s *loadbalancer.Spec, state loadbalancer.State) {
				s.Image = "localhost/other:v1"
				eng.AddImage(engine.Image{Tags: []string{s.Image}}, nil)
				must.Succeed(t, eng.StopContainer(t.Context(), state.Name, 0))
			},
			recreated: true,
		},
		"Paused": {
			reason: "Who paused it had a reason.",
			change: func(t *testing.T, eng *simulated.Engine, _ *loadbalancer.Spec, state loadbalancer.State) {
				must.Succeed(t, eng.Pause(state.Name))
			},
			stopped: true,
		},
		"Removed": {
			reason: "It has no state of its own.",
			change: func(t *testing.T, eng *simulated.Engine, _ *loadbalancer.Spec, state loadbalancer.State) {
				must.Succeed(t, eng.RemoveContainer(t.Context(), state.Name))
			},
			recreated: true,
		},
		"Disconnected": {
			reason: "Off its network it serves no client.",
			change: func(t *testing.T, eng *simulated.Engine, _ *loadbalancer.Spec, state loadbalancer.State) {
				must.Succeed(t, eng.DisconnectNetwork(t.Context(), "capcon", state.Name))
			},
			recreated: true,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eng, processes, before := ensured(t)
			was := must.Get(eng.InspectContainer(t.Context(), before.Name))(t)
			s := spec()
			s.Addresses, s.HostPorts = before.Addresses, before.HostPorts
			if tc.change != nil {
				tc.change(t, eng, &s, before)
			}
			after, err := ensure(t.Context(), eng, s)
			if err != nil {
				t.Fatalf("%s\nEnsure: %v", tc.reason, err)
			}
			if after.Running == tc.stopped {
				t.Errorf("%s\nstate %+v", tc.reason, after)
			}
			if after.Address() != s.Addresses[0] || after.Running && after.HostPorts[6443] != s.HostPorts[6443] {
				t.Errorf("%s\nit is at %s:%d, and pinned to %s:%d", tc.reason, after.Address(), after.HostPorts[6443], s.Addresses[0], s.HostPorts[6443])
			}
			if haproxy.Generation(processes.Loaded(before.Name)) != before.Generation {
				t.Errorf("%s\nit runs with %q", tc.reason, processes.Loaded(before.Name))
			}
			is, err := eng.InspectContainer(t.Context(), before.Name)
			if err != nil || tc.recreated != (is.ID != was.ID) {
				t.Errorf("%s\ncontainer %s became %s, %v", tc.reason, was.ID, is.ID, err)
			}
		})
	}
}

func TestForeign(t *testing.T) {
	t.Parallel()
	for name, labels := range map[string]map[string]string{
		"User":         nil,
		"OtherCluster": identity.Owner{Namespace: "default", Cluster: "demo", ID: "two"}.ContainerLabels(identity.RoleLoadBalancer, ""),
		"Machine":      testOwner.ContainerLabels(identity.RoleWorker, "demo-0"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eng, _ := newEngine(t)
			container := testOwner.LoadBalancerContainer()
			must.Get(eng.CreateContainer(t.Context(), engine.Spec{Name: container, Image: testImage, Labels: labels}))(t)
			_, err := ensure(t.Context(), eng, spec())
			var foreign *loadbalancer.ForeignError
			if !errors.As(err, &foreign) || foreign.Container != container {
				t.Errorf("Ensure: %v, want a ForeignError of %q", err, container)
			}
			if err := loadbalancer.Delete(t.Context(), eng, spec()); err != nil {
				t.Errorf("Delete: %v", err)
			}
			if _, err := eng.InspectContainer(t.Context(), container); err != nil {
				t.Errorf("a container that is not ours was removed: %v", err)
			}
		})
	}
}

func TestDelete(t *testing.T) {
	t.Parallel()
	eng, _, state := ensured(t)
	for range 2 {
		must.Succeed(t, loadbalancer.Delete(t.Context(), eng, spec()))
	}
	if got, err := loadbalancer.Observe(t.Context(), eng, state.Name); err != nil || got.Exists {
		t.Errorf("Observe = %+v, %v, want it gone", got, err)
	}
}

// TestEnsureSurvivesCrashes ends the caller before and after each call, and
// proves that the next one finishes the work, at a place that is held once.
func TestEnsureSurvivesCrashes(t *testing.T) {
	t.Parallel()
	crash := errors.New("crash")
	_, _, want := ensured(t)
	for _, when := range []string{"before", "after"} {
		for number := 1; ; number++ {
			eng, _ := newEngine(t)
			eng.ResetJournal()
			crashed := false
			hook := func(call simulated.Call) error {
				if call.Number == number {
					crashed = true
				}
				if crashed {
					return crash
				}
				return nil
			}
			if when == "before" {
				eng.OnCall(hook)
			} else {
				eng.AfterCall(hook)
			}
			_, err := ensure(t.Context(), eng, spec())
			if !crashed {
				must.Succeed(t, err)
				break
			}
			eng.ResetHooks()
			got, err := ensure(t.Context(), eng, spec())
			if err != nil {
				t.Fatalf("crash %s call %d: Ensure: %v", when, number, err)
			}
			if diff := cmp.Diff(want, got, cmpopts.EquateComparable(netip.Addr{}),
				cmpopts.IgnoreFields(loadbalancer.State{}, "ID"), cmpopts.IgnoreUnexported(loadbalancer.State{})); diff != "" {
				t.Errorf("crash %s call %d: -want +got:\n%s", when, number, diff)
			}
			if network.Addresses(must.Get(eng.InspectContainer(t.Context(), got.Name))(t), "capcon")[0] != got.Address() {
				t.Errorf("crash %s call %d: address is not recorded", when, number)
			}
		}
	}
}
