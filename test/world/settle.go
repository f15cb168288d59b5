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

package world

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
)

const (
	// maxPasses is more than anything here takes: a control plane waits at
	// most ten seconds for the load balancer, one pass each.
	maxPasses = 40
	// quietPasses without any activity mean that nothing will happen any more.
	quietPasses = 2
	// tick is how much time passes between two reconciles.
	tick = time.Second
)

// Outcome is the result of the last reconcile of a controller.
type Outcome struct {
	Result ctrl.Result
	Err    error
}

// Mutations lists what the controllers have changed so far: on the engine and on
// the API server.
func (w *World) Mutations() []string {
	var mutations []string
	for _, call := range w.Calls.Effects() {
		mutations = append(mutations, strings.TrimSpace(fmt.Sprintf("%s %s %s", call.Method, call.Name, strings.Join(call.Command, " "))))
	}
	for _, write := range w.Writes.Made() {
		mutations = append(mutations, write.Verb+" "+write.Object)
	}
	return mutations
}

// Versions shows whether anything is different: of every object its version,
// of every container its identity and what it does.
func (w *World) Versions() []string {
	w.TB.Helper()
	var versions []string
	for _, list := range []client.ObjectList{
		&infrav1.ContainerClusterList{}, &infrav1.ContainerMachinePoolList{}, &infrav1.ContainerMachineList{},
		&clusterv1.MachineList{}, &corev1.SecretList{},
	} {
		if err := w.Client.List(context.WithoutCancel(w.TB.Context()), list); err != nil {
			w.TB.Fatal(err)
		}
		if err := meta.EachListItem(list, func(item runtime.Object) error {
			object, ok := item.(client.Object)
			if ok {
				versions = append(versions, fmt.Sprintf("%T %s %s", object, object.GetName(), object.GetResourceVersion()))
			}
			return nil
		}); err != nil {
			w.TB.Fatal(err)
		}
	}
	containers, err := w.Engine.ListContainers(context.WithoutCancel(w.TB.Context()), nil)
	if err != nil {
		// It is down, and nothing changes.
		return versions
	}
	for _, container := range containers {
		versions = append(versions, fmt.Sprintf("%s %s %s %v", container.Name, container.ID, container.Status, container.Networks))
	}
	return versions
}

// SettleMachine lets the machine controller look at a machine until that
// changes nothing any more.
func (w *World) SettleMachine(name string) Outcome {
	w.TB.Helper()
	return w.settle(func() Outcome {
		result, err := w.ReconcileMachine(name)
		return Outcome{Result: result, Err: err}
	})
}

// SettleCluster is SettleMachine for the cluster.
func (w *World) SettleCluster() Outcome {
	w.TB.Helper()
	return w.settle(func() Outcome {
		result, err := w.ReconcileCluster()
		return Outcome{Result: result, Err: err}
	})
}

func (w *World) settle(look func() Outcome) Outcome {
	w.TB.Helper()
	quiet := 0
	for range maxPasses {
		before := w.Versions()
		outcome := look()
		w.Clock.SetTime(w.Clock.Now().Add(tick))
		if !slices.Equal(before, w.Versions()) {
			quiet = 0
			continue
		}
		if quiet++; quiet == quietPasses {
			return outcome
		}
	}
	mutations := w.Mutations()
	w.TB.Fatalf("the controller does not come to rest; its last mutations:\n%s", strings.Join(mutations[max(0, len(mutations)-10):], "\n"))
	return Outcome{}
}

// Check is what a lost status is rebuilt by.
type Check int

// The checks. Without the status being lost where it cannot be rebuilt, as
// while the engine does not answer; by the same manager where that knows of
// something that is nowhere else, as why a pull ended.
const (
	ByNewManager Check = iota
	BySameManager
	WithoutLoss
	// TryingAgain allows for mutations that are reverted within one reconcile, as where
	// a container is refused when it is to be started.
	TryingAgain
	TryingAgainWithoutLoss
)

// CheckMachine applies the checks that hold in every situation to a machine
// that has settled, see check. It ends with a status that was written again.
func (w *World) CheckMachine(name string, kind Check) {
	w.TB.Helper()
	object, there := Get(w, name, &infrav1.ContainerMachine{})
	if !there {
		return
	}
	check(w, name, object, checks[*infrav1.ContainerMachine]{
		kind:     kind,
		settle:   func() { w.SettleMachine(name) },
		forget:   func(object *infrav1.ContainerMachine) { object.Status = infrav1.ContainerMachineStatus{} },
		status:   func(object *infrav1.ContainerMachine) any { return withoutTimes(object.DeepCopy()).Status },
		summedUp: []string{infrav1.ContainerReadyCondition, infrav1.BootstrapCompletedCondition},
	})
}

// CheckCluster is CheckMachine for the cluster.
func (w *World) CheckCluster(kind Check) {
	w.TB.Helper()
	object, there := Get(w, builders.Cluster, &infrav1.ContainerCluster{})
	if !there {
		return
	}
	check(w, builders.Cluster, object, checks[*infrav1.ContainerCluster]{
		kind:     kind,
		settle:   func() { w.SettleCluster() },
		forget:   func(object *infrav1.ContainerCluster) { object.Status = infrav1.ContainerClusterStatus{} },
		status:   func(object *infrav1.ContainerCluster) any { return withoutTimes(object.DeepCopy()).Status },
		summedUp: []string{infrav1.NetworkReadyCondition, infrav1.LoadBalancerReadyCondition},
	})
}

type checked interface {
	conditions.Setter

	client.Object
}

type checks[T checked] struct {
	kind     Check
	settle   func()
	forget   func(T)
	status   func(T) any
	summedUp []string
}

// check: the object's conditions keep their invariants; another reconcile changes
// nothing, on the engine or on the API server; and a status that was lost is
// written again as it was.
func check[T checked](w *World, name string, object T, c checks[T]) {
	w.TB.Helper()
	if conditions.IsTrue(object, clusterv1.PausedCondition) || len(object.GetFinalizers()) == 0 {
		// What is not reconciled has no conditions to check.
		c.summedUp = nil
	} else {
		for _, problem := range ConditionProblems(object, c.summedUp, []string{builders.SecretWord}) {
			w.TB.Errorf("%T %s: %s", object, name, problem)
		}
	}
	// So that a time that is written again is another one.
	EditStatus(w, name, object, func(object T) {
		all := object.GetConditions()
		for i := range all {
			all[i].LastTransitionTime = metav1.NewTime(all[i].LastTransitionTime.Add(-time.Hour))
		}
		object.SetConditions(all)
	})
	mutations, versions := w.Mutations(), w.Versions()
	c.settle()
	if diff := cmp.Diff(mutations, w.Mutations()); diff != "" && c.kind != TryingAgain && c.kind != TryingAgainWithoutLoss {
		w.TB.Errorf("another reconcile changes something:\n%s", diff)
	}
	if diff := cmp.Diff(versions, w.Versions()); diff != "" {
		w.TB.Errorf("another reconcile leaves something different:\n%s", diff)
	}
	again, _ := Get(w, name, object)
	want := c.status(again)
	if c.summedUp == nil || c.kind == WithoutLoss || c.kind == TryingAgainWithoutLoss {
		return
	}
	EditStatus(w, name, object, c.forget)
	if c.kind == ByNewManager || c.kind == TryingAgain {
		w.Restart()
	}
	c.settle()
	if rebuilt, there := Get(w, name, object); there {
		if diff := cmp.Diff(want, c.status(rebuilt)); diff != "" {
			w.TB.Errorf("a lost status is not written again as it was (-before +after):\n%s", diff)
		}
	}
}

// withoutTimes takes out of conditions what differs from run to run.
func withoutTimes[T conditions.Setter](object T) T {
	all := object.GetConditions()
	for i := range all {
		all[i].LastTransitionTime = metav1.Time{}
	}
	object.SetConditions(all)
	return object
}

// State returns status and reason of a condition as "Status/Reason", and its
// message; "absent" where there is none.
func State(object conditions.Getter, conditionType string) (state, message string) {
	condition := conditions.Get(object, conditionType)
	if condition == nil {
		return "absent", ""
	}
	return fmt.Sprintf("%s/%s", condition.Status, condition.Reason), condition.Message
}
