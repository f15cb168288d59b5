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
	"github.com/capi-samples/cluster-api-provider-container/internal/loadbalancer"
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
			eng, _ := newProcess(t)
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

func TestEnsureChoosesFreeHostPort(t *testing.T) {
	t.Parallel()
	eng, _, first := ensured(t)
	must.Succeed(t, loadbalancer.Delete(t.Context(), eng, spec()))
	eng.OccupyHostPort(first.HostPorts[6443])
	second, err := ensure(t.Context(), eng, spec())
	if err != nil || second.HostPorts[6443] == first.HostPorts[6443] || second.HostPorts[6443] == 0 {
		t.Errorf("state %+v, %v, want another port than %d", second, err, first.HostPorts[6443])
	}
	must.Succeed(t, eng.StopContainer(t.Context(), second.Name, 0))
	eng.OccupyHostPort(second.HostPorts[6443])
	third, err := ensure(t.Context(), eng, spec())
	if err != nil || third.HostPorts[6443] == second.HostPorts[6443] {
		t.Errorf("restarted with nothing pinned: %+v, %v, want another port than %d", third, err, second.HostPorts[6443])
	}
}
