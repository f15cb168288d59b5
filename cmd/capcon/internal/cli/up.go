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
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/images"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/input"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/localregistry"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/management"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/objects"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
	"github.com/capi-samples/cluster-api-provider-container/internal/node"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane"
)

// The steps of up that come before the cluster's own stages.
const (
	stepEngine = "engine"
	stepPlane  = "management plane"
	stepImages = "images"
	stepProxy  = "proxy"
)

// defaultTimeout is generous for a cold laptop; a warm one needs a minute.
const defaultTimeout = 10 * time.Minute

func (a *app) upCommand() *cobra.Command {
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
			return input.Refuse(slices.Concat(emptyFlags(command), checkOutput(request.Output), input.Problems(request.Validate()))...)
		},
		RunE: onEngine(a.connect, func(ctx context.Context, s *session, _ []string) error {
			if request.DryRun {
				return s.dryRun(ctx, request)
			}
			return s.traced(ctx, request.Trace, request.Name, func() error { return s.up(ctx, request) })
		}),
		ValidArgsFunction: a.completeNames,
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
	flags.DurationVar(&request.Timeout, "timeout", defaultTimeout, "how long to wait; 0 = no limit")
	flags.BoolVar(&request.Yes, "yes", false, "agree to the deletion of Machines and the loss of PersistentVolumes")
	flags.BoolVar(&request.DryRun, "dry-run", false, "print the plan only; nothing is written, started or pulled")
	flags.StringVarP(&request.Output, "output", "o", outputText, "format of --dry-run: text or json")
	flags.StringVar(&request.Trace, "trace", "", traceUsage)
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

// up makes the cluster so and waits for it.
func (s *session) up(ctx context.Context, request input.Request) error {
	started := s.Now()
	b := s.newBoard("Cluster " + request.Name) // It may exist, and be updated or started.
	reached, err := s.upWithin(ctx, b, request)
	b.close()
	switch {
	case ctx.Err() != nil:
		s.complain("Interrupted. Provisioning continues in the background; wait for it with \"%s up %s\", or delete the cluster with \"%s down %s\".",
			s.Program, request.Name, s.Program, request.Name)
		return errReported
	case err != nil:
		return err
	}
	return s.printNext(ctx, request.Name, reached, s.Now().Sub(started))
}

func (s *session) upWithin(ctx context.Context, b *board, request input.Request) (management.Snapshot, error) {
	limited, cancel := within(ctx, request.Timeout)
	defer cancel()
	b.finished(stepEngine, s.chosenEngine())
	if err := s.checkRequest(request); err != nil {
		return management.Snapshot{}, err
	}
	for {
		registry, err := s.settle(limited, b, request)
		switch {
		case err == nil:
			return s.waitReady(limited, b, request, registry)
		case apierrors.IsAlreadyExists(err), s.replaced(limited):
			// Another process created the cluster, or removed the management plane.
		default:
			return management.Snapshot{}, s.timedOut(limited, request, err)
		}
	}
}

// settle the objects of the cluster, in a management plane that is created first if there is
// none: create them, or update them as requested. It returns the local registry, if there is
// one, until the cluster's infrastructure has been provisioned. Where it fails, a plane that was created for it and
// has no other cluster by now is removed.
func (s *session) settle(ctx context.Context, b *board, request input.Request) (registry *localregistry.Registry, err error) {
	prepared := s.trace.span(s.Now, "prepare")
	created, err := s.preparePlane(ctx, b, request)
	prepared()
	if err != nil {
		return nil, err
	}
	s.trace.watch(ctx, s)
	present, err := s.read(ctx, request.Name)
	switch {
	case err != nil:
	case present.Deleting:
		err = s.beingDeleted(request.Name)
	case present.Exists:
		err = s.update(ctx, b, request, present)
	default:
		if err = s.checkForgotten(ctx, request.Name, present); err == nil {
			err = s.create(ctx, b, request)
		}
	}
	if err == nil {
		err = s.persist(ctx, func() error { return management.EnsureNamedClass(ctx, s.client, namespace) })
	}
	if err != nil && created && ctx.Err() == nil && !s.replaced(ctx) {
		err = errors.Join(err, s.removeCreated(ctx))
	}
	if err != nil || present.Provisioned {
		return nil, err
	}
	return s.findRegistry(ctx)
}

func (s *session) findRegistry(ctx context.Context) (*localregistry.Registry, error) {
	registry, found, err := localregistry.Find(ctx, s.engine)
	if err != nil || !found {
		return nil, err
	}
	return &registry, nil
}

// create the objects of a new cluster.
func (s *session) create(ctx context.Context, b *board, request input.Request) error {
	// Only now the subnet of the engine's network is known.
	values, err := s.decide(ctx, b, request)
	if err != nil {
		return err
	}
	if err := s.decideProxy(ctx, b, &values); err != nil {
		return err
	}
	applied := s.trace.span(s.Now, "apply")
	defer applied()
	return s.persist(ctx, func() error {
		// Rendered each time: applying leaves marks on them.
		rendered, err := objects.Render(values)
		if err != nil {
			return err
		}
		return management.Create(ctx, s.client, rendered)
	})
}

// checkRequest refuses what this host or a file shows to be wrong.
func (s *session) checkRequest(request input.Request) error {
	if err := checkResources(request, s.info); err != nil {
		return err
	}
	_, err := podNetwork(request.CNI, images.NodeImage{}, input.DefaultPodCIDR)
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

// chosenEngine says which engine it is and why that one.
func (s *session) chosenEngine() string {
	if s.info.ChosenBy != "" {
		return s.connected + " (" + s.info.ChosenBy + ")"
	}
	return s.connected
}

// preparePlane ensures a management plane, and reports whether this call created it.
func (s *session) preparePlane(ctx context.Context, b *board, request input.Request) (created bool, err error) {
	before, err := s.plane.State(ctx)
	if err != nil {
		return false, err
	}
	image, err := s.planeImage(ctx, b, request, before)
	if err != nil {
		return false, err
	}
	if !before.Exists {
		// There can be no such cluster yet: what is wrong with a new one is
		// found before anything is created.
		if err := s.checkForgotten(ctx, request.Name, management.Present{}); err != nil {
			return false, err
		}
		if _, err := s.decide(ctx, b, request); err != nil {
			return false, err
		}
	}
	return s.ensurePlane(ctx, b, before, image)
}

// removeCreated removes the management plane that this command created, unless it
// was asked for by itself meanwhile or has a cluster.
func (s *session) removeCreated(ctx context.Context) error {
	kept, err := management.IsKept(ctx, s.client)
	if err != nil || kept {
		return err
	}
	_, err = s.removeUnused(ctx)
	return err
}

// removeUnused removes the management plane if it has no cluster, and returns
// those it has.
func (s *session) removeUnused(ctx context.Context) (clusters []string, err error) {
	clusters, err = s.plane.Remove(ctx)
	if err != nil || len(clusters) > 0 {
		return clusters, err
	}
	s.planeID = ""
	s.unsaved(s.state.ForgetManagement())
	return nil, nil
}

// within bounds ctx by a timeout; 0 = no limit.
func within(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	if timeout > 0 {
		return context.WithTimeout(ctx, timeout)
	}
	return ctx, func() {}
}

// timedOut says so where that is the reason for err.
func (s *session) timedOut(limited context.Context, request input.Request, err error) error {
	if errors.Is(limited.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("not ready within %s; provisioning continues in the background, wait for it with \"%s up %s\": %w", request.Timeout, s.Program, request.Name, err)
	}
	return err
}

// ensurePlane makes sure of the management plane, which was in this state before, connects to it,
// and reports whether this call created it.
func (s *session) ensurePlane(ctx context.Context, b *board, before plane.State, image string) (created bool, err error) {
	if !before.Answers {
		b.waiting(stepPlane, "starting")
	}
	ready, err := s.plane.Ensure(ctx, image, func(detail string) { b.waiting(stepPlane, detail) })
	if err != nil {
		return false, fmt.Errorf("start the management plane: %w", err)
	}
	b.finished(stepPlane, "ready")
	s.planeID = ready.ID
	return ready.Created, s.use(ready.Kubeconfig)
}

// planeImage keeps the image of an existing plane, unless another is requested:
// other clusters depend on it. The engine has the image afterwards.
func (s *session) planeImage(ctx context.Context, b *board, request input.Request, present plane.State) (string, error) {
	image := present.Image
	if image == "" || request.PlaneImage != "" {
		chosen, err := images.Choose(ctx, s.engine, images.Wish{
			Use: images.Plane, Named: request.PlaneImage, Registry: request.Registry,
		})
		if err != nil {
			return "", err
		}
		image = chosen
	}
	return image, s.ensureImage(ctx, b, images.Plane, image)
}

func (s *session) ensureImage(ctx context.Context, b *board, use images.Use, image string) error {
	return images.Ensure(ctx, s.engine, use, image, func(p engine.PullProgress) {
		const megabyte = 1 << 20
		b.figure(stepImages, fmt.Sprintf("pulling %s: %d of %d MiB, %d of %d layers",
			image, p.CurrentBytes/megabyte, p.TotalBytes/megabyte, p.LayersDone, p.LayersTotal))
	})
}
