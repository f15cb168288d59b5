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

package hosts_test

import (
	"maps"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/capi-samples/cluster-api-provider-container/test/hosts"
)

const (
	// probe is the call that says whether an engine responds, one each probeInterval.
	probe         = "Info"
	probeInterval = 15 * time.Second
	// idle is for how long nothing is done.
	idle = 2 * time.Minute

	// tolerance of the calls for a machine: workers that are busy with other engines look at an object once after several
	// changes, or after each.
	tolerance = 0.3
	// maxHeap and maxGoroutines of the manager for an engine.
	maxHeap, maxGoroutines = 128 << 10, 4
)

// measured is the life of a manager.
type measured struct {
	// created and deleted are the calls of each engine, without probes.
	created, deleted []int
	// heap and goroutines of the manager that ended.
	heap       int64
	goroutines int
}

// TestCostOfEngines: what a machine costs does not grow with the number of engines, and an engine where nothing happens costs
// one call each 15 seconds, some memory and two goroutines. It is not parallel: the memory is that of the process.
func TestCostOfEngines(t *testing.T) { //nolint:paralleltest // See above.
	counts := []int{1, 10}
	if !testing.Short() {
		counts = append(counts, 100)
	}
	var none, one measured
	for _, count := range append([]int{0}, counts...) {
		var m measured
		synctest.Test(t, func(t *testing.T) { m = measure(t, count) })
		switch count {
		case 0:
			none = m
			continue
		case 1:
			one = m
		}
		heap, goroutines := (m.heap-none.heap)/int64(count), float64(m.goroutines-none.goroutines)/float64(count)
		t.Logf("%3d engines: calls to create a machine %.1f (%d to %d), to delete it %.1f (%d to %d); for each engine %d KiB, %.1f goroutines", count,
			mean(m.created), slices.Min(m.created), slices.Max(m.created), mean(m.deleted), slices.Min(m.deleted), slices.Max(m.deleted), heap>>10, goroutines)
		if math.Abs(mean(m.created)/mean(one.created)-1) > tolerance || math.Abs(mean(m.deleted)/mean(one.deleted)-1) > tolerance {
			t.Errorf("with %d engines, a machine takes %.1f + %.1f calls, with one engine %.1f + %.1f",
				count, mean(m.created), mean(m.deleted), mean(one.created), mean(one.deleted))
		}
		if count > 1 && heap > maxHeap || goroutines > maxGoroutines {
			t.Errorf("each of %d engines takes %d bytes, at most %d expected, and %.1f goroutines, at most %d expected",
				count, heap, maxHeap, goroutines, maxGoroutines)
		}
	}
}

func mean(counts []int) float64 {
	sum := 0
	for _, count := range counts {
		sum += count
	}
	return float64(sum) / float64(len(counts))
}

// measure a manager that has engines connected, a cluster of one machine created on each, and deleted.
func measure(t *testing.T, count int) (m measured) {
	t.Helper()
	h := hosts.New(t, count)
	stop := h.Start()
	synctest.Wait()
	h.Connect()
	time.Sleep(2 * probeInterval)
	connected := h.Calls()

	h.CreateMachines()
	time.Sleep(time.Minute)
	h.JoinNodes()
	time.Sleep(time.Minute)
	h.CheckReady()
	created := h.Calls()
	m.created = others(connected, created)

	own, writes := h.OwnCalls(), h.Writes()
	time.Sleep(idle)
	settled := h.Calls()
	for i, calls := range settled {
		if diff := cmp.Diff(hosts.Calls{probe: int(idle / probeInterval)}, calls.Since(created[i])); diff != "" {
			t.Errorf("with %d engines, an idle manager calls one of them (-want +got):\n%s", count, diff)
			break
		}
	}
	if calls, written := h.OwnCalls().Since(own), h.Writes()-writes; len(calls) > 0 || written > 0 {
		t.Errorf("with %d engines, an idle manager writes %d objects, and calls its own engine: %v", count, written, calls)
	}

	h.DeleteMachines()
	time.Sleep(time.Minute)
	h.DeleteClusters()
	time.Sleep(time.Minute)
	h.CheckEmpty()
	m.deleted = others(settled, h.Calls())

	// What is gone with the manager was its own, and not of what is simulated.
	running := hosts.Used()
	stop()
	ended := hosts.Used()
	m.heap, m.goroutines = running.Heap-ended.Heap, running.Goroutines-ended.Goroutines
	return m
}

// others are how many calls each engine had after those before, without probes.
func others(before, after []hosts.Calls) []int {
	counts := make([]int, len(after))
	for i := range after {
		calls := after[i].Since(before[i])
		delete(calls, probe)
		for count := range maps.Values(calls) {
			counts[i] += count
		}
	}
	return counts
}
