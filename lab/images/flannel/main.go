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

// Command flanneld gives the Pods of a cluster their network: flannel's subnet
// manager, and its VXLAN backend over the engine's network that all nodes share.
// There, packets from one node's address to another's always pass; those from a
// Pod's address to another's would not where the host's firewall looks at bridges
// and forwards only what it knows: so it is for Podman as soon as Docker was
// started on the same host. A kernel without VXLAN gets plain routes (host-gw).
//
// It is flannel without the cloud backends and their client libraries, and it
// writes the CNI configuration itself once routes are being kept: a node
// becomes Ready when its Pods can really be reached, and no CNI plugin beyond
// those of the stock node image is needed. It ends only by a signal.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/flannel-io/flannel/pkg/backend"
	_ "github.com/flannel-io/flannel/pkg/backend/hostgw" // registers backendRoutes
	_ "github.com/flannel-io/flannel/pkg/backend/vxlan"  // registers backendVXLAN
	"github.com/flannel-io/flannel/pkg/ip"
	"github.com/flannel-io/flannel/pkg/ipmatch"
	"github.com/flannel-io/flannel/pkg/subnet"
	"github.com/flannel-io/flannel/pkg/subnet/kube"
	"github.com/flannel-io/flannel/pkg/trafficmngr/iptables"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
)

const (
	// annotationPrefix is flannel's own: other tools look for it on Nodes.
	annotationPrefix = "flannel.alpha.coreos.com"
	// retryInterval is how often something that another component is about to
	// provide (the route to the API server, the node's Pod CIDR) is looked for.
	retryInterval = 250 * time.Millisecond
	// rulesResync is how often, in seconds, the packet filter rules are checked.
	rulesResync = 60

	// flannel's names of its backends.
	backendVXLAN  = "vxlan"
	backendRoutes = "host-gw"
)

func main() {
	podSubnets := flag.String("pod-subnets", "", "Pod CIDRs of the cluster, at most one of each IP family, separated by commas")
	confDir := flag.String("cni-conf-dir", "/etc/cni/net.d", "directory that gets the CNI configuration")
	kubelet := flag.String("kubelet-kubeconfig", "/etc/kubernetes/kubelet.conf", "kubeconfig whose server is used instead of the Service's address, if it names one")
	flag.Parse()
	if err := useServerOf(*kubelet); err != nil {
		klog.ErrorS(err, "Using the address of the API server's Service")
	}

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *podSubnets, *confDir)
	stopped := ctx.Err() != nil
	stop()
	if err != nil && !stopped {
		klog.ErrorS(err, "Ending")
		os.Exit(1)
	}
}

func run(ctx context.Context, podSubnets, confDir string) error {
	networks, err := parsePodSubnets(podSubnets)
	if err != nil {
		return err
	}
	if err := waitForAPI(ctx); err != nil {
		return err
	}
	manager, err := newSubnetManager(ctx, networks)
	if err != nil {
		return err
	}
	config, err := manager.GetNetworkConfig(ctx)
	if err != nil {
		return fmt.Errorf("read network configuration: %w", err)
	}
	network, err := register(ctx, manager, config)
	if err != nil {
		return err
	}
	if err := startRules(ctx, config, network); err != nil {
		return err
	}

	var running sync.WaitGroup
	running.Go(func() { network.Run(ctx) })
	if err := writeCNIConfig(confDir, config, network); err != nil {
		return err
	}
	klog.InfoS("Routing Pods", "podSubnets", podSubnets)
	running.Wait()
	return nil
}

// useServerOf makes clients in this process use the API server of a kubeconfig, with the
// credentials of the Pod. They need not wait for kube-proxy then, which starts at the same
// moment on a new node. A kubeconfig that is empty or not there names no server.
func useServerOf(path string) error {
	config, err := clientcmd.LoadFromFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the kubelet's kubeconfig: %w", err)
	}
	for _, cluster := range config.Clusters {
		server, err := url.Parse(cluster.Server)
		if err != nil || server.Hostname() == "" {
			return fmt.Errorf("read the kubelet's kubeconfig: its server is %q", cluster.Server)
		}
		return errors.Join(
			os.Setenv("KUBERNETES_SERVICE_HOST", server.Hostname()),
			os.Setenv("KUBERNETES_SERVICE_PORT", cmp.Or(server.Port(), "443")),
		)
	}
	return nil
}

// waitForAPI returns when the API server answers. Under its Service's address a
// connection alone proves nothing: until kube-proxy's rules are there, which
// starts at the same moment, the address may lead to some other server.
func waitForAPI(ctx context.Context) error {
	config, err := rest.InClusterConfig()
	if err != nil {
		return fmt.Errorf("find the API server: %w", err)
	}
	config.Timeout = 2 * time.Second
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("create API client: %w", err)
	}
	return retry(ctx, "reach the API server at "+config.Host, func() error {
		return client.Discovery().RESTClient().Get().AbsPath("/version").Do(ctx).Error()
	})
}

func newSubnetManager(ctx context.Context, networks podNetworks) (subnet.Manager, error) {
	conf, err := networks.netConf()
	if err != nil {
		return nil, err
	}
	file, err := os.CreateTemp("", "net-conf-*.json")
	if err != nil {
		return nil, fmt.Errorf("create network configuration file: %w", err)
	}
	defer func() { _ = os.Remove(file.Name()) }() // read once, below
	if err := os.WriteFile(file.Name(), conf, 0o600); err != nil {
		return nil, fmt.Errorf("write network configuration file: %w", err)
	}
	manager, err := kube.NewSubnetManager(ctx, "", "", annotationPrefix, file.Name(), false)
	if err != nil {
		return nil, fmt.Errorf("start subnet manager: %w", err)
	}
	return manager, nil
}

// register announces the node's subnet, and how other nodes reach it.
func register(ctx context.Context, manager subnet.Manager, config *subnet.Config) (backend.Network, error) {
	stack, err := ipmatch.GetIPFamily(config.EnableIPv4, config.EnableIPv6)
	if err != nil {
		return nil, fmt.Errorf("choose IP families: %w", err)
	}
	iface, err := ipmatch.LookupExtIface("", "", "", stack, ipmatch.PublicIPOpts{})
	if err != nil {
		return nil, fmt.Errorf("find the node's network interface: %w", err)
	}
	return registerBest(ctx, backend.NewManager(ctx, manager, iface), config)
}

// registerBest uses routes where the kernel has no VXLAN.
func registerBest(ctx context.Context, backends backend.Manager, config *subnet.Config) (backend.Network, error) {
	network, err := registerBackend(ctx, backends, config, backendVXLAN)
	// All nodes have one kernel, and so one backend.
	if errors.Is(err, syscall.EOPNOTSUPP) {
		klog.InfoS("The kernel has no VXLAN, using routes", "reason", err)
		return registerBackend(ctx, backends, config, backendRoutes)
	}
	return network, err
}

// registerBackend tries until it succeeds or the kernel cannot do it: a Node gets
// its Pod CIDR a moment after it registered.
func registerBackend(ctx context.Context, backends backend.Manager, config *subnet.Config, name string) (backend.Network, error) {
	chosen, err := backends.GetBackend(name)
	if err != nil {
		return nil, fmt.Errorf("create backend %s: %w", name, err)
	}
	var network backend.Network
	var unsupported error
	err = retry(ctx, "register the node's subnet", func() error {
		var err error
		network, err = chosen.RegisterNetwork(ctx, &sync.WaitGroup{}, config)
		if errors.Is(err, syscall.EOPNOTSUPP) {
			unsupported = err
			return nil
		}
		return err
	})
	if unsupported != nil {
		return nil, fmt.Errorf("register the node's subnet: %w", unsupported)
	}
	return network, err
}

func startRules(ctx context.Context, config *subnet.Config, network backend.Network) error {
	rules := &iptables.IPTablesManager{}
	if err := rules.Init(ctx); err != nil {
		return fmt.Errorf("prepare packet filter: %w", err)
	}
	// A Pod CIDR never changes during a node's life: there is no earlier one.
	noIPv6 := ip.IP6Net{IP: new(ip.IP6)}
	err := rules.SetupAndEnsureMasqRules(ctx, config.Network, ip.IP4Net{}, ip.IP4Net{},
		config.IPv6Network, noIPv6, noIPv6, network.Lease(), rulesResync, false)
	if err != nil {
		return fmt.Errorf("set up masquerading: %w", err)
	}
	rules.SetupAndEnsureForwardRules(ctx, config.Network, config.IPv6Network, rulesResync)
	return nil
}

// retry calls f until it succeeds or ctx ends, and logs the first failure.
func retry(ctx context.Context, what string, f func() error) error {
	ticker := time.NewTicker(retryInterval)
	defer ticker.Stop()
	for first := true; ; first = false {
		err := f()
		if err == nil {
			return nil
		}
		if first {
			klog.InfoS("Waiting", "for", what, "reason", err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", what, err)
		case <-ticker.C:
		}
	}
}
