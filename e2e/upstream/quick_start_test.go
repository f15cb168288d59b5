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
	"strings"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
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

var _ = ginkgo.Describe("QuickStart dual stack, IPv4 primary", func() {
	upstream.QuickStartSpec(ctx, func() upstream.QuickStartSpecInput {
		return quickStart(ptr.To("topology-dual-stack-ipv4-primary"), addresses(corev1.IPv4Protocol, corev1.IPv6Protocol))
	})
})

var _ = ginkgo.Describe("QuickStart dual stack, IPv6 primary", func() {
	upstream.QuickStartSpec(ctx, func() upstream.QuickStartSpecInput {
		return quickStart(ptr.To("topology-dual-stack-ipv6-primary"), addresses(corev1.IPv6Protocol, corev1.IPv4Protocol))
	})
})

var _ = ginkgo.Describe("QuickStart IPv6", func() {
	upstream.QuickStartSpec(ctx, func() upstream.QuickStartSpecInput {
		return quickStart(ptr.To("topology-ipv6"), addresses(corev1.IPv6Protocol))
	})
})

// addresses checks that all Nodes and the Service of the API have these IP families, the primary one first.
func addresses(want ...corev1.IPFamily) validation {
	return func(proxy framework.ClusterProxy, namespace, clusterName string) {
		cluster := proxy.GetWorkloadCluster(ctx, namespace, clusterName).GetClientSet().CoreV1()
		nodes, err := cluster.Nodes().List(ctx, metav1.ListOptions{})
		gomega.Expect(err).NotTo(gomega.HaveOccurred())
		gomega.Expect(nodes.Items).NotTo(gomega.BeEmpty())
		for _, node := range nodes.Items {
			var families []corev1.IPFamily
			for _, address := range node.Status.Addresses {
				if address.Type == corev1.NodeInternalIP {
					families = append(families, familyOf(address.Address))
				}
			}
			gomega.Expect(families).To(gomega.Equal(want), "IP families of Node "+node.Name)
		}
		dns, err := cluster.Services(metav1.NamespaceSystem).Get(ctx, "kube-dns", metav1.GetOptions{})
		gomega.Expect(err).NotTo(gomega.HaveOccurred())
		gomega.Expect(dns.Spec.IPFamilies[0]).To(gomega.Equal(want[0]), "primary IP family of Services")
	}
}

func familyOf(address string) corev1.IPFamily {
	if strings.Contains(address, ":") {
		return corev1.IPv6Protocol
	}
	return corev1.IPv4Protocol
}

// validation of the objects of a cluster that is provisioned.
type validation func(proxy framework.ClusterProxy, namespace, clusterName string)

// isCredentials reports whether it is the Secret of a ContainerEngine, which an administrator created: it has no owner.
func isCredentials(object unstructured.Unstructured) bool {
	_, isMoved := object.GetLabels()[clusterctlv1.ClusterctlMoveLabel]
	return isMoved && object.GetKind() == "Secret"
}

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
		named := clusterctlcluster.FilterClusterObjectsWithNameFilter(clusterName)
		ofCluster := func(object unstructured.Unstructured) bool { return named(object) && !isCredentials(object) }

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
