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

// Package logs is the command that prints the logs of a cluster.
package logs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/input"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/management"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/output"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/session"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/logs"
)

// loadBalancerName names the load balancer where a machine is named.
const loadBalancerName = "load-balancer"

// options say which logs are printed, and how.
type options struct {
	cluster string
	// machine of the cluster, its container, or loadBalancerName; empty = all.
	machine string
	// tail is how many lines of each log; 0 = all.
	tail   int
	follow bool
}

// Command is capcon logs.
func Command(a *session.App) *cobra.Command {
	var options options
	command := &cobra.Command{
		Use:   "logs NAME [MACHINE]",
		Short: "Print the logs of a cluster's machines and load balancers",
		Long: "Print the bootstrap log, the journal of kubelet and containerd, and the output of load balancers;\n" +
			"for machines that are not running, the console instead of the journal. MACHINE is the name of a machine\n" +
			"or of a container, " + loadBalancerName + " for that of the control plane, or NAMESPACE/NAME for that of\n" +
			"a Service; without it, all logs are printed. Secrets in bootstrap data, and other texts that look like\n" +
			"secrets, are redacted. Clusters created by this user require no management plane.",
		Example: "  capcon logs demo\n  capcon logs demo demo-worker-abcde-12345 --tail 0\n  capcon logs demo " + loadBalancerName + " --follow",
		Args:    cobra.RangeArgs(1, 2),
		PreRunE: func(_ *cobra.Command, args []string) error {
			options.cluster, options.machine = args[0], cmp.Or(args[1:]...)
			tail := input.CheckNotNegative("--tail", options.tail, "use a number of lines, or 0 for all")
			return input.Refuse(append(input.CheckName(options.cluster), tail...)...)
		},
		RunE: session.OnEngine(a.Connect, func(ctx context.Context, s *session.Session, _ []string) error {
			return run(ctx, s, options)
		}),
		ValidArgsFunction: func(command *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
			return completeMachines(a, command, args, prefix)
		},
	}
	const defaultTail = 100
	command.Flags().IntVar(&options.tail, "tail", defaultTail, "number of last lines of each log; 0 = all")
	command.Flags().BoolVarP(&options.follow, "follow", "f", false, "follow the logs until interrupted")
	return command
}

// part is a log with the name it is printed under.
type part struct {
	logs.Log
	// on is the session on the engine that has it.
	on *session.Session
	// machine whose log it is; empty = a load balancer's.
	machine string
	title   string
}

func run(ctx context.Context, s *session.Session, options options) error {
	owner, err := s.OwnerOf(ctx, options.cluster)
	if err = cmp.Or(err, s.CheckContainers()); err != nil {
		return err
	}
	// Those that are found are printed, whatever there is of others.
	containers, unreached := s.Containers(ctx, owner)
	if unreached != nil && len(containers) == 0 {
		return unreached
	}
	parts, err := choose(options, containers)
	if err != nil {
		return err
	}
	addSecrets(ctx, s, parts)
	if options.follow {
		return errors.Join(unreached, followAll(ctx, s, parts, options.tail))
	}
	failed := []error{unreached}
	for i, one := range parts {
		text, err := one.Read(ctx, one.on.Engine, options.tail)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		if i > 0 {
			s.Printf("")
		}
		s.Printf("==> %s <==\n%s", one.title, strings.TrimSuffix(text, "\n"))
	}
	return errors.Join(failed...)
}

// choose the logs that were requested, machines in their order and load balancers last. That of
// a Service goes by the Service's namespace and name.
func choose(options options, containers []session.Container) ([]part, error) {
	var nodes, others []part
	var known []string
	for _, container := range containers {
		machine := container.Labels[identity.LabelMachine]
		isLoadBalancer := identity.Role(container.Labels[identity.LabelRole]).IsLoadBalancer()
		if isLoadBalancer {
			machine = cmp.Or(container.Labels[identity.LabelService], loadBalancerName)
		}
		known = append(known, machine)
		if options.machine != "" && options.machine != machine && options.machine != container.Name {
			continue
		}
		if isLoadBalancer {
			others = append(others, part{Log: logs.Log{Container: container.Name, Source: logs.Console}, on: container.On, title: machine})
			continue
		}
		second := logs.Journal
		if container.Status != engine.StatusRunning {
			second = logs.Console
		}
		for _, source := range []logs.Source{logs.Bootstrap, second} {
			nodes = append(nodes, part{
				Log: logs.Log{Container: container.Name, Source: source}, on: container.On, machine: machine, title: machine + " " + string(source),
			})
		}
	}
	parts := slices.Concat(nodes, others)
	if len(parts) == 0 {
		return nil, fmt.Errorf("cluster %q has no container of machine %q; it has: %s",
			options.cluster, options.machine, output.OrNone(known))
	}
	return parts, nil
}

// addSecrets of the machines' bootstrap data, as far as the management plane has it. One that
// fails is not queried again.
func addSecrets(ctx context.Context, s *session.Session, parts []part) {
	if s.Client == nil {
		return
	}
	secrets := map[string][]string{}
	for i := range parts {
		machine := parts[i].machine
		if _, known := secrets[machine]; !known && machine != "" {
			found, err := logs.BootstrapSecrets(ctx, s.Client, management.Namespace, machine, parts[i].Container)
			if err != nil {
				s.Errorf("From %s on, secrets are redacted by pattern only, because its bootstrap data could not be read: %v", machine, err)
				return
			}
			secrets[machine] = found
		}
		parts[i].Secrets = secrets[machine]
	}
}

// followAll of them concurrently, each line with the name of its log if there are
// several.
func followAll(ctx context.Context, s *session.Session, parts []part, tail int) error {
	var mutex sync.Mutex
	var all sync.WaitGroup
	failed := make([]error, len(parts))
	for i, one := range parts {
		all.Go(func() {
			failed[i] = one.Follow(ctx, one.on.Engine, tail, s.After, func(text string) {
				mutex.Lock()
				defer mutex.Unlock()
				for line := range strings.Lines(text) {
					if len(parts) > 1 {
						line = "[" + one.title + "] " + line
					}
					s.Printf("%s", strings.TrimSuffix(line, "\n"))
				}
			})
		})
	}
	all.Wait()
	if ctx.Err() != nil {
		return session.ErrReported // the user has ended it
	}
	return errors.Join(failed...)
}

// completeMachines completes the name of the cluster, then that of a machine
// from what the engine has.
func completeMachines(a *session.App, command *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	if len(args) != 1 {
		return a.CompleteNames(command, args, prefix)
	}
	s, err := a.Connect(command.Context())
	if err != nil {
		cobra.CompDebugln(err.Error(), false)
		return nil, cobra.ShellCompDirectiveError
	}
	defer s.Close()
	record, _ := s.Records.Get(args[0])
	containers, err := s.Containers(command.Context(), identity.Owner{Namespace: management.Namespace, Cluster: args[0], ID: record.OwnerID})
	if err != nil {
		cobra.CompDebugln(err.Error(), false)
		return nil, cobra.ShellCompDirectiveError
	}
	var names []string
	for _, container := range containers {
		if machine := container.Labels[identity.LabelMachine]; machine != "" {
			names = append(names, machine)
		}
	}
	return append(names, loadBalancerName), cobra.ShellCompDirectiveNoFileComp
}
