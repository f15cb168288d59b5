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
	"github.com/onsi/ginkgo/v2"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	clusterctlcluster "sigs.k8s.io/cluster-api/cmd/clusterctl/client/cluster"
	upstream "sigs.k8s.io/cluster-api/test/e2e"
	"sigs.k8s.io/cluster-api/test/framework"

	"github.com/capi-samples/cluster-api-provider-container/e2e/target"
)

var _ = ginkgo.Describe("QuickStart default", func() {
	upstream.QuickStartSpec(ctx, func() upstream.QuickStartSpecInput { return quickStart(nil, validate(false)) })
})

var _ = ginkgo.Describe("QuickStart topology", func() {
	upstream.QuickStartSpec(ctx, func() upstream.QuickStartSpecInput { return quickStart(ptr.To("topology"), validate(true)) })
})

var _ = ginkgo.Describe("QuickStart machine-pool", func() {
	// Of a topology: upstream's validations expect the Cluster to own the objects of a pool,
	// as it does only there.
	upstream.QuickStartSpec(ctx, func() upstream.QuickStartSpecInput {
		return quickStart(ptr.To("topology-machine-pool"), validate(true))
	})
})

var _ = ginkgo.Describe("QuickStart ignition", func() {
	upstream.QuickStartSpec(ctx, func() upstream.QuickStartSpecInput { return quickStart(ptr.To("ignition"), validate(false)) })
})

// validation of the objects of a cluster that is provisioned.
type validation func(proxy framework.ClusterProxy, namespace, clusterName string)

func quickStart(flavor *string, validate validation) upstream.QuickStartSpecInput {
	return upstream.QuickStartSpecInput{
		E2EConfig:               e2eConfig,
		ClusterctlConfigPath:    clusterctlConfigPath,
		BootstrapClusterProxy:   bootstrapClusterProxy,
		ArtifactFolder:          *artifactFolder,
		SkipCleanup:             *skipCleanup,
		Flavor:                  flavor,
		PostMachinesProvisioned: validate,
	}
}

// validate makes every check that upstream makes in its own quick start, with the
// assertions for this provider's kinds in place of those for the Dev kinds.
func validate(topologyManaged bool) validation {
	core := map[bool]map[string]func(types.NamespacedName) []string{
		false: framework.CoreFinalizersAssertionWithLegacyClusters,
		true:  framework.CoreFinalizersAssertionWithClassyClusters,
	}[topologyManaged]
	return func(proxy framework.ClusterProxy, namespace, clusterName string) {
		ofCluster := clusterctlcluster.FilterClusterObjectsWithNameFilter(clusterName)

		ginkgo.By("Checking that owner references come back when they are removed")
		framework.ValidateOwnerReferencesResilience(ctx, proxy, namespace, clusterName, ofCluster,
			framework.CoreOwnerReferenceAssertion,
			framework.ExpOwnerReferenceAssertions,
			target.OwnerReferenceAssertions(topologyManaged),
			framework.KubeadmBootstrapOwnerReferenceAssertions,
			framework.KubeadmControlPlaneOwnerReferenceAssertions(topologyManaged),
			framework.KubernetesReferenceAssertions,
		)
		ginkgo.By("Checking that owner references get the current API version")
		framework.ValidateOwnerReferencesOnUpdate(ctx, proxy, namespace, clusterName, ofCluster,
			framework.CoreOwnerReferenceAssertion,
			framework.ExpOwnerReferenceAssertions,
			target.OwnerReferenceAssertions(topologyManaged),
			framework.KubeadmBootstrapOwnerReferenceAssertions,
			framework.KubeadmControlPlaneOwnerReferenceAssertions(topologyManaged),
			framework.KubernetesReferenceAssertions,
		)
		ginkgo.By("Checking that finalizers come back when they are removed")
		framework.ValidateFinalizersResilience(ctx, proxy, namespace, clusterName, ofCluster,
			core,
			framework.KubeadmControlPlaneFinalizersAssertion,
			framework.ExpFinalizersAssertion,
			target.FinalizersAssertion(),
		)
		ginkgo.By("Checking that nothing writes while nothing happens")
		framework.ValidateResourceVersionStable(ctx, framework.ValidateResourceVersionStableInput{
			ClusterProxy:             proxy,
			Namespace:                namespace,
			OwnerGraphFilterFunction: ofCluster,
			WaitToBecomeStable:       e2eConfig.GetIntervals("quick-start", "wait-resource-versions-become-stable"),
			WaitToRemainStable:       e2eConfig.GetIntervals("quick-start", "wait-resource-versions-remain-stable"),
		})
	}
}
