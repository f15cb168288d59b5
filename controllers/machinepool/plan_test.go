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

package machinepool

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// many returns that many replicas of one sort, named by it and a number, each
// a minute younger than the one before it.
func many(sort string, count int, change func(*replica)) []replica {
	replicas := make([]replica, count)
	for i := range replicas {
		replicas[i] = replica{
			name: fmt.Sprintf("%s-%d", sort, i), ready: true,
			created: time.Date(2026, 1, 1, 0, i, 0, 0, time.UTC),
		}
		change(&replicas[i])
	}
	return replicas
}

func together(all ...[]replica) []replica {
	var replicas []replica
	for _, some := range all {
		replicas = append(replicas, some...)
	}
	return replicas
}

func TestPlan(t *testing.T) {
	t.Parallel()
	current := func(r *replica) {}
	starting := func(r *replica) { r.ready = false }
	old := func(r *replica) { r.outdated = true }
	oldStarting := func(r *replica) { r.outdated, r.ready = true, false }
	broken := func(r *replica) { r.broken, r.ready = true, false }
	leaving := func(r *replica) { r.leaving = true }
	lost := func(r *replica) { r.lost, r.ready = true, false }
	lostLeaving := func(r *replica) { r.lost, r.leaving, r.ready = true, true, false }
	asked := func(r *replica) { r.first = true }
	cases := map[string]struct {
		reason   string
		replicas []replica
		desired  int
		want     plan
	}{
		"Nothing":     {reason: "A pool may be empty.", want: plan{}},
		"New":         {reason: "All are made concurrently: nothing depends on them yet.", desired: 3, want: plan{create: 3}},
		"Enough":      {reason: "What is as it should be is left alone.", replicas: many("a", 3, current), desired: 3, want: plan{}},
		"StartingUp":  {reason: "Replicas that are still starting count.", replicas: many("a", 3, starting), desired: 3, want: plan{}},
		"ScaleUp":     {reason: "What lacks is made.", replicas: many("a", 1, current), desired: 3, want: plan{create: 2}},
		"ScaleToZero": {reason: "Zero is a number.", replicas: many("a", 2, current), want: plan{remove: []string{"a-0", "a-1"}}},
		"ScaleDownNewest": {
			reason:   "The newest had the least time to gather work.",
			replicas: many("a", 3, current), desired: 2, want: plan{remove: []string{"a-2"}},
		},
		"ScaleDownNotReady": {
			reason:   "Replicas that are not ready do no work.",
			replicas: together(many("b", 1, starting), many("c", 2, current)), desired: 2, want: plan{remove: []string{"b-0"}},
		},
		"ScaleDownAsked": {
			reason:   "Who asks for one to be removed is heard first.",
			replicas: together(many("a", 1, asked), many("b", 1, starting), many("c", 2, current)), desired: 3, want: plan{remove: []string{"a-0"}},
		},
		"AskedButNotTooMany": {
			reason:   "The annotation chooses which one goes, not that one goes.",
			replicas: together(many("a", 1, asked), many("b", 1, current)), desired: 2, want: plan{},
		},
		"Leaving": {
			reason:   "What is being removed counts no more: a drain may take its time.",
			replicas: together(many("a", 2, current), many("l", 1, leaving)), desired: 3, want: plan{create: 1},
		},
		"LeavingAndEnough": {
			reason:   "What is being removed is not removed again, and nothing else in its place.",
			replicas: together(many("a", 2, current), many("l", 1, leaving)), desired: 2, want: plan{},
		},
		"Broken": {
			reason:   "What is of no use is removed and made up for immediately.",
			replicas: together(many("a", 2, current), many("x", 1, broken)), desired: 3, want: plan{create: 1, remove: []string{"x-0"}},
		},
		"Lost": {
			reason:   "One whose container is not found is removed and made up for.",
			replicas: together(many("a", 2, current), many("x", 1, lost)), desired: 3, want: plan{create: 1, remove: []string{"x-0"}},
		},
		"AllLost": {
			reason:   "Where no container is found, the Machines are not removed in one pass.",
			replicas: many("x", 4, lost), desired: 4, want: plan{create: 1, remove: []string{"x-0"}},
		},
		"AllOfManyLost": {
			reason:   "A fifth at a time.",
			replicas: many("x", 10, lost), desired: 10, want: plan{create: 2, remove: []string{"x-0", "x-1"}},
		},
		"LostWhileOneLeaves": {
			reason:   "The next one waits until those that are being removed are gone.",
			replicas: together(many("x", 3, lost), many("y", 1, lostLeaving), many("n", 1, starting)), desired: 4, want: plan{},
		},
		"LostAndScaledDown": {
			reason:   "Of what a user wants fewer of, the lost ones go first.",
			replicas: together(many("a", 2, current), many("x", 3, lost)), desired: 2, want: plan{remove: []string{"x-0", "x-1", "x-2"}},
		},
		"LostAndBroken": {
			reason:   "A MachineHealthCheck has its own limit.",
			replicas: many("x", 2, func(r *replica) { lost(r); broken(r) }), desired: 2, want: plan{create: 2, remove: []string{"x-0", "x-1"}},
		},
		"BrokenAndScaledDown": {
			reason:   "A broken one is not made up for where fewer are desired.",
			replicas: together(many("a", 2, current), many("x", 1, broken)), desired: 2, want: plan{remove: []string{"x-0"}},
		},
		"RolloutBegins": {
			reason:   "A new one comes before an old one goes.",
			replicas: many("o", 3, old), desired: 3, want: plan{create: 1},
		},
		"RolloutWaits": {
			reason:   "Until the new one is ready nothing more happens.",
			replicas: together(many("o", 3, old), many("n", 1, starting)), desired: 3, want: plan{},
		},
		"RolloutContinues": {
			reason:   "An old one goes for a new one that is ready, and the next is made.",
			replicas: together(many("o", 3, old), many("n", 1, current)), desired: 3, want: plan{create: 1, remove: []string{"o-2"}},
		},
		"RolloutWhileOneLeaves": {
			reason:   "With as many ready as are desired, no more may go.",
			replicas: together(many("o", 2, old), many("n", 1, current), many("l", 1, leaving)), desired: 3, want: plan{create: 1},
		},
		"RolloutEnds": {
			reason:   "The last old one goes and no further one comes.",
			replicas: together(many("o", 1, old), many("n", 3, current)), desired: 3, want: plan{remove: []string{"o-0"}},
		},
		"RolloutOfNotReady": {
			reason:   "Old ones that are not ready go first: that repairs a pool whose template was wrong.",
			replicas: together(many("o", 2, oldStarting), many("p", 1, old), many("n", 1, starting)), desired: 3,
			want: plan{create: 1, remove: []string{"o-1"}},
		},
		"RolloutThatFails": {
			reason:   "New ones that never get ready take nothing from those that work, and do not get more.",
			replicas: together(many("o", 2, old), many("n", 1, starting)), desired: 2, want: plan{},
		},
		"RolloutScaledDown": {
			reason:   "Of more than are desired the old ones go first, down to as many ready as are desired.",
			replicas: together(many("o", 3, old), many("n", 1, current)), desired: 2, want: plan{create: 1, remove: []string{"o-1", "o-2"}},
		},
		"RolloutScaledUp": {
			reason:   "What lacks is made new, and one more for the rollout.",
			replicas: many("o", 2, old), desired: 4, want: plan{create: 3},
		},
		"RolloutToZero": {
			reason:   "Nothing is made for a pool of none.",
			replicas: together(many("o", 1, old), many("n", 1, starting)), want: plan{remove: []string{"n-0", "o-0"}},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := planFor(c.replicas, c.desired)
			if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(plan{})); diff != "" {
				t.Errorf("%s\nplan (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

// Whatever a pool begins with, carrying out one plan after the other brings
// it to rest with as many as are desired, all of them new, and no plan of a
// rollout takes what is ready below the number desired.
func TestPlansEnd(t *testing.T) {
	t.Parallel()
	for desired := range 5 {
		for old := range 5 {
			for oldStarting := range 3 {
				for starting := range 3 {
					replicas := together(
						many("o", old, func(r *replica) { r.outdated = true }),
						many("p", oldStarting, func(r *replica) { r.outdated, r.ready = true, false }),
						many("n", starting, func(r *replica) { r.ready = false }),
					)
					carryOut(t, replicas, desired)
				}
			}
		}
	}
}

func carryOut(t *testing.T, replicas []replica, desired int) {
	t.Helper()
	start := fmt.Sprintf("%+v desired %d", replicas, desired)
	for made := range 100 {
		p := planFor(replicas, desired)
		if p.empty() && allReady(replicas) {
			break
		}
		before := count(replicas, func(r replica) bool { return r.ready })
		replicas = without(replicas, p.remove)
		if after := count(replicas, func(r replica) bool { return r.ready }); after < min(before, desired) {
			t.Fatalf("%s: from %d ready ones to %d", start, before, after)
		}
		for i := range replicas {
			replicas[i].ready = true
		}
		for i := range p.create {
			replicas = append(replicas, replica{name: fmt.Sprintf("made-%d-%d", made, i)})
		}
		if most := max(desired+maxSurge, len(replicas)-p.create); len(replicas) > most {
			t.Fatalf("%s: %d at a time", start, len(replicas))
		}
	}
	if old := count(replicas, func(r replica) bool { return r.outdated }); old > 0 || len(replicas) != desired {
		t.Errorf("%s: ends with %+v", start, replicas)
	}
}

func allReady(replicas []replica) bool {
	return count(replicas, func(r replica) bool { return r.ready }) == len(replicas)
}

func count(replicas []replica, is func(replica) bool) int {
	n := 0
	for _, r := range replicas {
		if is(r) {
			n++
		}
	}
	return n
}

func without(replicas []replica, names []string) []replica {
	var left []replica
	for _, r := range replicas {
		gone := false
		for _, name := range names {
			gone = gone || r.name == name
		}
		if !gone {
			left = append(left, r)
		}
	}
	return left
}
