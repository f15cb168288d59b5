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
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	upstream "sigs.k8s.io/cluster-api/test/e2e"
	"sigs.k8s.io/cluster-api/test/framework"
)

// The provider's own extension changes the nodes: upstream's only waits.
var _ = ginkgo.Describe("Cluster in-place update", func() {
	upstream.ClusterInPlaceUpdateSpec(ctx, func() upstream.ClusterInPlaceUpdateSpecInput {
		return upstream.ClusterInPlaceUpdateSpecInput{
			E2EConfig:             e2eConfig,
			ClusterctlConfigPath:  clusterctlConfigPath,
			BootstrapClusterProxy: bootstrapClusterProxy,
			ArtifactFolder:        *artifactFolder,
			SkipCleanup:           *skipCleanup,
			Flavor:                ptr.To("in-place-update"),
			PostNamespaceCreated:  allowInPlaceUpdates,
		}
	})
})

// allowInPlaceUpdates of the Machines of a namespace, as docs/how-to/in-place-updates.md says.
func allowInPlaceUpdates(proxy framework.ClusterProxy, namespace string) {
	patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"container.infrastructure.cluster.x-k8s.io/in-place-updates":"enabled"}}}`))
	object := &corev1.Namespace{}
	object.Name = namespace
	gomega.Expect(proxy.GetClient().Patch(ctx, object, patch)).To(gomega.Succeed())
}
