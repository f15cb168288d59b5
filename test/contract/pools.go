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

// pools are the rules for the infrastructure of a MachinePool.
func pools() []Rule {
	return []Rule{
		{ID: "P1", Says: "spec.providerIDList has all instances.", Proof: Proof{poolTests, "TestReconcile/Created"}},
		{ID: "P1", Says: "It is written as a whole, and has room for 10000.", Proof: Proof{contractTests, "TestFields"}},
		{ID: "P2", Says: "A pool may have its own provider ID.", Unproved: "Optional: a pool has no resource on the engine."},
		{ID: "P3", Says: "status.replicas is the number of provider IDs.", Proof: Proof{poolTests, "TestReconcile/ImageThatCannotBeHad"}},
		{ID: "P3", Says: "It is written where it is 0, too.", Proof: Proof{contractTests, "TestEmptyFieldsAreAbsent"}},
		{ID: "P4", Says: "status.initialization.provisioned becomes true.", Proof: Proof{poolTests, "TestReconcile/Created"}},
		{ID: "P5", Says: "status.ready too, which Cluster API reads instead.", Proof: Proof{poolTests, "TestReconcile/ScaledToZero"}},
		{ID: "P6", Says: "status.instances lists them.", Proof: Proof{poolTests, "TestReconcile/Created"}},
		{ID: "P7", Says: "With status.infrastructureMachineKind, Cluster API creates a Machine for each.", Proof: Proof{poolTests, "TestReconcile/Created"}},
		{ID: "P8", Says: "Instances have the labels by which Cluster API finds them, hashed where the name is long.", Proof: Proof{poolTests, "TestReconcile/LongName"}},
		{ID: "P9", Says: "Pools and machines have the same API version.", Proof: Proof{contractTests, "TestVersions"}},
		{ID: "P10", Says: "The pool owns its instances.", Proof: Proof{poolTests, "TestReconcile/Created"}},
		{ID: "P11", Says: "An instance has version and bootstrap data of the MachinePool: its Machine has none.", Proof: Proof{machineTests, "TestReconcile/OfPool"}},
		{ID: "P12", Says: "Scaling down deletes Machines, so that Nodes are drained; Machines with the delete annotation are first.", Proof: Proof{poolTests, "TestReconcile/OneIsAskedFor"}},
		{ID: "P12", Says: "An instance that has no Machine yet is not removed.", Proof: Proof{poolTests, "TestReconcile/NoMachineYet"}},
		{ID: "P12", Says: "A Machine whose instance does not exist is deleted, and replaced.", Proof: Proof{poolTests, "TestReconcile/Dangling"}},
		{ID: "P13", Says: "A rollout creates a new instance before it removes an old one.", Proof: Proof{poolTests, "TestPlan"}},
		{ID: "P13", Says: "A change of version, image, mounts or bootstrap data makes an instance outdated.", Proof: Proof{poolTests, "TestReconcile/DataSecret"}},
		{ID: "P14", Says: "Externally managed replicas are not changed.", Proof: Proof{poolTests, "TestReconcile/ManagedByOthers"}},
		{ID: "P15", Says: "There are neither failureReason nor failureMessage, on which core 1.14 panics.", Proof: Proof{contractTests, "TestFields"}},
		{ID: "P16", Says: "Ready reports whether the desired number of replicas is ready.", Proof: Proof{poolTests, "TestReconcile/BootstrapFails"}},
		{ID: "P17", Says: "A paused pool is not reconciled.", Proof: Proof{poolTests, "TestReconcile/Paused"}},
		{ID: "P18", Says: "A ClusterClass creates pools from a template.", Proof: Proof{contractTests, "TestTemplatesMakeTheirKind/ContainerMachinePool"}},
		{ID: "P18", Says: "Its spec is immutable.", Proof: Proof{webhookTests, "TestChanges/PoolTemplateSpec"}},
		{ID: "P19", Says: "Autoscalers do not scale pools from zero by their template.", Unproved: "Describes an autoscaler."},
		{ID: "P20", Says: "No instance is created before the Cluster's infrastructure is provisioned.", Proof: Proof{poolTests, "TestReconcile/InfrastructureNotProvisioned"}},
	}
}
