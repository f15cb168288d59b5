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
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"sigs.k8s.io/cluster-api/test/framework"
	"sigs.k8s.io/cluster-api/test/framework/clusterctl"

	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// The management clusters that the suite can run on.
const (
	managementKind  = "kind"
	managementPlane = "plane"
)

// What hack/e2e-capi.sh says about a run.
var (
	configPath     = flag.String("e2e.config", filepath.Join("config", "container.yaml"), "configuration of the suite")
	artifactFolder = flag.String("e2e.artifacts", filepath.Join("..", "..", "_artifacts", "e2e", "run"), "directory of the logs and of clusterctl's local repository")
	components     = flag.String("e2e.components", filepath.Join("..", "..", "_artifacts", "e2e", "components"), "local repository with the components of all providers and cert-manager's")
	engine         = flag.String("e2e.engine", "auto", "container engine: auto, docker or podman")
	management     = flag.String("e2e.management", managementKind, "management cluster: kind makes one, plane is the one of -e2e.kubeconfig, which has all providers")
	kubeconfig     = flag.String("e2e.kubeconfig", "", "kubeconfig of the plane")
	archives       = flag.String("e2e.archives", filepath.Join("..", "..", "_artifacts", "e2e", "images"), "directory of image archives (*.tar) for Pods of management clusters, which pull what is not there")
	binaries       = flag.String("e2e.binaries", filepath.Join("..", "..", "_artifacts", "e2e", "clusterctl"), "directory with clusterctl of older releases, as clusterctl-VERSION-OS-ARCH")
	skipCleanup    = flag.Bool("e2e.skip-cleanup", false, "leave clusters, namespaces and the management cluster as they are in the end")
)

// What BeforeSuite finds or makes for all specs.
var (
	ctx                   = ctrl.SetupSignalHandler()
	e2eConfig             *clusterctl.E2EConfig
	clusterctlConfigPath  string
	bootstrapClusterProxy framework.ClusterProxy
)

func TestE2E(t *testing.T) {
	gomega.RegisterFailHandler(ginkgo.Fail)
	ctrl.SetLogger(klog.Background())
	must.Succeed(t, absolute(configPath, artifactFolder, components, archives, binaries))
	must.Succeed(t, os.MkdirAll(*artifactFolder, 0o750))
	ginkgo.RunSpecs(t, "cluster-api-provider-container")
}

// absolute makes paths absolute: clusterctl wants them so.
func absolute(paths ...*string) error {
	for _, path := range paths {
		whole, err := filepath.Abs(*path)
		if err != nil {
			return err
		}
		*path = whole
	}
	return nil
}

var _ = ginkgo.BeforeSuite(func() {
	e2eConfig = loadConfig()
	clusterctlConfigPath = createRepository(e2eConfig)
	switch *management {
	case managementKind:
		setUpKind(e2eConfig)
	case managementPlane:
		gomega.Expect(*kubeconfig).To(gomega.BeAnExistingFile(), "-e2e.kubeconfig is not the kubeconfig of a plane; run: capcon plane up")
		bootstrapClusterProxy = newProxy(*kubeconfig)
	default:
		ginkgo.Fail("-e2e.management is " + *management + ", which is neither " + managementKind + " nor " + managementPlane)
	}
})

var _ = ginkgo.AfterSuite(func() {
	// Also after an interrupt.
	ctx := context.WithoutCancel(ctx)
	if bootstrapClusterProxy != nil && *management == managementKind {
		collectKindLogs(ctx)
	}
	if !*skipCleanup {
		disposeKind(ctx)
	}
})
