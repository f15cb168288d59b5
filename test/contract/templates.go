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
		{ID: "ICT1", Says: "A ClusterClass makes clusters from a template, which has nothing that is one cluster's alone.", Proof: Proof{contractTests, "TestTemplatesMakeTheirKind/ContainerCluster"}},
		{ID: "ICT2", Says: "Its spec cannot change.", Proof: Proof{webhookTests, "TestChanges/ClusterTemplateSpec"}},
		{ID: "ICT2", Says: "A cluster follows what a ClusterClass can change of it.", Proof: Proof{webhookTests, "TestChanges/LoadBalancerImage"}},
		{ID: "ICT3", Says: "A template may be refused where ClusterClasses are off.", Unproved: "Optional, and the gate is another manager's."},
		{ID: "IMT1", Says: "Control planes and MachineDeployments make machines from a template.", Proof: Proof{contractTests, "TestTemplatesMakeTheirKind/ContainerMachine"}},
		{ID: "IMT2", Says: "Its spec cannot change.", Proof: Proof{webhookTests, "TestChanges/MachineTemplateSpec"}},
		{ID: "IMT2", Says: "But the topology controller may ask in a dry run what it would become.", Proof: Proof{webhookTests, "TestChanges/MachineTemplateDryRun"}},
		{ID: "IMT3", Says: "The schema has no rule about it, which could not know who asks.", Proof: Proof{contractTests, "TestTemplatesAreNotImmutableBySchema"}},
		{ID: "IMT4", Says: "What is applied twice is the same: nothing is filled in differently, or lost.", Proof: Proof{contractTests, "TestEmptyFieldsAreAbsent/ContainerMachineTemplate"}},
		{ID: "IMT5", Says: "status.capacity says what an autoscaler may expect of a node.", Proof: Proof{"controllers/machinetemplate", "TestReconcile/new"}},
		{ID: "IMT6", Says: "status.nodeInfo says its architecture and operating system.", Proof: Proof{"controllers/machinetemplate", "TestReconcile/new"}},
		{ID: "IMT7", Says: "Templates have no finalizers: they would keep a Cluster from going. The manager may write no more than their status.", Proof: Proof{repositoryTests, "TestRoleOfTheManager"}},
		{ID: "IMT8", Says: "What is filled in of an object is filled in of its template.", Proof: Proof{webhookTests, "TestDefaults/Empty"}},
	}
}
