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

// Package certs has the commands that show and renew the certificates of clusters.
package certs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/certificates"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/input"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/management"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/output"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/session"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
)

// report is the output of certs, and with "-o json" its fields are an interface
// that scripts rely on.
type report struct {
	Certificates []certificateReport  `json:"certificates"`
	Troubles     []management.Trouble `json:"troubles,omitempty"`
}

type certificateReport struct {
	Cluster string `json:"cluster"`
	Node    string `json:"node"`
	Name    string `json:"name"`
	// Authority says that it signs the others.
	Authority bool      `json:"authority,omitempty"`
	NotAfter  time.Time `json:"notAfter"`
}

// Command is capcon certs.
func Command(a *session.App) *cobra.Command {
	var format string
	command := &cobra.Command{
		Use: "certs [NAME]", Aliases: []string{"certificates"},
		Short: "Show when the certificates of clusters end, and renew them",
		Long: "Show the certificates in the nodes of all clusters, or of one, and when they end. Neither a running\n" +
			"cluster nor the management plane is needed, but for nodes on the engines of other hosts, whose credentials it has.\n" +
			"\"capcon certs renew\" renews them.",
		Example: "  capcon certs demo\n  capcon certs renew demo",
		Args:    cobra.MaximumNArgs(1),
		RunE: session.OnEngine(a.Connect, func(ctx context.Context, s *session.Session, args []string) error {
			return run(ctx, s, cmp.Or(args...), format)
		}),
		ValidArgsFunction: a.CompleteNames,
	}
	output.AddFlag(command, &format)
	command.AddCommand(renewCommand(a))
	return command
}

func renewCommand(a *session.App) *cobra.Command {
	var options renewOptions
	var timeout time.Duration
	command := &cobra.Command{
		Use:   "renew NAME",
		Short: "Renew the certificates of a cluster in its nodes",
		Long: "Renew the certificates of the control plane with kubeadm, in its nodes, and restart etcd, the API server, the\n" +
			"controller manager and the scheduler, one node after another. No Machine is replaced. Control planes whose\n" +
			"certificates are all in the first half of their life are skipped, so that an interrupted command can be\n" +
			"repeated. Certificates that have ended are renewed too, and then those of kubelets. The saved kubeconfig\n" +
			"and the context of kubectl are updated. Certificate authorities are not renewed.",
		Example: "  capcon certs renew demo\n  capcon certs renew demo --force",
		Args:    a.OneCluster,
		PreRunE: func(*cobra.Command, []string) error { return input.Refuse(input.CheckTimeout(timeout)...) },
		RunE: session.OnEngine(a.Connect, func(ctx context.Context, s *session.Session, args []string) error {
			late := fmt.Sprintf("the certificates of cluster %q were not renewed within %s; run the command again to continue", args[0], timeout)
			return session.RunWithin(ctx, timeout, late, func(ctx context.Context) error { return renewCertificates(ctx, s, args[0], options) })
		}),
		ValidArgsFunction: a.CompleteNames,
	}
	command.Flags().BoolVar(&options.force, "force", false, "renew certificates in the first half of their life too")
	options.kubeconfig.AddFile(command.Flags(), "file whose context of the cluster is updated")
	session.AddTimeout(command, &timeout)
	return command
}

// certifiedNode is a node of a cluster with its certificates.
type certifiedNode struct {
	certificates.Node
	// engine that has its container.
	engine engine.Engine
	// machine is the name of its ContainerMachine.
	machine      string
	controlPlane bool
	running      bool
}

// certifiedNodes reads the certificates of the nodes of an owner's cluster, control planes first. Those on engines that are
// reached are returned with an error too, which names the others.
func certifiedNodes(ctx context.Context, s *session.Session, owner identity.Owner) ([]certifiedNode, error) {
	containers, unreached := s.Containers(ctx, owner)
	nodes, err := certificatesOf(ctx, containers)
	return nodes, errors.Join(unreached, err)
}

// certificatesOf the containers that are nodes, control planes first.
func certificatesOf(ctx context.Context, containers []session.Container) ([]certifiedNode, error) {
	var controlPlanes, workers []certifiedNode
	for _, container := range containers {
		machine := container.Labels[identity.LabelMachine]
		if machine == "" {
			continue
		}
		read, err := certificates.Read(ctx, container.On.Engine, container.Name)
		if err != nil {
			return nil, err
		}
		node := certifiedNode{Node: read, engine: container.On.Engine, machine: machine, running: container.Status == engine.StatusRunning}
		if identity.Role(container.Labels[identity.LabelRole]) == identity.RoleControlPlane {
			node.controlPlane = true
			controlPlanes = append(controlPlanes, node)
			continue
		}
		workers = append(workers, node)
	}
	return slices.Concat(controlPlanes, workers), nil
}

func run(ctx context.Context, s *session.Session, name, format string) error {
	names := []string{name}
	if name == "" {
		var err error
		if names, err = allNames(ctx, s); err != nil {
			return err
		}
	}
	result := report{Certificates: []certificateReport{}}
	var unreached error
	for _, cluster := range names {
		owner, err := s.OwnerOf(ctx, cluster)
		if name == "" && errors.Is(err, session.ErrNoContainers) {
			continue
		}
		if err = cmp.Or(err, s.CheckContainers()); err != nil {
			return err
		}
		nodes, err := certifiedNodes(ctx, s, owner)
		if silent := new(session.EngineError); errors.As(err, &silent) && (name == "" || len(nodes) > 0) {
			unreached = errors.Join(unreached, fmt.Errorf("cluster %q: %w", cluster, err))
		} else if err != nil {
			return err
		}
		result.add(cluster, nodes)
		result.Troubles = append(result.Troubles, warnOf(s, cluster, dueOf(s, nodes), management.PowerOn)...)
	}
	return errors.Join(s.Print(format, result, func() error { return printCertificates(s, result) }), unreached)
}

// allNames are those of the clusters that the management plane has, and of those that were
// recorded.
func allNames(ctx context.Context, s *session.Session) ([]string, error) {
	names := s.Records.Names()
	plane, err := s.ReachPlane(ctx)
	if err != nil || !plane.Answers {
		return names, err
	}
	clusters, err := management.Clusters(ctx, s.Client)
	for i := range clusters {
		if clusters[i].Namespace == management.Namespace {
			names = append(names, clusters[i].Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), err
}

func (r *report) add(cluster string, nodes []certifiedNode) {
	for _, node := range nodes {
		for _, each := range node.Certificates {
			r.Certificates = append(r.Certificates, certificateReport{cluster, node.Container, each.Name, each.Authority, each.NotAfter.UTC()})
		}
	}
}

func printCertificates(s *session.Session, result report) error {
	if len(result.Certificates) == 0 {
		s.Printf("No certificates of kubeadm found.")
		return nil
	}
	lines := []string{"CLUSTER\tNODE\tCERTIFICATE\tENDS\tREMAINING"}
	for _, each := range result.Certificates {
		lines = append(lines, fmt.Sprintf("%s\t%s\t%s\t%s\t%s", each.Cluster, each.Node, each.Name,
			each.NotAfter.Format(time.RFC3339), remaining(each.NotAfter.Sub(s.Now()))))
	}
	if err := s.Table(lines); err != nil {
		return err
	}
	s.PrintTroubles(result.Troubles)
	return nil
}

func remaining(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d <= 0:
		return "ended"
	case d < day:
		return d.Round(time.Minute).String()
	}
	return fmt.Sprintf("%dd", d/day)
}
