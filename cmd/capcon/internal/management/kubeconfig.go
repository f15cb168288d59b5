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

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/secret"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1alpha1"
)

// ErrNoKubeconfig says that the cluster has no kubeconfig yet.
var ErrNoKubeconfig = errors.New("it has no kubeconfig yet: its load balancer or its certificates are not made")

// Kubeconfig returns the one of a cluster that works on the engine's host: the
// one that the provider derives for the load balancer's port there. A cluster
// whose endpoint somebody else serves has no such port: then it is Cluster
// API's own, which leads to that endpoint. None yet: ErrNoKubeconfig.
func Kubeconfig(ctx context.Context, c client.Client, namespace, name string) ([]byte, error) {
	kubeconfig, err := readKubeconfig(ctx, c, namespace, name+"-kubeconfig-host")
	if err != nil || len(kubeconfig) > 0 {
		return kubeconfig, err
	}
	external, err := hasExternalEndpoint(ctx, c, namespace, name)
	if err != nil {
		return nil, err
	}
	if external {
		kubeconfig, err = readKubeconfig(ctx, c, namespace, secret.Name(name, secret.Kubeconfig))
	}
	if err == nil && len(kubeconfig) == 0 {
		err = fmt.Errorf("cluster %q: %w", name, ErrNoKubeconfig)
	}
	return kubeconfig, err
}

// readKubeconfig returns what a Secret holds, nothing where it is absent.
func readKubeconfig(ctx context.Context, c client.Client, namespace, name string) ([]byte, error) {
	found := &corev1.Secret{}
	if _, err := get(ctx, c, namespace, name, found); err != nil {
		return nil, fmt.Errorf("read Secret %q: %w", name, err)
	}
	return found.Data[secret.KubeconfigDataName], nil
}

func hasExternalEndpoint(ctx context.Context, c client.Client, namespace, name string) (bool, error) {
	cluster, infrastructure := &clusterv1.Cluster{}, &infrav1.ContainerCluster{}
	if _, err := get(ctx, c, namespace, name, cluster); err != nil {
		return false, fmt.Errorf("read Cluster %q: %w", name, err)
	}
	reference := cluster.Spec.InfrastructureRef
	if reference.Kind != "ContainerCluster" {
		return false, nil
	}
	if _, err := get(ctx, c, namespace, reference.Name, infrastructure); err != nil {
		return false, fmt.Errorf("read ContainerCluster %q: %w", reference.Name, err)
	}
	return infrastructure.Spec.LoadBalancer.Type == infrav1.LoadBalancerNone, nil
}
