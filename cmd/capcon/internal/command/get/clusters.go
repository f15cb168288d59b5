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
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/utils/ptr"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/management"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/output"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/session"
)

func clustersCommand(a *session.App) *cobra.Command {
	return printer{
		use: "clusters", alias: "cluster", short: "Print the clusters of the management plane",
		columns: []string{"NAME", "KUBERNETES", "CONTROL PLANES", "WORKERS", "STATE", "AGE"},
		wide:    []string{"NETWORK", "API SERVER", "CLASS", "ENGINE"},
		rows:    clusterRows,
	}.command(a)
}

func clusterRows(ctx context.Context, s *session.Session, clusters []clusterv1.Cluster) ([]output.Row, error) {
	var rows []output.Row
	for i := range clusters {
		observed, err := management.Observe(ctx, s.Client, clusters[i].Namespace, clusters[i].Name)
		if err != nil {
			return nil, err
		}
		if observed.Cluster != nil { // otherwise it was deleted meanwhile
			rows = append(rows, clusterRow(s, observed))
		}
	}
	return rows, nil
}

func clusterRow(s *session.Session, observed management.Observed) output.Row {
	cluster, snapshot := observed.Cluster, management.Summarize(observed)
	version, controlPlanes, workers := cluster.Spec.Topology.Version, int32(1), int32(0)
	if observed.ControlPlane != nil {
		version, controlPlanes = observed.ControlPlane.Spec.Version, ptr.Deref(observed.ControlPlane.Spec.Replicas, 1)
	}
	for _, deployment := range observed.Workers {
		workers += ptr.Deref(deployment.Spec.Replicas, 1)
	}
	network, server, engine := none, none, none
	if infrastructure := observed.Infrastructure; infrastructure != nil {
		network = cmp.Or(infrastructure.Spec.Network.Name, none)
		server = cmp.Or(management.Server(infrastructure.Spec), none)
		engine = cmp.Or(strings.Join(management.ShownEngines(infrastructure, observed.Containers), ","), none)
	}
	return output.Row{
		Object: cluster, Name: session.Shown(cluster.Namespace, cluster.Name),
		Columns: []string{
			cmp.Or(version, none), fmt.Sprintf("%d/%d", snapshot.ReadyControlPlanes, controlPlanes),
			fmt.Sprintf("%d/%d", snapshot.ReadyWorkers, workers), snapshot.State(), age(s, cluster),
		},
		Wide: []string{network, server, cmp.Or(cluster.Spec.Topology.ClassRef.Name, none), engine},
	}
}
