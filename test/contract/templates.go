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

// templates are the rules for the templates of clusters and machines.
func templates() []Rule {
	return []Rule{
		{ID: "ICT1", Says: "A ClusterClass creates clusters from a template, which has no field that is specific to one cluster.", Proof: Proof{contractTests, "TestTemplatesMakeTheirKind/ContainerCluster"}},
		{ID: "ICT2", Says: "Its spec is immutable.", Proof: Proof{webhookTests, "TestChanges/ClusterTemplateSpec"}},
		{ID: "ICT2", Says: "The fields of a cluster that a ClusterClass can change are mutable.", Proof: Proof{webhookTests, "TestChanges/LoadBalancerImage"}},
		{ID: "ICT3", Says: "A template may be refused where ClusterClasses are disabled.", Unproved: "Optional, and the gate is another manager's."},
		{ID: "IMT1", Says: "Control planes and MachineDeployments create machines from a template.", Proof: Proof{contractTests, "TestTemplatesMakeTheirKind/ContainerMachine"}},
		{ID: "IMT2", Says: "Its spec is immutable.", Proof: Proof{webhookTests, "TestChanges/MachineTemplateSpec"}},
		{ID: "IMT2", Says: "Changes in a dry run of the topology controller are allowed.", Proof: Proof{webhookTests, "TestChanges/MachineTemplateDryRun"}},
		{ID: "IMT3", Says: "Immutability is not in the schema, which cannot distinguish the topology controller.", Proof: Proof{contractTests, "TestTemplatesAreNotImmutableBySchema"}},
		{ID: "IMT4", Says: "Server-side apply is idempotent: no default changes and no field is lost.", Proof: Proof{contractTests, "TestEmptyFieldsAreAbsent/ContainerMachineTemplate"}},
		{ID: "IMT5", Says: "status.capacity has the capacity of a node for autoscalers.", Proof: Proof{"controllers/machinetemplate", "TestReconcile/new"}},
		{ID: "IMT6", Says: "status.nodeInfo has its architecture and operating system.", Proof: Proof{"controllers/machinetemplate", "TestReconcile/new"}},
		{ID: "IMT7", Says: "Templates have no finalizers: they would block the deletion of a Cluster. The manager may update only their status.", Proof: Proof{repositoryTests, "TestRoleOfTheManager"}},
		{ID: "IMT8", Says: "An object and its template have the same defaults.", Proof: Proof{webhookTests, "TestDefaults/Empty"}},
	}
}
