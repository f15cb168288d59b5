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
		{ID: "K2", Says: "metadata.yaml names the series of the release, and nothing that clusterctl does not know.", Proof: Proof{repositoryTests, "TestMetadataHasTheSeriesOfTheContract"}},
		{ID: "K3", Says: "Files are called as clusterctl looks for them.", Proof: Proof{clusterctlTests, clusterctl}},
		{ID: "K4", Says: "All components are in the one Namespace among them.", Proof: Proof{repositoryTests, "TestComponentsAreWhatClusterctlWants/default"}},
		{ID: "K5", Says: "The manager is a Deployment with the container manager.", Proof: Proof{repositoryTests, "TestManagerIsADeploymentWithTheContainerManager/default"}},
		{ID: "K6", Says: "The manager has the flag --namespace.", Proof: Proof{".", "TestFlags"}},
		{ID: "K7", Says: "Images have whole names, which can be overridden.", Proof: Proof{repositoryTests, "TestManagerIsADeploymentWithTheContainerManager/default"}},
		{ID: "K8", Says: "Variables are written as clusterctl reads them.", Proof: Proof{repositoryTests, "TestTemplatesAreWhole/cluster-template-machine-pool.yaml"}},
		{ID: "K9", Says: "All components have the provider's label.", Proof: Proof{repositoryTests, "TestComponentsAreWhatClusterctlWants/default"}},
		{ID: "K10", Says: "The provider's name has lower-case letters, digits and dashes.", Unproved: "It is container; rule K9 proves that it is that."},
		{ID: "K11", Says: "A release on GitHub is tagged with a semantic version.", Unproved: "Made by whoever releases."},
		{ID: "K12", Says: "A release may be on GitLab.", Unproved: "It is not."},
		{ID: "K13", Says: "A repository may be a local directory.", Proof: Proof{clusterctlTests, clusterctl}},
		{ID: "K14", Says: "Templates have all objects, in the namespace that is asked for.", Proof: Proof{repositoryTests, "TestTemplatesAreWhole/cluster-template-machine-pool.yaml"}},
		{ID: "K15", Says: "ClusterClasses have files of their own.", Proof: Proof{clusterctlTests, clusterctl}},
		{ID: "K16", Says: "Every object of the provider leads to a Cluster by its owners.", Proof: Proof{poolTests, "TestReconcile/Created"}},
		{ID: "K17", Says: "clusterctl changes what it installs.", Unproved: "Describes clusterctl."},
		{ID: "K18", Says: "A template has all that it refers to.", Proof: Proof{repositoryTests, "TestTemplatesAreWhole/cluster-template-machine-pool.yaml"}},
		{ID: "K19", Says: "clusterctl installs a provider of core's contract.", Proof: Proof{repositoryTests, "TestMetadataHasTheSeriesOfTheContract"}},
		{ID: "K20", Says: "When a version is dropped, what is stored in it is migrated.", Proof: Proof{environmentTests, "TestIntegrationConversion"}},
	}
}
