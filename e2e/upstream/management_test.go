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
	"os"
	"path/filepath"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/cluster-api/test/framework"
	"sigs.k8s.io/cluster-api/test/framework/bootstrap"
	"sigs.k8s.io/cluster-api/test/framework/clusterctl"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/e2e/target"
	"github.com/capi-samples/cluster-api-provider-container/e2e/upstream/flavors"
)

// What nodes of management clusters get; see data/infrastructure-container/management.
const (
	// The engine's socket, or the directory of it, on the engine's host and in nodes.
	variableSocket       = "CONTAINER_E2E_SOCKET"
	variableSocketInNode = "CONTAINER_E2E_SOCKET_IN_NODE"
	// The directory of image archives on the engine's host.
	variableImages = "CONTAINER_E2E_IMAGES"
)

var (
	kindCluster bootstrap.ClusterProvider
	stopWatches context.CancelFunc = func() {}
)

// loadConfig builds the templates, which the configuration names, and adds what
// only this run knows.
func loadConfig() *clusterctl.E2EConfig {
	ginkgo.By("Building the templates of all flavors")
	gomega.Expect(flavors.Write("../..", filepath.Join(*artifactFolder, "templates"))).To(gomega.Succeed())
	config := clusterctl.LoadE2EConfig(ctx, clusterctl.LoadE2EConfigInput{ConfigPath: *configPath})
	socket, err := target.EngineSocket(ctx, *engine)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	config.Variables[variableSocket], config.Variables[variableSocketInNode] = socket.HostPath, socket.ContainerPath
	// A directory that is not there cannot be mounted.
	gomega.Expect(os.MkdirAll(*archives, 0o750)).To(gomega.Succeed())
	config.Variables[variableImages] = *archives
	addPreviousProvider(config)
	return config
}

// addPreviousProvider adds the release that clusterctl upgrade begins with, where
// hack/e2e-capi.sh has built it: other specs need no earlier commit.
func addPreviousProvider(config *clusterctl.E2EConfig) {
	directory := filepath.Join(*components, "infrastructure-container", previousProvider)
	if _, err := os.Stat(directory); err != nil {
		return
	}
	for i := range config.Providers {
		provider := &config.Providers[i]
		if provider.Type != string(clusterctlv1.InfrastructureProviderType) {
			continue
		}
		provider.Versions = append(provider.Versions, clusterctl.ProviderVersionSource{
			Name: previousProvider, Contract: clusterv1.GroupVersion.Version,
			Type: clusterctl.URLSource, Value: filepath.Join(directory, "infrastructure-components.yaml"),
			Files: []clusterctl.Files{
				{SourcePath: filepath.Join(directory, "metadata.yaml"), TargetName: "metadata.yaml"},
				{SourcePath: filepath.Join(directory, "cluster-template.yaml"), TargetName: "cluster-template.yaml"},
			},
		})
	}
}

// createRepository makes clusterctl's local repository and returns the path of its
// configuration, in which cert-manager is the one of the components.
func createRepository(config *clusterctl.E2EConfig) string {
	path := clusterctl.CreateRepository(ctx, clusterctl.CreateRepositoryInput{
		E2EConfig: config, RepositoryFolder: filepath.Join(*artifactFolder, "repository"),
	})
	manifests, err := filepath.Glob(filepath.Join(*components, "cert-manager", "v*", "cert-manager.yaml"))
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	if len(manifests) == 0 {
		return path // clusterctl downloads the one it knows
	}
	gomega.Expect(target.UseCertManager(path, manifests[len(manifests)-1])).To(gomega.Succeed())
	return path
}

// setUpKind makes a management cluster with kind and installs all providers as users
// do.
func setUpKind(config *clusterctl.E2EConfig) {
	ginkgo.By("Creating the management cluster with kind")
	images, err := filepath.Glob(filepath.Join(config.MustGetVariable(variableImages), "*.tar"))
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	cluster, err := target.NewKindCluster(target.KindOptions{
		Name: config.ManagementClusterName, Engine: *engine,
		KubernetesVersion: config.MustGetVariable("KUBERNETES_VERSION_MANAGEMENT"),
		DualStack:         config.GetVariableOrEmpty("IP_FAMILY") == "dual",
		Archives:          images, LogFolder: filepath.Join(*artifactFolder, "kind"), Replace: true,
	})
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	kindCluster = cluster
	kindCluster.Create(ctx)
	bootstrapClusterProxy = newProxy(kindCluster.GetKubeconfigPath())

	ginkgo.By("Initializing the management cluster")
	var watching context.Context
	watching, stopWatches = context.WithCancel(ctx)
	clusterctl.InitManagementClusterAndWatchControllerLogs(watching, clusterctl.InitManagementClusterAndWatchControllerLogsInput{
		ClusterProxy: bootstrapClusterProxy, ClusterctlConfigPath: clusterctlConfigPath,
		InfrastructureProviders: config.InfrastructureProviders(),
		LogFolder:               filepath.Join(*artifactFolder, "clusters", bootstrapClusterProxy.GetName()),
	}, config.GetIntervals(bootstrapClusterProxy.GetName(), "wait-controllers")...)
	if config.MustGetVariable("CONTAINER_RUNTIME_EXTENSION") == "true" {
		manifests, err := filepath.Glob(filepath.Join(*components, "infrastructure-container", "*", "runtime-extension.yaml"))
		gomega.Expect(err).NotTo(gomega.HaveOccurred())
		gomega.Expect(manifests).To(gomega.HaveLen(1))
		manifest, err := os.ReadFile(manifests[0])
		gomega.Expect(err).NotTo(gomega.HaveOccurred())
		gomega.Expect(bootstrapClusterProxy.CreateOrUpdate(ctx, manifest)).To(gomega.Succeed())
	}
}

func newProxy(kubeconfigPath string) framework.ClusterProxy {
	scheme := runtime.NewScheme()
	framework.TryAddDefaultSchemes(scheme)
	gomega.Expect(infrav1.AddToScheme(scheme)).To(gomega.Succeed())
	gomega.Expect(discoveryv1.AddToScheme(scheme)).To(gomega.Succeed())
	return framework.NewClusterProxy("bootstrap", kubeconfigPath, scheme,
		framework.WithMachineLogCollector(target.LogCollector{Engine: *engine}))
}

// collectKindLogs of the nodes, which are no Machines: one of the node's name stands
// for each.
func collectKindLogs(ctx context.Context) {
	nodes, err := bootstrapClusterProxy.GetClientSet().CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		ginkgo.GinkgoLogr.Error(err, "Listing the nodes of the management cluster")
		return
	}
	for i := range nodes.Items {
		name := nodes.Items[i].Name
		machine := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Name: name}}
		folder := filepath.Join(*artifactFolder, "clusters", bootstrapClusterProxy.GetName(), "machines", name)
		if err := bootstrapClusterProxy.GetLogCollector().CollectMachineLog(ctx, bootstrapClusterProxy.GetClient(), machine, folder); err != nil {
			ginkgo.GinkgoLogr.Error(err, "Collecting the logs of the management cluster", "node", name)
		}
	}
}

func disposeKind(ctx context.Context) {
	stopWatches()
	if bootstrapClusterProxy != nil {
		bootstrapClusterProxy.Dispose(ctx)
	}
	if kindCluster != nil {
		kindCluster.Dispose(ctx)
	}
}
