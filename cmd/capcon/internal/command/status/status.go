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

// Package status is the command that shows the status of the engine, the management plane and clusters.
package status

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/spf13/cobra"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/input"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/output"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/session"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/state"
)

// Command is capcon status.
func Command(a *session.App) *cobra.Command {
	var options options
	command := &cobra.Command{
		Use: "status [NAME]", SuggestFor: []string{"describe"},
		Short: "Show the status of the engine, the management plane and clusters",
		Long: `Show the status of the engine, the management plane and all clusters, or the condition tree of one cluster.
The exit code is 0 if all Nodes that were asked for are ready in all clusters shown; 4 if one is not, also if its
cluster is available without it, stopped or being deleted; and 1 if the engine or the management plane is
unavailable, or the cluster is not found.`,
		Example: "  capcon status\n  capcon status demo -o json\n  capcon status --watch",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			options.name = cmp.Or(args...)
			if options.watch {
				return watch(command.Context(), a, options)
			}
			return run(command.Context(), a, options)
		},
		ValidArgsFunction: a.CompleteNames,
	}
	output.AddFlag(command, &options.output)
	checkFormat := command.PreRunE
	command.PreRunE = func(command *cobra.Command, args []string) error {
		if options.watch && (options.output != output.Text || options.all) {
			return input.Refuse(input.Problem{
				Field: "--watch", Value: "true", Reason: "shows the state of clusters only", Remedy: "omit --output and --all-conditions",
			})
		}
		return checkFormat(command, args)
	}
	command.Flags().BoolVarP(&options.watch, "watch", "w", false, "show changes until interrupted: on a terminal in place, otherwise one line for each")
	command.Flags().BoolVar(&options.all, "all-conditions", false, "show problematic conditions of all objects")
	return command
}

// options say what status prints, and how.
type options struct {
	// name of one cluster; empty = all.
	name   string
	output string
	// all conditions are shown.
	all bool
	// watch the clusters until the user ends it.
	watch bool
}

// status prints what it could find out, also when that ends in an error.
func run(ctx context.Context, a *session.App, options options) error {
	result, err := inspect(ctx, a, options.name)
	if missing := new(state.NoRootError); errors.As(err, &missing) {
		return err // nothing was queried
	}
	printed := a.Print(options.output, result, func() error { return printReport(a, result, options) })
	if err == nil && printed == nil && slices.ContainsFunc(result.Clusters, func(c ClusterReport) bool { return !c.ready }) {
		return &session.ExitCodeError{Code: session.ExitNotYet, Err: session.ErrReported}
	}
	return cmp.Or(printed, err)
}
