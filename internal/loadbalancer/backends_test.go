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
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/capi-samples/cluster-api-provider-container/internal/haproxy"
	"github.com/capi-samples/cluster-api-provider-container/internal/loadbalancer"
)

func TestBackends(t *testing.T) {
	t.Parallel()
	const up, down, drain, unknown = haproxy.StatusUp, haproxy.StatusDown, haproxy.StatusDrain, haproxy.StatusUnknown
	cases := map[string]struct {
		reason string
		// stay and leave are machines with the health last observed.
		stay, leave map[string]haproxy.Status
		want        map[string]int
	}{
		"None":            {"A cluster begins without machines.", nil, nil, map[string]int{}},
		"First":           {"The first machine is there before it is up.", map[string]haproxy.Status{"a": unknown}, nil, map[string]int{"a": 100}},
		"Down":            {"Who is down is for the health check, not for the weight.", map[string]haproxy.Status{"a": up, "b": down}, nil, map[string]int{"a": 100, "b": 100}},
		"Deleted":         {"Another one is up.", map[string]haproxy.Status{"b": up}, map[string]haproxy.Status{"a": up}, map[string]int{"a": 0, "b": 100}},
		"DeletedUnknown":  {"Another one is up, whatever is known of this one.", map[string]haproxy.Status{"b": up}, map[string]haproxy.Status{"a": unknown}, map[string]int{"a": 0, "b": 100}},
		"ReplacementDown": {"The last usable one keeps its weight until its replacement is up.", map[string]haproxy.Status{"b": down}, map[string]haproxy.Status{"a": up}, map[string]int{"a": 100, "b": 100}},
		"Last":            {"The last machine of a cluster that is deleted.", nil, map[string]haproxy.Status{"a": up}, map[string]int{"a": 100}},
		"LastDraining":    {"One that was drained gets its weight again when the others went down.", map[string]haproxy.Status{"b": down}, map[string]haproxy.Status{"a": drain}, map[string]int{"a": 100, "b": 100}},
		"OneOfTwoLast":    {"One is enough.", map[string]haproxy.Status{"c": down}, map[string]haproxy.Status{"a": up, "b": drain}, map[string]int{"a": 100, "b": 0, "c": 100}},
		"NothingKnown":    {"Right after a start nothing is known, and no weight is reduced.", map[string]haproxy.Status{"b": unknown}, map[string]haproxy.Status{"a": unknown}, map[string]int{"a": 100, "b": 100}},
		"KnownDown":       {"Who is known to be down is not usable.", map[string]haproxy.Status{"b": unknown}, map[string]haproxy.Status{"a": down}, map[string]int{"a": 0, "b": 100}},
		"KnownBeforeUnknown": {
			"One that is up is better than one nothing is known of.", nil, map[string]haproxy.Status{"a": unknown, "b": up}, map[string]int{"a": 0, "b": 100}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var all []loadbalancer.Machine
			var observed loadbalancer.State
			add := func(statuses map[string]haproxy.Status, deleting bool) {
				for name, status := range statuses {
					all = append(all, loadbalancer.Machine{
						Container: name, Address: netip.MustParseAddr("10.7.0.5"), Port: 6443, Deleting: deleting,
					})
					observed.Backends = append(observed.Backends, haproxy.Server{Frontend: haproxy.ControlPlaneName, Name: name, Status: status})
				}
			}
			add(tc.stay, false)
			add(tc.leave, true)
			got := map[string]int{}
			for _, backend := range loadbalancer.Backends(all, observed) {
				got[backend.Name] = backend.Weight
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\nweights: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestBackendsWithoutAddress(t *testing.T) {
	t.Parallel()
	all := machines("cab")
	all[1].Address = netip.Addr{}
	all[1].Deleting = true
	got := loadbalancer.Backends(all, loadbalancer.State{})
	var names []string
	for _, backend := range got {
		names = append(names, backend.Name)
	}
	if diff := cmp.Diff([]string{"b", "c"}, names); diff != "" {
		t.Errorf("backends: -want +got:\n%s", diff)
	}
	if all[0].Container != "c" {
		t.Error("Backends changed its argument")
	}
}
