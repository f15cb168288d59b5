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

package capcontest

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
)

// NodesReady waits for exactly so many Nodes, all Ready, each with the
// provider ID of a machine.
func NodesReady(t *testing.T, cluster kubernetes.Interface, want int) {
	t.Helper()
	Eventually(t, fmt.Sprintf("%d Nodes Ready", want), func(ctx context.Context) (string, error) {
		nodes, err := cluster.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		if err != nil {
			return "", err
		}
		ready := 0
		for _, node := range nodes.Items {
			if _, err := identity.ParseProviderID(node.Spec.ProviderID); err != nil {
				return "", fmt.Errorf("provider ID of Node %s: %w", node.Name, err)
			}
			for _, condition := range node.Status.Conditions {
				if condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue {
					ready++
				}
			}
		}
		if ready == want && len(nodes.Items) == want {
			return "", nil
		}
		return fmt.Sprintf("%d of %d Nodes are Ready", ready, len(nodes.Items)), nil
	})
}
