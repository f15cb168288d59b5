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

package get

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/management"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/output"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/session"
)

func nodesCommand(a *session.App) *cobra.Command {
	return printer{
		use: "nodes", alias: "node", short: "Print the Nodes of a cluster, or of all clusters",
		columns: []string{"NAME", "CLUSTER", "STATUS", "ROLES", "AGE", "VERSION"},
		wide:    []string{"INTERNAL-IP", "OS-IMAGE", "KERNEL-VERSION", "CONTAINER-RUNTIME"},
		rows:    nodeRows,
	}.command(a)
}

// nodeRows of the clusters whose API servers answer.
func nodeRows(ctx context.Context, s *session.Session, clusters []clusterv1.Cluster) ([]output.Row, error) {
	var rows []output.Row
	var failed []error
	for _, cluster := range clusters {
		nodes, err := nodesOf(ctx, s, cluster)
		if _, stopped := cluster.Annotations[infrav1.StoppedAnnotation]; stopped && err != nil {
			failed = append(failed, fmt.Errorf("nodes of cluster %q: it is stopped; start it with \"%s start %s\"", cluster.Name, s.Program, cluster.Name))
		} else if err != nil && s.InMemory {
			failed = append(failed, fmt.Errorf("nodes of cluster %q: %w; it is in memory, and reached while \"%s tunnel\" runs", cluster.Name, err, s.Program))
		} else if err != nil {
			failed = append(failed, fmt.Errorf("nodes of cluster %q: %w; see \"%s status %s\"", cluster.Name, err, s.Program, cluster.Name))
		}
		for i := range nodes {
			rows = append(rows, nodeRow(s, session.Shown(cluster.Namespace, cluster.Name), &nodes[i]))
		}
	}
	return rows, errors.Join(failed...)
}

func nodesOf(ctx context.Context, s *session.Session, cluster clusterv1.Cluster) ([]corev1.Node, error) {
	ctx, cancel := context.WithTimeout(ctx, session.QueryTimeout)
	defer cancel()
	kubeconfig, err := management.Kubeconfig(ctx, s.Client, cluster.Namespace, cluster.Name)
	if err != nil {
		return nil, err
	}
	c, err := s.NewClient(kubeconfig)
	if err != nil {
		return nil, err
	}
	nodes := &corev1.NodeList{}
	if err := c.List(ctx, nodes); err != nil {
		return nil, errors.New(management.OneLine(err.Error()))
	}
	return nodes.Items, nil
}

func nodeRow(s *session.Session, cluster string, node *corev1.Node) output.Row {
	const rolePrefix = "node-role.kubernetes.io/"
	var roles []string
	for label := range node.Labels {
		if role, found := strings.CutPrefix(label, rolePrefix); found && role != "" {
			roles = append(roles, role)
		}
	}
	slices.Sort(roles)
	address := ""
	for _, known := range node.Status.Addresses {
		if known.Type == corev1.NodeInternalIP {
			address = cmp.Or(address, known.Address)
		}
	}
	info := node.Status.NodeInfo
	return output.Row{
		Object: node, Name: node.Name,
		Columns: []string{cluster, nodeStatus(node), cmp.Or(strings.Join(roles, ","), none), age(s, node), cmp.Or(info.KubeletVersion, unknown)},
		Wide: []string{
			cmp.Or(address, none), cmp.Or(info.OSImage, unknown), cmp.Or(info.KernelVersion, unknown), cmp.Or(info.ContainerRuntimeVersion, unknown),
		},
	}
}

// nodeStatus as kubectl prints it.
func nodeStatus(node *corev1.Node) string {
	status := "Unknown"
	for _, condition := range node.Status.Conditions {
		switch {
		case condition.Type != corev1.NodeReady:
		case condition.Status == corev1.ConditionTrue:
			status = "Ready"
		default:
			status = "NotReady"
		}
	}
	if node.Spec.Unschedulable {
		status += ",SchedulingDisabled"
	}
	return status
}
