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

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/internal/haproxy"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/loadbalancer"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

func TestEnsureTaken(t *testing.T) {
	t.Parallel()
	occupy := func(t *testing.T, eng *simulated.Engine, address string) {
		t.Helper()
		_, err := eng.CreateContainer(t.Context(), engine.Spec{Name: "other", Image: testImage, Attachment: engine.Attachment{
			Network: "capcon", Addresses: []netip.Addr{netip.MustParseAddr(address)},
		}})
		if err == nil {
			err = eng.StartContainer(t.Context(), "other")
		}
		must.Succeed(t, err)
	}
	cases := map[string]struct {
		reason string
		change func(*testing.T, *simulated.Engine, *loadbalancer.Spec)
		check  func(error) bool
	}{
		"PinnedHostPort": {
			"A pinned port is never exchanged.",
			func(_ *testing.T, eng *simulated.Engine, s *loadbalancer.Spec) {
				s.HostPorts[6443] = 7000
				eng.OccupyHostPort(7000)
			},
			func(err error) bool { return engine.IsTaken(err, engine.ResourceHostPort) },
		},
		"PinnedAddress": {
			"A pinned address is never exchanged.",
			func(t *testing.T, eng *simulated.Engine, s *loadbalancer.Spec) {
				t.Helper()
				s.Addresses = []netip.Addr{netip.MustParseAddr("10.7.0.2")}
				occupy(t, eng, "10.7.0.2")
			},
			func(err error) bool { return engine.IsTaken(err, engine.ResourceAddress) },
		},
		"FreeAddress": {
			"An address that is not pinned is.",
			func(t *testing.T, eng *simulated.Engine, _ *loadbalancer.Spec) {
				t.Helper()
				occupy(t, eng, "10.7.0.2")
			},
			func(err error) bool { return err == nil },
		},
		"Image": {
			"The caller pulls.",
			func(_ *testing.T, _ *simulated.Engine, s *loadbalancer.Spec) { s.Image = "localhost/absent:v1" },
			func(err error) bool { return errors.Is(err, engine.ErrNotFound) },
		},
		"Config": {
			"What cannot be rendered is not tried.",
			func(_ *testing.T, _ *simulated.Engine, s *loadbalancer.Spec) { s.Config.Frontends[0].Port = 0 },
			func(err error) bool { var invalid *haproxy.InvalidError; return errors.As(err, &invalid) },
		},
		"Engine": {
			"An engine that is away is typed.",
			func(_ *testing.T, eng *simulated.Engine, _ *loadbalancer.Spec) { eng.Down() },
			func(err error) bool { return errors.Is(err, engine.ErrUnavailable) },
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eng, _ := newEngine(t)
			s := spec()
			tc.change(t, eng, &s)
			_, err := ensure(t.Context(), eng, s)
			if !tc.check(err) {
				t.Errorf("%s\nEnsure: %v", tc.reason, err)
			}
			eng.Up()
			if _, inspectErr := eng.InspectContainer(t.Context(), testOwner.LoadBalancerContainer()); err != nil && !errors.Is(inspectErr, engine.ErrNotFound) {
				t.Errorf("%s\nsomething is left behind: %v", tc.reason, inspectErr)
			}
		})
	}
}

// TestHeldHostPort: a load balancer that serves is not removed for a port that it cannot have.
func TestHeldHostPort(t *testing.T) {
	t.Parallel()
	for name, labels := range map[string]string{"same address": "127.0.0.1:8080/tcp", "all addresses": "0.0.0.0:443/tcp,0.0.0.0:8080/tcp"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eng, _, before := ensured(t)
			must.Get(eng.CreateContainer(t.Context(), engine.Spec{
				Name: "other", Image: testImage, Labels: map[string]string{identity.LabelHostPorts: labels},
			}))(t)
			s := spec()
			s.HostPorts = map[uint16]uint16{6443: before.HostPorts[6443], 80: 8080}
			_, err := ensure(t.Context(), eng, s)
			var conflict *engine.ConflictError
			if !errors.As(err, &conflict) || conflict.Resource != engine.ResourceHostPort || conflict.Value != "8080" || conflict.Holder != "other" {
				t.Errorf("Ensure: %v, want host port 8080 to be that of container other", err)
			}
			after := must.Get(loadbalancer.Observe(t.Context(), eng, before.Name))(t)
			if after.ID != before.ID || !after.Running {
				t.Errorf("the load balancer became %+v, want it unchanged", after)
			}
			must.Succeed(t, eng.RemoveContainer(t.Context(), "other"))
			if after = must.Get(ensure(t.Context(), eng, s))(t); after.HostPorts[80] != 8080 {
				t.Errorf("once the port is free, the load balancer is %+v", after)
			}
		})
	}
}

func TestRestartMovesFromTakenHostPort(t *testing.T) {
	t.Parallel()
	eng, _, before := ensured(t)
	must.Succeed(t, eng.StopContainer(t.Context(), before.Name, 0))
	eng.OccupyHostPort(before.HostPorts[6443])
	after, err := ensure(t.Context(), eng, spec())
	if err != nil || after.HostPorts[6443] == before.HostPorts[6443] {
		t.Errorf("restarted with nothing pinned: %+v, %v, want another port than %d", after, err, before.HostPorts[6443])
	}
}

// TestEnsureWhileTheEngineCreates: a name that is reserved for our own container is not
// another owner's.
func TestEnsureWhileTheEngineCreates(t *testing.T) {
	t.Parallel()
	eng, _ := newEngine(t)
	eng.FailNext("CreateContainer", &engine.ConflictError{Resource: engine.ResourceName, Value: testOwner.LoadBalancerContainer()})
	var foreign *loadbalancer.ForeignError
	_, err := ensure(t.Context(), eng, spec())
	if !errors.Is(err, network.ErrCreating) || errors.As(err, &foreign) {
		t.Errorf("Ensure: %v, want ErrCreating and no ForeignError", err)
	}
	if _, err := ensure(t.Context(), eng, spec()); err != nil {
		t.Errorf("Ensure after it: %v", err)
	}
}
