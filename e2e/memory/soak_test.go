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

package memory_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/capi-samples/cluster-api-provider-container/e2e/memory"
	"github.com/capi-samples/cluster-api-provider-container/test/env"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

const (
	// soakClusters exist at most.
	soakClusters = 4
	// operationsPerRest are between two times at which faults end and all clusters have to settle.
	operationsPerRest = 50
	// emptyTimes is how often there is no cluster, and memory is compared, during the operations.
	emptyTimes = 10
	// quietPolls is how often nothing may end until what a process uses counts as what it keeps.
	quietPolls = 8
)

// TestSoak disturbs clusters by random operations and faults, SOAK_OPERATIONS of them and for SOAK_DURATION
// at least. SEED repeats a sequence; what the controllers make of it differs between runs.
func TestSoak(t *testing.T) {
	operations, err := strconv.Atoi(os.Getenv("SOAK_OPERATIONS"))
	if err != nil {
		t.Skip("takes 40 minutes: run \"make e2e RUN=memory-soak\"")
	}
	var duration time.Duration
	if text := os.Getenv("SOAK_DURATION"); text != "" {
		duration = must.Get(time.ParseDuration(text))(t)
	}
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv("SEED"); text != "" {
		seed = must.Get(strconv.ParseUint(text, 10, 64))(t)
	}
	t.Logf("%d operations, for %s at least; SEED=%d repeats them", operations, duration, seed)

	config := env.StartEmpty(t)
	s := &soak{
		story:  &story{t: t, config: config, api: must.Get(client.New(config, client.Options{Scheme: newScheme(t)}))(t)},
		random: rand.New(rand.NewPCG(seed, 0)), //nolint:gosec // A sequence that can be repeated.
		counts: map[string]int{},
	}
	s.startPlane()
	startControllerManager(t, config)
	s.createClass()
	s.run(operations, duration)
}

// soak is a sequence of operations.
type soak struct {
	*story
	random *rand.Rand
	// counts of operations, by name.
	counts map[string]int
	// usages while there was no cluster.
	usages []usage
}

func (s *soak) run(operations int, duration time.Duration) {
	s.t.Helper()
	start, operationsPerEmpty := time.Now(), max(operations/emptyTimes, operationsPerRest)
	s.empty()
	for done := 1; done <= operations || time.Since(start) < duration; done++ {
		s.operate()
		s.checkInvariants()
		if done%operationsPerRest == 0 {
			s.rest()
			s.t.Logf("%d operations after %s: %v", done, time.Since(start).Round(time.Second), s.counts)
		}
		if done%operationsPerEmpty == 0 {
			s.empty()
		}
	}
	s.empty()
}

// rest ends the faults, and requires that all clusters settle.
func (s *soak) rest() {
	s.t.Helper()
	s.host.Faults.Set(memory.FaultConfig{})
	s.eventually("all clusters are settled", s.settled)
}

// empty deletes all clusters once they are settled, and records what the process uses.
func (s *soak) empty() {
	s.t.Helper()
	s.rest()
	clusters := s.clusters()
	for i := range clusters {
		must.Succeed(s.t, client.IgnoreNotFound(s.api.Delete(s.t.Context(), &clusters[i])))
	}
	s.eventually("nothing is left", s.nothingLeft)
	s.usages = append(s.usages, s.measure())
}

// operate does one operation. What it finds to be changed meanwhile, or refused, is another
// operation's.
func (s *soak) operate() {
	s.t.Helper()
	type operation struct {
		weight int
		name   string
		do     func() error
	}
	operations := []operation{
		{8, "create", s.create},
		{2, "delete", s.delete},
		{10, "scale workers", func() error {
			return s.change(func(topology *clusterv1.Topology) {
				topology.Workers.MachineDeployments[0].Replicas = s.upTo(4)
			})
		}},
		{6, "scale pool", func() error {
			return s.change(func(topology *clusterv1.Topology) { topology.Workers.MachinePools[0].Replicas = s.upTo(2) })
		}},
		{4, "scale control plane", func() error {
			return s.change(func(topology *clusterv1.Topology) {
				topology.ControlPlane.Replicas = s.oneOf(1, 3)
			})
		}},
		{3, "upgrade", func() error {
			return s.change(func(topology *clusterv1.Topology) { topology.Version = after })
		}},
		{6, "annotate", func() error {
			return s.change(func(topology *clusterv1.Topology) {
				topology.Workers.MachineDeployments[0].Metadata.Annotations = map[string]string{"soak.example.test/value": strconv.Itoa(s.random.IntN(1000))}
			})
		}},
		{8, "delete Machine", s.deleteMachine},
		{12, "crash container", s.crash},
		{4, "pause container", s.pause},
		{3, "restart engine", func() error { s.host.Engine.RestartEngine(); return nil }},
		{10, "faults", s.injectFaults},
		{6, "no faults", func() error { s.host.Faults.Set(memory.FaultConfig{}); return nil }},
	}
	total := 0
	for _, o := range operations {
		total += o.weight
	}
	chosen := s.random.IntN(total)
	for _, o := range operations {
		if chosen -= o.weight; chosen < 0 {
			if err := o.do(); err != nil {
				s.t.Logf("%s: %v", o.name, err)
				return
			}
			s.counts[o.name]++
			break
		}
	}
	time.Sleep(time.Duration(s.random.IntN(int(500 * time.Millisecond))))
}

func (s *soak) upTo(most int32) *int32 { return new(s.random.Int32N(most + 1)) }

func (s *soak) oneOf(values ...int32) *int32 { return new(values[s.random.IntN(len(values))]) }

// injectFaults of one or two kinds.
func (s *soak) injectFaults() error {
	rules := []memory.FaultRule{
		{Operation: "*", Fault: memory.Error, Rate: 0.2},
		{Operation: "*", Fault: memory.Lost, Rate: 0.1},
		{Operation: "CreateContainer", Fault: memory.Lost, Rate: 0.5},
		{Operation: "StartContainer", Fault: memory.Error, Rate: 0.5},
		{Operation: "InspectContainer", Fault: memory.Crash, Rate: 0.01},
		{Operation: "Bootstrap", Fault: memory.Error, Rate: 0.1},
		{Operation: "APIServer/*", Fault: memory.Error, Rate: 0.2},
		{Operation: "APIServer/*", Fault: memory.Lost, Rate: 0.1},
		{Operation: "APIServer/*", Fault: memory.Crash, Rate: 0.01},
		{Operation: "Etcd/*", Fault: memory.Error, Rate: 0.3},
	}
	config := memory.FaultConfig{Seed: s.random.Uint64()}
	for range 1 + s.random.IntN(2) {
		config.Rules = append(config.Rules, rules[s.random.IntN(len(rules))])
	}
	slow := memory.FaultRule{Operation: []string{"*", "APIServer/*", "Bootstrap"}[s.random.IntN(3)], Fault: memory.Delay, Rate: 0.2}
	slow.Duration.Duration = time.Duration(1+s.random.IntN(300)) * time.Millisecond
	config.Rules = append(config.Rules, slow)
	s.host.Faults.Set(config)
	return nil
}

// usage of this process.
type usage struct {
	goroutines, descriptors int
	heap                    uint64
}

func (u usage) String() string {
	return fmt.Sprintf("%d goroutines, %d file descriptors, %d MiB", u.goroutines, u.descriptors, u.heap>>20)
}

// exceeds another usage, by more than what differs between two times without clusters.
func (u usage) exceeds(other usage) bool {
	const moreGoroutines, moreDescriptors, moreHeap = 50, 20, 64 << 20
	return u.goroutines > other.goroutines+moreGoroutines || u.descriptors > other.descriptors+moreDescriptors || u.heap > other.heap+moreHeap
}

func currentUsage(t *testing.T) usage {
	t.Helper()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return usage{goroutines: runtime.NumGoroutine(), descriptors: len(must.Get(os.ReadDir("/proc/self/fd"))(t)), heap: stats.HeapAlloc}
}

// measure what this process keeps without clusters. What deleted ones used ends a little later, unless it is
// lost: the second measurement, before which all kinds of objects have existed, waits until nothing ends any
// more, and the others until they are like it.
func (s *soak) measure() usage {
	s.t.Helper()
	var kept usage
	quiet := 0
	s.eventually("what deleted clusters used has ended", func() error {
		now := currentUsage(s.t)
		if len(s.usages) > 1 {
			if kept = now; now.exceeds(s.usages[1]) {
				return fmt.Errorf("used are %s, and %s at first", now, s.usages[1])
			}
			return nil
		}
		if now.goroutines < kept.goroutines || now.descriptors < kept.descriptors {
			quiet = 0
		}
		kept, quiet = now, quiet+1
		if quiet < quietPolls {
			return fmt.Errorf("used are %s", now)
		}
		return nil
	})
	s.t.Logf("without clusters: %s", kept)
	return kept
}
