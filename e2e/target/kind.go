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

package target

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	kind "sigs.k8s.io/kind/pkg/cluster"
	"sigs.k8s.io/kind/pkg/cluster/nodeutils"
	"sigs.k8s.io/kind/pkg/cmd"
	"sigs.k8s.io/kind/pkg/exec"

	"sigs.k8s.io/cluster-api/test/framework/bootstrap"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/connect"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
	"github.com/capi-samples/cluster-api-provider-container/internal/node"
)

// KindOptions says what management cluster is wanted.
type KindOptions struct {
	// Name of the cluster. Required.
	Name string
	// Engine that kind and the provider use: auto (default), docker or podman. kind
	// runs the engine's command, which has to lead to the same engine.
	Engine string
	// DualStack gives the cluster IPv4 and IPv6, so that its controllers reach API servers of
	// workload clusters with IPv6; default IPv4. The engine's host needs IPv6.
	DualStack bool
	// Network of the engine that the clusters' machines are on; default capcon, with DualStack
	// capcon-ipv6. It is created if it is missing.
	Network string
	// KubernetesVersion such as v1.36.3; default that of the node image that "make images"
	// builds.
	KubernetesVersion string
	// NodeImage of the only node; default the image that the provider has for
	// KubernetesVersion. It is pulled if the engine does not have it, unless its name begins
	// with localhost: "make images-load KUBERNETES_VERSION=..." builds and loads it.
	NodeImage string
	// Archives are files, as "docker save" writes them, whose images are imported into
	// the node: those of Pods that cannot be pulled.
	Archives []string
	// Replace deletes a cluster of this name first, such as one that an interrupted run
	// has left; default: it is not changed, and Create fails.
	Replace bool
	// LogFolder gets kind's logs if the creation fails; empty = none.
	LogFolder string
}

// KindCluster is a management cluster of one node, made by kind on Docker or Podman.
// Its node is on the network of the clusters' machines, because engines isolate their
// networks from each other; it is adapted to the host as the provider's nodes are, and
// has the engine's socket where config/docker-socket and config/podman-socket expect it.
type KindCluster struct {
	options    KindOptions
	minor      int
	kubeconfig string
	// created is set before anything of the cluster is, so that Dispose does not delete
	// another one of its name.
	created bool
}

var _ bootstrap.ClusterProvider = (*KindCluster)(nil)

// NewKindCluster checks the options and returns the cluster; nothing is created yet.
// No name, or a Kubernetes version that no node image is known for while none is
// given: an error that says what to give.
func NewKindCluster(options KindOptions) (*KindCluster, error) {
	if options.Name == "" {
		return nil, errors.New("the management cluster has no name: set KindOptions.Name")
	}
	options.Network = cmp.Or(options.Network, network.DefaultOf(options.families()))
	version := cmp.Or(options.KubernetesVersion, node.DefaultVersion)
	if options.NodeImage == "" {
		image, err := node.Image(version)
		if err != nil {
			return nil, fmt.Errorf("choose the node image of the management cluster: %w; set KindOptions.NodeImage", err)
		}
		options.NodeImage = image
	}
	minor, err := node.Minor(version)
	if err != nil {
		return nil, fmt.Errorf("adapt the management cluster to its Kubernetes version: %w", err)
	}
	return &KindCluster{options: options, minor: minor}, nil
}

func (o KindOptions) families() network.Families {
	if o.DualStack {
		return network.Families{network.IPv4, network.IPv6}
	}
	return network.Families{network.IPv4}
}

// Create implements bootstrap.ClusterProvider: it fails the running spec if the cluster
// cannot be created, and then leaves nothing of it. A cluster of this name that exists
// already is not changed.
func (k *KindCluster) Create(ctx context.Context) {
	gomega.Expect(k.create(ctx)).To(gomega.Succeed())
}

// GetKubeconfigPath implements bootstrap.ClusterProvider: a temporary file.
func (k *KindCluster) GetKubeconfigPath() string { return k.kubeconfig }

// Dispose implements bootstrap.ClusterProvider: it removes the cluster, its kubeconfig,
// and the network unless something else is on it. Workload clusters that still exist keep
// running; their owner IDs are printed to Ginkgo's writer. Without a call of Create that began, it
// does nothing.
func (k *KindCluster) Dispose(ctx context.Context) {
	gomega.Expect(k.dispose(ctx)).To(gomega.Succeed())
}

// readyTimeout is how long the control plane may take to be ready; half a minute on a
// quiet machine.
const readyTimeout = 5 * time.Minute

func (k *KindCluster) create(ctx context.Context) (err error) {
	eng, info, err := connectEngine(ctx, k.options.Engine)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, eng.Close()) }()
	provider := newProvider(info)
	if err := k.replace(provider); err != nil {
		return err
	}
	config, err := k.config(ctx, eng, info)
	if err != nil {
		return err
	}
	kubeconfig, err := os.CreateTemp("", "kind-kubeconfig-")
	if err != nil {
		return fmt.Errorf("create a file for the kubeconfig: %w", err)
	}
	k.kubeconfig = kubeconfig.Name()
	if err := kubeconfig.Close(); err != nil {
		return fmt.Errorf("close %s: %w", k.kubeconfig, err)
	}
	k.created = true
	err = k.onNetwork(info, func() error {
		return provider.Create(k.options.Name, kind.CreateWithV1Alpha4Config(config), kind.CreateWithNodeImage(k.options.NodeImage),
			kind.CreateWithKubeconfigPath(k.kubeconfig), kind.CreateWithWaitForReady(readyTimeout), kind.CreateWithRetain(true))
	})
	if err == nil {
		err = k.importImages(ctx, provider)
	}
	if err == nil {
		return nil
	}
	err = fmt.Errorf("create kind cluster %q: %w%s", k.options.Name, err, printed(err))
	if k.options.LogFolder != "" {
		err = errors.Join(err, provider.CollectLogs(k.options.Name, k.options.LogFolder))
	}
	return errors.Join(err, k.remove(ctx, eng, provider))
}

// replace deletes an existing cluster of the name, if it may.
func (k *KindCluster) replace(provider *kind.Provider) error {
	existing, err := provider.ListNodes(k.options.Name)
	if err != nil {
		return fmt.Errorf("list nodes of kind cluster %q: %w", k.options.Name, err)
	}
	switch {
	case len(existing) == 0:
	case !k.options.Replace:
		return fmt.Errorf("kind cluster %q already exists, and another suite may use it; delete it with \"kind delete cluster --name %s\", "+
			"or set another KindOptions.Name, or KindOptions.Replace", k.options.Name, k.options.Name)
	default:
		if err := provider.Delete(k.options.Name, os.DevNull); err != nil {
			return fmt.Errorf("delete kind cluster %q of an earlier run: %w", k.options.Name, err)
		}
	}
	return nil
}

// newProvider says which engine kind uses: of itself it takes the first that answers.
func newProvider(info engine.Info) *kind.Provider {
	with := kind.ProviderWithDocker()
	if info.Name == connect.Podman {
		with = kind.ProviderWithPodman()
	}
	return kind.NewProvider(kind.ProviderWithLogger(cmd.NewLogger()), with)
}

// onNetwork runs a creation of kind's on our network. kind takes its name from the
// environment only.
func (k *KindCluster) onNetwork(info engine.Info, create func() error) (err error) {
	name := "KIND_EXPERIMENTAL_" + strings.ToUpper(info.Name) + "_NETWORK"
	before, had := os.LookupEnv(name)
	if err := os.Setenv(name, k.options.Network); err != nil {
		return fmt.Errorf("set %s: %w", name, err)
	}
	defer func() {
		if had {
			err = errors.Join(err, os.Setenv(name, before))
			return
		}
		err = errors.Join(err, os.Unsetenv(name))
	}()
	return create()
}

// importImages as "kind load image-archive" does.
func (k *KindCluster) importImages(ctx context.Context, provider *kind.Provider) error {
	nodes, err := provider.ListInternalNodes(k.options.Name)
	if err != nil {
		return fmt.Errorf("list nodes: %w", err)
	}
	for _, path := range k.options.Archives {
		for _, each := range nodes {
			if err := ctx.Err(); err != nil {
				return err
			}
			archive, err := os.Open(path)
			if err != nil {
				return fmt.Errorf("open image archive: %w", err)
			}
			err = nodeutils.LoadImageArchive(each, archive)
			if err = errors.Join(err, archive.Close()); err != nil {
				return fmt.Errorf("import %s into node %s: %w", path, each, err)
			}
		}
	}
	return nil
}

// printed is what a program of kind's printed before it failed.
func printed(err error) string {
	var failed *exec.RunError
	if errors.As(err, &failed) && len(failed.Output) > 0 {
		return "\n" + string(failed.Output)
	}
	return ""
}

func (k *KindCluster) dispose(ctx context.Context) (err error) {
	if !k.created {
		return nil
	}
	eng, info, err := connectEngine(ctx, k.options.Engine)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, eng.Close()) }()
	// A management cluster that does not answer, or that has no provider, is removed as well.
	if text, err := remainingOf(ctx, k.kubeconfig); err == nil {
		ginkgo.GinkgoWriter.Print(text)
	}
	return k.remove(ctx, eng, newProvider(info))
}

func (k *KindCluster) remove(ctx context.Context, networks engine.Networks, provider *kind.Provider) error {
	if err := provider.Delete(k.options.Name, k.kubeconfig); err != nil {
		return fmt.Errorf("delete kind cluster %q: %w", k.options.Name, err)
	}
	if err := os.Remove(k.kubeconfig); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove its kubeconfig: %w", err)
	}
	_, err := network.Remove(ctx, networks, k.options.Network)
	return err
}
