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
	"context"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
)

// remainingTimeout is for a management cluster that may be broken.
const remainingTimeout = 10 * time.Second

// remaining names the workload clusters that a management cluster still has, and how to
// delete them without it; empty if there are none.
func remaining(ctx context.Context, management client.Reader) (string, error) {
	clusters := &infrav1.ContainerClusterList{}
	if err := management.List(ctx, clusters); err != nil {
		return "", fmt.Errorf("list ContainerClusters: %w", err)
	}
	var text strings.Builder
	for i := range clusters.Items {
		cluster := &clusters.Items[i]
		fmt.Fprintf(&text, "Cluster %s/%s was not deleted, and its containers keep running: capcon gc --owner %s --yes\n",
			cluster.Namespace, cluster.Name, cluster.Spec.OwnerID)
	}
	return text.String(), nil
}

// remainingOf a kubeconfig.
func remainingOf(ctx context.Context, kubeconfig string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, remainingTimeout)
	defer cancel()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return "", fmt.Errorf("read kubeconfig: %w", err)
	}
	scheme := runtime.NewScheme()
	if err := infrav1.AddToScheme(scheme); err != nil {
		return "", fmt.Errorf("add kinds of the provider: %w", err)
	}
	management, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return "", fmt.Errorf("create client: %w", err)
	}
	return remaining(ctx, management)
}
