//go:build e2e

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

package upstream

import (
	"slices"

	"github.com/onsi/ginkgo/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	upstream "sigs.k8s.io/cluster-api/test/e2e"
)

var _ = ginkgo.Describe("Cluster deletion", func() {
	upstream.ClusterDeletionSpec(ctx, func() upstream.ClusterDeletionSpecInput {
		return upstream.ClusterDeletionSpecInput{
			E2EConfig:                e2eConfig,
			ClusterctlConfigPath:     clusterctlConfigPath,
			BootstrapClusterProxy:    bootstrapClusterProxy,
			ArtifactFolder:           *artifactFolder,
			SkipCleanup:              *skipCleanup,
			ControlPlaneMachineCount: ptr.To[int64](3),
			Flavor:                   ptr.To("topology"),
			// Workers first, then the control plane, the infrastructure last.
			ClusterDeletionPhases: []upstream.ClusterDeletionPhase{
				{
					ObjectFilter: func(object corev1.ObjectReference, owners []metav1.OwnerReference) bool {
						return object.Kind == "MachineDeployment" || object.Kind == "MachineSet" ||
							object.Kind == kindMachine && ownedBy(owners, "MachineDeployment", "MachineSet")
					},
					BlockingObjectFilter: isKind(kindMachine),
				},
				{
					ObjectFilter: func(object corev1.ObjectReference, owners []metav1.OwnerReference) bool {
						return object.Kind == kindControlPlane || object.Kind == kindMachine && ownedBy(owners, kindControlPlane)
					},
					BlockingObjectFilter: isKind(kindMachine),
				},
				{ObjectFilter: isKind("ContainerCluster"), BlockingObjectFilter: isKind("ContainerCluster")},
			},
		}
	})
})

const (
	kindMachine      = "Machine"
	kindControlPlane = "KubeadmControlPlane"
)

func isKind(kind string) func(corev1.ObjectReference, []metav1.OwnerReference) bool {
	return func(object corev1.ObjectReference, _ []metav1.OwnerReference) bool { return object.Kind == kind }
}

func ownedBy(owners []metav1.OwnerReference, kinds ...string) bool {
	return slices.ContainsFunc(owners, func(owner metav1.OwnerReference) bool { return slices.Contains(kinds, owner.Kind) })
}
