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

// Package wait is the command that waits for a cluster, and changes nothing.
package wait

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/input"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/management"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/output"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/progress"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/readiness"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/session"
)

// options say what is waited for, and how long.
type options struct {
	name    string
	goal    goal
	timeout time.Duration
}

// Command is capcon wait.
func Command(a *session.App) *cobra.Command {
	var options options
	var given string
	command := &cobra.Command{
		Use:   "wait NAME",
		Short: "Wait until a cluster is ready, has a condition, or is deleted",
		Long: "Wait until all Nodes of a cluster are ready, until its Cluster has a condition, or until it is deleted. Nothing\n" +
			"is changed or started. The exit code is 0 if that is so, 4 if it is not within the timeout, and 1 if it cannot\n" +
			"become so: there is no such cluster, or it was deleted meanwhile, or there is no management plane.",
		Example: "  capcon wait demo --timeout 5m\n  capcon wait demo --for=condition=RemoteConnectionProbe\n  capcon wait demo --for=delete",
		Args:    a.OneCluster,
		PreRunE: func(_ *cobra.Command, args []string) error {
			options.name = args[0]
			var problems []input.Problem
			options.goal, problems = parseGoal(given)
			return input.Refuse(append(problems, input.CheckTimeout(options.timeout)...)...)
		},
		RunE: session.OnEngine(a.Connect, func(ctx context.Context, s *session.Session, _ []string) error {
			return run(ctx, s, options)
		}),
		ValidArgsFunction: a.CompleteNames,
	}
	command.Flags().StringVar(&given, "for", "ready", "ready, delete, or condition=TYPE[=STATUS] of the Cluster, where STATUS is true by default")
	session.AddTimeout(command, &options.timeout)
	return command
}

func run(ctx context.Context, s *session.Session, options options) error {
	limited, cancel := session.Within(ctx, options.timeout)
	defer cancel()
	board := s.NewBoard("Waiting for cluster " + options.name)
	last, err := until(limited, s, board, options)
	board.Close()
	switch {
	case err == nil:
		s.Printf("Cluster %s: %s.", options.name, options.goal.met)
		return nil
	case ctx.Err() == nil && errors.Is(limited.Err(), context.DeadlineExceeded):
		return &session.ExitCodeError{Code: session.ExitNotYet, Err: late(s, options, last)}
	}
	return err
}

// until the goal is reached. It returns what was seen last.
func until(ctx context.Context, s *session.Session, board *progress.Board, options options) (last management.Observed, err error) {
	for seen := false; ; {
		start := s.Now()
		observed, err := observe(ctx, s, options)
		switch {
		case ctx.Err() != nil:
			return last, ctx.Err()
		case session.Transient(err) && s.PlaneReplaced(ctx):
			s.Client = nil // it was removed with the last cluster, or is another one
		case session.Transient(err):
			board.Waiting(session.StepPlane, "not ready: "+management.OneLine(err.Error()))
		case err != nil:
			return last, err
		default:
			last = observed
			switch {
			case options.goal.reached(observed):
				return last, nil
			case observed.Cluster == nil && seen:
				return last, fmt.Errorf("cluster %q was deleted meanwhile", options.name)
			case observed.Cluster == nil:
				return last, s.NotFound(ctx, options.name)
			}
			seen = true
			board.Replace(nil, readiness.Steps(management.Summarize(last))...)
		}
		if err := s.PauseFor(ctx, s.AfterPoll(start), nil); err != nil {
			return last, err
		}
	}
}

// observe the cluster. A management plane that is not there has none, which is what a wait for the
// deletion of the last cluster sees.
func observe(ctx context.Context, s *session.Session, options options) (management.Observed, error) {
	if s.Client == nil {
		plane, err := s.ReachPlane(ctx)
		if err != nil {
			return management.Observed{}, err
		}
		s.PlaneID = plane.ID
		if !plane.Answers {
			if !plane.Exists && options.goal.whenAbsent {
				return management.Observed{}, s.Records.Elsewhere(ctx, options.name)
			}
			return management.Observed{}, s.PlaneSilent(ctx, plane, options.name)
		}
	}
	return management.Observe(ctx, s.Client, management.Namespace, options.name)
}

// absentCondition of a type that the Cluster does not have, with those that it has.
func absentCondition(conditionType string, conditions []metav1.Condition) string {
	var types []string
	for _, condition := range conditions {
		if strings.EqualFold(condition.Type, conditionType) {
			return ""
		}
		types = append(types, condition.Type)
	}
	if conditionType == "" {
		return ""
	}
	return fmt.Sprintf("\n  the Cluster has no condition %s; it has: %s", conditionType, output.OrNone(types))
}

// late says what was still missing.
func late(s *session.Session, options options, observed management.Observed) error {
	text := fmt.Sprintf("cluster %q: timed out after %s waiting for: %s", options.name, options.timeout, options.goal.met)
	if observed.Cluster != nil {
		text += absentCondition(options.goal.condition, observed.Cluster.Status.Conditions)
	}
	last := management.Summarize(observed)
	for _, missing := range last.Missing() {
		name, _, _ := strings.Cut(missing, ":")
		isTrouble := func(trouble management.Trouble) bool { return trouble.Object == "machine "+name }
		if !slices.ContainsFunc(last.Troubles, isTrouble) { // which has more words
			text += "\n  " + missing
		}
	}
	for _, trouble := range last.Troubles {
		text += fmt.Sprintf("\n  %s: %s: %s\n    remedy: %s", trouble.Object, trouble.Reason, management.OneLine(trouble.Message), trouble.Remedy)
	}
	return fmt.Errorf("%s\nFor details, see \"%s status %s\"", text, s.Program, options.name)
}
