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
	const pool = "templates/cluster-template-machine-pool.yaml"
	const release, clusterctlTests, clusterctl = "hack/release-manifests.sh", "test/clusterctl", "TestIntegrationClusterctl"
	return []Rule{
		{ID: "K1", Says: "A repository has metadata, components and templates.", Proof: Proof{
			repositoryTests, "TestTemplatesAreWhole/cluster-template-machine-pool.yaml", pool, "kind: ContainerMachinePool\nmetadata:", "kind: ContainerMachinePools\nmetadata:",
		}},
		{ID: "K2", Says: "metadata.yaml names the series of the release, and nothing that clusterctl does not know.", Proof: Proof{
			repositoryTests, "TestMetadataHasTheSeriesOfTheContract", "metadata.yaml", "minor: 1", "minor: 2",
		}},
		{ID: "K3", Says: "Files are called as clusterctl looks for them.", Proof: Proof{
			clusterctlTests, clusterctl, release, "/files/infrastructure-components.yaml", "/files/components.yaml",
		}},
		{ID: "K4", Says: "All components are in the one Namespace among them.", Proof: Proof{
			repositoryTests, "TestComponentsAreWhatClusterctlWants/default", "config/default/kustomization.yaml", "namespace: capcon-system\n", "",
		}},
		{ID: "K5", Says: "The manager is a Deployment with the container manager.", Proof: Proof{
			repositoryTests, "TestManagerIsADeploymentWithTheContainerManager/default", "config/default/namespace.yaml", "kind: Namespace\n", "kind: Namespace\n---\napiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: second\n",
		}},
		{ID: "K6", Says: "The manager has the flag --namespace.", Proof: Proof{
			".", "TestFlags", "options.go", `set.StringVar(&o.namespace, "namespace",`, `set.StringVar(&o.namespace, "only-namespace",`,
		}},
		{ID: "K7", Says: "Images have whole names, which can be overridden.", Proof: Proof{
			repositoryTests, "TestManagerIsADeploymentWithTheContainerManager/default", "config/manager/kustomization.yaml", "newName: localhost/capcon/manager", "newName: capcon/manager",
		}},
		{ID: "K8", Says: "Variables are written as clusterctl reads them.", Proof: Proof{
			repositoryTests, "TestTemplatesAreWhole/cluster-template-machine-pool.yaml", pool, "image: ${CONTAINER_LOAD_BALANCER_IMAGE:=null}", "picture: ${CONTAINER_LOAD_BALANCER_IMAGE:=null}",
		}},
		{ID: "K9", Says: "All components have the provider's label.", Proof: Proof{
			repositoryTests, "TestComponentsAreWhatClusterctlWants/default", "config/default/kustomization.yaml", "      cluster.x-k8s.io/provider: infrastructure-container", "      cluster.x-k8s.io/provider: infrastructure-containers",
		}},
		{ID: "K10", Says: "The provider's name has lower-case letters, digits and dashes.", Unproved: "It is container; rule K9 proves that it is that."},
		{ID: "K11", Says: "A release on GitHub is tagged with a semantic version.", Unproved: "Made by whoever releases."},
		{ID: "K12", Says: "A release may be on GitLab.", Unproved: "It is not."},
		{ID: "K13", Says: "A repository may be a local directory.", Proof: Proof{
			clusterctlTests, clusterctl, release, "readonly provider=infrastructure-container\n", "readonly provider=container\n",
		}},
		{ID: "K14", Says: "Templates have all objects, in the namespace that is asked for.", Proof: Proof{
			repositoryTests, "TestTemplatesAreWhole/cluster-template-machine-pool.yaml", pool,
			"kind: ContainerCluster\nmetadata:\n  name: ${CLUSTER_NAME}\n  namespace: ${NAMESPACE}\n", "kind: ContainerCluster\nmetadata:\n  name: ${CLUSTER_NAME}\n",
		}},
		{ID: "K15", Says: "ClusterClasses have files of their own.", Proof: Proof{
			clusterctlTests, clusterctl, release, "cp metadata.yaml templates/*.yaml", "cp metadata.yaml templates/cluster-template*.yaml",
		}},
		{ID: "K16", Says: "Every object of the provider leads to a Cluster by its owners.", Proof: Proof{
			poolTests, "TestSituations/Created", "controllers/machinepool/replicas.go", "containerMachine.OwnerReferences = util.EnsureOwnerRef(", "_ = util.EnsureOwnerRef(",
		}},
		{ID: "K17", Says: "clusterctl changes what it installs.", Unproved: "Tells what clusterctl does."},
		{ID: "K18", Says: "A template has all that it refers to.", Proof: Proof{
			repositoryTests, "TestTemplatesAreWhole/cluster-template-machine-pool.yaml", pool, "kind: KubeadmConfig\nmetadata:\n  name: ${CLUSTER_NAME}", "kind: KubeadmConfig\nmetadata:\n  name: x-${CLUSTER_NAME}",
		}},
		{ID: "K19", Says: "clusterctl installs a provider of core's contract.", Proof: Proof{
			repositoryTests, "TestMetadataHasTheSeriesOfTheContract", "metadata.yaml", "    contract: v1beta2\n", "",
		}},
		{ID: "K20", Says: "When a version is dropped, what is stored in it is migrated.", Unproved: "There is one version."},
	}
}
