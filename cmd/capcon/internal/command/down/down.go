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

// Package down is the command that deletes clusters.
package down

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/input"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/management"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/progress"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/records"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/session"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/trace"
)

// options say what down removes.
type options struct {
	names     []string
	all       bool
	keepPlane bool
	// force: also containers that may be of another management cluster now, and objects whose
	// containers were on another engine.
	force   bool
	timeout time.Duration
	trace   string
}

// Command is capcon down.
func Command(a *session.App) *cobra.Command {
	var options options
	command := &cobra.Command{
		Use: "down NAME", SuggestFor: []string{"delete", "destroy"},
		Short: "Delete a cluster, and the management plane after the last one",
		Long: "Delete a cluster and wait until all of its resources are deleted. After the last cluster, the management\n" +
			"plane, its data and the network are deleted too; images are kept. Run the command again to resume an\n" +
			"interrupted deletion. Containers of a cluster that was moved to another management cluster, or whose\n" +
			"management plane is lost, are kept, unless --force is set, and so are the objects of a cluster that was\n" +
			"created on another engine.",
		Example: "  capcon down demo\n  capcon down --all",
		PreRunE: func(_ *cobra.Command, args []string) error {
			if options.names = args; len(args) == 0 && !options.all {
				return a.NameMissing("use the name of one cluster, or --all")
			}
			return options.validate()
		},
		RunE: session.OnEngine(a.Connect, func(ctx context.Context, s *session.Session, _ []string) error {
			return trace.Run(ctx, s, options.trace, cmp.Or(options.names...), func(t *trace.Recording) error { return run(ctx, s, options, t) })
		}),
		ValidArgsFunction: a.CompleteNames,
	}
	flags := command.Flags()
	flags.BoolVar(&options.all, "all", false, "delete every cluster")
	flags.BoolVar(&options.force, "force", false, "also delete containers of a cluster that another management cluster may have now, and the objects of one whose engine was lost")
	flags.BoolVar(&options.keepPlane, "keep-plane", false, "keep the management plane when no cluster is left")
	session.AddTimeout(command, &options.timeout)
	flags.StringVar(&options.trace, "trace", "", trace.Usage)
	return command
}

func (o options) validate() error {
	var problems []input.Problem
	switch {
	case o.all && len(o.names) > 0:
		problems = append(problems, input.Problem{
			Field: "--all", Value: "true", Reason: "must not be set together with a name", Remedy: "use one of them",
		})
	case !o.all && len(o.names) != 1:
		problems = append(problems, input.Problem{
			Field: "NAME", Value: strings.Join(o.names, " "), Reason: "more than one name", Remedy: "use one name, or --all",
		})
	case !o.all:
		problems = input.CheckName(o.names[0])
	case o.trace != "":
		problems = append(problems, input.Problem{
			Field: "--trace", Value: o.trace, Reason: "must not be set together with --all", Remedy: "use the name of one cluster",
		})
	}
	return input.Refuse(append(problems, input.CheckTimeout(o.timeout)...)...)
}

// down deletes clusters and waits until they are gone.
func run(ctx context.Context, s *session.Session, options options, recording *trace.Recording) error {
	limited, cancel := session.Within(ctx, options.timeout)
	defer cancel()
	title := "Deleting all clusters"
	if !options.all {
		title = "Deleting cluster " + options.names[0]
	}
	b := s.NewBoard(title)
	err := downWithin(limited, s, b, options, recording)
	b.Close()
	if ctx.Err() != nil {
		s.Errorf("Interrupted. Deletion continues in the background; run the command again to wait for it.")
		return session.ErrReported
	}
	if err != nil {
		return err
	}
	s.Printf("Images were kept; list them with \"%s images list\".", s.Program)
	return nil
}

func downWithin(ctx context.Context, s *session.Session, b *progress.Board, options options, recording *trace.Recording) error {
	b.Finished(session.StepEngine, s.Connected)
	for {
		err := downOnce(ctx, s, b, options, recording)
		if err == nil || !s.PlaneReplaced(ctx) {
			return err
		}
	}
}

func downOnce(ctx context.Context, s *session.Session, b *progress.Board, options options, recording *trace.Recording) error {
	state, err := s.Plane.State(ctx)
	if err != nil {
		return err
	}
	s.PlaneID = state.ID
	if state.ID == "" {
		b.Finished(session.StepPlane, "not found")
		return downWithoutPlane(ctx, s, b, options)
	}
	if err := s.WakePlane(ctx, b, state); err != nil {
		return err
	}
	known, err := s.KnownToPlane(ctx)
	if err != nil {
		return err
	}
	s.Records.Update(known)
	names, err := doomed(ctx, s, options)
	if err != nil {
		return err
	}
	recording.WatchObjects(ctx)
	kept, err := deleteEach(b, names, func(name string) error {
		return deleteCluster(ctx, s, b, &deletion{name: name, force: options.force})
	})
	if err != nil || kept != nil && !options.all {
		return errors.Join(kept, err)
	}
	return errors.Join(kept, removePlane(ctx, s, b, options))
}

// deleteEach cluster. One whose containers are kept does not keep the others; kept says
// which and why.
func deleteEach(b *progress.Board, names []string, deleteOne func(name string) error) (kept, err error) {
	for _, name := range names {
		err := deleteOne(name)
		var unproven *unprovenError
		var unknown *records.ElsewhereError
		switch {
		case errors.As(err, &unproven):
			b.Failed("cluster "+name, "not deleted: "+unproven.reason)
			kept = errors.Join(kept, unproven)
		case errors.As(err, &unknown):
			b.Failed("cluster "+name, "not deleted: unknown on this engine")
			kept = errors.Join(kept, unknown)
		case err != nil:
			return kept, err
		}
	}
	return kept, nil
}

// doomed are the names of the clusters to delete, also of those that are only
// recorded: their containers may be all that is left.
func doomed(ctx context.Context, s *session.Session, options options) ([]string, error) {
	if !options.all {
		return options.names, nil
	}
	names := s.Records.Names()
	err := s.RetryTransient(ctx, func() error {
		clusters, err := management.Clusters(ctx, s.Client)
		for _, cluster := range clusters {
			if cluster.Namespace == management.Namespace && !slices.Contains(names, cluster.Name) {
				names = append(names, cluster.Name)
			}
		}
		return err
	})
	return names, err
}
