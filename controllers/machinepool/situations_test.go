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
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/cluster-api/util/labels/format"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1alpha1"
	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/world"
)

// situation is something a pool can get into, and what then has to be so.
type situation struct {
	reason   string
	replicas int32
	options  []builders.Option
	// happens after everything first came to rest.
	happens func(t *testing.T, w *world.World)

	// ready and upToDate are what the conditions say, as Status/Reason;
	// message is in the message of Ready.
	ready, upToDate, message string
	// instances at the end, and how many of them were there before it
	// happened.
	instances, kept int
	// provisioned says that Cluster API was told of the pool.
	provisioned bool
	// check of a lost status.
	check world.Check
	// holds are further checks.
	holds func(t *testing.T, w *world.World)
}

const (
	ready    = "True/Ready"
	upToDate = "True/UpToDate"
)

func TestSituations(t *testing.T) {
	t.Parallel()
	for _, table := range []map[string]situation{waiting(), scaled(), replaced(), rolledOut(), mended(), leftAlone()} {
		for name, s := range table {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				s.run(t)
			})
		}
	}
}

func (s situation) run(t *testing.T) {
	t.Helper()
	w := world.New(t, builders.New(append([]builders.Option{builders.MachinePool(s.replicas)}, s.options...)...))
	w.Nodes.FirstBoot(bootstrap.Done)
	outcome := w.SettlePool()
	before := names(w)
	if s.happens != nil {
		s.happens(t, w)
		outcome = w.SettlePool()
	}
	if outcome.Err != nil || outcome.Result.RequeueAfter != 0 {
		t.Errorf("%s\nit ends with %v, %v", s.reason, outcome.Result, outcome.Err)
	}
	pool := get(w)
	state, message := world.State(pool, infrav1.MachinePoolReadyCondition)
	current, _ := world.State(pool, infrav1.ReplicasUpToDateCondition)
	if diff := cmp.Diff([]string{s.ready, s.upToDate}, []string{state, current}); diff != "" {
		t.Errorf("%s\nReady, ReplicasUpToDate (-want +got):\n%s\nmessage: %s", s.reason, diff, message)
	}
	if !strings.Contains(message, s.message) {
		t.Errorf("%s\nmessage %q lacks %q", s.reason, message, s.message)
	}
	after := names(w)
	kept := slices.DeleteFunc(slices.Clone(after), func(name string) bool { return !slices.Contains(before, name) })
	if len(after) != s.instances || len(kept) != s.kept {
		t.Errorf("%s\nof %v there are %v, want %d, of them %d from before", s.reason, before, after, s.instances, s.kept)
	}
	checkContract(t, w, s)
	w.CheckPool(s.check)
	if s.holds != nil {
		s.holds(t, w)
	}
}

// checkContract: Cluster API finds in the pool what it looks for, and there is
// nothing beside it.
func checkContract(t *testing.T, w *world.World, s situation) {
	t.Helper()
	pool := get(w)
	var ids, machines []string
	for _, made := range w.ContainerMachines() {
		if made.Spec.ProviderID != "" {
			ids = append(ids, made.Spec.ProviderID)
		}
		if made.Labels[clusterv1.ClusterNameLabel] != builders.Cluster || made.Labels[clusterv1.MachinePoolNameLabel] != builders.Pool {
			t.Errorf("%s\n%s has the labels %v, by which Cluster API does not find it", s.reason, made.Name, made.Labels)
		}
		owned, err := controllerutil.HasOwnerReference(made.OwnerReferences, pool, w.Client.Scheme())
		if err != nil || !owned {
			t.Errorf("%s\n%s is not the pool's: %v", s.reason, made.Name, made.OwnerReferences)
		}
	}
	for _, machine := range w.Machines() {
		machines = append(machines, machine.Name)
	}
	if diff := cmp.Diff(names(w), machines); diff != "" {
		t.Errorf("%s\nContainerMachines (-) and Machines (+):\n%s", s.reason, diff)
	}
	slices.Sort(ids)
	if diff := cmp.Diff(ids, pool.Spec.ProviderIDList); diff != "" {
		t.Errorf("%s\nproviderIDList (-want +got):\n%s", s.reason, diff)
	}
	if got := int(pool.Status.Replicas); got != len(ids) {
		t.Errorf("%s\nstatus.replicas is %d, and there are %d provider IDs", s.reason, got, len(ids))
	}
	if ready := ptr.Deref(pool.Status.Ready, false); ready != s.provisioned || ready != ptr.Deref(pool.Status.Initialization.Provisioned, false) {
		t.Errorf("%s\nstatus.ready is %t, provisioned is %v, want %t", s.reason, ready, pool.Status.Initialization.Provisioned, s.provisioned)
	}
	containers, err := w.Engine.ListContainers(t.Context(), map[string]string{identity.LabelRole: string(identity.RoleWorker)})
	must(t, err)
	if len(containers) > len(names(w)) {
		t.Errorf("%s\n%d containers for %d instances", s.reason, len(containers), len(names(w)))
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

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// waiting are the situations before there is an instance.
func waiting() map[string]situation {
	return map[string]situation{
		"InfrastructureNotProvisioned": {
			reason: "Without a network there is no place for containers.", replicas: 2,
			options: []builders.Option{func(o *builders.Objects) {
				o.Cluster.Status.Initialization = clusterv1.ClusterInitializationStatus{}
			}},
			ready: "False/WaitingForClusterInfrastructure", upToDate: upToDate, message: "infrastructure",
		},
		"NoDataSecret": {
			reason: "Workers wait for the control plane, whose bootstrap data they need.",
			options: []builders.Option{builders.MachinePool(2, func(m *clusterv1.MachinePool, _ *infrav1.ContainerMachinePool) {
				m.Spec.Template.Spec.Bootstrap.DataSecretName = nil
			}), onlyLastPool},
			ready: "False/WaitingForBootstrapData", upToDate: upToDate, message: "data secret",
		},
		"NoReplicas": {
			reason: "A pool of none is complete.",
			ready:  ready, upToDate: upToDate, provisioned: true,
		},
		"Unset": {
			reason: "Who says nothing gets one, as Cluster API has it.",
			options: []builders.Option{builders.MachinePool(0, func(m *clusterv1.MachinePool, _ *infrav1.ContainerMachinePool) {
				m.Spec.Replicas = nil
			}), onlyLastPool},
			ready: ready, upToDate: upToDate, instances: 1, kept: 1, provisioned: true,
		},
		"DataSecretLater": {
			reason: "The name of the data secret starts it.",
			options: []builders.Option{builders.MachinePool(2, func(m *clusterv1.MachinePool, _ *infrav1.ContainerMachinePool) {
				m.Spec.Template.Spec.Bootstrap.DataSecretName = nil
			}), onlyLastPool},
			happens: func(_ *testing.T, w *world.World) {
				editMachinePool(w, func(m *clusterv1.MachinePool) {
					m.Spec.Template.Spec.Bootstrap.DataSecretName = ptr.To(builders.PoolSecret)
				})
			},
			ready: ready, upToDate: upToDate, instances: 2, provisioned: true,
		},
	}
}

// onlyLastPool leaves of several pools the last.
func onlyLastPool(o *builders.Objects) { o.Others = o.Others[len(o.Others)-2:] }

// scaled are the situations in which the number changes.
func scaled() map[string]situation {
	return map[string]situation{
		"Created": {
			reason: "As many as are wanted.", replicas: 3,
			ready: ready, upToDate: upToDate, instances: 3, kept: 3, provisioned: true,
			holds: func(t *testing.T, w *world.World) {
				t.Helper()
				pool := get(w)
				if pool.Status.InfrastructureMachineKind != "ContainerMachine" {
					t.Errorf("Cluster API makes Machines of kind %q", pool.Status.InfrastructureMachineKind)
				}
				for _, instance := range pool.Status.Instances {
					if instance.Version != "v1.36.3" || !ptr.Deref(instance.Ready, false) || instance.ProviderID == "" || len(instance.Addresses) != 2 {
						t.Errorf("an instance is told of as %+v", instance)
					}
				}
			},
		},
		"ScaledUp": {
			reason: "Those there are stay.", replicas: 1, happens: replicas(3),
			ready: ready, upToDate: upToDate, instances: 3, kept: 1, provisioned: true,
		},
		"ScaledDown": {
			reason: "As many go as are too many.", replicas: 3, happens: replicas(1),
			ready: ready, upToDate: upToDate, instances: 1, kept: 1, provisioned: true,
		},
		"ScaledToZero": {
			reason: "All go, and the pool stays provisioned.", replicas: 2, happens: replicas(0),
			ready: ready, upToDate: upToDate, provisioned: true,
		},
		"ScaledFromZero": {
			reason: "It comes back.", happens: replicas(2),
			ready: ready, upToDate: upToDate, instances: 2, provisioned: true,
		},
		"OneIsAskedFor": {
			reason: "The annotation chooses which one goes.", replicas: 2,
			happens: func(t *testing.T, w *world.World) {
				t.Helper()
				world.Edit(w, names(w)[0], &clusterv1.Machine{}, func(m *clusterv1.Machine) {
					m.Annotations = map[string]string{clusterv1.DeleteMachineAnnotation: "", "was": "asked"}
				})
				replicas(1)(t, w)
			},
			ready: ready, upToDate: upToDate, instances: 1, kept: 1, provisioned: true,
			holds: func(t *testing.T, w *world.World) {
				t.Helper()
				for _, machine := range w.Machines() {
					if machine.Annotations["was"] == "asked" {
						t.Error("the other one went")
					}
				}
			},
		},
		"NoMachineYet": {
			reason: "An instance whose Machine Cluster API has not made yet waits for it, to be removed with it.", replicas: 0,
			happens: func(t *testing.T, w *world.World) {
				t.Helper()
				replicas(1)(t, w)
				_, err := w.ReconcilePool()
				must(t, err)
				replicas(0)(t, w)
				_, err = w.ReconcilePool()
				must(t, err)
				if made := w.ContainerMachines(); len(made) != 1 || !made[0].DeletionTimestamp.IsZero() {
					t.Errorf("Without a Machine there are %d instances, want 1 that stays", len(made))
				}
			},
			ready: ready, upToDate: upToDate, provisioned: true,
		},
		"ManagedByOthers": {
			reason: "Where somebody else manages the number, none are made and none removed for it.", replicas: 2,
			happens: func(t *testing.T, w *world.World) {
				t.Helper()
				editMachinePool(w, func(m *clusterv1.MachinePool) {
					m.Annotations = map[string]string{clusterv1.ReplicasManagedByAnnotation: "somebody"}
				})
				replicas(5)(t, w)
				world.Delete(w, names(w)[0], &clusterv1.Machine{})
			},
			ready: ready, upToDate: upToDate, instances: 1, kept: 1, provisioned: true,
		},
		"LongName": {
			reason: "Cluster API finds instances by a label that holds a hash where the pool's name is too long for one.", replicas: 0,
			happens: func(t *testing.T, w *world.World) {
				t.Helper()
				long := strings.Repeat("long-", 14) + "name"
				machinePool, _ := world.Get(w, builders.Pool, &clusterv1.MachinePool{})
				renamed := machinePool.DeepCopy()
				renamed.ObjectMeta = metav1.ObjectMeta{Namespace: builders.Namespace, Name: long, UID: "long"}
				renamed.Spec.Replicas = ptr.To[int32](1)
				must(t, w.Client.Create(t.Context(), renamed))
				edit(w, func(p *infrav1.ContainerMachinePool) { p.OwnerReferences[0].Name = long })
				_, err := w.ReconcilePool()
				must(t, err)
				made := w.ContainerMachines()
				if len(made) != 1 || made[0].Labels[clusterv1.MachinePoolNameLabel] != format.MustFormatValue(long) {
					t.Fatalf("made %+v", made)
				}
				// What follows looks for Machines by the short name.
				world.Purge(w, made[0].Name, &infrav1.ContainerMachine{})
				edit(w, func(p *infrav1.ContainerMachinePool) { p.OwnerReferences[0].Name = builders.Pool })
			},
			ready: ready, upToDate: upToDate, provisioned: true,
		},
		"FailureDomains": {
			reason: "Instances are spread over the MachinePool's failure domains.",
			options: []builders.Option{builders.MachinePool(4, func(m *clusterv1.MachinePool, _ *infrav1.ContainerMachinePool) {
				m.Spec.FailureDomains = []string{"zone-a", "zone-b"}
			}), onlyLastPool},
			ready: ready, upToDate: upToDate, instances: 4, kept: 4, provisioned: true,
			holds: func(t *testing.T, w *world.World) {
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

// replaced are the situations in which an instance is lost.
func replaced() map[string]situation {
	return map[string]situation{
		"ContainerGone": {
			reason: "A Node whose container is gone does not come back: its Machine is replaced.", replicas: 2,
			happens: func(t *testing.T, w *world.World) {
				t.Helper()
				must(t, w.Engine.RemoveContainer(t.Context(), builders.Container(names(w)[0])))
			},
			ready: ready, upToDate: upToDate, instances: 2, kept: 1, provisioned: true,
		},
		"ContainerKilled": {
			reason: "A container that ended is started again, and nothing is replaced.", replicas: 2,
			happens: func(t *testing.T, w *world.World) {
				t.Helper()
				must(t, w.Engine.KillContainer(builders.Container(names(w)[0]), 137, false))
			},
			ready: ready, upToDate: upToDate, instances: 2, kept: 2, provisioned: true,
		},
		"MachineDeleted": {
			reason: "A Machine that somebody deletes is made up for.", replicas: 2,
			happens: func(_ *testing.T, w *world.World) { world.Delete(w, names(w)[0], &clusterv1.Machine{}) },
			ready:   ready, upToDate: upToDate, instances: 2, kept: 1, provisioned: true,
		},
		"ContainerMachineDeleted": {
			reason: "A Machine whose ContainerMachine somebody deletes has to go too.", replicas: 2,
			happens: func(_ *testing.T, w *world.World) { world.Delete(w, names(w)[0], &infrav1.ContainerMachine{}) },
			ready:   ready, upToDate: upToDate, instances: 2, kept: 1, provisioned: true,
		},
		"Dangling": {
			reason: "A Machine whose ContainerMachine is gone is of no use to anybody.", replicas: 2,
			happens: func(t *testing.T, w *world.World) {
				t.Helper()
				gone := names(w)[0]
				must(t, w.Engine.RemoveContainer(t.Context(), builders.Container(gone)))
				world.Purge(w, gone, &infrav1.ContainerMachine{})
			},
			ready: ready, upToDate: upToDate, instances: 2, kept: 1, provisioned: true,
		},
		"Unhealthy": {
			reason: "What a MachineHealthCheck wants replaced is replaced: Cluster API leaves that to the pool.", replicas: 2,
			happens: func(_ *testing.T, w *world.World) {
				world.EditStatus(w, names(w)[0], &clusterv1.Machine{}, func(m *clusterv1.Machine) {
					for _, conditionType := range []string{clusterv1.MachineHealthCheckSucceededCondition, clusterv1.MachineOwnerRemediatedCondition} {
						conditions.Set(m, metav1.Condition{Type: conditionType, Status: metav1.ConditionFalse, Reason: "Unhealthy"})
					}
				})
			},
			ready: ready, upToDate: upToDate, instances: 2, kept: 1, provisioned: true,
		},
		"BootstrapFails": {
			reason: "A bootstrap that failed is named and left to a MachineHealthCheck: the next one would fail as well.", replicas: 1,
			happens: func(t *testing.T, w *world.World) {
				t.Helper()
				w.Nodes.FirstBoot(bootstrap.Failed)
				replicas(2)(t, w)
			},
			ready: "False/NotReady", upToDate: upToDate, message: "(BootstrapFailed)", instances: 2, kept: 1, provisioned: true,
		},
	}
}

// rolledOut are the situations in which instances are wanted otherwise.
func rolledOut() map[string]situation {
	return map[string]situation{
		"Version": {
			reason: "Another version of Kubernetes replaces all.", replicas: 3,
			happens: func(_ *testing.T, w *world.World) {
				editMachinePool(w, func(m *clusterv1.MachinePool) { m.Spec.Template.Spec.Version = "v1.36.4" })
			},
			ready: ready, upToDate: upToDate, instances: 3, provisioned: true,
		},
		"Mounts": {
			reason: "Other mounts replace all.", replicas: 2,
			happens: func(_ *testing.T, w *world.World) {
				edit(w, func(p *infrav1.ContainerMachinePool) {
					p.Spec.Template.Spec.ExtraMounts = []infrav1.Mount{{ContainerPath: "/srv", HostPath: "/srv"}}
				})
			},
			ready: ready, upToDate: upToDate, instances: 2, provisioned: true,
		},
		"DataSecret": {
			reason: "Another bootstrap configuration, seen by its data secret, replaces all.", replicas: 2,
			happens: func(_ *testing.T, w *world.World) {
				w.PoolSecret("other-data")
				editMachinePool(w, func(m *clusterv1.MachinePool) {
					m.Spec.Template.Spec.Bootstrap.DataSecretName = ptr.To("other-data")
				})
			},
			ready: ready, upToDate: upToDate, instances: 2, provisioned: true,
		},
		"TokenRenewed": {
			reason: "A data secret with a new token in it is no reason to replace anything.", replicas: 2,
			happens: func(t *testing.T, w *world.World) {
				t.Helper()
				secret := builders.DataSecret(builders.Pool, strings.ReplaceAll(builders.JoinWorkerData, builders.SecretWord, "fedcba.9876543210fedcba"))
				must(t, w.Client.Update(t.Context(), secret))
			},
			ready: ready, upToDate: upToDate, instances: 2, kept: 2, provisioned: true,
		},
		"ImageThatCannotBeHad": {
			reason: "A rollout that fails stops at its first instance: the old ones go on.", replicas: 2,
			happens: func(_ *testing.T, w *world.World) {
				edit(w, func(p *infrav1.ContainerMachinePool) { p.Spec.Template.Spec.Image = "example.test/none:1" })
			},
			ready: ready, upToDate: "False/RollingOut", instances: 3, kept: 2, provisioned: true,
		},
		"ImageMended": {
			reason: "The failed one goes first when the template is mended, and what was not replaced yet stays.", replicas: 2,
			happens: func(_ *testing.T, w *world.World) {
				image := func(name string) {
					edit(w, func(p *infrav1.ContainerMachinePool) { p.Spec.Template.Spec.Image = name })
				}
				image("example.test/none:1")
				w.SettlePool()
				image(builders.NodeImage)
			},
			ready: ready, upToDate: upToDate, instances: 2, kept: 2, provisioned: true,
		},
		"TimeoutAndMetadata": {
			reason: "What an instance can have changed while it lives is changed.", replicas: 2,
			happens: func(_ *testing.T, w *world.World) {
				edit(w, func(p *infrav1.ContainerMachinePool) {
					p.Spec.Template.ObjectMeta = clusterv1.ObjectMeta{Labels: map[string]string{"l": "1"}, Annotations: map[string]string{"a": "2"}}
					p.Spec.Template.Spec.BootstrapTimeout = &metav1.Duration{Duration: time.Hour}
				})
			},
			ready: ready, upToDate: upToDate, instances: 2, kept: 2, provisioned: true,
			holds: func(t *testing.T, w *world.World) {
				t.Helper()
				for _, made := range w.ContainerMachines() {
					if made.Labels["l"] != "1" || made.Annotations["a"] != "2" || made.Spec.BootstrapTimeout.Duration != time.Hour {
						t.Errorf("%s has labels %v, annotations %v, timeout %v", made.Name, made.Labels, made.Annotations, made.Spec.BootstrapTimeout)
					}
				}
			},
		},
	}
}

// mended are the situations in which somebody took something away.
func mended() map[string]situation {
	return map[string]situation{
		"OwnersAndLabels": {
			reason: "Instances are found by one of both, and get the other back.", replicas: 2,
			happens: func(_ *testing.T, w *world.World) {
				isPool := func(owner metav1.OwnerReference) bool { return owner.Kind == "ContainerMachinePool" }
				world.Edit(w, names(w)[0], &infrav1.ContainerMachine{}, func(m *infrav1.ContainerMachine) {
					m.OwnerReferences = slices.DeleteFunc(m.OwnerReferences, isPool)
				})
				world.Edit(w, names(w)[1], &infrav1.ContainerMachine{}, func(m *infrav1.ContainerMachine) { m.Labels = nil })
			},
			ready: ready, upToDate: upToDate, instances: 2, kept: 2, provisioned: true,
		},
		"Finalizer": {
			reason: "Without it the pool would go before its instances.", replicas: 1,
			happens: func(_ *testing.T, w *world.World) {
				edit(w, func(p *infrav1.ContainerMachinePool) { p.Finalizers = nil })
			},
			ready: ready, upToDate: upToDate, instances: 1, kept: 1, provisioned: true,
			holds: func(t *testing.T, w *world.World) {
				t.Helper()
				if diff := cmp.Diff([]string{infrav1.MachinePoolFinalizer}, get(w).Finalizers); diff != "" {
					t.Errorf("finalizers (-want +got):\n%s", diff)
				}
			},
		},
		"EngineDown": {
			reason: "Of instances that nobody can look at it is not known whether they are ready.", replicas: 2,
			happens: func(_ *testing.T, w *world.World) {
				w.Calls.Hook(func(simulated.Call) error { return engine.ErrUnavailable }, nil)
			},
			ready: "Unknown/NotReady", upToDate: upToDate, message: "EngineUnavailable", instances: 2, kept: 2, provisioned: true,
		},
		"ProviderIDs": {
			reason: "A list that got lost is written again.", replicas: 2,
			happens: func(_ *testing.T, w *world.World) {
				edit(w, func(p *infrav1.ContainerMachinePool) { p.Spec.ProviderIDList = nil })
			},
			ready: ready, upToDate: upToDate, instances: 2, kept: 2, provisioned: true,
		},
	}
}

// leftAlone are the situations in which nothing may be done.
func leftAlone() map[string]situation {
	outdate := func(w *world.World) {
		editMachinePool(w, func(m *clusterv1.MachinePool) { m.Spec.Template.Spec.Version = "v1.36.4" })
	}
	return map[string]situation{
		"Paused": {
			reason: "A pool that is paused is neither scaled nor rolled out.", replicas: 2,
			happens: func(t *testing.T, w *world.World) {
				t.Helper()
				edit(w, func(p *infrav1.ContainerMachinePool) {
					p.Annotations = map[string]string{clusterv1.PausedAnnotation: ""}
				})
				outdate(w)
				replicas(3)(t, w)
			},
			ready: ready, upToDate: upToDate, instances: 2, kept: 2, provisioned: true,
		},
		"ClusterPaused": {
			reason: "Neither is one of a cluster that is paused.", replicas: 2,
			happens: func(t *testing.T, w *world.World) {
				t.Helper()
				world.Edit(w, builders.Cluster, &clusterv1.Cluster{}, func(c *clusterv1.Cluster) { c.Spec.Paused = ptr.To(true) })
				outdate(w)
				replicas(0)(t, w)
			},
			ready: ready, upToDate: upToDate, instances: 2, kept: 2, provisioned: true,
		},
		"ExternallyManaged": {
			reason: "What somebody else manages is not touched.",
			options: []builders.Option{builders.MachinePool(2, func(_ *clusterv1.MachinePool, p *infrav1.ContainerMachinePool) {
				p.Annotations = map[string]string{clusterv1.ManagedByAnnotation: "somebody"}
			}), onlyLastPool},
			ready: "absent", upToDate: "absent",
			holds: func(t *testing.T, w *world.World) {
				t.Helper()
				if pool := get(w); len(pool.Finalizers) > 0 || len(pool.Status.Conditions) > 0 {
					t.Errorf("finalizers %v, conditions %v", pool.Finalizers, pool.Status.Conditions)
				}
			},
		},
		"NotTakenOver": {
			reason: "Without its MachinePool nobody says how many there should be.",
			options: []builders.Option{builders.MachinePool(2, func(_ *clusterv1.MachinePool, p *infrav1.ContainerMachinePool) {
				p.OwnerReferences = nil
			}), onlyLastPool},
			ready: "absent", upToDate: "absent",
		},
		"MachinePoolDeleted": {
			reason: "What is to go is not scaled up any more.", replicas: 1,
			happens: func(t *testing.T, w *world.World) {
				t.Helper()
				editMachinePool(w, func(m *clusterv1.MachinePool) {
					m.Finalizers, m.Spec.Replicas = []string{clusterv1.MachinePoolFinalizer}, ptr.To[int32](3)
				})
				world.Delete(w, builders.Pool, &clusterv1.MachinePool{})
			},
			ready: "False/NotReady", upToDate: upToDate, instances: 1, kept: 1, provisioned: true,
		},
	}
}
