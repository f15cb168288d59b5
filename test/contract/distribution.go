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

// distribution are the rules of clusterctl for a provider's release.
func distribution() []Rule {
	const clusterctlTests, clusterctl = "test/clusterctl", "TestIntegrationClusterctl"
	return []Rule{
		{ID: "K1", Says: "A repository has metadata, components and templates.", Proof: Proof{repositoryTests, "TestTemplatesAreWhole/cluster-template-machine-pool.yaml"}},
		{ID: "K2", Says: "metadata.yaml has the series of the release, and no field that clusterctl does not know.", Proof: Proof{repositoryTests, "TestMetadataHasTheSeriesOfTheContract"}},
		{ID: "K3", Says: "Files have the names that clusterctl expects.", Proof: Proof{clusterctlTests, clusterctl}},
		{ID: "K4", Says: "All components are in the Namespace that they contain.", Proof: Proof{repositoryTests, "TestComponentsAreWhatClusterctlWants/default"}},
		{ID: "K5", Says: "The manager is a Deployment with the container manager.", Proof: Proof{repositoryTests, "TestManagerIsADeploymentWithTheContainerManager/default"}},
		{ID: "K6", Says: "The manager has the flag --namespace.", Proof: Proof{".", "TestFlags"}},
		{ID: "K7", Says: "Images have fully qualified names, which can be overridden.", Proof: Proof{repositoryTests, "TestManagerIsADeploymentWithTheContainerManager/default"}},
		{ID: "K8", Says: "Variables have clusterctl's syntax.", Proof: Proof{repositoryTests, "TestTemplatesAreWhole/cluster-template-machine-pool.yaml"}},
		{ID: "K9", Says: "All components have the provider's label.", Proof: Proof{repositoryTests, "TestComponentsAreWhatClusterctlWants/default"}},
		{ID: "K10", Says: "The provider's name has lower-case letters, digits and dashes.", Unproved: "The name is container; rule K9 proves it."},
		{ID: "K11", Says: "A release on GitHub is tagged with a semantic version.", Unproved: "The release process creates the tag."},
		{ID: "K12", Says: "A release may be on GitLab.", Unproved: "It is not."},
		{ID: "K13", Says: "A repository may be a local directory.", Proof: Proof{clusterctlTests, clusterctl}},
		{ID: "K14", Says: "Templates have all objects, in the requested namespace.", Proof: Proof{repositoryTests, "TestTemplatesAreWhole/cluster-template-machine-pool.yaml"}},
		{ID: "K15", Says: "ClusterClasses are in separate files.", Proof: Proof{clusterctlTests, clusterctl}},
		{ID: "K16", Says: "Every object of the provider has a Cluster in its owner chain.", Proof: Proof{poolTests, "TestReconcile/Created"}},
		{ID: "K17", Says: "clusterctl changes what it installs.", Unproved: "Describes clusterctl."},
		{ID: "K18", Says: "A template contains all objects that it refers to.", Proof: Proof{repositoryTests, "TestTemplatesAreWhole/cluster-template-machine-pool.yaml"}},
		{ID: "K19", Says: "clusterctl installs a provider with the contract of the core provider.", Proof: Proof{repositoryTests, "TestMetadataHasTheSeriesOfTheContract"}},
		{ID: "K20", Says: "Before an API version is removed, its stored objects are migrated.", Proof: Proof{environmentTests, "TestIntegrationConversion"}},
	}
}
