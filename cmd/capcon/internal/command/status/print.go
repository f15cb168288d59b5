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

package status

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/describe"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/management"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/output"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/session"
)

func printReport(a *session.App, result Report, options options) error {
	a.Printf("Engine            %s", result.Engine)
	a.Printf("Management plane  %s", planeLine(result.ManagementPlane))
	for _, container := range result.Containers {
		a.Printf("Container         %s of cluster %s is %s", container.Name, container.Cluster, container.Status)
	}
	if !result.ManagementPlane.Answers {
		a.PrintTroubles(result.Troubles)
		return nil
	}
	a.Printf("")
	if len(result.Clusters) == 0 {
		if options.name == "" {
			a.Printf("No clusters found. Create one with \"%s up NAME\".", a.Program)
		}
		return nil
	}
	elsewhere := slices.ContainsFunc(result.Clusters, func(cluster ClusterReport) bool { return len(cluster.EngineNames) > 0 })
	lines := []string{"CLUSTER\tKUBERNETES\tCONTROL PLANES\tWORKERS\t" + output.Optional(elsewhere, "ENGINE") + "STATE"}
	for _, cluster := range result.Clusters {
		lines = append(lines, fmt.Sprintf("%s\t%s\t%d/%d\t%d/%d\t%s%s", cluster.Name, cluster.KubernetesVersion,
			cluster.ControlPlanes.Ready, cluster.ControlPlanes.Desired, cluster.Workers.Ready, cluster.Workers.Desired,
			output.Optional(elsewhere, cmp.Or(strings.Join(cluster.EngineNames, ","), "-")), cluster.State))
	}
	if err := a.Table(lines); err != nil {
		return err
	}
	for _, cluster := range result.Clusters {
		if err := printTree(a, cluster, options); err != nil {
			return err
		}
		a.PrintTroubles(cluster.Troubles)
	}
	return nil
}

// printTree of the one cluster that was requested.
func printTree(a *session.App, cluster ClusterReport, options options) error {
	if cluster.Tree == nil {
		return nil
	}
	a.Printf("")
	if cluster.Power == management.PowerStopped {
		a.Printf("The cluster is stopped. Start it with \"%s start %s\". Its conditions:\n", a.Program, cluster.Name)
	}
	columns, _ := a.Size(a.Out)
	shown := describe.Options{Now: a.Now(), Columns: columns, All: options.all}
	if !cluster.Available {
		shown.Unavailable = cluster.State
	}
	return describe.Print(a.Out, *cluster.Tree, shown)
}

func planeLine(p planeReport) string {
	switch {
	case p.Answers && p.Skew != "":
		return "ready; its " + p.Skew
	case p.Answers:
		return "ready"
	case p.Exists:
		return "not ready: " + p.Detail
	case p.Detail != "":
		return p.Detail
	}
	return "none"
}
