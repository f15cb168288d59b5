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

package target

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/test/framework"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
)

// The provider's kinds.
const (
	clusterKind             = "ContainerCluster"
	clusterTemplateKind     = "ContainerClusterTemplate"
	machineKind             = "ContainerMachine"
	machineTemplateKind     = "ContainerMachineTemplate"
	machinePoolKind         = "ContainerMachinePool"
	machinePoolTemplateKind = "ContainerMachinePoolTemplate"
	engineKind              = "ContainerEngine"
)

// OwnerReferenceAssertions says of each of the provider's kinds which owners its
// objects have, for framework.ValidateOwnerReferencesResilience and
// ValidateOwnerReferencesOnUpdate, where framework.DevInfraOwnerReferenceAssertions
// says it of Cluster API's Dev kinds. TopologyManaged is whether the Cluster is made
// from a ClusterClass.
func OwnerReferenceAssertions(topologyManaged bool) map[string]func(types.NamespacedName, []metav1.OwnerReference) error {
	owner := func(kind string) metav1.OwnerReference {
		return metav1.OwnerReference{APIVersion: clusterv1.GroupVersion.String(), Kind: kind}
	}
	controller := func(kind string) metav1.OwnerReference {
		reference := owner(kind)
		reference.Controller = ptr.To(true)
		return reference
	}
	exactly := func(alternatives ...[]metav1.OwnerReference) func(types.NamespacedName, []metav1.OwnerReference) error {
		return func(_ types.NamespacedName, owners []metav1.OwnerReference) error {
			return framework.HasOneOfExactOwners(owners, alternatives...)
		}
	}
	pool := metav1.OwnerReference{APIVersion: infrav1.GroupVersion.String(), Kind: machinePoolKind}
	ofCluster := owner("Cluster")
	ofCluster.Controller = ptr.To(topologyManaged)
	return map[string]func(types.NamespacedName, []metav1.OwnerReference) error{
		clusterKind: exactly([]metav1.OwnerReference{ofCluster}),
		machineKind: exactly(
			[]metav1.OwnerReference{controller("Machine")},
			// An instance of a pool.
			[]metav1.OwnerReference{controller("Machine"), pool}),
		machinePoolKind: exactly([]metav1.OwnerReference{controller("MachinePool"), owner("Cluster")}),
		// Those of a class, and those of one cluster.
		machineTemplateKind:     exactly([]metav1.OwnerReference{owner("ClusterClass")}, []metav1.OwnerReference{owner("Cluster")}),
		clusterTemplateKind:     exactly([]metav1.OwnerReference{owner("ClusterClass")}),
		machinePoolTemplateKind: exactly([]metav1.OwnerReference{owner("ClusterClass")}),
		// It is an administrator's.
		engineKind: exactly([]metav1.OwnerReference{}),
	}
}

// FinalizersAssertion says of each of the provider's kinds which finalizers its objects
// have, for framework.ValidateFinalizersResilience, where
// framework.DevInfraFinalizersAssertion says it of Cluster API's Dev kinds.
func FinalizersAssertion() map[string]func(types.NamespacedName) []string {
	exactly := func(finalizer string) func(types.NamespacedName) []string {
		return func(types.NamespacedName) []string { return []string{finalizer} }
	}
	return map[string]func(types.NamespacedName) []string{
		clusterKind:     exactly(infrav1.ClusterFinalizer),
		machineKind:     exactly(infrav1.MachineFinalizer),
		machinePoolKind: exactly(infrav1.MachinePoolFinalizer),
		engineKind:      exactly(infrav1.EngineFinalizer),
	}
}
