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
	"context"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/duration"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/input"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/management"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/output"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/session"
)

// Command is capcon get.
func Command(a *session.App) *cobra.Command {
	command := &cobra.Command{
		Use:   "get",
		Short: "Print clusters, machines or nodes, for users and for scripts",
		Long: "Print clusters, machines or nodes as a table, or as the objects of Kubernetes that they are. Clusters and\n" +
			"Machines are objects of the management plane, Nodes are those of each cluster.",
	}
	command.AddCommand(clustersCommand(a), machinesCommand(a), nodesCommand(a), configCommand(a))
	return command
}

// printer of one resource: the rows of a cluster, or of all without a name.
type printer struct {
	use, short string
	alias      string
	columns    []string
	wide       []string
	rows       func(ctx context.Context, s *session.Session, clusters []clusterv1.Cluster) ([]output.Row, error)
}

func (p printer) command(a *session.App) *cobra.Command {
	var format string
	command := &cobra.Command{
		Use: p.use + " [NAME]", Aliases: []string{p.alias},
		Short:   p.short,
		Example: "  capcon get " + p.use + "\n  capcon get " + p.use + " demo -o name",
		Args:    cobra.MaximumNArgs(1),
		PreRunE: func(_ *cobra.Command, args []string) error {
			problems := output.CheckListFormat(format)
			for _, name := range args {
				problems = append(problems, input.CheckName(name)...)
			}
			return input.Refuse(problems...)
		},
		RunE: session.OnEngine(a.Connect, func(ctx context.Context, s *session.Session, args []string) error {
			return p.run(ctx, s, format, args)
		}),
		ValidArgsFunction: a.CompleteNames,
	}
	output.AddListFlag(command, &format)
	return command
}

// run prints what could be read, also where that is not all.
func (p printer) run(ctx context.Context, s *session.Session, format string, names []string) error {
	clusters, err := clustersNamed(ctx, s, names)
	if err != nil {
		return err
	}
	list := output.List{Columns: p.columns, Wide: p.wide}
	if len(clusters) > 0 {
		if list.Rows, err = p.rows(ctx, s, clusters); err != nil && len(list.Rows) == 0 {
			return err
		}
		list.Scheme = s.Client.Scheme()
	}
	if len(list.Rows) == 0 && err == nil {
		s.Errorf("No %s found.", p.use)
	}
	if printed := s.PrintList(format, list); printed != nil {
		return printed
	}
	return err
}

// clustersNamed are all, or the one of a name.
func clustersNamed(ctx context.Context, s *session.Session, names []string) ([]clusterv1.Cluster, error) {
	name := ""
	if len(names) > 0 {
		name = names[0]
	}
	plane, err := s.ReachPlane(ctx)
	if err != nil {
		return nil, err
	}
	if !plane.Answers {
		return nil, s.PlaneSilent(ctx, plane, name)
	}
	all, err := management.Clusters(ctx, s.Client)
	if err != nil || name == "" {
		return all, err
	}
	for _, cluster := range all {
		if cluster.Namespace == management.Namespace && cluster.Name == name {
			return []clusterv1.Cluster{cluster}, nil
		}
	}
	return nil, s.NotFound(ctx, name)
}

// age of an object, as kubectl prints it.
func age(s *session.Session, object client.Object) string {
	if created := object.GetCreationTimestamp(); !created.IsZero() {
		return duration.HumanDuration(s.Now().Sub(created.Time).Truncate(time.Second))
	}
	return unknown
}

// What a table shows for a value that is not known, and for one that there is none of.
const (
	unknown = "<unknown>"
	none    = "<none>"
)
