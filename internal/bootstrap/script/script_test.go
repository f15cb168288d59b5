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

package script

import (
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/record"
	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/userdata"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

func TestScriptOrder(t *testing.T) {
	t.Parallel()
	n := newNode(t, Input{
		Config: userdata.Config{
			BootCommands: shellCommands(`cp "$ROOT/etc/provider" "$ROOT/order"; echo "bootcmd $INSTANCE_ID" >>"$ROOT/order"; [ ! -e "$ROOT/etc/a" ]`),
			Files: []userdata.File{
				{Path: "/etc/late", Content: []byte("late\n"), Defer: true},
				{Path: "/etc/a", Content: []byte("a\n")},
				{Path: "/etc/a", Content: []byte("b\n"), Append: true},
			},
			Commands: shellCommands(
				`cd "$ROOT/etc" && export LASTS=1 && f() { echo f; }`,
				``,
				`[ "$PWD" = "$ROOT/etc" ] && [ "$LASTS" = 1 ] && f >>"$ROOT/order" && cat a late >>"$ROOT/order"`,
			),
		},
		Instance:    userdata.Instance{ID: "an id"},
		SystemFiles: map[string]string{"etc/provider": "provider\n"},
	})
	n.bootDone()
	want := "provider\nbootcmd an id\nf\na\nb\nlate\n"
	if diff := cmp.Diff(want, n.read("order")); diff != "" {
		t.Errorf("system files, bootcmd, write_files, deferred files, runcmd in one shell (-want +got):\n%s", diff)
	}
	result := n.result()
	if result.Changed.IsZero() {
		t.Error("a result says when its state was entered")
	}
	result.Changed = time.Time{}
	if diff := cmp.Diff(record.Result{State: record.Done, Step: "runcmd[2]", ExitCode: -1}, result); diff != "" {
		t.Errorf("record.Read() (-want +got):\n%s", diff)
	}
	n.expectCleanedUp()
	for _, step := range []string{"bootcmd[0]", "write_files[0]", "runcmd[2]"} {
		if log := n.read(record.LogPath); !strings.Contains(log, step) || !strings.Contains(n.journal, step) {
			t.Errorf("step %s is missing in log or journal:\n%s\n%s", step, log, n.journal)
		}
	}
}

func TestScriptEnds(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason   string
		commands []userdata.Command
		want     record.Result
		exit     int
	}{
		"failing command": {
			reason:   "the first command that fails ends the bootstrap, and the record names it by the place in the user's list",
			commands: shellCommands("true", "echo about to fail; (exit 3)", "echo >\"$ROOT/unreachable\""),
			want:     record.Result{State: record.Failed, Step: "runcmd[1]", ExitCode: 3, LogTail: unlinesTail("bootstrap: runcmd[0]", "bootstrap: runcmd[1]", "about to fail")},
			exit:     3,
		},
		"failing list": {
			reason:   "a program that does not exist fails as in a shell",
			commands: []userdata.Command{{Args: []string{"/does/not/exist"}}, {Shell: "echo >\"$ROOT/unreachable\""}},
			want:     record.Result{State: record.Failed, Step: "runcmd[0]", ExitCode: 127},
			exit:     127,
		},
		"middle of a line": {
			reason:   "a command is a line of a script: its last program decides",
			commands: shellCommands("false; true"),
			want:     record.Result{State: record.Done, Step: "runcmd[0]", ExitCode: -1},
		},
		"exit 0": {
			reason:   "as in cloud-init the commands are one script, which may end early and well",
			commands: shellCommands("exit 0", "echo >\"$ROOT/unreachable\""),
			want:     record.Result{State: record.Done, Step: "runcmd[0]", ExitCode: -1},
		},
		"set -eu": {
			reason:   "options a user sets last, and do not break the script around the commands",
			commands: shellCommands("set -eu", "true", "false; true", "echo >\"$ROOT/unreachable\""),
			want:     record.Result{State: record.Failed, Step: "runcmd[2]", ExitCode: 1},
			exit:     1,
		},
		"syntax error": {
			reason:   "a command that is no shell script fails at its own step",
			commands: shellCommands("true", "if then ("),
			want:     record.Result{State: record.Failed, Step: "runcmd[1]", ExitCode: 2},
			exit:     2,
		},
		"unbalanced quote": {
			reason:   "a command's quotes end with the command",
			commands: shellCommands("echo 'open", "echo ' >\"$ROOT/unreachable\""),
			want:     record.Result{State: record.Failed, Step: "runcmd[0]", ExitCode: 2},
			exit:     2,
		},
		"killed": {
			reason:   "a shell that is killed has failed",
			commands: shellCommands("kill -9 $$"),
			want:     record.Result{State: record.Failed, Step: "runcmd[0]", ExitCode: 137},
			exit:     137,
		},
		"background": {
			reason:   "what a command leaves running does not keep the bootstrap from ending",
			commands: shellCommands("sleep 600 & echo $! >\"$ROOT/pid\""),
			want:     record.Result{State: record.Done, Step: "runcmd[0]", ExitCode: -1},
		},
		"hostile environment": {
			reason:   "variables, functions and redirections of the user's do not reach the script's own steps",
			commands: shellCommands("record=/x base=/y root=/z; put() { exit 9; }; IFS=; exec >/dev/null 2>&1; umask 777; PATH=$PATH", "true"),
			want:     record.Result{State: record.Done, Step: "runcmd[1]", ExitCode: -1},
		},
		"nothing to do": {
			reason: "a bootstrap without steps is done",
			want:   record.Result{State: record.Done, ExitCode: -1},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newNode(t, Input{Config: userdata.Config{Commands: tc.commands}})
			if code := n.boot(); code != tc.exit {
				t.Errorf("%s: exit code %d, want %d:\n%s", tc.reason, code, tc.exit, n.journal)
			}
			stop(t, n)
			got := n.result()
			if got.State == record.Failed && got.LogTail == "" {
				t.Errorf("%s: a failure comes with the end of the log", tc.reason)
			}
			got.Changed = time.Time{}
			if tc.want.LogTail == "" {
				got.LogTail = ""
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: (-want +got):\n%s", tc.reason, diff)
			}
			if n.exists("unreachable") {
				t.Errorf("%s: a command after the end was run", tc.reason)
			}
			n.expectCleanedUp()
		})
	}
}

// stop ends what a test left running on purpose.
func stop(t *testing.T, n *node) {
	t.Helper()
	if !n.exists("pid") {
		return
	}
	var pid int
	for _, digit := range strings.TrimSpace(n.read("pid")) {
		pid = pid*10 + int(digit-'0')
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Errorf("the process that was left running is gone: %v", err)
	}
}

func unlinesTail(s ...string) string {
	return strings.TrimSuffix(unlines(s...), "\n")
}

func TestScriptRunsOnce(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		state  string
		want   record.State
		exit   int
	}{
		"started": {reason: "what had started and not ended is interrupted", state: "started\n", want: record.Interrupted, exit: 1},
		"torn":    {reason: "a state emptied by a crash had started", state: "", want: record.Interrupted, exit: 1},
		"unknown": {reason: "an unknown state is not run again either", state: "strange\n", want: record.Interrupted, exit: 1},
		"done":    {reason: "done stays done", state: "done\n", want: record.Done},
		"failed":  {reason: "failed is not tried again", state: "failed\n", want: record.Failed},
		"interrupted": {
			reason: "interrupted stays interrupted", state: "interrupted\n", want: record.Interrupted,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newNode(t, Input{Config: userdata.Config{Commands: shellCommands("echo >\"$ROOT/ran\"")}})
			n.write(record.Path+"/state", tc.state)
			n.write(record.Path+"/state.step", "runcmd[7]\n")
			n.write(record.LogPath, "before the crash\n")
			if code := n.boot(); code != tc.exit {
				t.Errorf("%s: exit code %d, want %d:\n%s", tc.reason, code, tc.exit, n.journal)
			}
			if n.exists("ran") {
				t.Errorf("%s: it was run again", tc.reason)
			}
			got := n.result()
			if got.State != tc.want || got.Step != "runcmd[7]" {
				t.Errorf("%s: state %q at %q, want %q", tc.reason, got.State, got.Step, tc.want)
			}
			if tc.exit != 0 && got.LogTail != "before the crash" {
				t.Errorf("%s: log tail %q", tc.reason, got.LogTail)
			}
			n.expectCleanedUp()
		})
	}
}

func TestScriptInterrupted(t *testing.T) {
	t.Parallel()
	n := newNode(t, Input{Config: userdata.Config{Commands: shellCommands("true", "echo $$ >\"$ROOT/pid\"; exec sleep 600")}})
	stopAt(t, n, "pid")
	if got := n.result(); got.State != record.Started || got.Step != "runcmd[1]" {
		t.Errorf("while it runs: %+v", got)
	}
	if code := n.boot(); code != 1 {
		t.Errorf("exit code %d of the boot after the crash, want 1", code)
	}
	if got := n.result(); got.State != record.Interrupted || got.Step != "runcmd[1]" {
		t.Errorf("after the crash: %+v", got)
	}
	n.expectCleanedUp()
	if code := n.boot(); code != 0 {
		t.Errorf("exit code %d of the next boot, want 0", code)
	}
}

// stopAt boots a node and stops it once a file is there: the whole group at the same time, as when a node loses power.
func stopAt(t *testing.T, n *node, file string) {
	t.Helper()
	cmd := n.command()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	must.Succeed(t, cmd.Start())
	deadline := time.After(30 * time.Second)
	for !n.exists(file) {
		select {
		case <-deadline:
			t.Fatalf("%s was not reached", file)
		case <-time.After(5 * time.Millisecond):
		}
	}
	must.Succeed(t, syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL))
	if err := cmd.Wait(); err == nil {
		t.Error("the script was not killed")
	}
}

func TestScriptKubernetesUp(t *testing.T) {
	t.Parallel()
	n := newNode(t, Input{Config: userdata.Config{
		Files: []userdata.File{{Path: "/run/cluster-api/placeholder"}},
		Commands: shellCommands(
			`echo success >"$ROOT/run/cluster-api/bootstrap-success.complete"`,
			`cp "$ROOT`+record.Path+`/state.kubernetes-up" "$ROOT/while-running"`,
			`false`,
		),
	}})
	n.boot()
	if !n.exists("while-running") {
		t.Error("the sentinel is noted before the command after it")
	}
	if got := n.result(); got.State != record.Failed || !got.KubernetesUp {
		t.Errorf("Kubernetes is up although a later command failed: %+v", got)
	}
}

func TestScriptLogTail(t *testing.T) {
	t.Parallel()
	n := newNode(t, Input{Config: userdata.Config{
		Commands: shellCommands(`i=0; while [ $i -lt 3000 ]; do i=$((i+1)); echo "line $i"; done; false`),
	}})
	n.boot()
	tail := n.result().LogTail
	if !strings.HasSuffix(tail, "line 3000") || strings.Contains(tail, "line 2900\n") {
		t.Errorf("the tail is the end of the log and short, got %d bytes ending in %q", len(tail), tail[max(0, len(tail)-20):])
	}
	if log := n.read(record.LogPath); !strings.Contains(log, "line 1\n") {
		t.Error("the log in the node is complete")
	}
	info, err := os.Stat(n.path(record.LogPath))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the log is root's only: %v %v", info.Mode(), err)
	}
}
