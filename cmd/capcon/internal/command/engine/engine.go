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

// Package engine has the commands for engines of other hosts, on which the management plane creates clusters.
//
// Who has access to the engine of the plane is root on its host, and says by "add" which other
// engines the plane may reach: the plane is started with these endpoints, and refuses others.
package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/input"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/management"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/output"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/session"
)

// Command is capcon engine.
func Command(a *session.App) *cobra.Command {
	command := &cobra.Command{
		Use:   "engine",
		Short: "Add, list, drain and remove engines of other hosts",
		Long: "Add, list, drain and remove engines of other hosts, on which the management cluster creates clusters. Each is a\n" +
			"ContainerEngine in namespace " + management.Namespace + ". The engine that capcon is connected to needs none.",
	}
	command.AddCommand(addCommand(a), listCommand(a), drainCommand(a), removeCommand(a))
	return command
}

// oneEngine checks that the arguments are the name of an engine, and more.
func oneEngine(count int) cobra.PositionalArgs {
	return func(command *cobra.Command, args []string) error {
		if err := cobra.ExactArgs(count)(command, args); err != nil {
			return err
		}
		return input.Refuse(input.CheckName(args[0])...)
	}
}

// reach the management plane, which has the engines.
func reach(ctx context.Context, s *session.Session) error {
	found, err := s.ReachPlane(ctx)
	if err != nil {
		return err
	}
	if s.Client == nil {
		return fmt.Errorf("the %s does not respond (%s); start it with \"%s plane up\"", s.ManagementCluster(), cmp.Or(found.Detail, "not found"), s.Program)
	}
	return nil
}

// find one engine by its name, which is not to be added: an *EngineError names those that there are.
func find(ctx context.Context, s *session.Session, name string) (*infrav1.ContainerEngine, error) {
	if err := reach(ctx, s); err != nil {
		return nil, err
	}
	engine, err := s.ContainerEngine(ctx, name)
	if missing := new(session.EngineError); errors.As(err, &missing) {
		missing.Remedy = fmt.Sprintf("see \"%s engine list\"", s.Program)
	}
	return engine, err
}

func listCommand(a *session.App) *cobra.Command {
	var format string
	command := &cobra.Command{
		Use:     "list",
		Short:   "List the engines of other hosts",
		Args:    cobra.NoArgs,
		PreRunE: func(*cobra.Command, []string) error { return input.Refuse(output.CheckListFormat(format)...) },
		RunE: session.OnEngine(a.Connect, func(ctx context.Context, s *session.Session, _ []string) error {
			return list(ctx, s, format)
		}),
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	output.AddListFlag(command, &format)
	return command
}

func list(ctx context.Context, s *session.Session, format string) error {
	if err := reach(ctx, s); err != nil {
		return err
	}
	all, err := s.ContainerEngines(ctx)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		s.Errorf("No engines of other hosts found.")
	}
	out := output.List{
		Columns: []string{"NAME", "ENDPOINT", "STATE", "CLUSTERS", "MACHINES", "FREE CPU", "FREE MEMORY"},
		Wide:    []string{"ENGINE", "VERSION", "MESSAGE"}, Scheme: s.Client.Scheme(),
	}
	for i := range all {
		out.Rows = append(out.Rows, row(&all[i]))
	}
	return s.PrintList(format, out)
}

func row(engine *infrav1.ContainerEngine) output.Row {
	const none = "-"
	status := engine.Status
	number := func(n *int32) string {
		if n == nil {
			return none
		}
		return fmt.Sprint(*n)
	}
	free := []string{none, none}
	if status.Free.CPU != nil {
		free[0] = status.Free.CPU.String()
	}
	if status.Free.Memory != nil {
		free[1] = status.Free.Memory.String()
	}
	message := conditions.GetMessage(engine, infrav1.EngineReadyCondition)
	return output.Row{
		Object: engine, Name: engine.Name,
		Columns: slices.Concat([]string{engine.Spec.Endpoint, stateOf(engine), number(status.Clusters), number(status.Machines)}, free),
		Wide:    []string{cmp.Or(status.Product, none), cmp.Or(status.Version, none), cmp.Or(strings.Join(strings.Fields(message), " "), none)},
	}
}

// stateOf an engine: why it is not ready, and that it is drained.
func stateOf(engine *infrav1.ContainerEngine) string {
	state := "Unknown"
	if ready := conditions.Get(engine, infrav1.EngineReadyCondition); ready != nil {
		state = ready.Reason
	}
	if drained := engine.Spec.Maintenance; drained != nil && *drained {
		state += ",Drained"
	}
	return state
}

// users of an engine: the names of its clusters, and of machines whose cluster is gone.
func users(ctx context.Context, c client.Client, name string) ([]string, error) {
	clusters, machines := &infrav1.ContainerClusterList{}, &infrav1.ContainerMachineList{}
	for _, list := range []client.ObjectList{clusters, machines} {
		if err := c.List(ctx, list, client.InNamespace(management.Namespace)); err != nil {
			return nil, fmt.Errorf("list objects of the engine: %w", err)
		}
	}
	var names, known []string
	for i := range clusters.Items {
		if cluster := &clusters.Items[i]; cluster.Spec.EngineName == name || slices.Contains(cluster.Spec.EngineNames, name) {
			names = append(names, "cluster "+cmp.Or(cluster.Labels[clusterv1.ClusterNameLabel], cluster.Name))
			known = append(known, cluster.Labels[clusterv1.ClusterNameLabel])
		}
	}
	for i := range machines.Items {
		machine := &machines.Items[i]
		if machine.Annotations[infrav1.EngineNameAnnotation] == name && !slices.Contains(known, machine.Labels[clusterv1.ClusterNameLabel]) {
			names = append(names, "machine "+machine.Name)
		}
	}
	slices.Sort(names)
	return names, nil
}
