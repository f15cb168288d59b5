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
		{ID: "C2", Says: "All have the metadata that all of Kubernetes has.", Proof: Proof{contractTests, "TestKinds"}},
		{ID: "C3", Says: "Each kind has a list, templates too.", Proof: Proof{contractTests, "TestKinds"}},
		{ID: "C4", Says: "A template is called as the kind that is made from it, with Template behind.", Proof: Proof{contractTests, "TestKinds"}},
		{ID: "C5", Says: "A definition has the name by which Cluster API looks for it.", Proof: Proof{repositoryTests, "TestDefinitionsFollowTheContract"}},
		{ID: "C6", Says: "Each definition is labelled with the contract and the versions that keep it.", Proof: Proof{repositoryTests, "TestDefinitionsFollowTheContract"}},
		{ID: "C7", Says: "The label of an older contract is for objects of that contract.", Unproved: "There are none: the provider began with v1beta2."},
		{ID: "C8", Says: "Labels and metadata.yaml name the same contract.", Proof: Proof{repositoryTests, "TestMetadataHasTheSeriesOfTheContract"}},
		{ID: "C9", Says: "All versions that are served convert to each other without loss.", Proof: Proof{conversionTests, "TestRoundTripsLoseNothing"}},
		{ID: "C10", Says: "The group is that of Cluster API's providers, on which it has all rights.", Proof: Proof{repositoryTests, "TestDefinitionsFollowTheContract"}},
		{ID: "C11", Says: "Core may do with all kinds what it has to.", Proof: Proof{repositoryTests, "TestClusterAPIMayWorkOnAllKinds"}},
		{ID: "C12", Says: "So may the kubeadm control plane, which aggregates by a label of its own.", Proof: Proof{repositoryTests, "TestClusterAPIMayWorkOnAllKinds"}},
		{ID: "C13", Says: "Who makes an object an owner may update its finalizers.", Proof: Proof{repositoryTests, "TestRoleOfTheManager"}},
		{ID: "C14", Says: "Cluster API writes owners and labels only, beside the topology.", Unproved: "Describes Cluster API itself."},
		{ID: "C15", Says: "A paused object, or one of a paused Cluster, is left alone and says so.", Proof: Proof{machineTests, "TestHandsOff/ClusterPaused"}},
		{ID: "C15", Says: "It says so with the condition Paused, also when it is not paused any more.", Proof: Proof{machineTests, "TestUnpaused"}},
		{ID: "C15", Says: "A template of a paused Cluster is left alone; it has no conditions to say so.", Proof: Proof{"controllers/machinetemplate", "TestReconcile/ClusterPaused"}},
		{ID: "C16", Says: "Conditions are a list by type, of at most 32.", Proof: Proof{contractTests, "TestFields"}},
		{ID: "C17", Says: "Ready reports the current state for the whole life of the object, also during deletion.", Proof: Proof{machineTests, "TestDeletions/EngineDown"}},
		{ID: "C18", Says: "There are neither failureReason nor failureMessage.", Proof: Proof{contractTests, "TestFields"}},
		{ID: "C19", Says: "status.initialization.provisioned is there, in a struct that is never empty.", Proof: Proof{contractTests, "TestFields"}},
		{ID: "C20", Says: "A template's labels and annotations reach what is made from it.", Proof: Proof{contractTests, "TestTemplatesMakeTheirKind/ContainerMachine"}},
		{ID: "C20", Says: "They are checked.", Proof: Proof{webhookTests, "TestChanges/MachineTemplateBadMetadata"}},
		{ID: "C21", Says: "With a watch filter only objects with its label are reconciled.", Proof: Proof{contractTests, "TestIntegrationWatchFilter"}},
		{ID: "C22", Says: "--namespace restricts what is watched.", Proof: Proof{".", "TestFlags"}},
		{ID: "C23", Says: "Owners are found by kind and name: Cluster API does not always make them controllers.", Proof: Proof{"controllers/predicates", "TestTakenOver/Machine"}},
		{ID: "C24", Says: "Nothing relies on what Cluster API does not document.", Unproved: "Cannot be tested; where code of Cluster API is relied on, the rule here says so."},
	}
}
