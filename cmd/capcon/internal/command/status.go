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

package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/utils/ptr"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/describe"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/images"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/management"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/nextsteps"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/output"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/session"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/state"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
)

// report is the output of status, and with "-o json" its fields are an
// interface that scripts rely on.
type report struct {
	Engine          session.EngineReport `json:"engine"`
	ManagementPlane planeReport          `json:"managementPlane"`
	Clusters        []clusterReport      `json:"clusters"`
	// Containers of clusters, where the management plane does not return
	// the clusters themselves.
	Containers []containerReport `json:"containers,omitempty"`
	// Troubles of their certificates, in the same case.
	Troubles []management.Trouble `json:"troubles,omitempty"`
}

type containerReport struct {
	Cluster string        `json:"cluster"`
	Name    string        `json:"name"`
	Status  engine.Status `json:"status"`
}

type planeReport struct {
	Exists  bool   `json:"exists"`
	Answers bool   `json:"answers"`
	Detail  string `json:"detail,omitempty"`
	// Skew describes a release of the plane that differs from that of capcon.
	Skew string `json:"skew,omitempty"`
}

type clusterReport struct {
	Namespace         string      `json:"namespace"`
	Name              string      `json:"name"`
	KubernetesVersion string      `json:"kubernetesVersion,omitempty"`
	ControlPlanes     countReport `json:"controlPlanes"`
	Workers           countReport `json:"workers"`
	Available         bool        `json:"available"`
	// State in a few words, with what the cluster waits for.
	State    string               `json:"state"`
	Deleting bool                 `json:"deleting,omitempty"`
	Power    management.Power     `json:"power,omitempty"`
	Troubles []management.Trouble `json:"troubles,omitempty"`
	Tree     *describe.Node       `json:"tree,omitempty"`
}

type countReport struct {
	Wanted int32 `json:"wanted"`
	Ready  int32 `json:"ready"`
}

func statusCommand(a *session.App) *cobra.Command {
	var options statusOptions
	command := &cobra.Command{
		Use: "status [NAME]", SuggestFor: []string{"get", "describe"},
		Short: "Show the status of the engine, the management plane and clusters",
		Long: `Show the status of the engine, the management plane and all clusters, or the condition tree of one cluster.
The exit code is 1 if the engine or the management plane is unavailable, or the cluster is not found,
and 0 if the cluster exists, even if it is not available.`,
		Example: "  capcon status\n  capcon status demo -o json",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			options.name = cmp.Or(args...)
			return runStatus(command.Context(), a, options)
		},
		ValidArgsFunction: a.CompleteNames,
	}
	output.AddFlag(command, &options.output)
	command.Flags().BoolVar(&options.all, "all-conditions", false, "show problematic conditions of all objects")
	return command
}

// statusOptions say what status prints, and how.
type statusOptions struct {
	// name of one cluster; empty = all.
	name   string
	output string
	// all conditions are shown.
	all bool
}

// status prints what it could find out, also when that ends in an error.
func runStatus(ctx context.Context, a *session.App, options statusOptions) error {
	result, err := inspect(ctx, a, options.name)
	if missing := new(state.NoRootError); errors.As(err, &missing) {
		return err // nothing was asked
	}
	printed := a.Print(options.output, result, func() error { return printReport(a, result, options) })
	return cmp.Or(printed, err)
}

// inspect engine, plane and clusters, as far as they answer. The report is
// valid also with an error.
func inspect(ctx context.Context, a *session.App, name string) (report, error) {
	result := report{Clusters: []clusterReport{}}
	s, err := a.Connect(ctx)
	if err != nil {
		result.Engine.Error = err.Error()
		result.ManagementPlane.Detail = "unknown, because the engine is unavailable"
		return result, err
	}
	defer s.Close()
	result.Engine = session.ReportEngine(s.Info)
	plane, err := s.Plane.State(ctx)
	if err != nil {
		result.ManagementPlane.Detail = "unknown: " + management.OneLine(err.Error())
		return result, err
	}
	result.ManagementPlane = planeReport{
		Exists: plane.Exists, Answers: plane.Answers, Detail: plane.Detail, Skew: images.SkewOfPlane(plane.Image).String(),
	}
	if !plane.Answers {
		result.Containers, err = containerReports(ctx, s, name)
		result.Troubles = recordedTroubles(ctx, s, name)
		return result, errors.Join(err, s.PlaneSilent(ctx, plane, name))
	}
	if err := s.Use(plane.Kubeconfig); err != nil {
		return result, err
	}
	result.Clusters, err = clusterReports(ctx, s, name)
	return result, err
}

// containerReports are the containers of the clusters that are saved.
func containerReports(ctx context.Context, s *session.Session, name string) ([]containerReport, error) {
	names := s.Records.Names()
	var result []containerReport
	for _, cluster := range names {
		if name != "" && name != cluster {
			continue
		}
		containers, err := s.Records.Containers(ctx, cluster)
		if err != nil {
			return nil, err
		}
		for _, container := range containers {
			result = append(result, containerReport{Cluster: cluster, Name: container.Name, Status: container.Status})
		}
	}
	return result, nil
}

func clusterReports(ctx context.Context, s *session.Session, name string) ([]clusterReport, error) {
	clusters, err := management.Clusters(ctx, s.Client)
	if err != nil {
		return nil, err
	}
	reports := []clusterReport{}
	for i := range clusters {
		if name != "" && (clusters[i].Name != name || clusters[i].Namespace != management.Namespace) {
			continue
		}
		one, err := reportCluster(ctx, s, &clusters[i])
		if err != nil {
			return nil, err
		}
		if name != "" {
			root, err := describe.Cluster(ctx, s.Client, management.Namespace, name)
			if err != nil {
				return nil, err
			}
			one.Tree = &root
		}
		reports = append(reports, one)
	}
	if name != "" && len(reports) == 0 {
		return reports, s.NotFound(ctx, name)
	}
	return reports, nil
}

func reportCluster(ctx context.Context, s *session.Session, cluster *clusterv1.Cluster) (clusterReport, error) {
	observed, err := management.Observe(ctx, s.Client, cluster.Namespace, cluster.Name)
	if err != nil {
		return clusterReport{}, err
	}
	snapshot := management.Summarize(observed)
	result := clusterReport{
		Namespace: cluster.Namespace, Name: cluster.Name,
		Available: snapshot.Available, State: snapshot.State(), Deleting: snapshot.Deleting, Power: snapshot.Power, Troubles: snapshot.Troubles,
	}
	if !snapshot.Deleting {
		result.Troubles = append(result.Troubles, certificateTroubles(ctx, s, observed)...)
	}
	if controlPlane := observed.ControlPlane; controlPlane != nil {
		result.KubernetesVersion = controlPlane.Spec.Version
		result.ControlPlanes = countReport{ptr.Deref(controlPlane.Spec.Replicas, 1), snapshot.ReadyControlPlanes}
	}
	for _, workers := range observed.Workers {
		result.Workers.Wanted += ptr.Deref(workers.Spec.Replicas, 1)
	}
	result.Workers.Ready = snapshot.ReadyWorkers
	if snapshot.PodNetworkPending {
		trouble, err := nextsteps.PodNetworkTrouble(ctx, s, observed.Cluster)
		if err != nil {
			return clusterReport{}, err
		}
		result.Troubles = append(result.Troubles, trouble)
	}
	if result.Available {
		if result.State, err = stateOfContainers(ctx, s, observed.Infrastructure, result.State); err != nil {
			return clusterReport{}, err
		}
		result.Available = result.State == snapshot.State()
	}
	return result, nil
}

// stateOfContainers returns the state that Cluster API reports unless a container of
// the cluster has stopped: Cluster API reports it some seconds later, more after a
// restart of the engine, which ends the management plane too. Those that were created
// and not started yet belong to machines that Cluster API waits for anyway.
func stateOfContainers(ctx context.Context, s *session.Session, cluster *infrav1.ContainerCluster, reported string) (string, error) {
	if cluster == nil || cluster.Spec.OwnerID == "" {
		return reported, nil
	}
	owner := identity.Owner{Namespace: cluster.Namespace, Cluster: cluster.Name, ID: cluster.Spec.OwnerID}
	containers, err := s.Records.ListContainers(ctx, owner)
	if err != nil {
		return "", err
	}
	for _, container := range containers {
		if container.Status != engine.StatusRunning && container.Status != engine.StatusCreated {
			return fmt.Sprintf("not available: container %s is %s", container.Name, container.Status), nil
		}
	}
	return reported, nil
}

func printReport(a *session.App, result report, options statusOptions) error {
	a.Printf("Engine            %s", result.Engine)
	a.Printf("Management plane  %s", planeLine(result.ManagementPlane))
	for _, container := range result.Containers {
		a.Printf("Container         %s of cluster %s is %s", container.Name, container.Cluster, container.Status)
	}
	if !result.ManagementPlane.Answers {
		printTroubles(a, result.Troubles)
		return nil
	}
	a.Printf("")
	if len(result.Clusters) == 0 {
		if options.name == "" {
			a.Printf("No clusters found. Create one with \"%s up NAME\".", a.Program)
		}
		return nil
	}
	lines := []string{"CLUSTER\tKUBERNETES\tCONTROL PLANES\tWORKERS\tSTATE"}
	for _, cluster := range result.Clusters {
		lines = append(lines, fmt.Sprintf("%s\t%s\t%d/%d\t%d/%d\t%s", cluster.Name, cluster.KubernetesVersion,
			cluster.ControlPlanes.Ready, cluster.ControlPlanes.Wanted, cluster.Workers.Ready, cluster.Workers.Wanted, cluster.State))
	}
	if err := a.Table(lines); err != nil {
		return err
	}
	for _, cluster := range result.Clusters {
		if err := printTree(a, cluster, options); err != nil {
			return err
		}
		printTroubles(a, cluster.Troubles)
	}
	return nil
}

// printTree of the one cluster that was asked for.
func printTree(a *session.App, cluster clusterReport, options statusOptions) error {
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

func printTroubles(a *session.App, troubles []management.Trouble) {
	for _, trouble := range troubles {
		a.Printf("\n%s: %s: %s\n  remedy: %s", trouble.Object, trouble.Reason, management.OneLine(trouble.Message), trouble.Remedy)
	}
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
