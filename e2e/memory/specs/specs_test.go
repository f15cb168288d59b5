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

// Package specs runs specs of Cluster API's e2e tests on clusters in memory.
package specs

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	upstream "sigs.k8s.io/cluster-api/test/e2e"
	"sigs.k8s.io/cluster-api/test/framework"
	"sigs.k8s.io/cluster-api/test/framework/clusterctl"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/e2e/memory/process"
)

// What hack/e2e-memory.sh says about a run.
var (
	binaries  = flag.String("memory.binaries", "", "directory of etcd, kube-apiserver and kube-controller-manager")
	programs  = flag.String("memory.programs", filepath.Join("..", "..", "..", "bin"), "directory of capcon-plane and capcon-memory")
	artifacts = flag.String("memory.artifacts", "", "directory of the logs")
)

const (
	// flavor and version of this provider in clusterctl's local repository.
	flavor  = "memory"
	version = "v0.1.99"
	root    = "../../.."
)

// What BeforeSuite makes.
var (
	ctx        = ctrl.SetupSignalHandler()
	config     *clusterctl.E2EConfig
	repository string
	management framework.ClusterProxy
	plane      *process.Plane
)

func TestSpecs(t *testing.T) {
	gomega.RegisterFailHandler(ginkgo.Fail)
	ctrl.SetLogger(klog.Background())
	ginkgo.RunSpecs(t, "clusters in memory")
}

var _ = ginkgo.BeforeSuite(func() {
	if *artifacts == "" {
		*artifacts = ginkgo.GinkgoT().TempDir()
	}
	gomega.Expect(os.MkdirAll(*artifacts, 0o750)).To(gomega.Succeed())
	config = newConfig()
	repository = clusterctl.CreateRepository(ctx, clusterctl.CreateRepositoryInput{
		E2EConfig: config, RepositoryFolder: filepath.Join(*artifacts, "repository"),
	})
	ginkgo.By("Starting a management plane")
	var err error
	plane, err = process.Start(ctx, process.Options{
		Program: filepath.Join(*programs, "capcon-plane"), Manager: filepath.Join(*programs, "capcon-memory"), Binaries: *binaries,
		Directory: filepath.Join(*artifacts, "plane"),
	})
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	scheme := runtime.NewScheme()
	framework.TryAddDefaultSchemes(scheme)
	gomega.Expect(infrav1.AddToScheme(scheme)).To(gomega.Succeed())
	management = framework.NewClusterProxy("memory", plane.Kubeconfig, scheme)
})

var _ = ginkgo.AfterSuite(func() {
	if plane != nil {
		gomega.Expect(plane.Stop()).To(gomega.Succeed())
	}
})

// newConfig has this provider only: the plane has all that it needs.
func newConfig() *clusterctl.E2EConfig {
	// A step of a cluster waits for those of the others too.
	intervals := map[string][]string{}
	for _, name := range []string{
		"wait-cluster", "wait-control-plane", "wait-worker-nodes", "wait-delete-cluster", "wait-control-plane-upgrade",
		"wait-machine-deployment-upgrade", "wait-machine-pool-upgrade", "wait-machine-upgrade",
	} {
		intervals["default/"+name] = []string{"1h", "2s"}
	}
	config := &clusterctl.E2EConfig{
		ManagementClusterName: "memory",
		Providers: []clusterctl.ProviderConfig{{
			Name: "container", Type: string(clusterctlv1.InfrastructureProviderType),
			Versions: []clusterctl.ProviderVersionSource{{
				// clusterctl installs nothing: it wants some components, and takes the templates.
				Name: version, Contract: clusterv1.GroupVersion.Version, Type: clusterctl.URLSource,
				Value: filepath.Join(root, "config", "crd", "bases", infrav1.GroupVersion.Group+"_containerclusters.yaml"),
				Files: []clusterctl.Files{
					{SourcePath: filepath.Join(root, "metadata.yaml"), TargetName: "metadata.yaml"},
					{SourcePath: filepath.Join(root, "templates", "clusterclass-container.yaml"), TargetName: "clusterclass-container.yaml"},
					{SourcePath: "cluster-template-memory.yaml", TargetName: "cluster-template-" + flavor + ".yaml"},
				},
			}},
		}},
		Variables: map[string]string{
			upstream.KubernetesVersion: "v1.36.3", upstream.KubernetesVersionUpgradeFrom: "v1.35.4", upstream.KubernetesVersionUpgradeTo: "v1.36.3",
		},
		Intervals: intervals,
	}
	config.Defaults()
	return config
}

var _ = ginkgo.Describe("Scale", func() {
	upstream.ScaleSpec(ctx, func() upstream.ScaleSpecInput {
		return upstream.ScaleSpecInput{
			E2EConfig:              config,
			ClusterctlConfigPath:   repository,
			BootstrapClusterProxy:  management,
			ArtifactFolder:         *artifacts,
			InfrastructureProvider: ptr.To("container:" + version),
			Flavor:                 ptr.To(flavor),
			ClusterClassName:       "container",
			// 1 control plane and 3 workers each. CAPI_SCALE_CLUSTER_COUNT and the other
			// variables of the spec override its defaults.
		}
	})
})
