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

package machinepool_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/labels/format"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/record"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
	"github.com/capi-samples/cluster-api-provider-container/test/world"
)

// reconcileTest reconciles a pool until nothing changes, twice if change is set.
type reconcileTest struct {
	reason string
	args   args
	want   want
	// check of a lost status.
	check world.Check
	// assert what want has no field for.
	assert func(t *testing.T, w *world.World)
}

type args struct {
	replicas int32
	options  []builders.Option
	// change after nothing changes any more.
	change func(t *testing.T, w *world.World)
}

type want struct {
	// Conditions as Status/Reason, and part of the message of Ready.
	ready, replicasUpToDate, message string
	// instances, and how many of them are those of before the change.
	instances, kept int
	// provisioned = status.initialization.provisioned is set.
	provisioned bool
}

const (
	ready    = "True/" + infrav1.ReplicasReadyReason
	upToDate = "True/" + infrav1.ReplicasUpToDateReason
)

func TestReconcile(t *testing.T) {
	t.Parallel()
	for _, table := range []map[string]reconcileTest{waiting(), scaled(), replaced(), rolledOut(), repaired(), ignored()} {
		for name, test := range table {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test.run(t)
			})
		}
	}
}

func (test reconcileTest) run(t *testing.T) {
	t.Helper()
	w := world.New(t, builders.New(append([]builders.Option{builders.MachinePool(test.args.replicas)}, test.args.options...)...))
	w.Nodes.FirstBoot(record.Done)
	outcome := w.SettlePool()
	before := names(w)
	if test.args.change != nil {
		test.args.change(t, w)
		outcome = w.SettlePool()
	}
	if outcome.Err != nil || outcome.Result.RequeueAfter != 0 {
		t.Errorf("%s\nthe last reconcile returned %v, %v", test.reason, outcome.Result, outcome.Err)
	}
	pool := get(w)
	after := names(w)
	kept := slices.DeleteFunc(slices.Clone(after), func(name string) bool { return !slices.Contains(before, name) })
	got := want{instances: len(after), kept: len(kept), provisioned: ptr.Deref(pool.Status.Initialization.Provisioned, false)}
	got.ready, got.message = world.State(pool, infrav1.MachinePoolReadyCondition)
	got.replicasUpToDate, _ = world.State(pool, infrav1.ReplicasUpToDateCondition)
	if strings.Contains(got.message, test.want.message) {
		test.want.message = got.message
	}
	if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(want{})); diff != "" {
		t.Errorf("%s (-want +got):\n%s\ninstances before %v, after %v", test.reason, diff, before, after)
	}
	checkContract(t, w, test.reason)
	w.CheckPool(test.check)
	if test.assert != nil {
		test.assert(t, w)
	}
}

// checkContract that Cluster API finds the pool's instances, and that there are no others.
func checkContract(t *testing.T, w *world.World, reason string) {
	t.Helper()
	pool := get(w)
	var ids, machines []string
	for _, made := range w.ContainerMachines() {
		if made.Spec.ProviderID != "" {
			ids = append(ids, made.Spec.ProviderID)
		}
		if made.Labels[clusterv1.ClusterNameLabel] != builders.Cluster || made.Labels[clusterv1.MachinePoolNameLabel] != builders.Pool {
			t.Errorf("%s\n%s has the labels %v, by which Cluster API does not find it", reason, made.Name, made.Labels)
		}
		owned, err := controllerutil.HasOwnerReference(made.OwnerReferences, pool, w.Client.Scheme())
		if err != nil || !owned {
			t.Errorf("%s\n%s is not the pool's: %v", reason, made.Name, made.OwnerReferences)
		}
	}
	for _, machine := range w.Machines() {
		machines = append(machines, machine.Name)
	}
	if diff := cmp.Diff(names(w), machines); diff != "" {
		t.Errorf("%s\nContainerMachines (-) and Machines (+):\n%s", reason, diff)
	}
	slices.Sort(ids)
	if diff := cmp.Diff(ids, pool.Spec.ProviderIDList); diff != "" {
		t.Errorf("%s\nproviderIDList (-want +got):\n%s", reason, diff)
	}
	if got := int(pool.Status.Replicas); got != len(ids) {
		t.Errorf("%s\nstatus.replicas is %d, and there are %d provider IDs", reason, got, len(ids))
	}
	if ready := ptr.Deref(pool.Status.Ready, false); ready != ptr.Deref(pool.Status.Initialization.Provisioned, false) {
		t.Errorf("%s\nstatus.ready is %t, want the value of status.initialization.provisioned", reason, ready)
	}
	containers := must.Get(w.Engine.ListContainers(t.Context(), map[string]string{identity.LabelRole: string(identity.RoleWorker)}))(t)
	if len(containers) > len(names(w)) {
		t.Errorf("%s\n%d containers for %d instances", reason, len(containers), len(names(w)))
	}
}

// names of the instances, sorted.
func names(w *world.World) []string {
	var all []string
	for _, made := range w.ContainerMachines() {
		all = append(all, made.Name)
	}
	return all
}

func get(w *world.World) *infrav1.ContainerMachinePool {
	pool, _ := world.Get(w, builders.Pool, &infrav1.ContainerMachinePool{})
	return pool
}

func edit(w *world.World, change func(*infrav1.ContainerMachinePool)) {
	world.Edit(w, builders.Pool, &infrav1.ContainerMachinePool{}, change)
}

func editMachinePool(w *world.World, change func(*clusterv1.MachinePool)) {
	world.Edit(w, builders.Pool, &clusterv1.MachinePool{}, change)
}

func replicas(count int32) func(*testing.T, *world.World) {
	return func(_ *testing.T, w *world.World) {
		editMachinePool(w, func(m *clusterv1.MachinePool) { m.Spec.Replicas = ptr.To(count) })
	}
}

// waiting tests what comes before the first instance.
func waiting() map[string]reconcileTest {
	return map[string]reconcileTest{
		"InfrastructureNotProvisioned": {
			reason: "Without a network there is no place for containers.",
			args: args{
				replicas: 2,
				options: []builders.Option{func(o *builders.Objects) {
					o.Cluster.Status.Initialization = clusterv1.ClusterInitializationStatus{}
				}},
			},
			want: want{ready: "False/" + infrav1.WaitingForInfrastructureReason, replicasUpToDate: upToDate, message: "infrastructure"},
		},
		"NoDataSecret": {
			reason: "Workers wait for the control plane, whose bootstrap data they need.",
			args: args{
				options: []builders.Option{builders.MachinePool(2, func(m *clusterv1.MachinePool, _ *infrav1.ContainerMachinePool) {
					m.Spec.Template.Spec.Bootstrap.DataSecretName = nil
				}), onlyLastPool},
			},
			want: want{ready: "False/" + infrav1.WaitingForBootstrapDataReason, replicasUpToDate: upToDate, message: "data secret"},
		},
		"NoReplicas": {
			reason: "A pool of none is complete.",
			want:   want{ready: ready, replicasUpToDate: upToDate, provisioned: true},
		},
		"Unset": {
			reason: "Who says nothing gets one, as Cluster API has it.",
			args: args{
				options: []builders.Option{builders.MachinePool(0, func(m *clusterv1.MachinePool, _ *infrav1.ContainerMachinePool) {
					m.Spec.Replicas = nil
				}), onlyLastPool},
			},
			want: want{ready: ready, replicasUpToDate: upToDate, instances: 1, kept: 1, provisioned: true},
		},
		"DataSecretLater": {
			reason: "The name of the data secret starts it.",
			args: args{
				options: []builders.Option{builders.MachinePool(2, func(m *clusterv1.MachinePool, _ *infrav1.ContainerMachinePool) {
					m.Spec.Template.Spec.Bootstrap.DataSecretName = nil
				}), onlyLastPool},
				change: func(_ *testing.T, w *world.World) {
					editMachinePool(w, func(m *clusterv1.MachinePool) {
						m.Spec.Template.Spec.Bootstrap.DataSecretName = ptr.To(builders.PoolSecret)
					})
				},
			},
			want: want{ready: ready, replicasUpToDate: upToDate, instances: 2, provisioned: true},
		},
	}
}

// onlyLastPool leaves of several pools the last.
func onlyLastPool(o *builders.Objects) { o.Others = o.Others[len(o.Others)-2:] }

// scaled tests a change of replicas.
func scaled() map[string]reconcileTest {
	return map[string]reconcileTest{
		"Created": {
			reason: "As many as are wanted.",
			args:   args{replicas: 3},
			want:   want{ready: ready, replicasUpToDate: upToDate, instances: 3, kept: 3, provisioned: true},
			assert: func(t *testing.T, w *world.World) {
				t.Helper()
				pool := get(w)
				if pool.Status.InfrastructureMachineKind != "ContainerMachine" {
					t.Errorf("Cluster API makes Machines of kind %q", pool.Status.InfrastructureMachineKind)
				}
				for _, instance := range pool.Status.Instances {
					if instance.Version != "v1.36.3" || !ptr.Deref(instance.Ready, false) || instance.ProviderID == "" || len(instance.Addresses) != 2 {
						t.Errorf("status.instances has %+v", instance)
					}
				}
			},
		},
		"ScaledToZero": {
			reason: "All go, and the pool stays provisioned.",
			args:   args{replicas: 2, change: replicas(0)},
			want:   want{ready: ready, replicasUpToDate: upToDate, provisioned: true},
		},
		"OneIsAskedFor": {
			reason: "The annotation chooses which one goes.",
			args: args{
				replicas: 2,
				change: func(t *testing.T, w *world.World) {
					t.Helper()
					world.Edit(w, names(w)[0], &clusterv1.Machine{}, func(m *clusterv1.Machine) {
						m.Annotations = map[string]string{clusterv1.DeleteMachineAnnotation: "", "was": "asked"}
					})
					replicas(1)(t, w)
				},
			},
			want: want{ready: ready, replicasUpToDate: upToDate, instances: 1, kept: 1, provisioned: true},
			assert: func(t *testing.T, w *world.World) {
				t.Helper()
				for _, machine := range w.Machines() {
					if machine.Annotations["was"] == "asked" {
						t.Error("the other one went")
					}
				}
			},
		},
		"NoMachineYet": {
			reason: "An instance whose Machine Cluster API has not made yet waits for it, to be removed with it.",
			args: args{
				replicas: 0,
				change: func(t *testing.T, w *world.World) {
					t.Helper()
					replicas(1)(t, w)
					_, err := w.ReconcilePool()
					must.Succeed(t, err)
					replicas(0)(t, w)
					_, err = w.ReconcilePool()
					must.Succeed(t, err)
					if made := w.ContainerMachines(); len(made) != 1 || !made[0].DeletionTimestamp.IsZero() {
						t.Errorf("Without a Machine there are %d instances, want 1 that stays", len(made))
					}
				},
			},
			want: want{ready: ready, replicasUpToDate: upToDate, provisioned: true},
		},
		"ManagedByOthers": {
			reason: "With externally managed replicas, instances are neither created nor deleted.",
			args: args{
				replicas: 2,
				change: func(t *testing.T, w *world.World) {
					t.Helper()
					editMachinePool(w, func(m *clusterv1.MachinePool) {
						m.Annotations = map[string]string{clusterv1.ReplicasManagedByAnnotation: "other"}
					})
					replicas(5)(t, w)
					world.Delete(w, names(w)[0], &clusterv1.Machine{})
				},
			},
			want: want{ready: ready, replicasUpToDate: upToDate, instances: 1, kept: 1, provisioned: true},
		},
		"LongName": {
			reason: "Cluster API finds instances by a label that holds a hash where the pool's name is too long for one.",
			args: args{
				replicas: 0,
				change: func(t *testing.T, w *world.World) {
					t.Helper()
					long := strings.Repeat("long-", 14) + "name"
					machinePool, _ := world.Get(w, builders.Pool, &clusterv1.MachinePool{})
					renamed := machinePool.DeepCopy()
					renamed.ObjectMeta = metav1.ObjectMeta{Namespace: builders.Namespace, Name: long, UID: "long"}
					renamed.Spec.Replicas = ptr.To[int32](1)
					must.Succeed(t, w.Client.Create(t.Context(), renamed))
					edit(w, func(p *infrav1.ContainerMachinePool) { p.OwnerReferences[0].Name = long })
					must.Get(w.ReconcilePool())(t)
					made := w.ContainerMachines()
					if len(made) != 1 || made[0].Labels[clusterv1.MachinePoolNameLabel] != format.MustFormatValue(long) {
						t.Fatalf("made %+v", made)
					}
					// What follows looks for Machines by the short name.
					world.Purge(w, made[0].Name, &infrav1.ContainerMachine{})
					edit(w, func(p *infrav1.ContainerMachinePool) { p.OwnerReferences[0].Name = builders.Pool })
				},
			},
			want: want{ready: ready, replicasUpToDate: upToDate, provisioned: true},
		},
		"FailureDomains": {
			reason: "Instances are spread over the MachinePool's failure domains.",
			args: args{
				options: []builders.Option{builders.MachinePool(4, func(m *clusterv1.MachinePool, _ *infrav1.ContainerMachinePool) {
					m.Spec.FailureDomains = []string{"zone-a", "zone-b"}
				}), onlyLastPool},
			},
			want: want{ready: ready, replicasUpToDate: upToDate, instances: 4, kept: 4, provisioned: true},
			assert: func(t *testing.T, w *world.World) {
				t.Helper()
				in := map[string]int{}
				for _, made := range w.ContainerMachines() {
					in[made.Status.FailureDomain]++
				}
				if diff := cmp.Diff(map[string]int{"zone-a": 2, "zone-b": 2}, in); diff != "" {
					t.Errorf("failure domains (-want +got):\n%s", diff)
				}
			},
		},
	}
}
