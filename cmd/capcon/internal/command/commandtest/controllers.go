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

package commandtest

import (
	"cmp"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonsv1 "sigs.k8s.io/cluster-api/api/addons/v1beta2"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/objects"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
)

// workersName of the MachineDeployment.
const workersName = "demo-worker"

func first(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return names[0]
}

// follow is the topology's part: what the Cluster says, the others get.
func (w *World) follow(cluster *clusterv1.Cluster) {
	ctx, topology := w.T.Context(), cluster.Spec.Topology
	meta := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name), Labels: map[string]string{clusterv1.ClusterNameLabel: "demo"}}
	}
	for _, made := range []client.Object{
		&infrav1.ContainerCluster{ObjectMeta: meta("demo"), Spec: infrav1.ContainerClusterSpec{
			EngineName: cmp.Or(objects.EngineName(&topology), first(objects.EngineNames(&topology))), EngineNames: objects.EngineNames(&topology),
			Network: infrav1.Network{Name: "capcon"}, LoadBalancer: infrav1.LoadBalancer{Image: "localhost/capcon/haproxy:2.6"},
		}},
		&controlplanev1.KubeadmControlPlane{
			ObjectMeta: meta(objects.ControlPlaneName("demo")),
			Spec:       controlplanev1.KubeadmControlPlaneSpec{Version: topology.Version, Replicas: topology.ControlPlane.Replicas},
		},
		&clusterv1.MachineDeployment{
			ObjectMeta: meta(workersName),
			Spec:       clusterv1.MachineDeploymentSpec{ClusterName: "demo", Replicas: topology.Workers.MachineDeployments[0].Replicas},
		},
	} {
		if err := w.Client.Create(ctx, made); err != nil && !apierrors.IsAlreadyExists(err) {
			w.T.Fatal(err)
		}
	}
	conditions.Set(cluster, metav1.Condition{
		Type: clusterv1.ClusterTopologyReconciledCondition, Status: metav1.ConditionTrue,
		Reason: clusterv1.ClusterTopologyReconcileSucceededReason,
	})
}

// Kubeconfig of the cluster demo, as Cluster API writes it.
const Kubeconfig = `current-context: demo-admin@demo
clusters: [{name: demo, cluster: {server: "https://172.18.0.9:6443"}}]
users: [{name: demo-admin, user: {token: "1"}}]
contexts: [{name: demo-admin@demo, context: {cluster: demo, user: demo-admin}}]
`

// Become makes the cluster what controllers would make of it.
func (w *World) Become() {
	ctx := w.T.Context()
	cluster := &clusterv1.Cluster{}
	if w.Client.Get(ctx, client.ObjectKey{Namespace: "default", Name: "demo"}, cluster) != nil {
		return // not applied yet
	}
	w.follow(cluster)
	infrastructure := &infrav1.ContainerCluster{}
	controlPlane, workers := &controlplanev1.KubeadmControlPlane{}, &clusterv1.MachineDeployment{}
	key := client.ObjectKey{Namespace: "default", Name: "demo"}
	err := errors.Join(
		w.Client.Get(ctx, key, infrastructure),
		w.Client.Get(ctx, client.ObjectKey{Namespace: "default", Name: objects.ControlPlaneName("demo")}, controlPlane),
		w.Client.Get(ctx, client.ObjectKey{Namespace: "default", Name: workersName}, workers),
	)
	if err != nil || infrastructure.Spec.OwnerID != "" {
		return // done already
	}
	infrastructure.Spec.OwnerID = "owner"
	infrastructure.Spec.LoadBalancer.HostPort = 40123
	cluster.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{
		APIGroup: infrav1.GroupVersion.Group, Kind: "ContainerCluster", Name: infrastructure.Name,
	}
	cluster.Status.Initialization.InfrastructureProvisioned = ptr.To(true)
	controlPlane.Status = controlplanev1.KubeadmControlPlaneStatus{
		Initialization: controlplanev1.KubeadmControlPlaneInitializationStatus{ControlPlaneInitialized: ptr.To(true)},
		Replicas:       controlPlane.Spec.Replicas, AvailableReplicas: controlPlane.Spec.Replicas, UpToDateReplicas: controlPlane.Spec.Replicas,
		ObservedGeneration: controlPlane.Generation,
	}
	workers.Status = clusterv1.MachineDeploymentStatus{
		Replicas: workers.Spec.Replicas, AvailableReplicas: workers.Spec.Replicas, UpToDateReplicas: workers.Spec.Replicas,
		ObservedGeneration: workers.Generation,
	}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "demo-kubeconfig", Labels: map[string]string{clusterv1.ClusterNameLabel: "demo"}},
		Data:       map[string][]byte{"value": []byte(Kubeconfig)},
	}
	err = errors.Join(w.startNode(infrastructure),
		w.Client.Update(ctx, cluster), w.Client.Update(ctx, infrastructure), w.Client.Update(ctx, controlPlane),
		w.Client.Update(ctx, workers), w.Client.Create(ctx, secret),
		w.Client.Create(ctx, ReadyMachine("demo-a", clusterv1.MachineControlPlaneLabel, "")))
	for i := range ptr.Deref(workers.Spec.Replicas, 0) {
		worker := ReadyMachine(fmt.Sprintf("demo-worker-%d", i), clusterv1.MachineDeploymentNameLabel, workers.Name)
		worker.Labels[clusterv1.ClusterTopologyMachineDeploymentNameLabel] = cluster.Spec.Topology.Workers.MachineDeployments[0].Name
		err = errors.Join(err, w.Client.Create(ctx, worker))
	}
	if err != nil {
		w.T.Fatal(err)
	}
}

// startNode of the cluster demo, which has no container in memory.
func (w *World) startNode(infrastructure *infrav1.ContainerCluster) error {
	if w.Plane.Current.InMemory {
		return nil
	}
	ctx, on := w.T.Context(), w.engineOf(infrastructure)
	_, err := on.CreateContainer(ctx, engine.Spec{
		Name: "demo-a-1234", Image: "localhost/capcon/node:v1.36.3",
		Labels: identity.Owner{Namespace: "default", Cluster: "demo", ID: "owner"}.ContainerLabels(identity.RoleControlPlane, "demo-a"),
	})
	return errors.Join(err, on.StartContainer(ctx, "demo-a-1234"))
}

// ReadyMachine of the cluster demo, whose label says what it belongs to.
func ReadyMachine(name, label, value string) *clusterv1.Machine {
	return &clusterv1.Machine{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name), Labels: map[string]string{
			clusterv1.ClusterNameLabel: "demo", label: value,
		}},
		Spec: clusterv1.MachineSpec{ClusterName: "demo"},
		Status: clusterv1.MachineStatus{
			NodeRef: clusterv1.MachineNodeReference{Name: name},
			Conditions: []metav1.Condition{
				{Type: "InfrastructureReady", Status: metav1.ConditionTrue}, {Type: "NodeReady", Status: metav1.ConditionTrue},
			},
		},
	}
}

// Vanish is the deletion as controllers and the garbage collector do it.
func (w *World) Vanish() {
	ctx := w.T.Context()
	cluster := &clusterv1.Cluster{}
	if err := w.Client.Get(ctx, client.ObjectKey{Namespace: "default", Name: "demo"}, cluster); err != nil || cluster.DeletionTimestamp.IsZero() {
		return // not requested, or already deleted
	}
	if err := w.Engine.RemoveContainer(ctx, "demo-a-1234"); err != nil {
		w.T.Fatal(err)
	}
	w.VanishObjects()
}

// VanishObjects of a Cluster that is being deleted, as where it has no containers.
func (w *World) VanishObjects() {
	ctx := w.T.Context()
	cluster := &clusterv1.Cluster{}
	if err := w.Client.Get(ctx, client.ObjectKey{Namespace: "default", Name: "demo"}, cluster); err != nil || cluster.DeletionTimestamp.IsZero() {
		return
	}
	for _, kind := range goneWithTheCluster() {
		if err := w.Client.DeleteAllOf(ctx, kind, client.InNamespace("default")); err != nil {
			w.T.Fatal(err)
		}
	}
	cluster.Finalizers = nil
	if err := w.Client.Update(ctx, cluster); err != nil {
		w.T.Fatal(err)
	}
}

func goneWithTheCluster() []client.Object {
	return []client.Object{
		&infrav1.ContainerCluster{}, &infrav1.ContainerMachineTemplate{}, &controlplanev1.KubeadmControlPlane{},
		&clusterv1.MachineDeployment{}, &clusterv1.Machine{}, &corev1.Secret{}, &corev1.ConfigMap{},
		&bootstrapv1.KubeadmConfigTemplate{}, &addonsv1.ClusterResourceSet{},
	}
}
