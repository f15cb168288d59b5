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

// allKinds are the rules for every kind that Cluster API touches.
func allKinds() []Rule {
	return []Rule{
		{ID: "C1", Says: "All kinds are namespaced.", Proof: Proof{repositoryTests, "TestDefinitionsFollowTheContract"}},
		{ID: "C2", Says: "All have ObjectMeta and TypeMeta, as all Kubernetes objects.", Proof: Proof{contractTests, "TestKinds"}},
		{ID: "C3", Says: "Each kind has a list kind, templates too.", Proof: Proof{contractTests, "TestKinds"}},
		{ID: "C4", Says: "A template kind is named after the kind created from it, with the suffix Template.", Proof: Proof{contractTests, "TestKinds"}},
		{ID: "C5", Says: "A CRD has the name that Cluster API derives from the kind.", Proof: Proof{repositoryTests, "TestDefinitionsFollowTheContract"}},
		{ID: "C6", Says: "Each CRD is labeled with the contract and the versions that follow it.", Proof: Proof{repositoryTests, "TestDefinitionsFollowTheContract"}},
		{ID: "C7", Says: "The label of an older contract is for objects of that contract.", Unproved: "There are none: the provider began with v1beta2."},
		{ID: "C8", Says: "Labels and metadata.yaml name the same contract.", Proof: Proof{repositoryTests, "TestMetadataHasTheSeriesOfTheContract"}},
		{ID: "C9", Says: "All served versions convert to each other without loss.", Proof: Proof{conversionTests, "TestRoundTripsLoseNothing"}},
		{ID: "C10", Says: "The group is that of Cluster API's infrastructure providers, for which its ClusterRole has all verbs.", Proof: Proof{repositoryTests, "TestDefinitionsFollowTheContract"}},
		{ID: "C11", Says: "The core controllers have the RBAC rules that they need for all kinds.", Proof: Proof{repositoryTests, "TestClusterAPIMayWorkOnAllKinds"}},
		{ID: "C12", Says: "So has the kubeadm control plane provider, with an aggregation label of its own.", Proof: Proof{repositoryTests, "TestClusterAPIMayWorkOnAllKinds"}},
		{ID: "C13", Says: "A client that sets an owner reference may update the owner's finalizers.", Proof: Proof{repositoryTests, "TestRoleOfTheManager"}},
		{ID: "C14", Says: "Apart from the topology controller, Cluster API writes only owner references and labels.", Unproved: "Describes Cluster API itself."},
		{ID: "C15", Says: "A paused object, or an object of a paused Cluster, is not reconciled and reports it.", Proof: Proof{machineTests, "TestHandsOff/ClusterPaused"}},
		{ID: "C15", Says: "The condition Paused reports it, also when the object is no longer paused.", Proof: Proof{machineTests, "TestUnpaused"}},
		{ID: "C15", Says: "A template of a paused Cluster is not reconciled; it has no conditions to report it.", Proof: Proof{"controllers/machinetemplate", "TestReconcile/ClusterPaused"}},
		{ID: "C16", Says: "Conditions are a list by type, of at most 32.", Proof: Proof{contractTests, "TestFields"}},
		{ID: "C17", Says: "Ready reports the current state for the whole life of the object, also during deletion.", Proof: Proof{machineTests, "TestDeletions/EngineDown"}},
		{ID: "C18", Says: "There are neither failureReason nor failureMessage.", Proof: Proof{contractTests, "TestFields"}},
		{ID: "C19", Says: "status.initialization.provisioned is there, in a struct that is never empty.", Proof: Proof{contractTests, "TestFields"}},
		{ID: "C20", Says: "A template's labels and annotations are propagated to the objects created from it.", Proof: Proof{contractTests, "TestTemplatesMakeTheirKind/ContainerMachine"}},
		{ID: "C20", Says: "They are validated.", Proof: Proof{webhookTests, "TestChanges/MachineTemplateBadMetadata"}},
		{ID: "C21", Says: "With a watch filter, only objects with its label are reconciled.", Proof: Proof{contractTests, "TestIntegrationWatchFilter"}},
		{ID: "C22", Says: "--namespace restricts what is watched.", Proof: Proof{".", "TestFlags"}},
		{ID: "C23", Says: "Owners are found by kind and name: Cluster API does not always make them controllers.", Proof: Proof{"controllers/internal/reconcile", "TestTakenOver/Machine"}},
		{ID: "C24", Says: "Nothing relies on what Cluster API does not document.", Unproved: "Cannot be tested; rules that depend on Cluster API's code say so."},
	}
}
