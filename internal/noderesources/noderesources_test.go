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
package noderesources

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/node"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

func TestParse(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason, text string
		want         Observed
	}{
		"cgroup v2": {
			"Files that the kernel can drop are not in use.",
			"memory 4294967296\nused 2000\ncache 500\ncpu 150000 100000\npids 4000\nreserved --system-reserved=cpu=500m\n",
			Observed{node.Resources{MilliCPU: 1500, MemoryBytes: 4 << 30, Pids: 4000}, 1500, []string{"--system-reserved=cpu=500m"}},
		},
		"cgroup v2, unlimited": {
			"max is no limit.", "memory max\nused 2000\ncache 0\ncpu max 100000\npids max\n", Observed{UsedBytes: 2000},
		},
		"cgroup v1, unlimited": {
			"A limit that no machine reaches is none.",
			"memory 9223372036854771712\nused 10\ncache 20\ncpu -1 100000\npids max\n", Observed{},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, must.Get(parse(tc.text))(t)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
	if _, err := parse("memory much\n"); err == nil {
		t.Error("a value that is no number is not refused")
	}
}

// TestPlanKeepsReservationOfRemovedLimit: the engine cannot remove it, and Pods must not be scheduled onto what the node cannot use.
func TestPlanKeepsReservationOfRemovedLimit(t *testing.T) {
	t.Parallel()
	host := node.Host{MilliCPU: 4000, MemoryBytes: 16 << 30}
	limits := node.Resources{MilliCPU: 1000, MemoryBytes: 2 << 30}
	change := must.Get(Plan(node.Resources{MilliCPU: 1000}, host, Observed{Limits: limits, Reserved: limits.Reserved(host)}))(t)
	if !change.IsEmpty() {
		t.Errorf("Want no change, got %+v", change)
	}
}

func TestPlan(t *testing.T) {
	t.Parallel()
	const gibibyte = 1 << 30
	host := node.Host{MilliCPU: 4000, MemoryBytes: 16 * gibibyte}
	small := node.Resources{MilliCPU: 1000, MemoryBytes: 2 * gibibyte, Pids: 1000}
	has := Observed{Limits: small, UsedBytes: gibibyte, Reserved: small.Reserved(host)}
	cases := map[string]struct {
		reason string
		wanted node.Resources
		has    Observed
		want   Change
		// shrinks: the kubelet is first.
		shrinks bool
		inUse   *InUseError
	}{
		"same":       {reason: "Nothing is changed twice.", wanted: small, has: has},
		"larger":     {"Only what differs is changed.", node.Resources{MilliCPU: 1000, MemoryBytes: 3 * gibibyte, Pids: 1000}, has, Change{Limits: engine.Resources{MemoryBytes: 3 * gibibyte}}, false, nil},
		"smaller":    {"The scheduler learns of it first.", node.Resources{MilliCPU: 750, MemoryBytes: 2 * gibibyte, Pids: 1000}, has, Change{Limits: engine.Resources{MilliCPU: 750}}, true, nil},
		"in use":     {"The kernel would end processes.", node.Resources{MemoryBytes: gibibyte - 1}, has, Change{}, false, &InUseError{RequestedBytes: gibibyte - 1, UsedBytes: gibibyte}},
		"from none":  {"A limit is less than none.", small, Observed{UsedBytes: gibibyte}, Change{Limits: engine.Resources{MilliCPU: 1000, MemoryBytes: 2 * gibibyte, Pids: 1000}}, true, nil},
		"kubelet":    {"A manager ended between the two.", small, Observed{Limits: small, UsedBytes: gibibyte}, Change{}, false, nil},
		"forgetful":  {"An engine forgot the limits when the container ended.", small, Observed{UsedBytes: gibibyte, Reserved: small.Reserved(host)}, Change{Limits: engine.Resources{MilliCPU: 1000, MemoryBytes: 2 * gibibyte, Pids: 1000}}, true, nil},
		"whole host": {"Nothing is reserved of it.", node.Resources{MilliCPU: 4000, MemoryBytes: 16 * gibibyte}, has, Change{Limits: engine.Resources{MilliCPU: 4000, MemoryBytes: 16 * gibibyte}}, false, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := Plan(tc.wanted, host, tc.has)
			inUse := (*InUseError)(nil)
			errors.As(err, &inUse)
			if diff := cmp.Diff(tc.inUse, inUse); diff != "" {
				t.Fatalf("%s: error (-want +got):\n%s", tc.reason, diff)
			}
			if inUse != nil {
				return
			}
			tc.want.Reserved = tc.wanted.Reserved(host)
			tc.want.Reserve = !cmp.Equal(tc.want.Reserved, tc.has.Reserved, cmpopts.EquateEmpty())
			tc.want.shrinks = tc.shrinks
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(Change{})); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
