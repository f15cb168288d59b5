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

// Package example is a whole e2e suite of a project that is not this provider.
package example

import (
	"context"
	"flag"
	"path/filepath"
	"testing"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	upstream "sigs.k8s.io/cluster-api/test/e2e"
	"sigs.k8s.io/cluster-api/test/framework"
	"sigs.k8s.io/cluster-api/test/framework/clusterctl"

	"github.com/capi-samples/cluster-api-provider-container/e2e/target"
)

var (
	configPath  = flag.String("e2e.config", "e2e.yaml", "configuration of the suite")
	artifacts   = flag.String("e2e.artifacts", "_artifacts", "directory of logs and of clusterctl's local repository")
	archives    = flag.String("e2e.archives", "capcon/_artifacts/e2e/images", "directory of image archives (*.tar) for Pods of the management cluster, which pull what is not there")
	certManager = flag.String("e2e.cert-manager", "", "manifest of cert-manager; default: clusterctl downloads it")
	engine      = flag.String("e2e.engine", "auto", "container engine: auto, docker or podman")

	ctx              = ctrl.SetupSignalHandler()
	config           *clusterctl.E2EConfig
	clusterctlConfig string
	proxy            framework.ClusterProxy
)

func TestE2E(t *testing.T) {
	if testing.Short() {
		t.Skip("needs an engine and the images, and minutes; run without -short")
	}
	gomega.RegisterFailHandler(ginkgo.Fail)
	ctrl.SetLogger(klog.Background())
	ginkgo.RunSpecs(t, "example")
}

var _ = ginkgo.BeforeSuite(func() {
	var err error
	*artifacts, err = filepath.Abs(*artifacts) // as clusterctl needs it
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	config = clusterctl.LoadE2EConfig(ctx, clusterctl.LoadE2EConfigInput{ConfigPath: *configPath})
	clusterctlConfig = clusterctl.CreateRepository(ctx, clusterctl.CreateRepositoryInput{
		E2EConfig: config, RepositoryFolder: filepath.Join(*artifacts, "repository"),
	})
	if *certManager != "" {
		gomega.Expect(target.UseCertManager(clusterctlConfig, *certManager)).To(gomega.Succeed())
	}

	images, err := filepath.Glob(filepath.Join(*archives, "*.tar"))
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	gomega.Expect(images).NotTo(gomega.BeEmpty(), "run \"make e2e RUN=target\", or remove this line to have images pulled")
	management, err := target.NewKindCluster(target.KindOptions{
		Name: config.ManagementClusterName, Engine: *engine, Archives: images, LogFolder: filepath.Join(*artifacts, "kind"),
	})
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	ginkgo.DeferCleanup(management.Dispose)
	management.Create(ctx)

	scheme := runtime.NewScheme()
	framework.TryAddDefaultSchemes(scheme)
	proxy = framework.NewClusterProxy("management", management.GetKubeconfigPath(), scheme,
		framework.WithMachineLogCollector(target.LogCollector{Engine: *engine}))
	watching, stopWatching := context.WithCancel(ctx)
	ginkgo.DeferCleanup(proxy.Dispose)
	ginkgo.DeferCleanup(stopWatching)
	clusterctl.InitManagementClusterAndWatchControllerLogs(watching, clusterctl.InitManagementClusterAndWatchControllerLogsInput{
		ClusterProxy: proxy, ClusterctlConfigPath: clusterctlConfig,
		InfrastructureProviders: config.InfrastructureProviders(),
		LogFolder:               filepath.Join(*artifacts, "clusters", proxy.GetName()),
	}, config.GetIntervals(proxy.GetName(), "wait-controllers")...)
})

var _ = ginkgo.Describe("QuickStart", func() {
	upstream.QuickStartSpec(ctx, func() upstream.QuickStartSpecInput {
		return upstream.QuickStartSpecInput{
			E2EConfig: config, ClusterctlConfigPath: clusterctlConfig, BootstrapClusterProxy: proxy, ArtifactFolder: *artifacts,
		}
	})
})
