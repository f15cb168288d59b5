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

package controllers_test

import (
	"fmt"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
	"github.com/capi-samples/cluster-api-provider-container/test/world"
)

// end of an operation on a fleet.
type end struct {
	// controlPlanes and workers by name, and the number of instances of the pool.
	controlPlanes, workers []string
	instances              int
	// version of the instances; "" = the first one.
	version string
	// deleted says that the cluster is.
	deleted bool
	// has is what each node has in addition.
	has func(t *testing.T, f *fleet, container string)
}

// check that the fleet is what it is to be, with nothing lost, doubled or left behind.
func (f *fleet) check(t *testing.T, want end) {
	t.Helper()
	f.checkObjects(t, want)
	nodes := f.checkContainers(t, want)
	if want.has != nil {
		for _, container := range nodes {
			want.has(t, f, container)
		}
	}
	if diff := gocmp.Diff(len(nodes), len(f.Engine.VolumeNames())); diff != "" {
		t.Errorf("volumes (-want +got):\n%s", diff)
	}
	if _, err := f.Engine.InspectNetwork(t.Context(), "mine"); engine.IgnoreNotFound(err) != nil || (err != nil) != want.deleted {
		t.Errorf("network: %v", err)
	}
	for name, count := range f.Calls.Begins() {
		if count > 1 {
			t.Errorf("container %s began %d times", name, count)
		}
	}
}

// checkObjects: each machine is ready and has its Machine.
func (f *fleet) checkObjects(t *testing.T, want end) {
	t.Helper()
	named := append(slices.Clone(want.controlPlanes), want.workers...)
	instances := 0
	var machines, claimed []string
	for _, machine := range f.ContainerMachines() {
		machines = append(machines, machine.Name)
		for _, problem := range world.ConditionProblems(&machine, []string{infrav1.ContainerReadyCondition, infrav1.BootstrapCompletedCondition}, []string{builders.SecretWord}) {
			t.Errorf("ContainerMachine %s: %s", machine.Name, problem)
		}
		if state, message := world.State(&machine, infrav1.MachineReadyCondition); state != "True/Ready" {
			t.Errorf("ContainerMachine %s is %s: %s", machine.Name, state, message)
		}
		if slices.Contains(named, machine.Name) {
			continue
		}
		instances++
		if version := machine.Annotations[infrav1.VersionAnnotation]; want.version != "" && version != want.version {
			t.Errorf("instance %s has version %s, want %s", machine.Name, version, want.version)
		}
	}
	for _, machine := range f.Machines() {
		claimed = append(claimed, machine.Name)
	}
	if diff := gocmp.Diff(machines, claimed); diff != "" {
		t.Errorf("ContainerMachines, and Machines (-without Machine +without ContainerMachine):\n%s", diff)
	}
	if instances != want.instances || len(machines) != len(named)+instances {
		t.Errorf("machines %v, want %v and %d instances", machines, named, want.instances)
	}
	cluster, there := world.Get(f.World, builders.Cluster, &infrav1.ContainerCluster{})
	if state, message := world.State(cluster, infrav1.ClusterReadyCondition); there == want.deleted || there && state != "True/Ready" {
		t.Errorf("the ContainerCluster exists: %t, and is %s: %s", there, state, message)
	}
	if _, there := world.Get(f.World, builders.Cluster, &clusterv1.Cluster{}); there == want.deleted {
		t.Errorf("the Cluster exists: %t", there)
	}
}

// checkContainers: each machine has one that runs, the cluster one load balancer, which has
// the control planes that are members of etcd. It returns those of the machines.
func (f *fleet) checkContainers(t *testing.T, want end) (nodes []string) {
	t.Helper()
	var balancers, controlPlanes, recorded []string
	places := map[string]string{}
	for _, listed := range must.Get(f.Engine.ListContainers(t.Context(), nil))(t) {
		container := must.Get(f.Engine.InspectContainer(t.Context(), listed.Name))(t)
		if container.Status != engine.StatusRunning {
			t.Errorf("container %s is %s", container.Name, container.Status)
		}
		take := func(place string) {
			if other := places[place]; other != "" {
				t.Errorf("containers %s and %s have %s", container.Name, other, place)
			}
			places[place] = container.Name
		}
		for _, address := range network.Addresses(container, "mine") {
			take("address " + address.String())
		}
		for _, port := range container.Ports {
			take(fmt.Sprintf("port %s:%d", port.HostAddress, port.HostPort))
		}
		switch identity.Role(container.Labels[identity.LabelRole]) {
		case identity.RoleLoadBalancer:
			balancers = append(balancers, container.Name)
			continue
		case identity.RoleControlPlane:
			controlPlanes = append(controlPlanes, container.Name)
		default:
		}
		nodes = append(nodes, container.Name)
		recorded = append(recorded, container.Labels[identity.LabelMachine])
		f.checkRecord(t, container)
	}
	if diff := gocmp.Diff(len(f.ContainerMachines()), len(nodes)); diff != "" || len(slices.Compact(slices.Sorted(slices.Values(recorded)))) != len(recorded) {
		t.Errorf("containers of the machines %v, want one for each", recorded)
	}
	slices.Sort(controlPlanes)
	if len(controlPlanes) != len(want.controlPlanes) || !want.deleted && !slices.Equal(controlPlanes, f.etcd.Members()) {
		t.Errorf("control planes %v, of which %v are members of etcd", controlPlanes, f.etcd.Members())
	}
	if (len(balancers) == 1) == want.deleted {
		t.Errorf("load balancers %v", balancers)
	}
	for _, balancer := range balancers {
		weights := f.LoadBalancers.Weights(balancer)
		for _, controlPlane := range controlPlanes {
			if weights[controlPlane] == 0 {
				t.Errorf("the load balancer does not have control plane %s: %v", controlPlane, weights)
			}
		}
		if len(weights) != len(controlPlanes) {
			t.Errorf("the load balancer has %v, want %v", weights, controlPlanes)
		}
	}
	return nodes
}

// checkRecord: the address of a machine is that of its container.
func (f *fleet) checkRecord(t *testing.T, container engine.Container) {
	t.Helper()
	machine, there := world.Get(f.World, container.Labels[identity.LabelMachine], &infrav1.ContainerMachine{})
	if !there {
		return
	}
	var addresses []string
	for _, address := range network.Addresses(container, "mine") {
		addresses = append(addresses, address.String())
	}
	if diff := gocmp.Diff(machine.Spec.Bootstrap.Addresses, addresses); diff != "" {
		t.Errorf("addresses of %s (-recorded +of the container):\n%s", machine.Name, diff)
	}
}

// create objects as a user does.
func (f *fleet) create(objects ...client.Object) {
	f.TB.Helper()
	for _, object := range objects {
		if err := f.Client.Create(f.TB.Context(), object); err != nil {
			f.TB.Fatal(err)
		}
	}
}
