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

// Package gc has the commands that delete what is left of clusters: resources of the engine, and records.
package gc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/inventory"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/output"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/session"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
)

// options say what gc removes, and how it prints it.
type options struct {
	yes, all bool
	output   string
	// owners whose leftovers may go.
	owners      []string
	kubeconfigs []string
}

// Command is capcon gc.
func Command(a *session.App) *cobra.Command {
	var options options
	command := &cobra.Command{
		Use:   "gc",
		Short: "List orphaned resources; delete them with --yes",
		Long: "List resources on the engine, and on those of other hosts (\"capcon engine list\"), whose owner is not a\n" +
			"cluster of an available management cluster, with the reason of each decision, and delete them with --yes:\n" +
			"containers, then networks, then volumes. Resources that may belong to a management cluster that is\n" +
			"unavailable or unknown are kept, unless --owner selects their owner, or, on the engine of the management\n" +
			"plane, --all is set. If an engine is not reached, the others are looked at, and the exit code is 1. Resources\n" +
			"without the labels of the provider are never deleted.",
		Example: "  capcon gc\n  capcon gc --yes\n  capcon gc --kubeconfig my-management-cluster.kubeconfig\n  capcon gc --owner 0a1b2c3d4e5f --yes",
		Args:    cobra.NoArgs,
		RunE: session.OnEngine(a.Connect, func(ctx context.Context, s *session.Session, _ []string) error {
			return run(ctx, s, options)
		}),
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	flags := command.Flags()
	flags.BoolVar(&options.yes, "yes", false, "delete the resources")
	flags.BoolVar(&options.all, "all", false, "include resources that may belong to an unavailable or unknown management cluster")
	flags.StringArrayVar(&options.owners, "owner", nil, "also include the resources of this owner ID, of a cluster that is in no management cluster; can be repeated")
	flags.StringArrayVar(&options.kubeconfigs, "kubeconfig", nil, session.KubeconfigsUsage)
	output.AddFlag(command, &options.output)
	return command
}

// decisionReport is an element of the output of gc with "-o json": an interface
// that scripts rely on.
type decisionReport struct {
	Action string         `json:"action"`
	Kind   inventory.Kind `json:"kind"`
	Name   string         `json:"name"`
	// EngineName of the ContainerEngine that it is on.
	EngineName string `json:"engineName,omitempty"`
	Namespace  string `json:"namespace,omitempty"`
	Cluster    string `json:"cluster,omitempty"`
	OwnerID    string `json:"ownerID,omitempty"`
	Reason     string `json:"reason"`
}

// The actions of gc.
const (
	actionKeep   = "keep"
	actionRemove = "remove"
)

func run(ctx context.Context, s *session.Session, options options) error {
	world, reached, err := s.Inventory(ctx, options.kubeconfigs)
	if err != nil {
		return err
	}
	world.All, world.Named = options.all, options.owners
	decisions := inventory.Plan(world)
	err = s.Print(options.output, decisionReports(decisions), func() error { return printDecisions(s.App, decisions, options) })
	if err == nil && options.yes {
		err = sweep(ctx, reached, world, decisions, options)
	}
	return errors.Join(append([]error{err}, world.Unreached...)...)
}

func decisionReports(decisions []inventory.Decision) []decisionReport {
	reports := []decisionReport{}
	for _, d := range decisions {
		action := actionKeep
		if d.Remove {
			action = actionRemove
		}
		reports = append(reports, decisionReport{action, d.Kind, d.Name, d.Engine, d.Owner.Namespace, d.Owner.Cluster, d.Owner.ID, d.Reason})
	}
	return reports
}

func printDecisions(a *session.App, decisions []inventory.Decision, options options) error {
	if len(decisions) == 0 {
		a.Printf("No resources of this provider found on the engine.")
		return nil
	}
	elsewhere := slices.ContainsFunc(decisions, func(d inventory.Decision) bool { return d.Engine != "" })
	lines := []string{"ACTION\tKIND\tNAME\tCLUSTER\t" + output.Optional(elsewhere, "ENGINE") + "REASON"}
	count := 0
	for _, report := range decisionReports(decisions) {
		cluster := "-"
		if report.Cluster != "" {
			cluster = report.Namespace + "/" + report.Cluster
		}
		if report.Action == actionRemove {
			count++
		}
		lines = append(lines, fmt.Sprintf("%s\t%s\t%s\t%s\t%s%s",
			report.Action, report.Kind, report.Name, cluster, output.Optional(elsewhere, cmp.Or(report.EngineName, "-")), report.Reason))
	}
	if err := a.Table(lines); err != nil {
		return err
	}
	switch {
	case count == 0:
		a.Printf("\nNo orphaned resources found; those above are kept for the reasons stated.")
	case !options.yes:
		a.Printf("\nDry run, nothing was deleted. Use --yes to delete %s.", output.Plural(count, "object"))
	default:
		a.Printf("")
	}
	return nil
}

// sweep removes what was decided, in the order of the decisions, and continues
// after errors.
func sweep(ctx context.Context, reached map[string]*session.Session, world inventory.World, decisions []inventory.Decision, options options) error {
	var failed []error
	s := reached[""]
	for _, decision := range decisions {
		if !decision.Remove {
			continue
		}
		result := "removed"
		gone, err := removeObject(ctx, reached[decision.Engine], decision.Object)
		switch {
		case err != nil:
			failed = append(failed, err)
			continue
		case !gone:
			result = "kept, because it is in use now:"
		}
		if options.output == output.Text {
			s.Printf("%s %s %s", result, decision.Kind, decision.Name)
		}
	}
	if len(failed) == 0 {
		failed = forgetOrphans(ctx, reached, world, decisions, options)
	}
	return errors.Join(failed...)
}

// removeObject reports whether it is gone; a network that is in use by now is
// not, and that is no error.
func removeObject(ctx context.Context, s *session.Session, object inventory.Object) (gone bool, err error) {
	switch object.Kind {
	case inventory.Container:
		err = s.Engine.RemoveContainer(ctx, object.ID)
	case inventory.Network:
		if object.Creating == "" {
			return network.Remove(ctx, s.Engine, object.Name)
		}
		err = s.Engine.RemoveNetwork(ctx, object.Name)
	case inventory.Volume:
		err = s.Engine.RemoveVolume(ctx, object.Name)
	}
	if err = engine.Cause(err); err != nil {
		return false, fmt.Errorf("remove %s %q: %w", object.Kind, object.Name, err)
	}
	return true, nil
}

// forgetOrphans of which nothing is left: their kubeconfigs and contexts lead nowhere. What an engine that is not reached has is not
// known.
func forgetOrphans(ctx context.Context, reached map[string]*session.Session, world inventory.World, decisions []inventory.Decision, options options) (failed []error) {
	s := reached[""]
	for _, name := range s.Records.Names() {
		saved, _ := s.Records.Get(name)
		if reached[saved.EngineName] == nil {
			continue
		}
		ofIt := func(remove bool) bool {
			return slices.ContainsFunc(decisions, func(d inventory.Decision) bool {
				return d.Owner.ID == saved.OwnerID && d.Owner.ID != "" && d.Remove == remove
			})
		}
		if _, managed := world.ManagerOf(saved.OwnerID); !managed && ofIt(true) && !ofIt(false) {
			s.Records.ForgetOwner(name, saved.OwnerID)
			done, err := s.RemoveUserKubeconfig(ctx, "", name, saved.OwnerID)
			if done != "" && options.output == output.Text {
				s.Printf("%s", done)
			}
			if err != nil {
				failed = append(failed, err)
			}
		}
	}
	return failed
}
