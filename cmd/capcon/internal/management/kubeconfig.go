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

package management

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/cluster-api/util/secret"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
)

// ErrNoKubeconfig says that the cluster has no kubeconfig yet.
var ErrNoKubeconfig = errors.New("kubeconfig not available yet: load balancer or certificates are not ready")

// Kubeconfig returns the one of a cluster that works on the engine's host:
// Cluster API's own, whose server is the endpoint on the engine's network, with
// the load balancer's port on the host in its place. Where the endpoint is an
// external one, or the address of another engine's host, it is Cluster API's own,
// unchanged. None yet: ErrNoKubeconfig.
func Kubeconfig(ctx context.Context, c client.Client, namespace, name string) ([]byte, error) {
	infrastructure, err := Infrastructure(ctx, c, namespace, name)
	if err != nil {
		return nil, err
	}
	return kubeconfigThrough(ctx, c, infrastructure, client.ObjectKey{Namespace: namespace, Name: name})
}

// InternalKubeconfig returns the one of a cluster that works on the engine's network: Cluster API's
// own. None yet: ErrNoKubeconfig.
func InternalKubeconfig(ctx context.Context, c client.Client, namespace, name string) ([]byte, error) {
	found := &corev1.Secret{}
	if _, err := get(ctx, c, namespace, secret.Name(name, secret.Kubeconfig), found); err != nil {
		return nil, fmt.Errorf("read kubeconfig Secret of cluster %q: %w", name, err)
	}
	if len(found.Data[secret.KubeconfigDataName]) == 0 {
		return nil, fmt.Errorf("cluster %q: %w", name, ErrNoKubeconfig)
	}
	return found.Data[secret.KubeconfigDataName], nil
}

// kubeconfigThrough is the Kubeconfig of the cluster with this infrastructure.
func kubeconfigThrough(
	ctx context.Context, c client.Client, infrastructure *infrav1.ContainerCluster, cluster client.ObjectKey,
) ([]byte, error) {
	kubeconfig, err := InternalKubeconfig(ctx, c, cluster.Namespace, cluster.Name)
	spec := infrastructure.Spec
	switch {
	case err != nil || isReachable(spec):
		return kubeconfig, err
	case spec.LoadBalancer.HostPort == 0:
		return nil, fmt.Errorf("cluster %q: %w", cluster.Name, ErrNoKubeconfig)
	}
	return throughHostPort(kubeconfig, spec)
}

// Infrastructure of a cluster, empty while there is none.
func Infrastructure(ctx context.Context, c client.Client, namespace, name string) (*infrav1.ContainerCluster, error) {
	cluster, infrastructure := &clusterv1.Cluster{}, &infrav1.ContainerCluster{}
	if _, err := get(ctx, c, namespace, name, cluster); err != nil {
		return nil, fmt.Errorf("read Cluster %q: %w", name, err)
	}
	reference := cluster.Spec.InfrastructureRef
	if reference.Kind != "ContainerCluster" {
		return infrastructure, nil
	}
	if _, err := get(ctx, c, namespace, reference.Name, infrastructure); err != nil {
		return nil, fmt.Errorf("read ContainerCluster %q: %w", reference.Name, err)
	}
	return infrastructure, nil
}

// Server is where users reach the API servers; empty while that is unknown.
func Server(spec infrav1.ContainerClusterSpec) string {
	endpoint := spec.ControlPlaneEndpoint
	switch {
	case isReachable(spec) && endpoint.Host != "":
		return net.JoinHostPort(endpoint.Host, strconv.Itoa(int(endpoint.Port)))
	case isReachable(spec), spec.LoadBalancer.HostPort == 0:
		return ""
	}
	return hostEndpoint(spec.LoadBalancer)
}

// isReachable reports whether users reach the endpoint itself, not only a published port of this host.
func isReachable(spec infrav1.ContainerClusterSpec) bool {
	return spec.LoadBalancer.Type == infrav1.LoadBalancerNone || spec.EngineName != ""
}

// hostEndpoint is where a client on the engine's host reaches the API servers.
func hostEndpoint(balancer infrav1.LoadBalancer) string {
	host := infrav1.DefaultPortAddress
	if address, err := netip.ParseAddr(balancer.HostAddress); err == nil && !address.IsUnspecified() {
		host = address.String()
	}
	return net.JoinHostPort(host, strconv.Itoa(int(balancer.HostPort)))
}

// throughHostPort points every cluster of a kubeconfig at the published port.
// The API server's certificate names the endpoint, not 127.0.0.1, so the
// kubeconfig sets the server name to verify; certificates are never changed for it.
func throughHostPort(kubeconfig []byte, spec infrav1.ContainerClusterSpec) ([]byte, error) {
	config, err := clientcmd.Load(kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("parse kubeconfig: %w", err)
	}
	for _, each := range config.Clusters {
		each.Server = "https://" + hostEndpoint(spec.LoadBalancer)
		each.TLSServerName = spec.ControlPlaneEndpoint.Host
	}
	kubeconfig, err = clientcmd.Write(*config)
	if err != nil {
		return nil, fmt.Errorf("write kubeconfig: %w", err)
	}
	return kubeconfig, nil
}
