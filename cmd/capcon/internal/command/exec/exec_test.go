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

package exec_test

import (
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/command/commandtest"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// echo prints its input, or else the arguments that the shell gets, and says on which terminal.
func echo(container string, command engine.Command) (engine.Output, error) {
	const shell = 4
	command.Args = command.Args[shell:]
	out := engine.Output{Stdout: []byte(container + ": " + strings.Join(command.Args, " ")), Stderr: []byte("no terminal")}
	if command.Stdin != nil {
		text, err := io.ReadAll(command.Stdin)
		if err != nil {
			return out, err
		}
		out.Stdout = append(out.Stdout, text...)
	}
	if command.Terminal != nil {
		out.Stderr = nil
	}
	if command.Args[0] == "false" {
		return out, &engine.ExitError{Code: 42}
	}
	return out, nil
}

func TestExec(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason   string
		args     []string
		terminal bool
		code     int
		out      string
		err      string
	}{
		"Machine":     {"A node is that of its Machine.", []string{"demo-a", "--", "ls", "-l"}, false, 0, "demo-a: ls -l", "no terminal"},
		"WithoutDash": {"A command without flags needs no dashes.", []string{"demo-a", "ls"}, false, 0, "demo-a: ls", "no terminal"},
		"ExitCode":    {"It is that of the command, without more words.", []string{"demo-a", "--", "false"}, false, 42, "demo-a: false", "no terminal"},
		"Stdin":       {"Input is passed if that was requested.", []string{"-i", "demo-a", "--", "cat"}, false, 0, "demo-a: cat input", "no terminal"},
		"Terminal":    {"A user at a terminal gets one.", []string{"demo-a", "--", "sh"}, true, 0, "demo-a: sh input", ""},
		"NoTerminal":  {"It can be left out.", []string{"demo-a", "--tty=false", "--", "sh"}, true, 0, "demo-a: sh input", "no terminal"},
		"FakeTTY":     {"A pipe is no terminal.", []string{"-it", "demo-a", "--", "sh"}, false, 1, "", "--tty"},
		"Unknown":     {"The nodes are named.", []string{"demo-x", "--", "ls"}, false, 1, "", `node "demo-x" not found; nodes of this engine: demo-a`},
		"TwoNodes":    {"A command has one node.", []string{"demo-a", "demo-b", "--", "ls"}, false, 1, "", "use one name before --"},
		"Ambiguous":   {"The container is not.", []string{"twin", "--", "ls"}, false, 1, "", "2 nodes are named"},
		"Stopped":     {"Nothing runs there.", []string{"stopped", "--", "ls"}, false, 1, "", `node "stopped" is not running: its container stopped is exited`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := commandtest.WithNodes(t)
			w.Engine.HandleExec(echo)
			w.AddContainer("stopped", "demo", "demo-id", identity.RoleWorker)
			must.Succeed(t, w.Engine.StopContainer(t.Context(), "stopped", 0))
			for _, cluster := range []string{"one", "two"} {
				labels := identity.Owner{Namespace: "default", Cluster: cluster, ID: cluster}.ContainerLabels(identity.RoleWorker, "twin")
				must.Get(w.Engine.CreateContainer(t.Context(), engine.Spec{Name: cluster + "-twin", Image: commandtest.NodeImage, Labels: labels}))(t)
			}
			if w.Input = strings.NewReader(" input"); tc.terminal {
				w.Terminal = w.Input
			}
			code, out, errs := w.Run(append([]string{"exec"}, tc.args...)...)
			if diff := cmp.Diff(tc.out, out); diff != "" || code != tc.code {
				t.Errorf("%s exit code %d, want %d; output (-want +got):\n%s", tc.reason, code, tc.code, diff)
			}
			if commandtest.Contains(t, errs, tc.err); tc.err == "" && errs != "" {
				t.Errorf("%s standard error: %q", tc.reason, errs)
			}
		})
	}
}

// TestExecOnEngines: a node is on the engine that its ContainerMachine is on.
func TestExecOnEngines(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason string
		change func(*commandtest.World)
		node   string
		code   int
		out    string
		errs   []string
	}{
		"Cluster": {reason: "The engine of the cluster.", node: "demo-a", out: "demo-a: ls"},
		"Machine": {reason: "Another one than that of the cluster.", node: "demo-b", out: "demo-b: ls"},
		"Unknown": {
			reason: "All nodes are named.", node: "demo-x", code: 1,
			errs: []string{`node "demo-x" not found; nodes of this engine: here; of other engines: demo-a, demo-b`},
		},
		"Unreachable": {
			reason: "Which engine, why, and what to do.", node: "demo-b", code: 1,
			change: func(w *commandtest.World) { w.BreakEngine("other", "connection refused") },
			errs:   []string{`engine "other": the management plane does not reach it: Unreachable: connection refused`, "capcon engine list"},
		},
		"OtherUnreachable": {
			reason: "An engine that the node is not on is not needed.", node: "demo-a", out: "demo-a: ls",
			change: func(w *commandtest.World) { w.BreakEngine("other", "connection refused") },
		},
		"PlaneSilent": {
			reason: "It has the credentials.", node: "demo-a", code: 1,
			change: func(w *commandtest.World) { w.Plane.Current = plane.State{Exists: true, Detail: "is starting"} },
			errs:   []string{`node "demo-a" not found; nodes of this engine: here; those of demo are on other engines`, "capcon plane up"},
		},
		"Here": {
			reason: "What is on the engine of the plane needs no plane.", node: "here", out: "here: ls",
			change: func(w *commandtest.World) { w.Plane.Current = plane.State{Exists: true, Detail: "is starting"} },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, build, other := commandtest.Spread(t)
			w.AddContainer("here", "local", "local-id", identity.RoleWorker)
			for _, one := range []*simulated.Engine{w.Engine, build, other} {
				one.HandleExec(echo)
			}
			if tc.change != nil {
				tc.change(w)
			}
			code, out, errs := w.Run("exec", tc.node, "--", "ls")
			if out != tc.out || code != tc.code {
				t.Errorf("%s exit code %d, output %q, %s", tc.reason, code, out, errs)
			}
			commandtest.Contains(t, errs, tc.errs...)
		})
	}
	w, _, _ := commandtest.Spread(t)
	if code, out, errs := w.Run("__complete", "exec", ""); code != 0 || !strings.HasPrefix(out, "demo-a\ndemo-b\n") {
		t.Errorf("Completed with %d: %q, %s", code, out, errs)
	}
}
