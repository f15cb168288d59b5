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
	"cmp"
	"slices"
	"time"
)

// maxSurge is how many instances there may be beyond those that are desired
// while old ones are replaced: the default of a MachineDeployment. All of them
// are on one engine, which has to carry it.
const maxSurge = 1

// lostShare of the desired instances, and at least one, may be replaced at the same time because
// their containers do not exist: where all are, something else is wrong, which must not end
// every Machine of the pool.
const lostShare = 5

// replica is what has to be known of an instance to decide about it.
type replica struct {
	name    string
	created time.Time
	// ready: its Node takes work.
	ready bool
	// outdated: it is not made as is desired now.
	outdated bool
	// first: a user requested that it be removed before others.
	first bool
	// broken: it will never be of use again, as was decided for it alone.
	broken bool
	// lost: its container does not exist.
	lost bool
	// leaving: it is being removed already.
	leaving bool
}

// plan is what is to be done next.
type plan struct {
	// create is how many instances are to be made.
	create int
	// remove names those that are to be removed.
	remove []string
}

func (p plan) empty() bool { return p.create == 0 && len(p.remove) == 0 }

// planFor brings instances to the desired number, all of them up to date.
//
// Broken ones are removed immediately and made up for, and so are lost ones, few at a time. Old ones are replaced one after
// the other: a new one first, and of those that are ready only what is ready
// beyond the desired number. What is being removed counts no more; a Node that
// takes its time to be drained holds up nothing.
func planFor(replicas []replica, desired int) plan {
	var p plan
	var current, outdated []replica
	ready := 0
	for _, r := range breakLost(replicas, desired) {
		switch {
		case r.leaving:
			continue
		case r.broken:
			p.remove = append(p.remove, r.name)
			continue
		case r.outdated:
			outdated = append(outdated, r)
		default:
			current = append(current, r)
		}
		if r.ready {
			ready++
		}
	}
	slices.SortFunc(current, byRemoval)
	slices.SortFunc(outdated, byRemoval)
	left := len(current) + len(outdated)
	remove := func(r replica) {
		p.remove = append(p.remove, r.name)
		left--
		if r.ready {
			ready--
		}
	}
	for _, r := range current[:max(0, len(current)-desired)] {
		remove(r)
	}
	old := len(outdated)
	for _, r := range outdated {
		if left > desired && (!r.ready || ready > desired) {
			remove(r)
			old--
		}
	}
	most := desired
	if old > 0 {
		most += maxSurge
	}
	p.create = max(0, min(desired-len(current), most-left))
	slices.Sort(p.remove)
	return p
}

// breakLost returns the replicas with as many lost ones marked as broken as may be removed now.
func breakLost(replicas []replica, desired int) []replica {
	left := max(1, desired/lostShare)
	for _, r := range replicas {
		if r.lost && r.leaving {
			left--
		}
	}
	replicas = slices.Clone(replicas)
	for i := range replicas {
		if r := &replicas[i]; r.lost && !r.leaving && !r.broken && left > 0 {
			r.broken = true
			left--
		}
	}
	return replicas
}

// byRemoval sorts by the order of removal: first what a user requested to be
// removed; then what is not ready, because it does no work; then the newest, because
// it had the least time to gather work, images and volumes.
func byRemoval(a, b replica) int {
	return cmp.Or(
		-compareBools(a.first, b.first),
		compareBools(a.ready, b.ready),
		b.created.Compare(a.created),
		cmp.Compare(a.name, b.name),
	)
}

// compareBools sorts false before true.
func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}
