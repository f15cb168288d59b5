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
package node_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/controllers/internal/reconcile"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	nodespec "github.com/capi-samples/cluster-api-provider-container/internal/node"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
	"github.com/capi-samples/cluster-api-provider-container/test/world"
)

// resized is a node whose processes use some memory, and that says what limits it. The limits of the
// container are the engine's.
type resized struct {
	mutex sync.Mutex
	used  int64
	// reserved by the kubelet that runs.
	reserved string
	// failures of the kubelet's restart.
	failures int
}

func (n *resized) run(t *testing.T, w *world.World) {
	t.Helper()
	w.Engine.HandleExec(func(name string, command engine.Command) (engine.Output, error) {
		n.mutex.Lock()
		defer n.mutex.Unlock()
		if len(command.Args) < 3 || command.Args[0] != "sh" {
			return engine.Output{}, nil
		}
		if len(command.Args) > 3 {
			if n.failures--; n.failures >= 0 {
				return engine.Output{Stderr: []byte("no kubelet")}, &engine.ExitError{Code: 1}
			}
			n.reserved = strings.Join(command.Args[4:], " ")
			return engine.Output{}, nil
		}
		spec, found := w.Engine.Spec(name)
		if !found {
			return engine.Output{}, errors.New("no container")
		}
		quota := "-1"
		if spec.Resources.MilliCPU != 0 {
			quota = fmt.Sprint(spec.Resources.MilliCPU * 100)
		}
		out := fmt.Sprintf("memory %d\nused %d\ncache 0\ncpu %s 100000\npids %d\n", spec.Resources.MemoryBytes, n.used, quota, spec.Resources.Pids)
		if n.reserved != "" {
			for flag := range strings.FieldsSeq(n.reserved) {
				out += "reserved " + flag + "\n"
			}
		}
		return engine.Output{Stdout: []byte(out)}, nil
	})
}

func limitRole(cpu, memory string) func(*testing.T, *world.World) {
	return func(_ *testing.T, w *world.World) {
		world.Edit(w, builders.Cluster, &infrav1.ContainerCluster{}, func(c *infrav1.ContainerCluster) {
			limits := infrav1.MachineResources{CPU: quantity(cpu), Memory: quantity(memory)}
			c.Spec.Resources = infrav1.RoleResources{ControlPlane: limits, Workers: limits}
		})
	}
}

func quantity(text string) *resource.Quantity {
	value := resource.MustParse(text)
	return &value
}

// resources tests how running nodes get the limits of their role.
func resources() map[string]nodeTest {
	const gibibyte = 1 << 30
	host := nodespec.Host{MilliCPU: 8000, MemoryBytes: 16 * gibibyte}
	asNode := all(isDone, becomesNode)
	// becomes asserts limits, what the kubelet reserves, and the condition.
	becomes := func(n *resized, condition string, limits engine.Resources) func(*testing.T, *world.World) {
		return func(t *testing.T, w *world.World) {
			t.Helper()
			spec, _ := w.Engine.Spec(container())
			spec.Resources.OpenFiles = 0
			if diff := cmp.Diff(limits, spec.Resources); diff != "" {
				t.Errorf("limits of the container (-want +got):\n%s", diff)
			}
			reserved := nodespec.Resources{MilliCPU: limits.MilliCPU, MemoryBytes: limits.MemoryBytes}.Reserved(host)
			if diff := cmp.Diff(strings.Join(reserved, " "), n.reserved); diff != "" {
				t.Errorf("reserved by the kubelet (-want +got):\n%s", diff)
			}
			object, _ := world.Get(w, builders.Machine, &infrav1.ContainerMachine{})
			if state, message := world.State(object, infrav1.ResourcesConfiguredCondition); state != condition {
				t.Errorf("condition: %s %s, want %s", state, message, condition)
			}
			if has := object.Status.Resources; (has != nil) != (limits.MemoryBytes != 0) || has != nil && has.Memory.Value() != limits.MemoryBytes {
				t.Errorf("status.resources: %v, want those of the container", has)
			}
		}
	}
	const configured = "True/" + infrav1.ResourcesConfiguredReason
	tests := map[string]nodeTest{}
	add := func(name, reason string, n *resized, test nodeTest, condition string, limits engine.Resources) {
		test.reason, test.args.setup, test.assert = reason, n.run, becomes(n, condition, limits)
		tests[name] = test
	}
	two := engine.Resources{MilliCPU: 2000, MemoryBytes: 2 * gibibyte}
	add("ResourcesLater", "A change needs no new node.", &resized{used: gibibyte},
		nodeTest{args: args{change: all(asNode, limitRole("2", "2Gi"))}}, configured, two)
	add("ResourcesGrow", "A running node gets more.", &resized{},
		nodeTest{args: args{change: all(asNode, limitRole("1", "1Gi"), func(_ *testing.T, w *world.World) { w.SettleMachine(builders.Machine) }, limitRole("2", "2Gi"))}}, configured, two)
	add("ResourcesAfterKill", "A manager that ended before the kubelet restarted continues.", &resized{failures: 1},
		nodeTest{args: args{change: all(asNode, limitRole("2", "2Gi"), func(_ *testing.T, w *world.World) {
			_, _ = w.ReconcileMachine(builders.Machine)
			w.Restart()
		})}}, configured, two)
	add("ResourcesForgotten", "Podman before 5.1 forgets an update when the container ends.", &resized{},
		nodeTest{args: args{change: all(asNode, limitRole("2", "2Gi"), func(t *testing.T, w *world.World) {
			t.Helper()
			w.SettleMachine(builders.Machine)
			must.Succeed(t, w.Engine.UpdateResources(t.Context(), container(), engine.Resources{MemoryBytes: 12 * gibibyte}))
			w.Restart()
		})}}, configured, two)
	add("ResourcesInUse", "The kernel would end processes.", &resized{used: 3 * gibibyte},
		nodeTest{args: args{change: all(asNode, limitRole("2", "2Gi"))}, want: want{requeueAfter: reconcile.UserInterval}, check: world.TryingAgain}, "False/"+infrav1.MemoryInUseReason, engine.Resources{})
	add("ResourcesUnavailable", "The host has less.", &resized{},
		nodeTest{args: args{change: all(asNode, limitRole("9", "2Gi"))}, want: want{requeueAfter: reconcile.UserInterval}}, "False/"+infrav1.ResourcesUnavailableReason, engine.Resources{})
	return tests
}
