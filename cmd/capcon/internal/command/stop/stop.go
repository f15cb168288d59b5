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

// Package stop has the commands that stop a cluster and start it again.
package stop

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
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/nextsteps"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/progress"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/readiness"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/session"
)

// Command is capcon stop.
func Command(a *session.App) *cobra.Command {
	return powerCommand(a, "stop", "Stop the containers of a cluster and keep its state",
		"Stop the containers of a cluster: workers first, then control planes, then the load balancer. They\n"+
			"keep their state and use neither CPU nor memory. The Cluster is paused meanwhile, so that no Machine\n"+
			"is remediated. \"capcon start\" starts it with the same addresses, ports and kubeconfig.",
		stop)
}

// StartCommand is capcon start.
func StartCommand(a *session.App) *cobra.Command {
	return powerCommand(a, "start", "Start a stopped cluster",
		"Start the containers of a cluster that \"capcon stop\" stopped, and wait until its Nodes are ready. The\n"+
			"management plane is started first if it is not running.",
		start)
}

func powerCommand(a *session.App, use, short, long string, run func(context.Context, *session.Session, string) error) *cobra.Command {
	var timeout time.Duration
	command := &cobra.Command{
		Use: use + " NAME", Short: short, Long: long, Example: "  capcon " + use + " demo",
		Args: a.OneCluster,
		PreRunE: func(*cobra.Command, []string) error {
			return input.Refuse(input.CheckTimeout(timeout)...)
		},
		RunE: session.OnEngine(a.Connect, func(ctx context.Context, s *session.Session, args []string) error {
			limited, cancel := session.Within(ctx, timeout)
			defer cancel()
			err := run(limited, s, args[0])
			if errors.Is(limited.Err(), context.DeadlineExceeded) {
				return fmt.Errorf("cluster %q did not %s within %s; the operation continues in the background, run the command again to wait for it: %w",
					args[0], use, timeout, err)
			}
			return err
		}),
		ValidArgsFunction: a.CompleteNames,
	}
	command.Flags().DurationVar(&timeout, "timeout", session.DefaultTimeout, "how long to wait; 0 = no limit")
	return command
}

// requestPower asks it of the management plane, which is started where it does not run.
func requestPower(ctx context.Context, s *session.Session, b *progress.Board, name string, change func(context.Context, client.Client, string, string) error) error {
	state, err := s.Plane.State(ctx)
	if err != nil {
		return err
	}
	if state.ID == "" {
		return s.PlaneSilent(ctx, state, name)
	}
	if err := s.WakePlane(ctx, b, state); err != nil {
		return err
	}
	err = s.Persist(ctx, func() error { return change(ctx, s.Client, management.Namespace, name) })
	if apierrors.IsNotFound(err) {
		return s.NotFound(ctx, name)
	}
	return err
}

// powerGrace is how long containers that could not be stopped or started may be reported
// before a command gives up. The provider retries within 15 s: its user may have fixed the cause
// of an earlier report.
const powerGrace = 30 * time.Second

// awaitPower waits until the provider reports that it is done, or for some time that it cannot
// do it, shows its progress, and returns its last report. Another command may revoke the stop or
// the start, or delete the cluster.
func awaitPower(ctx context.Context, s *session.Session, b *progress.Board, name string, op operation) (management.PowerReport, error) {
	const step = "containers"
	var troubled time.Time
	for {
		report, err := management.ReadPower(ctx, s.Client, management.Namespace, name)
		if err != nil && !apierrors.IsNotFound(err) {
			if !session.Transient(err) {
				return report, err
			}
			report.Message = "the management plane does not answer: " + management.OneLine(err.Error())
		}
		switch {
		case apierrors.IsNotFound(err):
			return report, s.NotFound(ctx, name)
		case err == nil && report.Deleting:
			return report, s.BeingDeleted(name)
		case err == nil && report.StopRequested != op.stops:
			return report, op.revoked(s, name)
		case err == nil && op.isDone(report):
			b.Finished(step, report.Message)
			return report, nil
		case report.Trouble == nil:
			troubled = time.Time{}
		case troubled.IsZero():
			troubled = s.Now()
		case s.Now().Sub(troubled) >= powerGrace:
			b.Failed(step, report.Message)
			return report, nil
		}
		b.Waiting(step, report.Message)
		if err := s.Pause(ctx); err != nil {
			return report, fmt.Errorf("%s: %w", report.Message, err)
		}
	}
}

// operation is a stop or a start.
type operation struct {
	// name of its command, what a cluster is after it, and after the opposite one.
	name, done, opposite string
	stops                bool
	isDone               func(management.PowerReport) bool
}

func stopping() operation {
	return operation{name: "stop", done: "stopped", opposite: "started", stops: true, isDone: func(report management.PowerReport) bool {
		return report.Power == management.PowerStopped
	}}
}

// starting is done where containers did not start, too: the controllers of the Machines continue
// it, unless the Cluster is paused.
func starting() operation {
	return operation{name: "start", done: "started", opposite: "stopped", isDone: func(report management.PowerReport) bool {
		return report.Power == management.PowerOn && (report.Trouble == nil || !report.Paused)
	}}
}

// revoked is the error of an operation that another command reversed.
func (o operation) revoked(s *session.Session, name string) error {
	return fmt.Errorf("cluster %q is not %s: it was %s again meanwhile, by a command or an edit of its annotations; to %s it: %s %s %s",
		name, o.done, o.opposite, o.name, s.Program, o.name, name)
}

// failed is the error of an operation that did not stop or start all containers.
func (o operation) failed(s *session.Session, name string, trouble management.Trouble) error {
	return fmt.Errorf("cluster %q is not %s: %s: %s\n  remedy: %s\nIt is retried in the background; run \"%s %s %s\" again to wait for it",
		name, o.done, trouble.Reason, management.OneLine(trouble.Message), trouble.Remedy, s.Program, o.name, name)
}

func stop(ctx context.Context, s *session.Session, name string) error {
	began := s.Now()
	b := s.NewBoard("Stopping cluster " + name)
	err := requestPower(ctx, s, b, name, management.Stop)
	var report management.PowerReport
	if err == nil {
		report, err = awaitPower(ctx, s, b, name, stopping())
	}
	b.Close()
	switch {
	case err != nil:
		return err
	case report.Trouble != nil:
		return stopping().failed(s, name, *report.Trouble)
	}
	s.Printf("\nCluster %s is stopped after %s.\n\nNext:", name, s.Now().Sub(began).Round(time.Second))
	s.Printf("  %s start %s", s.Program, name)
	s.Printf("  %s plane stop", s.Program)
	return nil
}

func start(ctx context.Context, s *session.Session, name string) error {
	began := s.Now()
	b := s.NewBoard("Starting cluster " + name)
	err := requestPower(ctx, s, b, name, management.Start)
	var report management.PowerReport
	if err == nil {
		report, err = awaitPower(ctx, s, b, name, starting())
	}
	// The objects of a paused Cluster report what was before.
	var reached management.Snapshot
	if err == nil && !report.Paused {
		reached, err = (&readiness.Wait{Session: s, Board: b, Request: input.Request{Name: name}}).Run(ctx)
	}
	b.Close()
	switch took := s.Now().Sub(began); {
	case err != nil:
		return err
	case report.Trouble != nil && report.Paused:
		return starting().failed(s, name, *report.Trouble)
	case report.Paused:
		sayPaused(s, name, took)
		return nil
	default:
		return nextsteps.Print(ctx, s, name, reached, took)
	}
}

// sayPaused says of a cluster that was started that its user has paused it.
func sayPaused(s *session.Session, name string, took time.Duration) {
	s.Printf("\nCluster %s is started after %s. It is paused (spec.paused) and stays paused: nothing of it is changed or\n"+
		"repaired, and its conditions are stale.\n\nNext, to unpause it:", name, took.Round(time.Second))
	s.Printf("  %s kubeconfig --management > management.kubeconfig", s.Program)
	s.Printf("  kubectl --kubeconfig management.kubeconfig patch cluster %s --type merge --patch '{\"spec\":{\"paused\":null}}'", name)
}
