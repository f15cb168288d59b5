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
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/input"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/management"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane"
)

func (a *app) stopCommand() *cobra.Command {
	return a.powerCommand("stop", "Stop the containers of a cluster and keep its state",
		"Stop the containers of a cluster: workers first, then control planes, then the load balancer. They\n"+
			"keep their state and use neither CPU nor memory. The Cluster is paused meanwhile, so that no Machine\n"+
			"is remediated. \"capcon start\" starts it with the same addresses, ports and kubeconfig.",
		(*session).stop)
}

func (a *app) startCommand() *cobra.Command {
	return a.powerCommand("start", "Start a stopped cluster",
		"Start the containers of a cluster that \"capcon stop\" stopped, and wait until its Nodes are ready. The\n"+
			"management plane is started first if it is not running.",
		(*session).start)
}

func (a *app) powerCommand(use, short, long string, run func(*session, context.Context, string) error) *cobra.Command {
	var timeout time.Duration
	command := &cobra.Command{
		Use: use + " NAME", Short: short, Long: long, Example: "  capcon " + use + " demo",
		Args: a.oneCluster,
		PreRunE: func(*cobra.Command, []string) error {
			return input.Refuse(input.CheckTimeout(timeout)...)
		},
		RunE: onEngine(a.connect, func(ctx context.Context, s *session, args []string) error {
			limited, cancel := within(ctx, timeout)
			defer cancel()
			err := run(s, limited, args[0])
			if errors.Is(limited.Err(), context.DeadlineExceeded) {
				return fmt.Errorf("cluster %q did not %s within %s; the operation continues in the background, run the command again to wait for it: %w",
					args[0], use, timeout, err)
			}
			return err
		}),
		ValidArgsFunction: a.completeNames,
	}
	command.Flags().DurationVar(&timeout, "timeout", defaultTimeout, "how long to wait; 0 = no limit")
	return command
}

// request it of the management plane, which is started where it does not run.
func (s *session) request(ctx context.Context, b *board, name string, change func(context.Context, client.Client, string, string) error) error {
	state, err := s.plane.State(ctx)
	if err != nil {
		return err
	}
	if state.ID == "" {
		return s.planeSilent(ctx, state, name)
	}
	if err := s.wakePlane(ctx, b, state); err != nil {
		return err
	}
	err = s.persist(ctx, func() error { return change(ctx, s.client, namespace, name) })
	if apierrors.IsNotFound(err) {
		return s.notFound(ctx, name)
	}
	return err
}

// awaitPower waits until the provider has done it, and shows how many containers run.
func (s *session) awaitPower(ctx context.Context, b *board, name string, wanted management.Power) error {
	const step = "containers"
	for {
		power, err := management.ReadPower(ctx, s.client, namespace, name)
		if err != nil && !transient(err) {
			return err
		}
		containers, listErr := s.containersOf(ctx, name)
		running := 0
		for _, container := range containers {
			if container.Status == engine.StatusRunning {
				running++
			}
		}
		detail := fmt.Sprintf("%d of %d running", running, len(containers))
		if err == nil && listErr == nil && power == wanted {
			b.finished(step, detail)
			return nil
		}
		b.waiting(step, detail)
		if err := s.pause(ctx); err != nil {
			return err
		}
	}
}

func (s *session) stop(ctx context.Context, name string) error {
	began := s.Now()
	b := s.newBoard("Stopping cluster " + name)
	err := s.request(ctx, b, name, management.Stop)
	if err == nil {
		err = s.awaitPower(ctx, b, name, management.PowerStopped)
	}
	b.close()
	if err != nil {
		return err
	}
	s.say("\nCluster %s is stopped after %s.\n\nNext:", name, s.Now().Sub(began).Round(time.Second))
	s.say("  %s start %s", s.Program, name)
	s.say("  %s plane stop", s.Program)
	return nil
}

func (s *session) start(ctx context.Context, name string) error {
	began := s.Now()
	b := s.newBoard("Starting cluster " + name)
	err := s.request(ctx, b, name, management.Start)
	if err == nil {
		err = s.awaitPower(ctx, b, name, management.PowerOn)
	}
	var reached management.Snapshot
	if err == nil {
		reached, err = s.waitReady(ctx, b, input.Request{Name: name}, nil)
	}
	b.close()
	if err != nil {
		return err
	}
	return s.printNext(ctx, name, reached, s.Now().Sub(began))
}

func (a *app) planeStopCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "stop",
		Short: "Stop the management cluster and keep its state",
		Long: "Stop the management cluster. Workload clusters continue to run; nothing is repaired or changed in them.\n" +
			"\"capcon plane up\" starts it again, as do \"capcon up\", \"capcon start\" and \"capcon down\", and a restart of\n" +
			"the engine.",
		Args:              cobra.NoArgs,
		RunE:              onEngine(a.connect, planeStop),
		ValidArgsFunction: cobra.NoFileCompletions,
	}
}

func planeStop(ctx context.Context, s *session, _ []string) error {
	// etcd and the API server end within a second.
	const grace = 30 * time.Second
	err := s.engine.StopContainer(ctx, plane.DefaultName, grace)
	if errors.Is(err, engine.ErrNotFound) {
		return fmt.Errorf("no management cluster found on %s; start it with \"%s plane up\": %w", s.connected, s.Program, err)
	}
	if err != nil {
		return fmt.Errorf("stop the management cluster: %w", err)
	}
	s.say("The %s is stopped. Start it with \"%s plane up\".", s.managementCluster(), s.Program)
	return nil
}
