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

package contract

// machines are the rules for the infrastructure of a Machine.
func machines() []Rule {
	return []Rule{
		{ID: "IM1", Says: "spec.providerID is a string of at most 512 characters.", Proof: Proof{contractTests, "TestFields"}},
		{ID: "IM1", Says: "The Node has the same one, from its kubelet.", Proof: Proof{machineTests, "TestReconcile/Bootstrapping"}},
		{ID: "IM1", Says: "If the kubelet does not set it, the controller does.", Proof: Proof{nodeTests, "TestReconcile/NodeWithoutProviderID"}},
		{ID: "IM1", Says: "It is unique: a container's name differs by cluster and owner.", Proof: Proof{"internal/identity", "TestContainerNamesDiffer"}},
		{ID: "IM2", Says: "It is there when the machine is provisioned, with the addresses.", Proof: Proof{contractTests, "TestProvisionedComesWithTheRest"}},
		{ID: "IM3", Says: "status.initialization.provisioned becomes true.", Proof: Proof{machineTests, "TestReconcile/Bootstrapping"}},
		{ID: "IM3", Says: "It stays true.", Proof: Proof{machineTests, "TestReconcile/Missing"}},
		{ID: "IM4", Says: "Addresses are in the status.", Proof: Proof{machineTests, "TestReconcile/Bootstrapping"}},
		{ID: "IM5", Says: "A machine is in the failure domain of its Machine: its Node is labeled so.", Proof: Proof{machineTests, "TestReconcile/Bootstrapping"}},
		{ID: "IM6", Says: "The actual failure domain is in the status.", Proof: Proof{machineTests, "TestReconcile/Bootstrapping"}},
		{ID: "IM7", Says: "There is no spec.failureDomain: it would override the Machine's.", Proof: Proof{contractTests, "TestFields"}},
		{ID: "IM8", Says: "Ready is False while the machine cannot be used, with the reason.", Proof: Proof{machineTests, "TestReconcile/Disconnected"}},
		{ID: "IM9", Says: "An object that vanishes after it was provisioned is an error: a finalizer keeps it.", Proof: Proof{machineTests, "TestFinalizerComesFirst"}},
		{ID: "IM10", Says: "A condition reports a dead machine, so that a MachineHealthCheck can remediate it.", Proof: Proof{machineTests, "TestReconcile/Missing"}},
		{ID: "IM11", Says: "A change of an immutable field is refused, so that the Machine is replaced.", Proof: Proof{webhookTests, "TestChanges/MachineImage"}},
		{ID: "IM11", Says: "A change of a mutable field is allowed.", Proof: Proof{webhookTests, "TestChanges/MachineTimeout"}},
		{ID: "IM12", Says: "No container is created before the Cluster's infrastructure is provisioned.", Proof: Proof{machineTests, "TestReconcile/InfrastructureNotProvisioned"}},
		{ID: "IM12", Says: "Nor before bootstrap data is available.", Proof: Proof{machineTests, "TestReconcile/NoDataSecretName"}},
		{ID: "IM12", Says: "Deletion waits for neither.", Proof: Proof{machineTests, "TestDeletions/NothingYet"}},
		{ID: "IM13", Says: "The finalizer comes after the Machine's owner reference.", Proof: Proof{machineTests, "TestHandsOff/NoMachine"}},
		{ID: "IM14", Says: "Control planes are backends of the load balancer.", Proof: Proof{clusterTests, "TestBackends/Both"}},
		{ID: "IM14", Says: "Deleted control planes are removed from the backends.", Proof: Proof{machineTests, "TestControlPlaneWaitsForLoadBalancer/NeverDrained"}},
		{ID: "IM15", Says: "Deletion removes the container with its volumes, and then the finalizer.", Proof: Proof{machineTests, "TestDeletions/Worker"}},
		{ID: "IM15", Says: "A container that does not exist is no error.", Proof: Proof{machineTests, "TestDeletions/ContainerGone"}},
		{ID: "IM16", Says: "A control plane gets no new connections once its Machine is being deleted.", Proof: Proof{clusterTests, "TestBackends/MachineDeleted"}},
		{ID: "IM17", Says: "Objects created from templates have an annotation with the template's name.", Unproved: "Describes Cluster API itself."},
		{ID: "IM18", Says: "Objects recreated with spec.providerID alone adopt the container.", Proof: Proof{contractTests, "TestAdoption"}},
		{ID: "IM18", Says: "Also one that was created for an object of another name.", Proof: Proof{machineTests, "TestReconcile/AdoptedByProviderID"}},
		{ID: "IM19", Says: "Only the taint that a cloud controller would remove is removed.", Proof: Proof{nodeTests, "TestReconcile/NodeWithoutProviderID"}},
		{ID: "IM20", Says: "A paused machine is not reconciled.", Proof: Proof{machineTests, "TestHandsOff/Paused"}},
	}
}
