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
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/record"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
	"github.com/capi-samples/cluster-api-provider-container/test/world"
)

// replaced tests the loss of an instance.
func replaced() map[string]reconcileTest {
	return map[string]reconcileTest{
		"ContainerGone": {
			reason: "A Node whose container is gone does not come back: its Machine is replaced.",
			args: args{
				replicas: 2,
				change: func(t *testing.T, w *world.World) {
					t.Helper()
					must.Succeed(t, w.Engine.RemoveContainer(t.Context(), builders.Container(names(w)[0])))
				},
			},
			want: want{ready: ready, replicasUpToDate: upToDate, instances: 2, kept: 1, provisioned: true},
		},
		"ContainerMachineDeleted": {
			reason: "A Machine whose ContainerMachine was deleted is deleted too.",
			args: args{
				replicas: 2,
				change:   func(_ *testing.T, w *world.World) { world.Delete(w, names(w)[0], &infrav1.ContainerMachine{}) },
			},
			want: want{ready: ready, replicasUpToDate: upToDate, instances: 2, kept: 1, provisioned: true},
		},
		"Dangling": {
			reason: "A Machine whose ContainerMachine is gone is of no use.",
			args: args{
				replicas: 2,
				change: func(t *testing.T, w *world.World) {
					t.Helper()
					gone := names(w)[0]
					must.Succeed(t, w.Engine.RemoveContainer(t.Context(), builders.Container(gone)))
					world.Purge(w, gone, &infrav1.ContainerMachine{})
				},
			},
			want: want{ready: ready, replicasUpToDate: upToDate, instances: 2, kept: 1, provisioned: true},
		},
		"Unhealthy": {
			reason: "What a MachineHealthCheck wants replaced is replaced: Cluster API leaves that to the pool.",
			args: args{
				replicas: 2,
				change: func(_ *testing.T, w *world.World) {
					world.EditStatus(w, names(w)[0], &clusterv1.Machine{}, func(m *clusterv1.Machine) {
						for _, conditionType := range []string{clusterv1.MachineHealthCheckSucceededCondition, clusterv1.MachineOwnerRemediatedCondition} {
							conditions.Set(m, metav1.Condition{Type: conditionType, Status: metav1.ConditionFalse, Reason: "Unhealthy"})
						}
					})
				},
			},
			want: want{ready: ready, replicasUpToDate: upToDate, instances: 2, kept: 1, provisioned: true},
		},
		"BootstrapFails": {
			reason: "A bootstrap that failed is named and left to a MachineHealthCheck: the next one would fail as well.",
			args: args{
				replicas: 1,
				change: func(t *testing.T, w *world.World) {
					t.Helper()
					w.Nodes.FirstBoot(record.Failed)
					replicas(2)(t, w)
				},
			},
			want: want{ready: "False/" + infrav1.ReplicasNotReadyReason, replicasUpToDate: upToDate, message: "(BootstrapFailed)", instances: 2, kept: 1, provisioned: true},
		},
	}
}

// changeData changes the content of the data secret and not its name.
func changeData(t *testing.T, w *world.World) {
	t.Helper()
	data := strings.Replace(builders.JoinWorkerData, "runcmd:\n", "runcmd:\n- touch /tmp/changed\n", 1)
	must.Succeed(t, w.Client.Update(t.Context(), builders.DataSecret(builders.Pool, data)))
}

// rolledOut tests outdated instances.
func rolledOut() map[string]reconcileTest {
	return map[string]reconcileTest{
		"Version": {
			reason: "Another version of Kubernetes replaces all.",
			args: args{
				replicas: 3,
				change: func(_ *testing.T, w *world.World) {
					editMachinePool(w, func(m *clusterv1.MachinePool) { m.Spec.Template.Spec.Version = "v1.36.4" })
				},
			},
			want: want{ready: ready, replicasUpToDate: upToDate, instances: 3, provisioned: true},
		},
		"Mounts": {
			reason: "Other mounts replace all.",
			args: args{
				replicas: 2,
				change: func(_ *testing.T, w *world.World) {
					edit(w, func(p *infrav1.ContainerMachinePool) {
						p.Spec.Template.Spec.ExtraMounts = []infrav1.Mount{{ContainerPath: "/srv", HostPath: "/srv"}}
					})
				},
			},
			want: want{ready: ready, replicasUpToDate: upToDate, instances: 2, provisioned: true},
		},
		"Storage": {
			reason: "Nodes mount the volume of the cluster when they are created.",
			args: args{
				replicas: 2,
				change: func(_ *testing.T, w *world.World) {
					edit(w, func(p *infrav1.ContainerMachinePool) {
						p.Spec.Template.ObjectMeta.Annotations = map[string]string{infrav1.StorageAnnotation: string(infrav1.StorageCluster)}
					})
				},
			},
			want: want{ready: ready, replicasUpToDate: upToDate, instances: 2, provisioned: true},
		},
		"DataSecret": {
			reason: "Another bootstrap configuration, seen by its data secret, replaces all.",
			args: args{
				replicas: 2,
				change: func(_ *testing.T, w *world.World) {
					w.PoolSecret("other-data")
					editMachinePool(w, func(m *clusterv1.MachinePool) {
						m.Spec.Template.Spec.Bootstrap.DataSecretName = ptr.To("other-data")
					})
				},
			},
			want: want{ready: ready, replicasUpToDate: upToDate, instances: 2, provisioned: true},
		},
		"TokenRenewed": {
			reason: "A data secret with a new token in it is no reason to replace anything.",
			args: args{
				replicas: 2,
				change: func(t *testing.T, w *world.World) {
					t.Helper()
					secret := builders.DataSecret(builders.Pool, strings.ReplaceAll(builders.JoinWorkerData, builders.SecretWord, "fedcba.9876543210fedcba"))
					must.Succeed(t, w.Client.Update(t.Context(), secret))
				},
			},
			want: want{ready: ready, replicasUpToDate: upToDate, instances: 2, kept: 2, provisioned: true},
		},
		"DataChanged": {
			reason: "A data secret with another configuration in it replaces all.",
			args:   args{replicas: 2, change: changeData},
			want:   want{ready: ready, replicasUpToDate: upToDate, instances: 2, provisioned: true},
		},
		"DataChangedBeforeTheRecord": {
			reason: "With which data instances of earlier releases were created is not known: an upgrade replaces none.",
			args: args{
				replicas: 2,
				change: func(t *testing.T, w *world.World) {
					t.Helper()
					for _, name := range names(w) {
						world.Edit(w, name, &infrav1.ContainerMachine{}, func(m *infrav1.ContainerMachine) {
							delete(m.Annotations, infrav1.BootstrapDataHashAnnotation)
						})
					}
					changeData(t, w)
				},
			},
			want: want{ready: ready, replicasUpToDate: upToDate, instances: 2, kept: 2, provisioned: true},
			assert: func(t *testing.T, w *world.World) {
				t.Helper()
				for _, made := range w.ContainerMachines() {
					if made.Annotations[infrav1.BootstrapDataHashAnnotation] == "" {
						t.Errorf("the next change would not replace %s", made.Name)
					}
				}
			},
		},
		"DataInvalid": {
			reason: "Nothing is replaced for data that no instance could be created with.",
			args: args{
				replicas: 2,
				change: func(t *testing.T, w *world.World) {
					t.Helper()
					must.Succeed(t, w.Client.Update(t.Context(), builders.DataSecret(builders.Pool, "broken")))
				},
			},
			want: want{ready: ready, replicasUpToDate: upToDate, instances: 2, kept: 2, provisioned: true},
		},
		"ImageThatCannotBeHad": {
			reason: "A rollout that fails stops at its first instance: the old ones stay.",
			args: args{
				replicas: 2,
				change: func(_ *testing.T, w *world.World) {
					edit(w, func(p *infrav1.ContainerMachinePool) { p.Spec.Template.Spec.Image = "example.test/none:1" })
				},
			},
			want: want{ready: ready, replicasUpToDate: "False/" + infrav1.RollingOutReason, instances: 3, kept: 2, provisioned: true},
		},
		"ImageCorrected": {
			reason: "After a correction of the template the failed instance is replaced first; the others stay.",
			args: args{
				replicas: 2,
				change: func(_ *testing.T, w *world.World) {
					image := func(name string) {
						edit(w, func(p *infrav1.ContainerMachinePool) { p.Spec.Template.Spec.Image = name })
					}
					image("example.test/none:1")
					w.SettlePool()
					image(builders.NodeImage)
				},
			},
			want: want{ready: ready, replicasUpToDate: upToDate, instances: 2, kept: 2, provisioned: true},
		},
		"TimeoutAndMetadata": {
			reason: "What an instance can have changed while it lives is changed.",
			args: args{
				replicas: 2,
				change: func(_ *testing.T, w *world.World) {
					edit(w, func(p *infrav1.ContainerMachinePool) {
						p.Spec.Template.ObjectMeta = clusterv1.ObjectMeta{Labels: map[string]string{"l": "1"}, Annotations: map[string]string{"a": "2"}}
						p.Spec.Template.Spec.BootstrapTimeout = &metav1.Duration{Duration: time.Hour}
					})
				},
			},
			want: want{ready: ready, replicasUpToDate: upToDate, instances: 2, kept: 2, provisioned: true},
			assert: func(t *testing.T, w *world.World) {
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
