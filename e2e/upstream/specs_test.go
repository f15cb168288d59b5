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

// The specs that need no more than the suite has.

var _ = ginkgo.Describe("KCP adoption", func() {
	upstream.KCPAdoptionSpec(ctx, func() upstream.KCPAdoptionSpecInput {
		return upstream.KCPAdoptionSpecInput{
			E2EConfig:             e2eConfig,
			ClusterctlConfigPath:  clusterctlConfigPath,
			BootstrapClusterProxy: bootstrapClusterProxy,
			ArtifactFolder:        *artifactFolder,
			SkipCleanup:           *skipCleanup,
		}
	})
})

var _ = ginkgo.Describe("KCP infra adoption", func() {
	upstream.KCPInfraAdoptionSpec(ctx, func() upstream.KCPInfraAdoptionSpecInput {
		return upstream.KCPInfraAdoptionSpecInput{
			E2EConfig:             e2eConfig,
			ClusterctlConfigPath:  clusterctlConfigPath,
			BootstrapClusterProxy: bootstrapClusterProxy,
			ArtifactFolder:        *artifactFolder,
			SkipCleanup:           *skipCleanup,
			Flavor:                ptr.To("topology-owner-id"),
		}
	})
})

var _ = ginkgo.Describe("KCP and MachineDeployment rollout", func() {
	upstream.KCPAndMachineDeploymentRolloutSpec(ctx, func() upstream.KCPAndMachineDeploymentRolloutSpecInput {
		return upstream.KCPAndMachineDeploymentRolloutSpecInput{
			E2EConfig:             e2eConfig,
			ClusterctlConfigPath:  clusterctlConfigPath,
			BootstrapClusterProxy: bootstrapClusterProxy,
			ArtifactFolder:        *artifactFolder,
			SkipCleanup:           *skipCleanup,
			Flavor:                "kcp-md-taints",
		}
	})
})

var _ = ginkgo.Describe("KCP remediation", func() {
	upstream.KCPRemediationSpec(ctx, func() upstream.KCPRemediationSpecInput {
		return upstream.KCPRemediationSpecInput{
			E2EConfig:             e2eConfig,
			ClusterctlConfigPath:  clusterctlConfigPath,
			BootstrapClusterProxy: bootstrapClusterProxy,
			ArtifactFolder:        *artifactFolder,
			SkipCleanup:           *skipCleanup,
		}
	})
})

var _ = ginkgo.Describe("MachinePool", func() {
	upstream.MachinePoolSpec(ctx, func() upstream.MachinePoolInput {
		return upstream.MachinePoolInput{
			E2EConfig:             e2eConfig,
			ClusterctlConfigPath:  clusterctlConfigPath,
			BootstrapClusterProxy: bootstrapClusterProxy,
			ArtifactFolder:        *artifactFolder,
			SkipCleanup:           *skipCleanup,
		}
	})
})

var _ = ginkgo.Describe("MachineDeployment remediation", func() {
	upstream.MachineDeploymentRemediationSpec(ctx, func() upstream.MachineDeploymentRemediationSpecInput {
		return upstream.MachineDeploymentRemediationSpecInput{
			E2EConfig:             e2eConfig,
			ClusterctlConfigPath:  clusterctlConfigPath,
			BootstrapClusterProxy: bootstrapClusterProxy,
			ArtifactFolder:        *artifactFolder,
			SkipCleanup:           *skipCleanup,
		}
	})
})

var _ = ginkgo.Describe("MachineDeployment scale", func() {
	upstream.MachineDeploymentScaleSpec(ctx, func() upstream.MachineDeploymentScaleSpecInput {
		return upstream.MachineDeploymentScaleSpecInput{
			E2EConfig:             e2eConfig,
			ClusterctlConfigPath:  clusterctlConfigPath,
			BootstrapClusterProxy: bootstrapClusterProxy,
			ArtifactFolder:        *artifactFolder,
			SkipCleanup:           *skipCleanup,
		}
	})
})

var _ = ginkgo.Describe("Self-hosted", func() {
	upstream.SelfHostedSpec(ctx, func() upstream.SelfHostedSpecInput {
		return upstream.SelfHostedSpecInput{
			E2EConfig:                e2eConfig,
			ClusterctlConfigPath:     clusterctlConfigPath,
			BootstrapClusterProxy:    bootstrapClusterProxy,
			ArtifactFolder:           *artifactFolder,
			SkipCleanup:              *skipCleanup,
			Flavor:                   "management",
			ControlPlaneMachineCount: ptr.To[int64](1),
			WorkerMachineCount:       ptr.To[int64](1),
		}
	})
})
