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

// Package get has the commands that read what there is of clusters.
package get

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/inventory"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/output"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/session"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
)

// listOptions say what list prints, and how.
type listOptions struct {
	// name of the clusters to list; empty = all.
	name        string
	output      string
	kubeconfigs []string
}

// ListCommand is capcon list.
func ListCommand(a *session.App) *cobra.Command {
	var options listOptions
	command := &cobra.Command{
		Use:   "list [NAME]",
		Short: "List the clusters on the engine and their resources",
		Long: "List the clusters of all available management clusters on the engine, and their\n" +
			"containers, networks and volumes, also on engines of other hosts. Orphaned resources are listed\n" +
			"too; \"capcon gc\" shows which can be deleted. With a name, each container is listed.",
		Example: "  capcon list\n  capcon list demo -o json",
		Args:    cobra.MaximumNArgs(1),
		RunE: session.OnEngine(a.Connect, func(ctx context.Context, s *session.Session, args []string) error {
			options.name = cmp.Or(args...)
			return list(ctx, s, options)
		}),
		ValidArgsFunction: a.CompleteNames,
	}
	output.AddFlag(command, &options.output)
	command.Flags().StringArrayVar(&options.kubeconfigs, "kubeconfig", nil, session.KubeconfigsUsage)
	return command
}

// listing is the output of list, and with "-o json" its fields are an interface
// that scripts rely on.
type listing struct {
	Managers []managerReport `json:"managers"`
	Clusters []ownedReport   `json:"clusters"`
}

type managerReport struct {
	Name    string `json:"name"`
	Answers bool   `json:"answers"`
	Detail  string `json:"detail,omitempty"`
}

// ownedReport is what there is of a cluster.
type ownedReport struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	OwnerID   string `json:"ownerID,omitempty"`
	// EngineName of the ContainerEngine that it is on, of a cluster over several that of its load balancer; in another namespace than
	// default, NAMESPACE/NAME.
	EngineName string `json:"engineName,omitempty"`
	// EngineNames of all ContainerEngines that it is on.
	EngineNames []string `json:"engineNames,omitempty"`
	// Unknown are those of them that were not looked at: what is there is missing in the lists.
	Unknown []string `json:"unknownOn,omitempty"`
	// Manager that has the cluster; empty where none that answers does.
	Manager    string        `json:"manager,omitempty"`
	Containers []ownedObject `json:"containers"`
	Networks   []string      `json:"networks"`
	// Volumes that have a name. Those of nodes are anonymous, and are removed with
	// their containers.
	Volumes []string `json:"volumes"`
}

type ownedObject struct {
	Name    string        `json:"name"`
	Role    identity.Role `json:"role"`
	Machine string        `json:"machine,omitempty"`
	Status  engine.Status `json:"status"`
}

func list(ctx context.Context, s *session.Session, options listOptions) error {
	world, _, err := s.Inventory(ctx, options.kubeconfigs)
	if err != nil {
		return err
	}
	result := listingOf(world, options.name)
	err = s.Print(options.output, result, func() error {
		if err := printListing(s.App, result); err != nil || options.name == "" {
			return err
		}
		if len(result.Clusters) > 0 {
			return printContainers(s.App, result.Clusters)
		}
		return listedNowhere(ctx, s, world, options.name)
	})
	return errors.Join(append([]error{err}, world.Unreached...)...)
}

func listedNowhere(ctx context.Context, s *session.Session, world inventory.World, name string) error {
	if err := s.Records.Elsewhere(ctx, name); err != nil {
		return err
	}
	missing := &session.NotFoundError{Name: name, Where: "any available management cluster or on " + s.Connected, Remedy: s.Creates(name)}
	for _, cluster := range listingOf(world, "").Clusters {
		missing.Others = append(missing.Others, session.Shown(cluster.Namespace, cluster.Name))
	}
	return missing
}

// listingOf the clusters that managers have, and then of those of which only
// objects are left.
func listingOf(world inventory.World, name string) listing {
	result := listing{Managers: []managerReport{}, Clusters: []ownedReport{}}
	var seen []string
	add := func(owner identity.Owner, manager string, cluster inventory.Cluster) {
		if name != "" && owner.Cluster != name || owner.ID != "" && slices.Contains(seen, owner.ID) {
			return
		}
		seen = append(seen, owner.ID)
		result.Clusters = append(result.Clusters, ownedBy(world, owner, manager, cluster))
	}
	for _, manager := range world.Managers {
		result.Managers = append(result.Managers, managerReport{manager.Name, manager.Answers, manager.Detail})
		for _, cluster := range manager.Clusters {
			add(cluster.Owner, manager.Name, cluster)
		}
	}
	for _, object := range world.Objects {
		if object.Owner.ID != "" {
			on := inventory.Cluster{Engine: object.Engine}
			if on.Engine != "" {
				on.Engines = []string{on.Engine}
			}
			add(object.Owner, "", on)
		}
	}
	return result
}

// ownedBy an owner.
func ownedBy(world inventory.World, owner identity.Owner, manager string, cluster inventory.Cluster) ownedReport {
	result := ownedReport{
		Namespace: owner.Namespace, Name: owner.Cluster, OwnerID: owner.ID, Manager: manager, EngineName: cluster.Engine,
		EngineNames: cluster.Engines, Unknown: unknownOf(world, cluster),
		Containers: []ownedObject{}, Networks: []string{}, Volumes: []string{},
	}
	on := []string{cluster.Network}
	for _, object := range world.Objects {
		switch {
		case object.Kind == inventory.Network && object.Engine == cluster.Engine && slices.Contains(on, object.Name):
			result.Networks = append(result.Networks, object.Name)
		case owner.ID == "" || object.Owner.ID != owner.ID:
		case object.Kind == inventory.Container:
			result.Containers = append(result.Containers, ownedObject{object.Name, object.Role, object.Machine, object.Status})
			on = append(on, object.Networks...)
		case object.Kind == inventory.Volume:
			result.Volumes = append(result.Volumes, object.Name)
		}
	}
	return result
}

// unknownOf the engines of a cluster are those that are not reached, and those in other namespaces, which are not looked at.
func unknownOf(world inventory.World, cluster inventory.Cluster) []string {
	var unknown []string
	for _, name := range cluster.Engines {
		isUnreached := slices.ContainsFunc(world.Unreached, func(err error) bool {
			silent, is := errors.AsType[*session.EngineError](err)
			return is && silent.Name == name
		})
		if isUnreached || strings.Contains(name, "/") {
			unknown = append(unknown, name)
		}
	}
	return unknown
}

func printListing(a *session.App, result listing) error {
	for _, manager := range result.Managers {
		state := "ready"
		if !manager.Answers {
			state = "not ready: " + manager.Detail
		}
		a.Printf("%s: %s", manager.Name, state)
	}
	if len(result.Clusters) == 0 {
		a.Printf("No resources of clusters found on the engine.")
		return nil
	}
	orphans := 0
	elsewhere := slices.ContainsFunc(result.Clusters, func(cluster ownedReport) bool { return len(cluster.EngineNames) > 0 })
	lines := []string{"CLUSTER\tMANAGED BY\tOWNER ID\t" + output.Optional(elsewhere, "ENGINE") + "CONTAINERS\tNETWORKS\tVOLUMES"}
	for _, cluster := range result.Clusters {
		manager := cluster.Manager
		if manager == "" {
			manager = "none available"
			orphans++
		}
		lines = append(lines, fmt.Sprintf("%s/%s\t%s\t%s\t%s%s\t%s\t%s", cluster.Namespace, cluster.Name, manager, cluster.OwnerID,
			output.Optional(elsewhere, cmp.Or(strings.Join(cluster.EngineNames, ","), "-")), cluster.running(), cluster.networks(), cluster.volumes()))
	}
	a.Printf("")
	if err := a.Table(lines); err != nil {
		return err
	}
	if orphans > 0 {
		a.Printf("\n\"%s gc\" lists the orphaned resources, and deletes them with --yes.", a.Program)
	}
	return nil
}

func printContainers(a *session.App, clusters []ownedReport) error {
	lines := []string{"CONTAINER\tROLE\tMACHINE\tSTATUS"}
	for _, cluster := range clusters {
		for _, container := range cluster.Containers {
			lines = append(lines, fmt.Sprintf("%s\t%s\t%s\t%s", container.Name, container.Role, container.Machine, container.Status))
		}
	}
	a.Printf("")
	return a.Table(lines)
}

func (r ownedReport) running() string {
	running := 0
	for _, container := range r.Containers {
		if container.Status == engine.StatusRunning {
			running++
		}
	}
	return r.known(len(r.Containers), fmt.Sprintf("%d, %d running", len(r.Containers), running))
}

func (r ownedReport) networks() string { return r.known(len(r.Networks), output.OrNone(r.Networks)) }

// known says what is known of so many resources, and that those on engines that were not looked at are not.
func (r ownedReport) known(count int, text string) string {
	switch {
	case len(r.Unknown) == 0:
		return text
	case count == 0:
		return "unknown"
	}
	return text + "; others unknown"
}

func (r ownedReport) volumes() string {
	nodes := 0
	for _, container := range r.Containers {
		if !container.Role.IsLoadBalancer() {
			nodes++
		}
	}
	anonymous := fmt.Sprintf("%d anonymous", nodes)
	return r.known(len(r.Volumes)+nodes, strings.Join(append(slices.Clone(r.Volumes), anonymous), ", "))
}
