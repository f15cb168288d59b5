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

package controllers

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/template/api/v1alpha1"
	"github.com/capi-samples/cluster-api-provider-container/template/servers"
)

const namespace, name = "default", "one"

// What Cluster API does is in the objects; each case changes one thing.
func objects() (*clusterv1.Cluster, *infrav1.SampleCluster, *clusterv1.Machine, *infrav1.SampleMachine, *corev1.Secret) {
	meta := metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{clusterv1.ClusterNameLabel: name}}
	owner := func(kind string) []metav1.OwnerReference {
		return []metav1.OwnerReference{{APIVersion: clusterv1.GroupVersion.String(), Kind: kind, Name: name}}
	}
	cluster := &clusterv1.Cluster{ObjectMeta: meta}
	cluster.Status.Initialization.InfrastructureProvisioned = ptr.To(true)
	infraCluster := &infrav1.SampleCluster{ObjectMeta: meta}
	infraCluster.OwnerReferences = owner("Cluster")
	machine := &clusterv1.Machine{ObjectMeta: meta}
	machine.Spec.ClusterName, machine.Spec.Bootstrap.DataSecretName = name, ptr.To(name)
	infraMachine := &infrav1.SampleMachine{ObjectMeta: meta}
	infraMachine.OwnerReferences = owner("Machine")
	return cluster, infraCluster, machine, infraMachine, &corev1.Secret{ObjectMeta: meta, Data: map[string][]byte{"value": []byte("data")}}
}

func newClient(t *testing.T, objects ...client.Object) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, clusterv1.AddToScheme, infrav1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).
		WithStatusSubresource(&infrav1.SampleCluster{}, &infrav1.SampleMachine{}).Build()
}

// settle reconciles as often as the writes of the reconciler itself would.
func settle(t *testing.T, reconcile func(context.Context, ctrl.Request) (ctrl.Result, error)) {
	t.Helper()
	for range 5 {
		if _, err := reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Namespace: namespace, Name: name}}); err != nil {
			t.Fatal(err)
		}
	}
}

// ready is the reason of the condition Ready, empty if there is none.
func ready(object conditions.Getter) string {
	if condition := conditions.Get(object, clusterv1.ReadyCondition); condition != nil {
		return condition.Reason
	}
	return ""
}

func TestMachine(t *testing.T) {
	t.Parallel()
	type change func(*clusterv1.Cluster, *clusterv1.Machine, *infrav1.SampleMachine)
	for name, c := range map[string]struct {
		change change
		want   string
	}{
		"Provisioned": {
			func(*clusterv1.Cluster, *clusterv1.Machine, *infrav1.SampleMachine) {}, clusterv1.ReadyReason,
		},
		"NoOwner": {
			func(_ *clusterv1.Cluster, _ *clusterv1.Machine, infra *infrav1.SampleMachine) {
				infra.OwnerReferences = nil
			}, "",
		},
		"NoInfrastructure": {
			func(cluster *clusterv1.Cluster, _ *clusterv1.Machine, _ *infrav1.SampleMachine) {
				cluster.Status.Initialization.InfrastructureProvisioned = nil
			}, WaitingForInfrastructureReason,
		},
		"NoBootstrapData": {
			func(_ *clusterv1.Cluster, machine *clusterv1.Machine, _ *infrav1.SampleMachine) {
				machine.Spec.Bootstrap.DataSecretName = nil
			}, WaitingForBootstrapDataReason,
		},
		"Paused": {
			func(cluster *clusterv1.Cluster, _ *clusterv1.Machine, _ *infrav1.SampleMachine) {
				cluster.Spec.Paused = ptr.To(true)
			}, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cluster, _, machine, infra, secret := objects()
			c.change(cluster, machine, infra)
			api, infrastructure := newClient(t, cluster, machine, infra, secret), servers.NewFake()
			settle(t, (&MachineReconciler{Client: api, Servers: infrastructure}).Reconcile)
			if err := api.Get(t.Context(), client.ObjectKeyFromObject(infra), infra); err != nil {
				t.Fatal(err)
			}
			_, err := infrastructure.Get(t.Context(), serverName(infra))
			provisioned := c.want == clusterv1.ReadyReason
			if got := ready(infra); got != c.want || provisioned != (err == nil) || provisioned != ptr.Deref(infra.Status.Initialization.Provisioned, false) {
				t.Errorf("Ready is %q, want %q; server: %v; status: %v", got, c.want, err, infra.Status)
			}
		})
	}
}

// Another server would not be the Node that the Machine has.
func TestServerThatIsGoneIsNotCreatedAgain(t *testing.T) {
	t.Parallel()
	cluster, _, machine, infra, secret := objects()
	api, infrastructure := newClient(t, cluster, machine, infra, secret), servers.NewFake()
	reconciler := &MachineReconciler{Client: api, Servers: infrastructure}
	settle(t, reconciler.Reconcile)
	if err := infrastructure.Delete(t.Context(), serverName(infra)); err != nil {
		t.Fatal(err)
	}
	settle(t, reconciler.Reconcile)
	if err := api.Get(t.Context(), client.ObjectKeyFromObject(infra), infra); err != nil {
		t.Fatal(err)
	}
	if _, err := infrastructure.Get(t.Context(), serverName(infra)); err == nil || ready(infra) != ServerNotFoundReason {
		t.Errorf("Ready is %q, server: %v", ready(infra), err)
	}
}

func TestMachineIsDeleted(t *testing.T) {
	t.Parallel()
	cluster, _, machine, infra, secret := objects()
	api, infrastructure := newClient(t, cluster, machine, infra, secret), servers.NewFake()
	reconciler := &MachineReconciler{Client: api, Servers: infrastructure}
	settle(t, reconciler.Reconcile)
	if err := api.Delete(t.Context(), infra); err != nil {
		t.Fatal(err)
	}
	settle(t, reconciler.Reconcile)
	if err := api.Get(t.Context(), client.ObjectKeyFromObject(infra), infra); client.IgnoreNotFound(err) != nil || err == nil {
		t.Errorf("SampleMachine exists: %v", err)
	}
	if server, err := infrastructure.Get(t.Context(), serverName(infra)); err == nil {
		t.Errorf("server exists: %v", server)
	}
}

func TestClusterIsCreatedAndDeleted(t *testing.T) {
	t.Parallel()
	cluster, infra, _, _, _ := objects()
	api, infrastructure := newClient(t, cluster, infra), servers.NewFake()
	reconciler := &ClusterReconciler{Client: api, Servers: infrastructure}
	settle(t, reconciler.Reconcile)
	if err := api.Get(t.Context(), client.ObjectKeyFromObject(infra), infra); err != nil {
		t.Fatal(err)
	}
	if infra.Spec.ControlPlaneEndpoint.Host == "" || ready(infra) != clusterv1.ReadyReason {
		t.Errorf("endpoint %v, Ready %q", infra.Spec.ControlPlaneEndpoint, ready(infra))
	}
	if err := api.Delete(t.Context(), infra); err != nil {
		t.Fatal(err)
	}
	settle(t, reconciler.Reconcile)
	if server, err := infrastructure.Get(t.Context(), loadBalancer(cluster)); err == nil {
		t.Errorf("server exists: %v", server)
	}
}
