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

// operation is a stop or a start.
type operation struct {
	// name of its command, what a cluster is after it, and after the opposite one.
	name, done, opposite string
	// short and long help, and the title of the progress.
	short, long, title string
	stops              bool
	request            func(ctx context.Context, c client.Client, namespace, name string) error
	isDone             func(management.PowerReport) bool
}

// Command is capcon stop.
func Command(a *session.App) *cobra.Command {
	return operation{
		name: "stop", done: "stopped", opposite: "started", title: "Stopping cluster ",
		short: "Stop the containers of a cluster and keep its state",
		long: "Stop the containers of a cluster: workers first, then control planes, then the load balancer. They\n" +
			"keep their state and use neither CPU nor memory. The Cluster is paused meanwhile, so that no Machine\n" +
			"is remediated. \"capcon start\" starts it with the same addresses, ports and kubeconfig.",
		stops: true, request: management.Stop,
		isDone: func(report management.PowerReport) bool { return report.Power == management.PowerStopped },
	}.command(a)
}

// StartCommand is capcon start. It is done where containers did not start, too: the controllers
// of the Machines continue it, unless the Cluster is paused.
func StartCommand(a *session.App) *cobra.Command {
	return operation{
		name: "start", done: "started", opposite: "stopped", title: "Starting cluster ",
		short: "Start a stopped cluster",
		long: "Start the containers of a cluster that \"capcon stop\" stopped, and wait until its Nodes are ready. The\n" +
			"management plane is started first if it is not running.",
		request: management.Start,
		isDone: func(report management.PowerReport) bool {
			return report.Power == management.PowerOn && (report.Trouble == nil || !report.Paused)
		},
	}.command(a)
}

func (o operation) command(a *session.App) *cobra.Command {
	var timeout time.Duration
	var kubeconfig session.UserKubeconfig
	command := &cobra.Command{
		Use: o.name + " NAME", Short: o.short, Long: o.long, Example: "  capcon " + o.name + " demo",
		Args:    a.OneCluster,
		PreRunE: func(*cobra.Command, []string) error { return input.Refuse(input.CheckTimeout(timeout)...) },
		RunE: session.OnEngine(a.Connect, func(ctx context.Context, s *session.Session, args []string) error {
			late := fmt.Sprintf("cluster %q did not %s within %s; the operation continues in the background, run the command again to wait for it",
				args[0], o.name, timeout)
			return session.RunWithin(ctx, timeout, late, func(ctx context.Context) error { return o.run(ctx, s, args[0], kubeconfig) })
		}),
		ValidArgsFunction: a.CompleteNames,
	}
	if !o.stops {
		kubeconfig.AddFlags(command)
	}
	session.AddTimeout(command, &timeout)
	return command
}

// send the request to the management plane, which is started where it does not run.
func (o operation) send(ctx context.Context, s *session.Session, b *progress.Board, name string) error {
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
	if err := o.check(ctx, s, name); err != nil {
		return err
	}
	err = s.RetryTransient(ctx, func() error { return o.request(ctx, s.Client, management.Namespace, name) })
	if apierrors.IsNotFound(err) {
		return s.NotFound(ctx, name)
	}
	return err
}

// check refuses a stop that cannot be done, because engines of the cluster are not reached. One that was requested before continues.
func (o operation) check(ctx context.Context, s *session.Session, name string) error {
	if !o.stops {
		return nil
	}
	report, err := management.ReadPower(ctx, s.Client, management.Namespace, name)
	if err != nil || report.StopRequested {
		return nil //nolint:nilerr // The request says what is wrong.
	}
	if err := s.CheckReached(ctx, name); err != nil {
		return fmt.Errorf("cluster %q is not stopped: %w", name, err)
	}
	return nil
}

// powerGrace is how long containers that could not be stopped or started may be reported
// before a command gives up. The provider retries within 15 s: its user may have fixed the cause
// of an earlier report.
const powerGrace = 30 * time.Second

// await waits until the provider reports that it is done, or for some time that it cannot
// do it, shows its progress, and returns its last report. Another command may revoke the stop or
// the start, or delete the cluster.
func (o operation) await(ctx context.Context, s *session.Session, b *progress.Board, name string) (management.PowerReport, error) {
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
		case err == nil && report.StopRequested != o.stops:
			return report, o.revoked(s, name)
		case err == nil && o.isDone(report):
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

// run the operation: request it, wait until the provider has done it, and after a start until
// the cluster is ready.
func (o operation) run(ctx context.Context, s *session.Session, name string, kubeconfig session.UserKubeconfig) error {
	if !o.stops {
		if err := s.CheckUserKubeconfig(ctx, kubeconfig, name); err != nil {
			return err
		}
	}
	started := s.Now()
	b := s.NewBoard(o.title + name)
	err := o.send(ctx, s, b, name)
	var report management.PowerReport
	if err == nil {
		report, err = o.await(ctx, s, b, name)
	}
	// The objects of a paused Cluster report what was before.
	var reached management.Snapshot
	if err == nil && !o.stops && !report.Paused {
		reached, err = (&readiness.Wait{Session: s, Board: b, Request: input.Request{Name: name}}).Run(ctx)
	}
	b.Close()
	switch took := s.Now().Sub(started); {
	case err != nil:
		return err
	case report.Trouble != nil && (o.stops || report.Paused):
		return o.failed(s, name, *report.Trouble)
	case o.stops:
		s.Printf("\nCluster %s is stopped after %s.\n\nNext:", name, took.Round(time.Second))
		s.Printf("  %s start %s", s.Program, name)
		s.Printf("  %s plane stop", s.Program)
		return nil
	case report.Paused:
		printPaused(s, name, took)
		return nil
	default:
		return nextsteps.Print(ctx, s, nextsteps.Ready{Cluster: name, Reached: reached, Took: took, Kubeconfig: kubeconfig})
	}
}

// printPaused prints, of a cluster that was started, that its user has paused it.
func printPaused(s *session.Session, name string, took time.Duration) {
	s.Printf("\nCluster %s is started after %s. It is paused (spec.paused) and stays paused: nothing of it is changed or\n"+
		"repaired, and its conditions are stale.\n\nNext, to unpause it:", name, took.Round(time.Second))
	s.Printf("  %s kubeconfig --management > management.kubeconfig", s.Program)
	s.Printf("  kubectl --kubeconfig management.kubeconfig patch cluster %s --type merge --patch '{\"spec\":{\"paused\":null}}'", name)
}
