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
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/command/commandtest"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/output"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// What fills a full disk can be deleted.
func TestStateDirectoryThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	w := commandtest.New(t)
	w.Controllers = w.Become
	must.Succeed(t, os.WriteFile(filepath.Join(w.StateHome, "capcon"), nil, 0o600)) // a file in its place
	code, out, errs := w.Run("up", "demo")
	if code != 0 || strings.Count(errs, "Warning: the state directory cannot be changed") != 1 {
		t.Errorf("up ended with %d:\n%s%s", code, out, errs)
	}
	commandtest.Contains(t, out, "capcon kubeconfig demo > kubeconfig && export KUBECONFIG=$PWD/kubeconfig")
	for _, command := range [][]string{{"status"}, {"list"}, {"gc"}, {"kubeconfig", "demo"}, {"logs", "demo"}} {
		w.MustRun(command...)
	}
	w.Controllers = w.Vanish
	if code, out, errs := w.Run("down", "demo"); code != 0 || len(w.Containers()) > 0 {
		t.Errorf("down ended with %d:\n%s%s", code, out, errs)
	}
}

func TestRecordsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	w := commandtest.WithLeftovers(t)
	clusters := filepath.Dir(w.Directory().ClusterPath("demo"))
	must.Succeed(t, errors.Join(
		os.WriteFile(filepath.Join(clusters, ".DS_Store"), nil, 0o600),
		os.WriteFile(filepath.Join(clusters, "lost", "cluster.json"), []byte("{"), 0o600),
	))
	for _, command := range [][]string{{"status"}, {"list"}, {"gc", "--yes"}} {
		w.Controllers = w.Vanish
		code, out, errs := w.Run(command...)
		if code != 0 || strings.Count(errs, ".DS_Store") > 1 || strings.Count(errs, "lost/cluster.json") > 1 {
			t.Errorf("%v ended with %d:\n%s%s", command, code, out, errs)
		}
		if command[0] != "status" {
			commandtest.Contains(t, errs, "Warning: ", ".DS_Store", "lost/cluster.json")
		}
	}
	if _, err := os.Stat(w.Directory().ClusterPath("lost")); err != nil {
		t.Errorf("A record that cannot be read is no proof that nothing is left: %v", err)
	}
}

func TestCommandsWithoutHome(t *testing.T) {
	t.Parallel()
	w := commandtest.New(t)
	w.StateHome = ""
	for _, command := range [][]string{{"status"}, {"up", "demo"}, {"down", "demo"}} {
		code, out, errs := w.Run(command...)
		if code != 1 || strings.Contains(out, "unavailable") {
			t.Errorf("%v ended with %d:\n%s%s", command, code, out, errs)
		}
		commandtest.Contains(t, errs, "HOME", "XDG_STATE_HOME")
	}
}

func TestPrintedPathsAreQuoted(t *testing.T) {
	t.Parallel()
	w := commandtest.New(t)
	w.Controllers = w.Become
	w.StateHome = filepath.Join(w.StateHome, "my state's")
	commandtest.Contains(t, w.MustRun("up", "demo"), "export KUBECONFIG='", `my state'\''s/capcon/`)
	for word, want := range map[string]string{"/a/b-c.d": "/a/b-c.d", "": "''", "a b": "'a b'", "$x": "'$x'", "it's": `'it'\''s'`} {
		if got := output.ShellQuote(word); got != want {
			t.Errorf("output.ShellQuote(%q): got %s, want %s", word, got, want)
		}
	}
}

func TestCommandsWithoutAName(t *testing.T) {
	t.Parallel()
	w := commandtest.WithLeftovers(t)
	for _, command := range []string{"down", "kubeconfig", "stop", "start", "forget", "support-bundle"} {
		code, _, errs := w.Run(command)
		if code != 1 || strings.Contains(errs, "more than one") || strings.Contains(errs, "arg(s)") {
			t.Errorf("%s ended with %d: %s", command, code, errs)
		}
		commandtest.Contains(t, errs, "NAME: missing; clusters: demo, lost", "use the name of one cluster")
	}
}
