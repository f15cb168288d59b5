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
	"context"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	upstream "sigs.k8s.io/cluster-api/test/e2e"
	"sigs.k8s.io/cluster-api/test/framework"
)

var _ = ginkgo.Describe("Node drain", func() {
	upstream.NodeDrainTimeoutSpec(ctx, func() upstream.NodeDrainTimeoutSpecInput {
		return upstream.NodeDrainTimeoutSpecInput{
			E2EConfig:                 e2eConfig,
			ClusterctlConfigPath:      clusterctlConfigPath,
			BootstrapClusterProxy:     bootstrapClusterProxy,
			ArtifactFolder:            *artifactFolder,
			SkipCleanup:               *skipCleanup,
			Flavor:                    ptr.To("topology"),
			VerifyNodeVolumeDetach:    true,
			CreateAdditionalResources: attachVolumes,
		}
	})
})

// attachVolumes makes each Node of a cluster look as if a volume were attached to it,
// which no driver detaches: the spec waits for it, then sets a timeout.
func attachVolumes(ctx context.Context, management framework.ClusterProxy, cluster *clusterv1.Cluster) {
	workload := management.GetWorkloadCluster(ctx, cluster.Namespace, cluster.Name).GetClient()
	nodes := &corev1.NodeList{}
	gomega.Expect(workload.List(ctx, nodes)).To(gomega.Succeed())
	for i := range nodes.Items {
		attachment := &storagev1.VolumeAttachment{
			ObjectMeta: metav1.ObjectMeta{
				Name: "of-" + nodes.Items[i].Name, Finalizers: []string{"e2e.container.infrastructure.cluster.x-k8s.io/attached"},
			},
			Spec: storagev1.VolumeAttachmentSpec{
				Attacher: "none", NodeName: nodes.Items[i].Name,
				Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: ptr.To("any")},
			},
		}
		gomega.Expect(workload.Create(ctx, attachment)).To(gomega.Succeed())
		attachment.Status.Attached = true
		gomega.Expect(workload.Status().Update(ctx, attachment)).To(gomega.Succeed())
	}
}
