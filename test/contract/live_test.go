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

package contract_test

import (
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/record"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
	"github.com/capi-samples/cluster-api-provider-container/test/world"
)

const (
	controlPlane = builders.Machine
	worker       = "w1"
)

// live returns a world with a cluster of one control plane and one worker that
// both are Nodes, with a load balancer and a kubeconfig.
func live(t *testing.T, options ...builders.Option) *world.World {
	t.Helper()
	machine, containerMachine := builders.MachinePair(worker)
	w := world.New(t, builders.New(append([]builders.Option{builders.ControlPlane(builders.InitData), func(o *builders.Objects) {
		o.Others = append(o.Others, machine, containerMachine, builders.DataSecret(worker, builders.JoinWorkerData), kubeconfig(t))
	}}, options...)...))
	w.Nodes.FirstBoot(record.Done)
	settle(w)
	becomeNodes(w)
	settle(w)
	return w
}

// settle lets all controllers look until that changes nothing any more.
func settle(w *world.World) {
	w.TB.Helper()
	for range 2 {
		w.SettleCluster()
		for _, made := range w.ContainerMachines() {
			w.SettleMachine(made.Name)
		}
	}
}

// becomeNodes is Cluster API finding the Nodes, and those of a cluster that was
// restored again.
func becomeNodes(w *world.World) {
	w.TB.Helper()
	world.EditStatus(w, builders.Cluster, &clusterv1.Cluster{}, func(c *clusterv1.Cluster) {
		c.Status = builders.New().Cluster.Status
	})
	for _, name := range []string{controlPlane, worker} {
		world.EditStatus(w, name, &clusterv1.Machine{}, func(m *clusterv1.Machine) {
			m.Status.NodeRef = clusterv1.MachineNodeReference{Name: name}
		})
	}
}

func kubeconfig(t *testing.T) *corev1.Secret {
	t.Helper()
	data := must.Get(clientcmd.Write(clientcmdapi.Config{Clusters: map[string]*clientcmdapi.Cluster{builders.Cluster: {Server: "https://172.18.0.9:6443"}}}))(t)
	secret := builders.DataSecret("x", "")
	secret.Name, secret.Data["value"] = builders.Cluster+"-kubeconfig", data
	return secret
}

// state is what must be the same after objects were lost and recreated.
type state struct {
	// Containers by name, with identity and status.
	Containers map[string]string
	// Weights of the load balancer's backends.
	Weights map[string]int
	// Specs, Statuses, Finalizers and Owners of the provider's objects by name.
	Specs, Statuses, Finalizers, Owners map[string]any
}

func observe(w *world.World) state {
	w.TB.Helper()
	s := state{
		Containers: map[string]string{}, Weights: w.LoadBalancers.Weights(builders.Owner().LoadBalancerContainer()),
		Specs: map[string]any{}, Statuses: map[string]any{}, Finalizers: map[string]any{}, Owners: map[string]any{},
	}
	containers := must.Get(w.Engine.ListContainers(context.WithoutCancel(w.TB.Context()), nil))(w.TB)
	for _, container := range containers {
		s.Containers[container.Name] = container.ID + " " + string(container.Status)
	}
	cluster, _ := world.Get(w, builders.Cluster, &infrav1.ContainerCluster{})
	s.add(cluster, cluster.Spec, withoutTimes(cluster.Status.Conditions), cluster.Status.Initialization, cluster.Status.FailureDomains)
	for _, made := range w.ContainerMachines() {
		s.add(&made, made.Spec, withoutTimes(made.Status.Conditions), made.Status.Initialization, made.Status.Addresses, made.Status.FailureDomain)
	}
	return s
}

func (s state) add(object client.Object, spec any, status ...any) {
	name := object.GetName()
	if _, isMachine := object.(*infrav1.ContainerMachine); isMachine {
		name = "machine " + name
	}
	owners := []string{}
	for _, owner := range object.GetOwnerReferences() {
		owners = append(owners, owner.Kind+" "+owner.Name)
	}
	s.Specs[name], s.Statuses[name], s.Finalizers[name], s.Owners[name] = spec, status, object.GetFinalizers(), owners
}

func withoutTimes(conditions []metav1.Condition) []metav1.Condition {
	conditions = slices.Clone(conditions)
	for i := range conditions {
		conditions[i].LastTransitionTime = metav1.Time{}
	}
	return conditions
}

// effects are what the controllers did to the engine since there were so many.
func effects(w *world.World, since int) []string {
	mutations := []string{}
	for _, call := range w.Calls.Effects()[since:] {
		mutations = append(mutations, call.Method+" "+call.Name)
	}
	return mutations
}

func check(t *testing.T, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}
