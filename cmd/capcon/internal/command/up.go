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

package command

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/images"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/input"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/localregistry"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/management"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/nextsteps"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/objects"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/output"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/progress"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/readiness"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/session"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/trace"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
	"github.com/capi-samples/cluster-api-provider-container/internal/node"
)

func upCommand(a *session.App) *cobra.Command {
	var request input.Request
	var controlPlanes, workers int
	command := &cobra.Command{
		Use: "up NAME", SuggestFor: []string{"create", "apply"},
		Short: "Create a cluster, or update an existing one",
		Long: "Create a cluster and wait until all its Nodes are ready. Run the command again to resume an\n" +
			"interrupted creation, or to update an existing cluster to the given flags; flags that are not set\n" +
			"change nothing. A plan is printed before an existing cluster is changed. If it deletes Machines, or replaces\n" +
			"Machines with PersistentVolumes, it has to be confirmed: on a terminal, or with --yes. Without consent nothing\n" +
			"is changed, and the exit code is 3.",
		Example: "  capcon up demo\n  capcon up demo --control-planes 3 --workers 2",
		Args:    cobra.ExactArgs(1),
		PreRunE: func(command *cobra.Command, args []string) error {
			request.Name = args[0]
			if command.Flags().Changed("control-planes") {
				request.ControlPlanes = &controlPlanes
			}
			if command.Flags().Changed("workers") {
				request.Workers = &workers
			}
			request = request.Normalize()
			return input.Refuse(slices.Concat(emptyFlags(command), output.CheckFormat(request.Output), input.Problems(request.Validate()))...)
		},
		RunE: session.OnEngine(a.Connect, func(ctx context.Context, s *session.Session, _ []string) error {
			r := &run{session: s, request: request}
			if request.DryRun {
				return r.dryRun(ctx)
			}
			return trace.Run(ctx, s, request.Trace, request.Name, func(recording *trace.Recording) error {
				r.trace = recording
				return r.run(ctx)
			})
		}),
		ValidArgsFunction: a.CompleteNames,
	}
	flags := command.Flags()
	flags.IntVar(&controlPlanes, "control-planes", 1, "control-plane machines: 1, 3 or 5")
	flags.IntVar(&workers, "workers", 1, "worker machines; with 0 in a new cluster, control planes take Pods")
	flags.StringVar(&request.KubernetesVersion, "kubernetes-version", "", "Kubernetes version (default \""+input.DefaultKubernetes()+"\")")
	flags.StringVar(&request.Image, "image", "", "node image (default: the one for the Kubernetes version)")
	flags.StringVar(&request.LoadBalancerImage, "load-balancer-image", "", "haproxy image")
	flags.StringVar(&request.PlaneImage, "plane-image", "", "image of the management plane; pulled by digest only (default: the one that is built from source)")
	flags.StringVar(&request.Registry, "registry", "", "registry HOST:PORT to take the public images of nodes and load balancers from")
	flags.StringVar(&request.CNI, "cni", "", "Pod network: auto (the node image's own), flannel, none (install one yourself) or a file (default \"auto\")")
	flags.StringVar(&request.Network, "network", "", "network of the engine (default \""+network.DefaultName+"\")")
	flags.StringVar(&request.PodCIDR, "pod-cidr", "", "address range of Pods (default \""+input.DefaultPodCIDR+"\" if it is free)")
	flags.StringVar(&request.ServiceCIDR, "service-cidr", "", "address range of Services (default \""+input.DefaultServiceCIDR+"\" if it is free)")
	flags.StringVar(&request.CPUs, "cpus", "", "CPU limit of each node, such as 2; none removes it (default: those of the engine's host)")
	flags.StringVar(&request.Memory, "memory", "", "memory limit of each node, such as 4Gi; none removes it (default: that of the engine's host)")
	flags.DurationVar(&request.Timeout, "timeout", session.DefaultTimeout, "how long to wait; 0 = no limit")
	flags.BoolVar(&request.Yes, "yes", false, "agree to the deletion of Machines and the loss of PersistentVolumes")
	flags.BoolVar(&request.DryRun, "dry-run", false, "print the plan only; nothing is written, started or pulled")
	flags.StringVarP(&request.Output, "output", "o", output.Text, "format of --dry-run: text or json")
	flags.StringVar(&request.Trace, "trace", "", trace.Usage)
	return command
}

// emptyFlags refuses flags with an empty value, which would look as if they were not set.
func emptyFlags(command *cobra.Command) []input.Problem {
	var problems []input.Problem
	command.Flags().Visit(func(flag *pflag.Flag) {
		if flag.Value.String() == "" {
			problems = append(problems, input.Problem{Field: "--" + flag.Name, Reason: "must not be empty", Remedy: "omit the flag"})
		}
	})
	return problems
}

// run of the command.
type run struct {
	session *session.Session
	request input.Request
	// trace of the command; nil where none was asked for.
	trace *trace.Recording
	board *progress.Board
}

// run makes the cluster so and waits for it.
func (r *run) run(ctx context.Context) error {
	started := r.session.Now()
	r.board = r.session.NewBoard("Cluster " + r.request.Name) // It may exist, and be updated or started.
	reached, err := r.upWithin(ctx)
	r.board.Close()
	switch {
	case ctx.Err() != nil:
		r.session.Errorf("Interrupted. Provisioning continues in the background; wait for it with \"%s up %s\", or delete the cluster with \"%s down %s\".",
			r.session.Program, r.request.Name, r.session.Program, r.request.Name)
		return session.ErrReported
	case err != nil:
		return err
	}
	return nextsteps.Print(ctx, r.session, r.request.Name, reached, r.session.Now().Sub(started))
}

func (r *run) upWithin(ctx context.Context) (management.Snapshot, error) {
	limited, cancel := session.Within(ctx, r.request.Timeout)
	defer cancel()
	r.board.Finished(session.StepEngine, r.session.ChosenEngine())
	if err := r.checkRequest(); err != nil {
		return management.Snapshot{}, err
	}
	for {
		registry, err := r.settle(limited)
		switch {
		case err == nil:
			waited := r.trace.Span("wait until ready")
			defer waited()
			return (&readiness.Wait{Session: r.session, Board: r.board, Request: r.request, Registry: registry}).Run(limited)
		case apierrors.IsAlreadyExists(err), r.session.Replaced(limited):
			// Another process created the cluster, or removed the management plane.
		default:
			return management.Snapshot{}, r.timedOut(limited, err)
		}
	}
}

// settle the objects of the cluster, in a management plane that is created first if there is
// none: create them, or update them as requested. It returns the local registry, if there is
// one, until the cluster's infrastructure has been provisioned. Where it fails, a plane that was created for it and
// has no other cluster by now is removed.
func (r *run) settle(ctx context.Context) (registry *localregistry.Registry, err error) {
	prepared := r.trace.Span("prepare")
	created, err := r.preparePlane(ctx)
	prepared()
	if err != nil {
		return nil, err
	}
	r.trace.WatchObjects(ctx)
	present, err := r.session.Read(ctx, r.request.Name)
	switch {
	case err != nil:
	case present.Deleting:
		err = r.session.BeingDeleted(r.request.Name)
	case present.Exists:
		err = r.updateCluster(ctx, present)
	default:
		if err = r.checkForgotten(ctx, r.request.Name, present); err == nil {
			err = r.createObjects(ctx)
		}
	}
	if err == nil {
		err = r.session.Persist(ctx, func() error { return management.EnsureNamedClass(ctx, r.session.Client, management.Namespace) })
	}
	if err != nil && created && ctx.Err() == nil && !r.session.Replaced(ctx) {
		err = errors.Join(err, r.removeCreated(ctx))
	}
	if err != nil || present.Provisioned {
		return nil, err
	}
	return r.findRegistry(ctx)
}

func (r *run) findRegistry(ctx context.Context) (*localregistry.Registry, error) {
	registry, found, err := localregistry.Find(ctx, r.session.Engine)
	if err != nil || !found {
		return nil, err
	}
	return &registry, nil
}

// create the objects of a new cluster.
func (r *run) createObjects(ctx context.Context) error {
	// Only now the subnet of the engine's network is known.
	values, err := r.decide(ctx)
	if err != nil {
		return err
	}
	if err := r.decideProxy(ctx, &values); err != nil {
		return err
	}
	applied := r.trace.Span("apply")
	defer applied()
	return r.session.Persist(ctx, func() error {
		// Rendered each time: applying leaves marks on them.
		rendered, err := objects.Render(values)
		if err != nil {
			return err
		}
		return management.Create(ctx, r.session.Client, rendered)
	})
}

// checkRequest refuses what this host or a file shows to be wrong.
func (r *run) checkRequest() error {
	if err := checkResources(r.request, r.session.Info); err != nil {
		return err
	}
	_, err := podNetwork(r.request.CNI, images.NodeImage{}, input.DefaultPodCIDR)
	return err
}

// checkResources compares the limits of each node with what it needs and with what the
// engine's host has.
func checkResources(request input.Request, info engine.Info) error {
	asked := requestedResources(request)
	limits := node.Resources{}
	if asked.CPU != nil {
		limits.MilliCPU = max(asked.CPU.MilliValue(), 1)
	}
	if asked.Memory != nil {
		limits.MemoryBytes = max(asked.Memory.Value(), 1)
	}
	given := map[string]struct{ flag, value string }{"cpu": {"--cpus", request.CPUs}, "memory": {"--memory", request.Memory}}
	var problems []input.Problem
	for _, refused := range node.CheckResources(limits, node.Host{MilliCPU: int64(info.CPUs) * 1000, MemoryBytes: info.MemoryBytes}) {
		at := given[refused.Field]
		problems = append(problems, input.Problem{Field: at.flag, Value: at.value, Reason: "it " + refused.Reason, Remedy: refused.Remedy})
	}
	return input.Refuse(problems...)
}

// requestedResources of each node. The quantities were checked before.
func requestedResources(request input.Request) infrav1.MachineResources {
	var asked infrav1.MachineResources
	if quantity, err := resource.ParseQuantity(request.CPUs); err == nil {
		asked.CPU = &quantity
	}
	if quantity, err := resource.ParseQuantity(request.Memory); err == nil {
		asked.Memory = &quantity
	}
	return asked
}

// preparePlane ensures a management plane, and reports whether this call created it.
func (r *run) preparePlane(ctx context.Context) (created bool, err error) {
	before, err := r.session.Plane.State(ctx)
	if err != nil {
		return false, err
	}
	image, err := r.session.PlaneImage(ctx, r.board, r.request, before)
	if err != nil {
		return false, err
	}
	if !before.Exists {
		// There can be no such cluster yet: what is wrong with a new one is
		// found before anything is created.
		if err := r.checkForgotten(ctx, r.request.Name, management.Present{}); err != nil {
			return false, err
		}
		if _, err := r.decide(ctx); err != nil {
			return false, err
		}
	}
	return r.session.EnsurePlane(ctx, r.board, before, image)
}

// removeCreated removes the management plane that this command created, unless it
// was asked for by itself meanwhile or has a cluster.
func (r *run) removeCreated(ctx context.Context) error {
	kept, err := management.IsKept(ctx, r.session.Client)
	if err != nil || kept {
		return err
	}
	_, err = r.session.RemoveUnused(ctx)
	return err
}

// timedOut says so where that is the reason for err.
func (r *run) timedOut(limited context.Context, err error) error {
	if errors.Is(limited.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("not ready within %s; provisioning continues in the background, wait for it with \"%s up %s\": %w", r.request.Timeout, r.session.Program, r.request.Name, err)
	}
	return err
}
