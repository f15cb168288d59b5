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

// Package exec is the command that runs a command in a node.
package exec

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/input"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/output"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/session"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
)

// options say what is run, and with which streams.
type options struct {
	node       string
	command    []string
	stdin, tty bool
}

// Command is capcon exec.
func Command(a *session.App) *cobra.Command {
	var options options
	command := &cobra.Command{
		Use: "exec NODE -- COMMAND [ARGUMENT...]", SuggestFor: []string{"ssh", "shell", "enter"},
		Short: "Run a command in a node",
		Long: "Run a command as root in the container of a node, whether its cluster works or not. NODE is the name of a\n" +
			"Node, a Machine or a container, also on the engine of another host. On a terminal, the command has one too.\n" +
			"The exit code is that of the command, or 127 if it was not found and 126 if it cannot be run; it is 1 if the\n" +
			"node was not found or is not running.",
		Example: "  capcon exec demo-control-plane-abcde -- crictl ps\n  capcon exec demo-control-plane-abcde -- bash\n" +
			"  capcon exec -i demo-control-plane-abcde -- tee /etc/motd < motd",
		Args: cobra.MinimumNArgs(2), //nolint:mnd // A node and a command.
		PreRunE: func(command *cobra.Command, args []string) error {
			if at := command.ArgsLenAtDash(); at > 1 || at == 0 {
				return input.Refuse(input.Problem{
					Field: "NODE", Value: strings.Join(args[:at], " "), Reason: "not the name of one node", Remedy: "use one name before --",
				})
			}
			options.node, options.command = args[0], args[1:]
			interactive := a.Interactive()
			if options.tty && !interactive {
				return input.Refuse(input.Problem{
					Field: "--tty", Reason: "standard input and output are not a terminal", Remedy: "omit it; --stdin passes standard input",
				})
			}
			if !command.Flags().Changed("tty") {
				options.tty = interactive
			}
			options.stdin = options.stdin || interactive
			return nil
		},
		RunE: session.OnEngine(a.Connect, func(ctx context.Context, s *session.Session, _ []string) error {
			return run(ctx, s, options)
		}),
		ValidArgsFunction: func(command *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			return completeNodes(a, command, args)
		},
	}
	flags := command.Flags()
	flags.BoolVarP(&options.stdin, "stdin", "i", false, "pass standard input to the command (default: if it is a terminal)")
	flags.BoolVarP(&options.tty, "tty", "t", false, "give the command a terminal (default: if standard input and output are one)")
	return command
}

func run(ctx context.Context, s *session.Session, options options) error {
	node, err := find(ctx, s, options.node)
	if err != nil {
		_, _ = s.ReachPlane(ctx) // which may have clusters in memory
		return cmp.Or(s.CheckContainers(), err)
	}
	if node.Status != engine.StatusRunning {
		return fmt.Errorf("node %q is not running: its container %s is %s; if its cluster is stopped, start it with \"%s start %s\"",
			options.node, node.Name, node.Status, s.Program, node.Labels[identity.LabelCluster])
	}
	command := engine.Command{Args: slices.Concat(shell(), options.command), Stdout: s.Out, Stderr: s.Err}
	if options.stdin {
		command.Stdin = closable(s.In)
	}
	if options.tty {
		restore, err := s.RawTerminal()
		if err != nil {
			return fmt.Errorf("use the terminal: %w", err)
		}
		defer restore()
		watching, stop := context.WithCancel(ctx)
		defer stop()
		command.Terminal = &engine.Terminal{Size: size(s), Sizes: sizes(watching, s)}
	}
	_, err = node.On.Engine.Exec(ctx, node.Name, command)
	if exit := new(engine.ExitError); errors.As(err, &exit) {
		return &session.ExitCodeError{Code: exit.Code, Err: session.ErrReported}
	}
	return err //nolint:wrapcheck // It names the container.
}

// shell replaces itself with the command whose words follow, and reports one that cannot be run: on standard
// error, and with the same exit codes on all engines. Docker writes that to standard output.
func shell() []string { return []string{"sh", "-c", `exec "$@"`, "sh"} }

// find the node of a name: on the engine of the session, for which no object is needed, or else on the engine that its
// ContainerMachine is on.
func find(ctx context.Context, s *session.Session, name string) (*session.Container, error) {
	own, err := nodesOn(ctx, s)
	if err != nil {
		return nil, err
	}
	if found, err := choose(own, name); found != nil || err != nil {
		return found, err
	}
	elsewhere, err := s.MachinesElsewhere(ctx)
	if err != nil {
		return nil, err
	}
	for i := range elsewhere {
		machine := &elsewhere[i]
		if container, _ := identity.ParseProviderID(machine.Spec.ProviderID); machine.Name != name && container != name {
			continue
		}
		on, err := s.OnNamed(ctx, client.ObjectKey{Namespace: machine.Namespace, Name: machine.Annotations[infrav1.EngineNameAnnotation]})
		if err != nil {
			return nil, err
		}
		nodes, err := nodesOn(ctx, on)
		if err != nil {
			return nil, err
		}
		if found, err := choose(nodes, name); found != nil || err != nil {
			return found, err
		}
	}
	return nil, notFound(s, name, own, elsewhere)
}

// nodesOn the engine of a session.
func nodesOn(ctx context.Context, s *session.Session) ([]session.Container, error) {
	nodes, err := s.Engine.ListContainers(ctx, map[string]string{identity.LabelMachine: ""})
	return s.Containing(nodes), err //nolint:wrapcheck // It says what was listed.
}

// choose the node of a name: that of its Machine, which is that of its Node, or of its container; nil = there is none.
func choose(nodes []session.Container, name string) (*session.Container, error) {
	var found *session.Container
	var names []string
	for i := range nodes {
		if nodes[i].Name == name {
			return &nodes[i], nil
		}
		if nodes[i].Labels[identity.LabelMachine] == name {
			found, names = &nodes[i], append(names, nodes[i].Name)
		}
	}
	if len(names) > 1 {
		return nil, fmt.Errorf("%d nodes are named %q; use the name of the container: %s", len(names), name, output.OrNone(names))
	}
	return found, nil
}

// notFound names the nodes that there are.
func notFound(s *session.Session, name string, own []session.Container, elsewhere []infrav1.ContainerMachine) error {
	found := "nodes of this engine: " + output.OrNone(machinesOf(own))
	if len(elsewhere) > 0 {
		found += "; of other engines: " + output.OrNone(namesOf(elsewhere))
	}
	var unknown []string
	for _, cluster := range s.Records.Names() {
		if record, _ := s.Records.Get(cluster); record.EngineName != "" && s.Client == nil {
			unknown = append(unknown, cluster)
		}
	}
	if len(unknown) > 0 {
		found += fmt.Sprintf("; those of %s are on other engines, which are reached once the management plane responds: start it with \"%s plane up\"",
			strings.Join(unknown, ", "), s.Program)
	}
	return fmt.Errorf("node %q not found; %s", name, found)
}

func machinesOf(nodes []session.Container) []string {
	var names []string
	for i := range nodes {
		names = append(names, nodes[i].Labels[identity.LabelMachine])
	}
	return names
}

func namesOf(machines []infrav1.ContainerMachine) []string {
	var names []string
	for i := range machines {
		names = append(names, machines[i].Name)
	}
	return names
}

// closable reads from standard input and can be closed, which ends a read: that of a terminal cannot be ended. What
// was read meanwhile is lost, as the process ends soon.
func closable(stdin io.Reader) io.ReadCloser {
	reader, writer := io.Pipe()
	go func() {
		_, err := io.Copy(writer, stdin)
		_ = writer.CloseWithError(err)
	}()
	return reader
}

// resizeInterval is how often to read the size of the terminal: not all systems send a signal when it changes.
const resizeInterval = 250 * time.Millisecond

func size(s *session.Session) engine.TerminalSize {
	columns, rows := s.Size(s.Out)
	return engine.TerminalSize{Columns: uint16(columns), Rows: uint16(rows)} //nolint:gosec // terminals are small
}

// sizes of the terminal, when it changes, until ctx ends.
func sizes(ctx context.Context, s *session.Session) <-chan engine.TerminalSize {
	changes, last := make(chan engine.TerminalSize), size(s)
	go func() {
		for s.PauseFor(ctx, resizeInterval, nil) == nil {
			now := size(s)
			if now == last {
				continue
			}
			select {
			case changes <- now:
				last = now
			case <-ctx.Done():
			}
		}
	}()
	return changes
}

func completeNodes(a *session.App, command *cobra.Command, args []string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	s, err := a.Connect(command.Context())
	if err != nil {
		cobra.CompDebugln(err.Error(), false)
		return nil, cobra.ShellCompDirectiveError
	}
	defer s.Close()
	nodes, err := nodesOn(command.Context(), s)
	if err != nil {
		cobra.CompDebugln(err.Error(), false)
		return nil, cobra.ShellCompDirectiveError
	}
	elsewhere, err := s.MachinesElsewhere(command.Context())
	if err != nil {
		cobra.CompDebugln(err.Error(), false)
	}
	return slices.Compact(slices.Concat(machinesOf(nodes), namesOf(elsewhere))), cobra.ShellCompDirectiveNoFileComp
}
