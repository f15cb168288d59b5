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

package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/input"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/management"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane"
)

// downOptions say what down removes.
type downOptions struct {
	names     []string
	all       bool
	keepPlane bool
	// force: also containers that may be of another management cluster now, and objects whose
	// containers were on another engine.
	force   bool
	timeout time.Duration
	trace   string
}

func (a *app) downCommand() *cobra.Command {
	var options downOptions
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
				return a.nameMissing("use the name of one cluster, or --all")
			}
			return options.validate()
		},
		RunE: onEngine(a.connect, func(ctx context.Context, s *session, _ []string) error {
			return s.traced(ctx, options.trace, cmp.Or(options.names...), func() error { return s.down(ctx, options) })
		}),
		ValidArgsFunction: a.completeNames,
	}
	flags := command.Flags()
	flags.BoolVar(&options.all, "all", false, "delete every cluster")
	flags.BoolVar(&options.force, "force", false, "also delete containers of a cluster that another management cluster may have now, and the objects of one whose engine was lost")
	flags.BoolVar(&options.keepPlane, "keep-plane", false, "keep the management plane when no cluster is left")
	flags.DurationVar(&options.timeout, "timeout", defaultTimeout, "how long to wait; 0 = no limit")
	flags.StringVar(&options.trace, "trace", "", traceUsage)
	return command
}

func (o downOptions) validate() error {
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
	return input.Refuse(slices.Concat(problems, input.CheckTimeout(o.timeout), input.CheckTrace(o.trace))...)
}

// down deletes clusters and waits until they are gone.
func (s *session) down(ctx context.Context, options downOptions) error {
	limited, cancel := within(ctx, options.timeout)
	defer cancel()
	title := "Deleting all clusters"
	if !options.all {
		title = "Deleting cluster " + options.names[0]
	}
	b := s.newBoard(title)
	err := s.downWithin(limited, b, options)
	b.close()
	if ctx.Err() != nil {
		s.complain("Interrupted. Deletion continues in the background; run the command again to wait for it.")
		return errReported
	}
	if err != nil {
		return err
	}
	s.say("Images were kept; list them with \"%s images list\".", s.Program)
	return nil
}

func (s *session) downWithin(ctx context.Context, b *board, options downOptions) error {
	b.finished(stepEngine, s.connected)
	for {
		err := s.downOnce(ctx, b, options)
		if err == nil || !s.replaced(ctx) {
			return err
		}
	}
}

func (s *session) downOnce(ctx context.Context, b *board, options downOptions) error {
	state, err := s.plane.State(ctx)
	if err != nil {
		return err
	}
	s.planeID = state.ID
	if state.ID == "" {
		b.finished(stepPlane, "not found")
		return s.downWithoutPlane(ctx, b, options)
	}
	if err := s.wakePlane(ctx, b, state); err != nil {
		return err
	}
	known, err := s.askThisPlane(ctx)
	if err != nil {
		return err
	}
	s.updateRecords(known)
	names, err := s.doomed(ctx, options)
	if err != nil {
		return err
	}
	s.trace.watch(ctx, s)
	kept, err := deleteEach(b, names, func(name string) error {
		return s.deleteCluster(ctx, b, &deletion{name: name, force: options.force})
	})
	if err != nil || kept != nil && !options.all {
		return errors.Join(kept, err)
	}
	return errors.Join(kept, s.removePlane(ctx, b, options))
}

// deleteEach cluster. One whose containers are kept does not keep the others; kept says
// which and why.
func deleteEach(b *board, names []string, deleteOne func(name string) error) (kept, err error) {
	for _, name := range names {
		err := deleteOne(name)
		var unproven *unprovenError
		var unknown *elsewhereError
		switch {
		case errors.As(err, &unproven):
			b.failed("cluster "+name, "not deleted: "+unproven.reason)
			kept = errors.Join(kept, unproven)
		case errors.As(err, &unknown):
			b.failed("cluster "+name, "not deleted: unknown on this engine")
			kept = errors.Join(kept, unknown)
		case err != nil:
			return kept, err
		}
	}
	return kept, nil
}

// wakePlane starts a plane that does not answer: only it can delete what
// belongs to a cluster in order.
func (s *session) wakePlane(ctx context.Context, b *board, state plane.State) error {
	if state.Answers {
		b.finished(stepPlane, "ready")
		return s.use(state.Kubeconfig)
	}
	image, err := s.planeImage(ctx, b, input.Request{}, state)
	if err != nil {
		return err
	}
	_, err = s.ensurePlane(ctx, b, state, image)
	return err
}

// doomed are the names of the clusters to delete, also of those that are only
// recorded: their containers may be all that is left.
func (s *session) doomed(ctx context.Context, options downOptions) ([]string, error) {
	if !options.all {
		return options.names, nil
	}
	names := s.recordedNames()
	err := s.persist(ctx, func() error {
		clusters, err := management.Clusters(ctx, s.client)
		for _, cluster := range clusters {
			if cluster.Namespace == namespace && !slices.Contains(names, cluster.Name) {
				names = append(names, cluster.Name)
			}
		}
		return err
	})
	return names, err
}

// deleteCluster deletes one and waits until nothing is left of it.
func (s *session) deleteCluster(ctx context.Context, b *board, one *deletion) error {
	name, step := one.name, "cluster "+one.name
	b.waiting(step, "deleting the Cluster")
	present, err := s.read(ctx, name)
	if err != nil {
		return err
	}
	record, _ := s.recorded(name)
	if present.OwnerID != "" && present.OwnerID != record.OwnerID {
		if record, err = s.saveRecord(ctx, name, present.OwnerID); err != nil { // for a second attempt
			return err
		}
	}
	if !present.Exists && record.OwnerID == "" {
		var missing *notFoundError
		if err := s.notFound(ctx, name); !errors.As(err, &missing) {
			return err
		}
		b.finished(step, fmt.Sprintf("not found in %s, which has %s", missing.where, missing.present()))
		return nil
	}
	one.record = record
	if !present.Exists && present.OwnerID == "" {
		if err := s.checkLost(ctx, one); err != nil {
			return err
		}
	}
	err = s.persist(ctx, func() error { return management.Delete(ctx, s.client, namespace, name) })
	if err != nil {
		return err
	}
	if err := s.waitGone(ctx, b, one); err != nil {
		return err
	}
	b.finished(step, "deleted")
	s.forgetOwner(name, record.OwnerID)
	return nil
}

// checkLost refuses to forget a cluster without objects whose containers another engine may
// have.
func (s *session) checkLost(ctx context.Context, one *deletion) error {
	if one.force {
		return nil
	}
	containers, err := s.containersOfOwner(ctx, one.name, one.record.OwnerID)
	if err == nil && len(containers) == 0 {
		err = s.checkStorage(one.name, one.record)
	}
	return err
}

// removePlane when no cluster is left that it is needed for. It is the plane that
// decides: other processes may be creating clusters.
func (s *session) removePlane(ctx context.Context, b *board, options downOptions) error {
	if options.keepPlane {
		return nil
	}
	var kept bool
	err := s.persist(ctx, func() (err error) {
		kept, err = management.IsKept(ctx, s.client)
		return err
	})
	if err != nil {
		return err
	}
	if kept {
		b.finished(stepPlane, fmt.Sprintf("kept, because it was started with \"%s plane up\"; remove it with \"%s plane down\"", s.Program, s.Program))
		return nil
	}
	b.waiting(stepPlane, "removing, unless other clusters use it")
	remaining, err := s.removeUnused(ctx)
	if err != nil {
		return fmt.Errorf("remove the management plane: %w", err)
	}
	if len(remaining) > 0 {
		b.finished(stepPlane, "kept for clusters "+strings.Join(remaining, ", "))
		return nil
	}
	b.finished(stepPlane, "removed")
	return nil
}

// downWithoutPlane removes what is left of clusters whose management plane is
// lost. Only what capcon has recorded is touched: others may have
// clusters of the same name on this engine.
func (s *session) downWithoutPlane(ctx context.Context, b *board, options downOptions) error {
	names := options.names
	if options.all {
		names = s.recordedNames()
	}
	kept, err := deleteEach(b, names, func(name string) error {
		return s.deleteContainers(ctx, b, &deletion{name: name, force: options.force})
	})
	if err != nil || options.keepPlane {
		return errors.Join(kept, err)
	}
	// What a removal that was interrupted left, such as the network.
	if _, err := s.removeUnused(ctx); err != nil {
		return errors.Join(kept, fmt.Errorf("remove the management plane: %w", err))
	}
	return kept
}

// deleteContainers of a cluster without a management plane.
func (s *session) deleteContainers(ctx context.Context, b *board, one *deletion) error {
	name := one.name
	record, _ := s.recorded(name)
	one.record = record
	containers, err := s.containersOfOwner(ctx, name, record.OwnerID)
	if err != nil {
		return err
	}
	if len(containers) == 0 && !one.force {
		if err := s.elsewhere(ctx, name); err != nil {
			return err
		}
	}
	if err := s.removeOrphaned(ctx, b, one, containers); err != nil {
		return err
	}
	s.forgetOwner(name, record.OwnerID)
	detail := "not found: there is neither a management cluster nor a container of the cluster on " + s.connected
	if len(containers) > 0 {
		detail = plural(len(containers), "container") + " removed"
	}
	b.finished("cluster "+name, detail)
	return nil
}
