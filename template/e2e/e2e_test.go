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

// Package e2e runs specs of Cluster API's e2e suite with the provider, on kind.
package e2e

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	upstream "sigs.k8s.io/cluster-api/test/e2e"
	"sigs.k8s.io/cluster-api/test/framework"
	"sigs.k8s.io/cluster-api/test/framework/bootstrap"
	"sigs.k8s.io/cluster-api/test/framework/clusterctl"
)

var (
	configPath = flag.String("e2e.config", "config.yaml", "configuration of the suite")
	existing   = flag.Bool("e2e.use-existing-cluster", false, "install the providers in the cluster of KUBECONFIG, which has the images, instead of one of kind")
	artifacts  = flag.String("e2e.artifacts", filepath.Join("..", "_artifacts", "e2e"), "directory of logs and of clusterctl's local repository")

	ctx              = ctrl.SetupSignalHandler()
	config           *clusterctl.E2EConfig
	clusterctlConfig string
	proxy            framework.ClusterProxy
)

func TestE2E(t *testing.T) {
	if testing.Short() {
		t.Skip("creates clusters")
	}
	gomega.RegisterFailHandler(ginkgo.Fail)
	ctrl.SetLogger(klog.Background())
	ginkgo.RunSpecs(t, "sample")
}

var _ = ginkgo.BeforeSuite(func() {
	var err error
	*artifacts, err = filepath.Abs(*artifacts) // As clusterctl needs it.
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	config = clusterctl.LoadE2EConfig(ctx, clusterctl.LoadE2EConfigInput{ConfigPath: *configPath})
	clusterctlConfig = clusterctl.CreateRepository(ctx, clusterctl.CreateRepositoryInput{
		E2EConfig: config, RepositoryFolder: filepath.Join(*artifacts, "repository"),
	})

	kubeconfig := os.Getenv("KUBECONFIG")
	if !*existing {
		management := bootstrap.CreateKindBootstrapClusterAndLoadImages(ctx, bootstrap.CreateKindBootstrapClusterAndLoadImagesInput{
			Name: config.ManagementClusterName, KubernetesVersion: config.MustGetVariable("KUBERNETES_VERSION"), Images: config.Images,
			LogFolder: filepath.Join(*artifacts, "kind"),
		})
		ginkgo.DeferCleanup(management.Dispose)
		kubeconfig = management.GetKubeconfigPath()
	}

	scheme := runtime.NewScheme()
	framework.TryAddDefaultSchemes(scheme)
	proxy = framework.NewClusterProxy("management", kubeconfig, scheme)
	watching, stopWatching := context.WithCancel(ctx)
	ginkgo.DeferCleanup(proxy.Dispose)
	ginkgo.DeferCleanup(stopWatching)
	clusterctl.InitManagementClusterAndWatchControllerLogs(watching, clusterctl.InitManagementClusterAndWatchControllerLogsInput{
		ClusterProxy: proxy, ClusterctlConfigPath: clusterctlConfig, InfrastructureProviders: config.InfrastructureProviders(),
		LogFolder: filepath.Join(*artifacts, "clusters", proxy.GetName()),
	}, config.GetIntervals(proxy.GetName(), "wait-controllers")...)
})

var _ = ginkgo.Describe("QuickStart", func() {
	upstream.QuickStartSpec(ctx, func() upstream.QuickStartSpecInput {
		return upstream.QuickStartSpecInput{
			E2EConfig: config, ClusterctlConfigPath: clusterctlConfig, BootstrapClusterProxy: proxy, ArtifactFolder: *artifacts,
		}
	})
})
