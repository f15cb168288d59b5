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

package nodefiles

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// host runs the commands of a node on this machine, in a directory.
type host struct {
	t    *testing.T
	root string
	// fault strikes after the command of that number, counted from 1: its answer is lost.
	fault, commands int
}

var errKilled = errors.New("the manager is killed")

// systemctl has the state of containerd in a file, and counts its invocations.
const systemctl = `#!/bin/sh
for unit; do :; done
file=%[1]s/$unit.invocation
read -r invocation <"$file" || invocation=1
case $1 in
show) printf 'InvocationID=%%s\nActiveState=active\nSubState=running\nResult=success\n' "$invocation" ;;
restart) echo $((invocation + 1)) >"$file" ;;
esac
`

// containerdProgram reads a configuration that is next to it.
const containerdProgram = `#!/bin/sh
if [ -e "$(dirname "$0")/invalid" ]; then
  echo "time=\"$(date)\" level=error msg=\"failed to load TOML\"" >&2
  exit 1
fi
`

func newHost(t *testing.T) *host {
	t.Helper()
	h := &host{t: t, root: t.TempDir()}
	must.Succeed(t, os.WriteFile(filepath.Join(h.root, "systemctl"), []byte(fmt.Sprintf(systemctl, h.root)), 0o700))
	for _, unit := range []string{containerd, kubelet} {
		must.Succeed(t, os.WriteFile(filepath.Join(h.root, unit+".invocation"), []byte("1\n"), 0o600))
	}
	must.Succeed(t, os.WriteFile(filepath.Join(h.root, containerd), []byte(containerdProgram), 0o700))
	return h
}

// Exec implements engine.Executor.
func (h *host) Exec(ctx context.Context, _ string, command engine.Command) (engine.Output, error) {
	h.commands++
	args := make([]string, 0, len(command.Args))
	for _, arg := range command.Args {
		if arg == directory {
			arg = filepath.Join(h.root, "record")
		}
		args = append(args, arg)
	}
	var out, problems bytes.Buffer
	process := exec.CommandContext(ctx, args[0], args[1:]...)
	process.Env = append(os.Environ(), "PATH="+h.root+":"+os.Getenv("PATH"))
	process.Stdin, process.Stdout, process.Stderr = command.Stdin, &out, &problems
	err := process.Run()
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		err = &engine.ExitError{Code: exit.ExitCode()}
	}
	if h.commands == h.fault {
		return engine.Output{}, errKilled
	}
	return engine.Output{Stdout: out.Bytes(), Stderr: problems.Bytes()}, err
}

func (h *host) path(name string) string { return filepath.Join(h.root, name) }

func (h *host) file(name, content string) File {
	self := must.Get(user.Current())(h.t)
	return File{h.path(name), self.Uid + ":" + self.Gid, 0o640, []byte(content)}
}

// contents of the directory, without what belongs to the test.
func (h *host) contents() map[string]string {
	contents := map[string]string{}
	must.Succeed(h.t, filepath.Walk(h.root, func(name string, info os.FileInfo, err error) error {
		if err != nil || info.IsDir() || info.Name() == "systemctl" || info.Name() == containerd {
			return err
		}
		contents[strings.TrimPrefix(name, h.root+"/")] = string(must.Get(os.ReadFile(name))(h.t)) + info.Mode().String()
		return nil
	}))
	return contents
}

// update changes, adds and removes a file, behind a link too.
func (h *host) update() Spec {
	must.Succeed(h.t, os.WriteFile(h.path("changed"), []byte("old"), 0o600))
	must.Succeed(h.t, os.WriteFile(h.path("removed"), []byte("old"), 0o600))
	must.Succeed(h.t, os.WriteFile(h.path("target"), []byte("old"), 0o600))
	must.Succeed(h.t, os.Symlink("target", h.path("link")))
	return Spec{
		Files: []File{h.file("below/added", "secret\x00\n"), h.file("changed", "new"), h.file("link", "new")},
		Known: []string{h.path("changed"), h.path("link"), h.path("removed")},
	}
}

// finish as managers do one after the other.
func (h *host) finish(spec Spec) (err error) {
	for range 3 {
		var step Step
		if step, err = Advance(h.t.Context(), h, "node", spec); err == nil && step.Action == Done {
			return nil
		}
	}
	return err
}

// An update that is interrupted anywhere ends as one that is not.
func TestAdvance(t *testing.T) {
	t.Parallel()
	whole := newHost(t)
	must.Succeed(t, whole.finish(whole.update()))
	want := whole.contents()
	if want["link"] != "newLrwxrwxrwx" || want["target"] != "new-rw-r-----" || want["changed"] != "new-rw-r-----" || want["below/added"] != "secret\x00\n-rw-r-----" || want["removed"] != "" {
		t.Errorf("unexpected contents: %q", want)
	}
	if want["record/record"] != "path "+whole.path("below/added")+"\n-rw-r--r--" {
		t.Errorf("unexpected record %q", want["record/record"])
	}
	delete(want, "record/record")
	for fault := 1; fault <= whole.commands; fault++ {
		t.Run(fmt.Sprint(fault), func(t *testing.T) {
			t.Parallel()
			h := newHost(t)
			h.fault = fault
			must.Succeed(t, h.finish(h.update()))
			got := h.contents()
			delete(got, "record/record")
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-undisturbed +disturbed):\n%s", diff)
			}
		})
	}
}

// containerd continues to run where it could not start again.
func TestInvalidConfigurationOfContainerd(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	must.Succeed(t, os.WriteFile(h.path("invalid"), nil, 0o600))
	err := Apply(t.Context(), h, "node", Step{Action: Restart, Unit: containerd})
	if err == nil || !strings.Contains(err.Error(), "containerd config dump") || !strings.HasSuffix(err.Error(), `: level=error msg="failed to load TOML"`) {
		t.Errorf("Want the command and its output, got %v", err)
	}
	if got := string(must.Get(os.ReadFile(h.path(containerd + ".invocation")))(t)); got != "1\n" {
		t.Errorf("invocation %q, want no restart", got)
	}
}

// A restart is not lost, and what was restarted meanwhile is restarted once more only where it has to be.
func TestAdvanceRestart(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	must.Succeed(t, Apply(t.Context(), h, "node", Step{Action: PutRecord, Record: Record{Restarts: map[string]string{containerd: pending}}}))
	must.Succeed(t, h.finish(Spec{}))
	must.Succeed(t, h.finish(Spec{}))
	if got := string(must.Get(os.ReadFile(h.path(containerd + ".invocation")))(t)); got != "2\n" {
		t.Errorf("invocation %q, want one restart", got)
	}
}

// What is wrong on the node is named with the step, the node and the command, and without contents.
func TestAdvanceFails(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason string
		setup  func(t *testing.T, h *host) Spec
		want   string
	}{
		"directory": {"It may hold what is needed.", func(t *testing.T, h *host) Spec {
			t.Helper()
			must.Succeed(t, os.Mkdir(h.path("a"), 0o700))
			return Spec{Files: []File{h.file("a", "secret")}}
		}, "write ROOT/a on node node: write files: command exited with code 1: is a directory\ncannot write ROOT/a"},
		"owner": {"The user may come with another image.", func(_ *testing.T, h *host) Spec {
			file := h.file("a", "secret")
			file.Owner = "no-such-user"
			return Spec{Files: []File{file}}
		}, "cannot write ROOT/a"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHost(t)
			spec := tc.setup(t, h)
			failed := new(StepError)
			if err := h.finish(spec); !errors.As(err, &failed) || !failed.IsRefused() {
				t.Fatalf("got %v", err)
			}
			text := strings.ReplaceAll(failed.Error(), h.root, "ROOT")
			if !strings.Contains(text, tc.want) || strings.Contains(text, "secret") {
				t.Errorf("%s got %q, want %q", tc.reason, text, tc.want)
			}
		})
	}
}
