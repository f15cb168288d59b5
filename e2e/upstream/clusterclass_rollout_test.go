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
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	upstream "sigs.k8s.io/cluster-api/test/e2e"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
)

var _ = ginkgo.Describe("ClusterClass rollout", func() {
	upstream.ClusterClassRolloutSpec(ctx, func() upstream.ClusterClassRolloutSpecInput {
		return upstream.ClusterClassRolloutSpecInput{
			E2EConfig:             e2eConfig,
			ClusterctlConfigPath:  clusterctlConfigPath,
			BootstrapClusterProxy: bootstrapClusterProxy,
			ArtifactFolder:        *artifactFolder,
			SkipCleanup:           *skipCleanup,
			Flavor:                "topology-taints",
			// What the provider adds itself, as the spec provides for.
			FilterMetadataBeforeValidation: func(object client.Object) clusterv1.ObjectMeta {
				annotations := object.GetAnnotations()
				delete(annotations, infrav1.EngineAnnotation)
				return clusterv1.ObjectMeta{Labels: object.GetLabels(), Annotations: annotations}
			},
		}
	})
})
