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
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	clusterctlcluster "sigs.k8s.io/cluster-api/cmd/clusterctl/client/cluster"
	upstream "sigs.k8s.io/cluster-api/test/e2e"
	"sigs.k8s.io/cluster-api/test/framework"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/internal/node"
	"github.com/capi-samples/cluster-api-provider-container/templates"
)

// What the management cluster has before its upgrade.
const (
	// previousRelease of Cluster API, which config/container.yaml has too.
	previousRelease = "v1.13.2"
	// previousProvider is built by hack/previous.sh, which says of which commit. Clusters
	// must survive an upgrade from there on.
	previousProvider = "v0.1.98"
)

// The management cluster is a cluster of ours: kind's is shared by all specs. The workload
// cluster is of the previous provider's template. Before v0.1.0 it installed no Pod network and
// knew the images of registries only.
var _ = ginkgo.Describe("clusterctl upgrade", func() {
	upstream.ClusterctlUpgradeSpec(ctx, func() upstream.ClusterctlUpgradeSpecInput {
		version := e2eConfig.MustGetVariable("KUBERNETES_VERSION")
		image, err := node.Image(version)
		gomega.Expect(err).NotTo(gomega.HaveOccurred())
		ginkgo.GinkgoT().Setenv("CONTAINER_NODE_IMAGE", image)
		return upstream.ClusterctlUpgradeSpecInput{
			E2EConfig:                       e2eConfig,
			ClusterctlConfigPath:            clusterctlConfigPath,
			BootstrapClusterProxy:           bootstrapClusterProxy,
			ArtifactFolder:                  *artifactFolder,
			SkipCleanup:                     *skipCleanup,
			InitWithBinary:                  serveClusterctl(previousRelease),
			InitWithCoreProvider:            "cluster-api:" + previousRelease,
			InitWithBootstrapProviders:      []string{"kubeadm:" + previousRelease},
			InitWithControlPlaneProviders:   []string{"kubeadm:" + previousRelease},
			InitWithInfrastructureProviders: []string{"container:" + previousProvider},
			InitWithKubernetesVersion:       version,
			WorkloadKubernetesVersion:       version,
			MgmtFlavor:                      "management",
			PreWaitForCluster:               installPodNetwork,
			Upgrades: []upstream.ClusterctlUpgradeSpecInputUpgrade{{
				Contract: clusterv1.GroupVersion.Version,
				PostUpgrade: func(proxy framework.ClusterProxy, namespace, clusterName string) {
					framework.ValidateCRDMigration(ctx, proxy, namespace, clusterName, migrated,
						clusterctlcluster.FilterClusterObjectsWithNameFilter(clusterName))
				},
			}},
		}
	})
})

// installPodNetwork of our node images, as soon as the cluster's API server answers.
func installPodNetwork(proxy framework.ClusterProxy, namespace, cluster string) {
	manifest := strings.ReplaceAll(templates.Flannel, "{{ .PodSubnet }}", "10.244.0.0/16")
	gomega.Eventually(func() error {
		return proxy.GetWorkloadCluster(ctx, namespace, cluster).CreateOrUpdate(ctx, []byte(manifest))
	}, e2eConfig.GetIntervals("clusterctl-upgrade", "wait-control-plane")...).Should(gomega.Succeed(), "the Pod network cannot be installed")
}

// serveClusterctl serves the program of a release to the spec, which takes a URL only,
// until the spec ends.
func serveClusterctl(version string) string {
	name := "clusterctl-" + version + "-" + runtime.GOOS + "-" + runtime.GOARCH
	gomega.Expect(filepath.Join(*binaries, name)).To(gomega.BeAnExistingFile(), "there is no clusterctl %s", version)
	server := httptest.NewServer(http.FileServer(http.Dir(*binaries)))
	ginkgo.DeferCleanup(server.Close)
	return server.URL + "/clusterctl-" + version + "-{OS}-{ARCH}"
}

// migrated are the definitions whose stored versions Cluster API migrates: its own. The
// provider has had one version only, and clusterctl's Provider is not migrated.
func migrated(definition apiextensionsv1.CustomResourceDefinition) bool {
	return strings.HasSuffix(definition.Spec.Group, "cluster.x-k8s.io") &&
		definition.Spec.Group != infrav1.GroupVersion.Group && definition.Name != "providers.clusterctl.cluster.x-k8s.io"
}
