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

package command_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/command/commandtest"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// What fills a full disk can be deleted.
func TestStateDirectoryThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	w := commandtest.New(t)
	w.Controllers = w.Become
	must.Succeed(t, os.WriteFile(filepath.Join(w.StateHome, "capcon"), nil, 0o600)) // a file in its place
	out := w.MustRun("up", "demo")
	if strings.Count(out, "Warning: the state directory cannot be changed") != 1 {
		t.Errorf("up does not warn once:\n%s", out)
	}
	commandtest.Contains(t, out, "The current context of kubectl is capcon-demo")
	for _, command := range [][]string{{"status"}, {"list"}, {"gc"}, {"kubeconfig", "demo"}, {"logs", "demo"}} {
		w.MustRun(command...)
	}
	w.Controllers = w.Vanish
	if w.MustRun("down", "demo"); len(w.Containers()) > 0 {
		t.Errorf("left are %v", w.Containers())
	}
}

// A record that cannot be read is no proof that nothing is left.
func TestRecordsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	w := commandtest.WithLeftovers(t)
	record := filepath.Join(w.Directory().ClusterPath("lost"), "cluster.json")
	must.Succeed(t, os.WriteFile(record, []byte("{"), 0o600))
	for _, command := range [][]string{{"list"}, {"gc", "--yes"}} {
		if out := w.MustRun(command...); strings.Count(out, "lost/cluster.json") != 1 {
			t.Errorf("%v does not warn once:\n%s", command, out)
		}
	}
	must.Get(os.Stat(record))(t)
}

func TestCommandsWithoutHome(t *testing.T) {
	t.Parallel()
	w := commandtest.New(t)
	w.StateHome = ""
	for _, command := range [][]string{{"status"}, {"up", "demo"}, {"down", "demo"}} {
		out := w.MustFail(command...)
		commandtest.Lacks(t, out, "unavailable")
		commandtest.Contains(t, out, "HOME", "XDG_STATE_HOME")
	}
}

func TestPrintedPathsAreQuoted(t *testing.T) {
	t.Parallel()
	w := commandtest.New(t)
	w.Controllers = w.Become
	file := filepath.Join(w.StateHome, "my file's")
	commandtest.Contains(t, w.MustRun("up", "demo", "--kubeconfig", file), "kubectl --kubeconfig '", `my file'\''s' get nodes`)
}

func TestCommandsWithoutAName(t *testing.T) {
	t.Parallel()
	w := commandtest.WithLeftovers(t)
	for _, command := range []string{"down", "kubeconfig", "stop", "start", "forget", "support-bundle"} {
		out := w.MustFail(command)
		commandtest.Lacks(t, out, "more than one", "arg(s)")
		commandtest.Contains(t, out, "NAME: missing; clusters: demo, lost", "use the name of one cluster")
	}
}
