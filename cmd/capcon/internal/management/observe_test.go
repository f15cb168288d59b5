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

package management

import (
	"context"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// ready is a cluster of one control plane and one worker that is complete.
func ready() Observed {
	return Observed{
		Cluster: &clusterv1.Cluster{
			ObjectMeta: metav1.ObjectMeta{Name: "demo", Generation: 2},
			Status: clusterv1.ClusterStatus{
				ObservedGeneration: 2,
				Initialization:     clusterv1.ClusterInitializationStatus{InfrastructureProvisioned: ptr.To(true), ControlPlaneInitialized: ptr.To(true)},
			},
		},
		Infrastructure: &infrav1.ContainerCluster{
			ObjectMeta: metav1.ObjectMeta{Name: "demo"},
			Spec:       infrav1.ContainerClusterSpec{LoadBalancer: infrav1.LoadBalancer{HostPort: 40001}},
		},
		ControlPlane: &controlplanev1.KubeadmControlPlane{
			ObjectMeta: metav1.ObjectMeta{Generation: 1},
			Spec:       controlplanev1.KubeadmControlPlaneSpec{Replicas: ptr.To[int32](1)},
			Status: controlplanev1.KubeadmControlPlaneStatus{
				ObservedGeneration: 1,
				Initialization:     controlplanev1.KubeadmControlPlaneInitializationStatus{ControlPlaneInitialized: ptr.To(true)},
				Replicas:           ptr.To[int32](1), ReadyReplicas: ptr.To[int32](1),
				AvailableReplicas: ptr.To[int32](1), UpToDateReplicas: ptr.To[int32](1),
			},
		},
		Workers: []clusterv1.MachineDeployment{{
			ObjectMeta: metav1.ObjectMeta{Name: "demo-worker", Generation: 1},
			Spec:       clusterv1.MachineDeploymentSpec{Replicas: ptr.To[int32](1)},
			Status: clusterv1.MachineDeploymentStatus{
				ObservedGeneration: 1,
				Replicas:           ptr.To[int32](1), ReadyReplicas: ptr.To[int32](1),
				AvailableReplicas: ptr.To[int32](1), UpToDateReplicas: ptr.To[int32](1),
			},
		}},
		Machines:      []clusterv1.Machine{workerMachine("demo-worker-b"), controlPlaneMachine("demo-control-plane-a")},
		Containers:    []infrav1.ContainerMachine{container("demo-worker-b"), container("demo-control-plane-a")},
		HasKubeconfig: true,
	}
}

func machine(name string) clusterv1.Machine {
	return clusterv1.Machine{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}},
		Spec:       clusterv1.MachineSpec{InfrastructureRef: clusterv1.ContractVersionedObjectReference{Name: name}},
		Status: clusterv1.MachineStatus{
			NodeRef: clusterv1.MachineNodeReference{Name: name},
			Conditions: []metav1.Condition{
				{Type: clusterv1.MachineInfrastructureReadyCondition, Status: metav1.ConditionTrue},
				{Type: clusterv1.MachineNodeReadyCondition, Status: metav1.ConditionTrue},
			},
		},
	}
}

func controlPlaneMachine(name string) clusterv1.Machine {
	made := machine(name)
	made.Labels[clusterv1.MachineControlPlaneLabel] = ""
	return made
}

func workerMachine(name string) clusterv1.Machine {
	made := machine(name)
	made.Labels[clusterv1.MachineDeploymentNameLabel] = "demo-worker"
	return made
}

func container(name string) infrav1.ContainerMachine {
	return infrav1.ContainerMachine{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Status: infrav1.ContainerMachineStatus{Conditions: []metav1.Condition{
			{Type: infrav1.ContainerReadyCondition, Status: metav1.ConditionTrue, Reason: infrav1.ContainerRunningReason},
			{Type: infrav1.BootstrapCompletedCondition, Status: metav1.ConditionTrue, Reason: infrav1.BootstrapCompletedReason},
		}},
	}
}

func TestWatchDeletion(t *testing.T) {
	t.Parallel()
	api := newWatched(t)
	deleted := WatchDeletion(t.Context(), api, "default", "demo")
	watcher := api.watcher(t)
	cluster := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "demo"}}
	watcher.Add(cluster)
	watcher.Modify(cluster)
	expectNone(t, deleted, "a change is reported as a deletion")
	watcher.Delete(cluster)
	expectOne(t, deleted, "the deletion is not reported")
}

func TestWatchReadiness(t *testing.T) {
	t.Parallel()
	api := newWatched(t)
	progress := WatchReadiness(t.Context(), api, "default", "demo")
	watcher := api.watcher(t)
	starting, ready := workerMachine("demo-worker-b"), workerMachine("demo-worker-b")
	starting.Status = clusterv1.MachineStatus{}
	watcher.Add(&starting)
	watcher.Modify(&starting)
	expectNone(t, progress, "a Machine that is not ready is reported")
	watcher.Modify(&ready)
	expectOne(t, progress, "a ready Machine is not reported")
	watcher.Modify(&ready)
	watcher.Error(&metav1.Status{Code: 410})
	expectNone(t, progress, "a Machine that was ready before is reported")

	watcher.Stop()
	watcher = api.watcher(t)
	watcher.Add(&ready)
	expectNone(t, progress, "a Machine that was ready before the watch ended is reported")
	watcher.Modify(&starting)
	watcher.Modify(&ready)
	expectOne(t, progress, "a Machine that is ready again is not reported")
}

// watched is an API server of which a test sends the events.
type watched struct {
	client.WithWatch

	watchers chan *watch.FakeWatcher
}

func newWatched(t *testing.T) *watched {
	t.Helper()
	w := &watched{watchers: make(chan *watch.FakeWatcher)}
	inner := fake.NewClientBuilder().WithScheme(must.Get(Scheme())(t)).Build()
	w.WithWatch = interceptor.NewClient(inner, interceptor.Funcs{
		Watch: func(ctx context.Context, _ client.WithWatch, _ client.ObjectList, _ ...client.ListOption) (watch.Interface, error) {
			watcher := watch.NewFake()
			select {
			case w.watchers <- watcher:
				return watcher, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		},
	})
	return w
}

// watcher of the next watch.
func (w *watched) watcher(t *testing.T) *watch.FakeWatcher {
	t.Helper()
	select {
	case watcher := <-w.watchers:
		return watcher
	case <-time.After(10 * time.Second):
		t.Fatal("no watch")
		return nil
	}
}

// expectNone: the events sent so far were received, for the watch is not buffered; the last
// one may still be looked at.
func expectNone(t *testing.T, events <-chan struct{}, problem string) {
	t.Helper()
	select {
	case <-events:
		t.Fatal(problem)
	case <-time.After(50 * time.Millisecond):
	}
}

func expectOne(t *testing.T, events <-chan struct{}, problem string) {
	t.Helper()
	select {
	case <-events:
	case <-time.After(10 * time.Second):
		t.Fatal(problem)
	}
}
