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

package machine_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	testclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/clustercache"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1alpha1"
	"github.com/capi-samples/cluster-api-provider-container/controllers/hostfacts"
	"github.com/capi-samples/cluster-api-provider-container/controllers/machine"
	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/imagepull"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
	"github.com/capi-samples/cluster-api-provider-container/internal/node"
)

const (
	namespace = "default"
	nodeImage = "example.test/node:v1.36.3"
	// workerData joins a worker, as far as this provider can tell.
	workerData = `#cloud-config
write_files:
- path: /run/kubeadm/kubeadm-join-config.yaml
  content: |
    apiVersion: kubeadm.k8s.io/v1beta4
    kind: JoinConfiguration
    nodeRegistration: {}
runcmd:
- kubeadm join --config /run/kubeadm/kubeadm-join-config.yaml
`
	// controlPlaneData joins a control plane.
	controlPlaneData = `#cloud-config
write_files:
- path: /run/kubeadm/kubeadm-join-config.yaml
  content: |
    apiVersion: kubeadm.k8s.io/v1beta4
    kind: JoinConfiguration
    controlPlane: {}
    nodeRegistration: {}
runcmd:
- kubeadm join --config /run/kubeadm/kubeadm-join-config.yaml
`
)

// world is an API server and an engine with one cluster and one machine.
type world struct {
	t          *testing.T
	client     client.Client
	engine     *simulated.Engine
	clock      *testclock.FakePassiveClock
	reconciler *machine.Reconciler
	events     *events.FakeRecorder
}

// option changes the objects a world begins with.
type option func(*objects)

type objects struct {
	cluster          *clusterv1.Cluster
	containerCluster *infrav1.ContainerCluster
	machine          *clusterv1.Machine
	containerMachine *infrav1.ContainerMachine
	secret           *corev1.Secret
}

func (o *objects) all() []client.Object {
	return []client.Object{o.cluster, o.containerCluster, o.machine, o.containerMachine, o.secret}
}

func newObjects() *objects {
	labels := map[string]string{clusterv1.ClusterNameLabel: "c1"}
	return &objects{
		cluster: &clusterv1.Cluster{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "c1"},
			Spec: clusterv1.ClusterSpec{InfrastructureRef: clusterv1.ContractVersionedObjectReference{
				APIGroup: infrav1.GroupVersion.Group, Kind: "ContainerCluster", Name: "c1",
			}},
			Status: clusterv1.ClusterStatus{Initialization: clusterv1.ClusterInitializationStatus{InfrastructureProvisioned: ptr.To(true)}},
		},
		containerCluster: &infrav1.ContainerCluster{ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: "c1", Labels: labels,
			Annotations: map[string]string{infrav1.OwnerIDAnnotation: "abcdefgh"},
		}},
		machine: &clusterv1.Machine{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "m1", Labels: labels, UID: "machine-uid"},
			Spec: clusterv1.MachineSpec{
				ClusterName: "c1", Version: "v1.36.3", FailureDomain: "zone-a",
				Bootstrap: clusterv1.Bootstrap{DataSecretName: ptr.To("m1-data")},
				InfrastructureRef: clusterv1.ContractVersionedObjectReference{
					APIGroup: infrav1.GroupVersion.Group, Kind: "ContainerMachine", Name: "m1",
				},
			},
		},
		containerMachine: &infrav1.ContainerMachine{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: namespace, Name: "m1", Labels: labels, Finalizers: []string{infrav1.MachineFinalizer},
				OwnerReferences: []metav1.OwnerReference{{
					APIVersion: clusterv1.GroupVersion.String(), Kind: "Machine", Name: "m1", UID: "machine-uid",
				}},
			},
			Spec: infrav1.ContainerMachineSpec{Image: nodeImage},
		},
		secret: &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "m1-data", Labels: labels},
			Data:       map[string][]byte{"value": []byte(workerData)},
		},
	}
}

// owner as the world's objects have it.
func owner() identity.Owner {
	return identity.Owner{Namespace: namespace, Cluster: "c1", ID: "abcdefgh"}
}

func containerName() string { return owner().NodeContainer("m1") }

func newWorld(t *testing.T, options ...option) *world {
	t.Helper()
	set := newObjects()
	for _, apply := range options {
		apply(set)
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, clusterv1.AddToScheme, infrav1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	fakeClient := fake.NewClientBuilder().WithScheme(scheme).WithObjects(set.all()...).
		WithStatusSubresource(&infrav1.ContainerMachine{}, &infrav1.ContainerCluster{}, &clusterv1.Machine{}, &clusterv1.Cluster{}).
		Build()

	eng := simulated.New()
	eng.AddImage(engine.Image{Tags: []string{nodeImage}}, nil)
	if _, err := network.Ensure(t.Context(), eng, network.Request{}); err != nil {
		t.Fatal(err)
	}
	eng.ResetJournal()

	recorder := events.NewFakeRecorder(1000)
	clock := testclock.NewFakePassiveClock(time.Now())
	return &world{
		t: t, client: fakeClient, engine: eng, clock: clock, events: recorder,
		reconciler: &machine.Reconciler{
			Client: fakeClient, Engine: eng, Events: recorder, Clock: clock,
			Images:       imagepull.NewTracker(eng),
			Host:         hostfacts.NewKnown(hostfacts.Facts{Node: node.Host{CgroupVersion: "2"}}),
			ClusterCache: clustercache.NewFakeEmptyClusterCache(),
		},
	}
}

// reconcile runs the controller once.
func (w *world) reconcile() (ctrl.Result, error) {
	return w.reconciler.Reconcile(w.t.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Namespace: namespace, Name: "m1"}})
}

// settle reconciles until nothing is asked for any more but to look again,
// and fails the test where errors do not end.
func (w *world) settle() {
	w.t.Helper()
	var err error
	for range 10 {
		var result ctrl.Result
		result, err = w.reconcile()
		if err == nil && !result.Requeue { //nolint:staticcheck // The paused helper of Cluster API still sets it.
			if previous := w.get().Status.Conditions; len(previous) > 1 {
				return
			}
		}
	}
	if err != nil {
		w.t.Fatalf("reconcile does not settle: %v", err)
	}
}

func (w *world) get() *infrav1.ContainerMachine {
	w.t.Helper()
	got := &infrav1.ContainerMachine{}
	if err := w.client.Get(w.t.Context(), client.ObjectKey{Namespace: namespace, Name: "m1"}, got); err != nil {
		w.t.Fatal(err)
	}
	return got
}

// condition returns status and reason of a condition, and its message.
func (w *world) condition(conditionType string) (state, message string) {
	w.t.Helper()
	for _, condition := range w.get().Status.Conditions {
		if condition.Type == conditionType {
			return fmt.Sprintf("%s/%s", condition.Status, condition.Reason), condition.Message
		}
	}
	return "absent", ""
}

// record makes the node say how its bootstrap stands.
func (w *world) record(files map[string]string) {
	w.t.Helper()
	for name, content := range files {
		if err := w.engine.WriteFile(containerName(), bootstrap.RecordPath+"/"+name, []byte(content)); err != nil {
			w.t.Fatal(err)
		}
	}
}

func (w *world) containers() []engine.Container {
	w.t.Helper()
	containers, err := w.engine.ListContainers(w.t.Context(), map[string]string{identity.LabelOwnerID: ""})
	if err != nil {
		w.t.Fatal(err)
	}
	return containers
}

// edit changes an object as a user or another controller would.
func edit[T client.Object](w *world, name string, object T, change func(T)) {
	w.t.Helper()
	if err := w.client.Get(w.t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, object); err != nil {
		w.t.Fatal(err)
	}
	change(object)
	if err := w.client.Update(context.WithoutCancel(w.t.Context()), object); err != nil {
		w.t.Fatal(err)
	}
}

// editStatus is edit for status.
func editStatus[T client.Object](w *world, name string, object T, change func(T)) {
	w.t.Helper()
	if err := w.client.Get(w.t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, object); err != nil {
		w.t.Fatal(err)
	}
	change(object)
	if err := w.client.Status().Update(context.WithoutCancel(w.t.Context()), object); err != nil {
		w.t.Fatal(err)
	}
}
