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
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/test/faults"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// host is an engine on which a command is repeated until it succeeds.
type host struct {
	*simulated.Engine
	t *testing.T
}

// LoseStatus implements faults.World. There is none.
func (host) LoseStatus() {}

// Revive implements faults.World: the user runs the command again.
func (host) Revive() {}

// state is what there is.
func (h host) state() []string {
	h.t.Helper()
	state := h.VolumeNames()
	for _, container := range must.Get(h.ListContainers(h.t.Context(), nil))(h.t) {
		state = append(state, "container "+container.Name+" "+string(container.Status))
	}
	for _, network := range must.Get(h.ListNetworks(h.t.Context(), nil))(h.t) {
		state = append(state, "network "+network.Name)
	}
	return state
}

// TestFaults: "capcon registry up" and "down", run again after an error or a kill, leave one
// registry with its images, or nothing.
func TestFaults(t *testing.T) {
	t.Parallel()
	port := serve(t)
	up := func(h host) error {
		_, err := Ensure(h.t.Context(), h.Engine, image, "capcon", port)
		return err
	}
	cases := map[string]struct {
		reason string
		begin  func(host) error
		act    func(host) error
		want   []string
	}{
		"Up":   {reason: "There is one registry.", act: up, want: []string{Name, "container " + Name + " running", "network capcon"}},
		"Down": {reason: "Nothing is left.", begin: up, act: func(h host) error { _, err := Remove(h.t.Context(), h.Engine); return err }},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			faults.Each(t, func(f faults.Fault) bool { return f.Kind != faults.Forgotten }, func(t *testing.T, f faults.Fault) *faults.Injector {
				t.Helper()
				h := host{world(), t}
				if tc.begin != nil {
					must.Succeed(t, tc.begin(h))
				}
				injector := f.Arm(h)
				injector.Engine(h.Engine)
				var last error
				if !injector.Settle(h.state, func() { last = tc.act(h) }) || last != nil {
					t.Fatalf("the work does not end: %v", last)
				}
				if diff := cmp.Diff(tc.want, h.state(), cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("%s\n(-want +got):\n%s", tc.reason, diff)
				}
				return injector
			})
		})
	}
}
