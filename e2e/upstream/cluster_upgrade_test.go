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
	"k8s.io/utils/ptr"

	upstream "sigs.k8s.io/cluster-api/test/e2e"
)

// Without the conformance part: kubetest runs an image that cannot be built from
// source here, on a network called kind; "make e2e RUN=conformance" runs the tests instead.

var _ = ginkgo.Describe("Cluster upgrade", func() {
	upstream.ClusterUpgradeConformanceSpec(ctx, func() upstream.ClusterUpgradeConformanceSpecInput {
		return clusterUpgrade("topology", 1, 2)
	})
})

var _ = ginkgo.Describe("Scale-in upgrade", func() {
	upstream.ClusterUpgradeConformanceSpec(ctx, func() upstream.ClusterUpgradeConformanceSpecInput {
		return clusterUpgrade("kcp-scale-in", 3, 1)
	})
})

func clusterUpgrade(flavor string, controlPlanes, workers int64) upstream.ClusterUpgradeConformanceSpecInput {
	return upstream.ClusterUpgradeConformanceSpecInput{
		E2EConfig:                e2eConfig,
		ClusterctlConfigPath:     clusterctlConfigPath,
		BootstrapClusterProxy:    bootstrapClusterProxy,
		ArtifactFolder:           *artifactFolder,
		SkipCleanup:              *skipCleanup,
		Flavor:                   ptr.To(flavor),
		ControlPlaneMachineCount: ptr.To(controlPlanes),
		WorkerMachineCount:       ptr.To(workers),
		SkipConformanceTests:     true,
	}
}
