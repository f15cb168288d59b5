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
	"maps"
	"slices"
	"strings"
	"sync"
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
	// kubeconfig of the user that has the contexts; empty = those of kubectl.
	kubeconfig session.UserKubeconfig
	// deleted clusters with their owner IDs; without one, where there is no such cluster.
	deleted map[string]string
}

// Command is capcon down.
func Command(a *session.App) *cobra.Command {
	var options options
	command := &cobra.Command{
		Use: "down NAME...", SuggestFor: []string{"delete", "destroy"},
		Short: "Delete clusters, and the management plane after the last one",
		Long: "Delete clusters, concurrently, and wait until all of their resources are deleted. After the last cluster, the\n" +
			"management plane, its data and the network are deleted too; images are kept. Run the command again to resume an\n" +
			"interrupted deletion. A cluster that does not exist is reported, and the exit code is 0. If one of the named\n" +
			"clusters must be kept, none is deleted. Containers of a cluster that was moved to another management cluster, or whose\n" +
			"management plane is lost, are kept, unless --force is set, and so are the objects of a cluster that was\n" +
			"created on another engine. The context capcon-NAME is removed from the kubeconfig of kubectl, and the one\n" +
			"that was current before becomes it again.",
		Example: "  capcon down demo\n  capcon down demo test\n  capcon down --all",
		PreRunE: func(_ *cobra.Command, args []string) error {
			if options.names = distinct(args); len(args) == 0 && !options.all {
				return a.NameMissing("use the name of one cluster or more, or --all")
			}
			return options.validate()
		},
		RunE: session.OnEngine(a.Connect, func(ctx context.Context, s *session.Session, _ []string) error {
			return trace.Run(ctx, s, options.trace, cmp.Or(options.names...), func(t *trace.Recording) error { return run(ctx, s, options, t) })
		}),
		ValidArgsFunction: a.CompleteEachName,
	}
	flags := command.Flags()
	flags.BoolVar(&options.all, "all", false, "delete every cluster")
	flags.BoolVar(&options.force, "force", false, "also delete containers of a cluster that another management cluster may have now, the objects of one whose engine was lost,\n"+
		"and the record of one without objects whose ContainerEngine is not reached")
	flags.BoolVar(&options.keepPlane, "keep-plane", false, "keep the management plane when no cluster is left")
	options.kubeconfig.AddFile(flags, "file to remove the context of the cluster from")
	session.AddTimeout(command, &options.timeout)
	flags.StringVar(&options.trace, "trace", "", trace.Usage)
	return command
}

func (o options) validate() error {
	var problems []input.Problem
	switch {
	case o.all && len(o.names) > 0:
		problems = append(problems, input.Problem{
			Field: "--all", Reason: "must not be set together with a name", Remedy: "use one of them",
		})
	case o.trace != "" && len(o.names) != 1:
		problems = append(problems, input.Problem{
			Field: "--trace", Value: o.trace, Reason: "must not be set together with --all or several names", Remedy: "use the name of one cluster",
		})
	default:
		for _, name := range o.names {
			problems = append(problems, input.CheckName(name)...)
		}
	}
	return input.Refuse(append(problems, input.CheckTimeout(o.timeout)...)...)
}

// distinct names, in their order.
func distinct(names []string) []string {
	var all []string
	for _, name := range names {
		if !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return all
}

// down deletes clusters and waits until they are gone.
func run(ctx context.Context, s *session.Session, options options, recording *trace.Recording) error {
	limited, cancel := session.Within(ctx, options.timeout)
	defer cancel()
	title := "Deleting all clusters"
	if !options.all {
		title = "Deleting cluster " + strings.Join(options.names, ", ")
	}
	b := s.NewBoard(title)
	options.deleted = map[string]string{}
	err := downWithin(limited, s, b, options, recording)
	b.Close()
	err = errors.Join(err, removeContexts(ctx, s, options))
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

// removeContexts of the deleted clusters. What cannot be removed keeps no cluster from being deleted.
func removeContexts(ctx context.Context, s *session.Session, options options) (err error) {
	for _, name := range slices.Sorted(maps.Keys(options.deleted)) {
		done, failed := s.RemoveUserKubeconfig(ctx, options.kubeconfig.File, name, options.deleted[name])
		if done != "" {
			s.Printf("%s", done)
		}
		err = errors.Join(err, failed)
	}
	return err
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
	err = deleteAll(b, options, names,
		func(name string) (*deletion, error) { return prepare(ctx, s, b, name, options.force) },
		func(one *deletion) error { return deleteCluster(ctx, s, b, one) })
	if err != nil && (!options.all || !isKept(err)) {
		return err
	}
	return errors.Join(err, removePlane(ctx, s, b, options))
}

// keptError says which clusters were not deleted, and why.
type keptError struct{ error }

// Unwrap returns the reasons.
func (e keptError) Unwrap() error { return e.error }

func isKept(err error) bool { return errors.As(err, new(keptError)) }

// deleteAll prepares the deletion of all clusters before the first is deleted, and then deletes them
// concurrently. One that is kept keeps the other ones only if it was named: a keptError.
func deleteAll(
	b *progress.Board, options options, names []string, prepare func(name string) (*deletion, error), deleteOne func(*deletion) error,
) error {
	deletions, kept, err := prepareAll(b, options, names, prepare)
	switch {
	case err != nil:
		return errors.Join(kept, err)
	case kept != nil && !options.all:
		return keptError{kept}
	}
	results := make([]error, len(deletions))
	var running sync.WaitGroup
	for i, one := range deletions {
		running.Go(func() { results[i] = deleteOne(one) })
	}
	running.Wait()
	var failed error
	for i, result := range results {
		if showKept(b, deletions[i].name, result) {
			kept = errors.Join(kept, result)
			continue
		}
		if failed = errors.Join(failed, result); result == nil {
			options.deleted[deletions[i].name] = deletions[i].record.OwnerID
		}
	}
	if failed == nil && kept != nil {
		return keptError{kept}
	}
	return errors.Join(kept, failed)
}

// prepareAll deletions. Those clusters that are kept are not in it.
func prepareAll(
	b *progress.Board, options options, names []string, prepare func(name string) (*deletion, error),
) (deletions []*deletion, kept, err error) {
	for _, name := range names {
		one, err := prepare(name)
		switch {
		case showKept(b, name, err):
			kept = errors.Join(kept, err)
		case err != nil:
			return nil, kept, err
		case one != nil:
			b.Waiting("cluster "+name, "to be deleted")
			deletions = append(deletions, one)
		default: // it does not exist
			options.deleted[name] = ""
		}
	}
	return deletions, kept, nil
}

// showKept shows that a cluster is kept, and reports whether that is what the error says.
func showKept(b *progress.Board, name string, err error) bool {
	reason := whyKept(err)
	if reason != "" {
		b.Failed("cluster "+name, "not deleted: "+reason)
	}
	return reason != ""
}

// whyKept says why a cluster is kept; empty where that is not what the error says.
func whyKept(err error) string {
	var unproven *unprovenError
	var unknown *records.ElsewhereError
	var unreached *session.EngineError
	switch {
	case errors.As(err, &unproven):
		return unproven.reason
	case errors.As(err, &unknown):
		return "unknown on this engine"
	case errors.As(err, &unreached):
		return "its engine is not reached"
	}
	return ""
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
