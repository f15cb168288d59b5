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

package session

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/input"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/records"
)

// OneCluster checks that the arguments are the name of one cluster.
func (a *App) OneCluster(command *cobra.Command, args []string) error {
	if len(args) == 0 {
		return a.NameMissing("use the name of one cluster")
	}
	if err := cobra.ExactArgs(1)(command, args); err != nil {
		return err
	}
	return input.Refuse(input.CheckName(args[0])...)
}

// NameMissing refuses a command without the name of a cluster, and says which there are.
func (a *App) NameMissing(remedy string) error {
	reason := "missing"
	if names, err := records.AllNames(a.Getenv); err == nil && len(names) > 0 {
		reason += "; clusters: " + strings.Join(names, ", ")
	}
	return input.Refuse(input.Problem{Field: "NAME", Reason: reason, Remedy: remedy})
}

// CompleteNames completes the name of one cluster from the saved state,
// without calling engine or API server.
func (a *App) CompleteNames(command *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return a.CompleteEachName(command, args, prefix)
}

// CompleteEachName is CompleteNames for any number of clusters.
func (a *App) CompleteEachName(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	names, err := records.AllNames(a.Getenv)
	if err != nil {
		cobra.CompDebugln(err.Error(), false)
		return nil, cobra.ShellCompDirectiveError
	}
	names = slices.DeleteFunc(names, func(name string) bool { return slices.Contains(args, name) })
	return names, cobra.ShellCompDirectiveNoFileComp
}
