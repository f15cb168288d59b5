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
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/command/commandtest"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane"
)

// notAResult is what standard output must not have: progress, warnings and errors.
var notAResult = regexp.MustCompile(`(?m)^ *\d+s (waiting|done   |failed )|^Warning:|^Error:|\x1b`)

// Standard output has the results alone, so that scripts can use it; everything else is on standard error. Each
// command has a row.
func TestStreams(t *testing.T) {
	t.Parallel()
	none := func(*commandtest.World) {}
	vanish := func(w *commandtest.World) { w.Controllers = w.Vanish }
	namespace := func(w *commandtest.World) {
		w.Create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}})
	}
	rows := map[string]struct {
		args   []string
		before func(*commandtest.World)
		code   int
		// out is a part of standard output, empty = there is none; errs is a part of standard error, empty = there is none.
		out, errs string
	}{
		"up":             {nil, none, 0, "Cluster demo is ready", "nodes: 2 of 2 ready"},
		"down":           {[]string{"demo"}, vanish, 0, "Images were kept", "cluster demo: deleted"},
		"status":         {nil, none, 0, "CLUSTER", ""},
		"wait":           {[]string{"demo"}, none, 0, "Cluster demo: ready.", ""},
		"get clusters":   {nil, none, 0, "NAME", ""},
		"get machines":   {nil, none, 0, "demo-a", ""},
		"get nodes":      {nil, none, 0, "demo-a", ""},
		"get config":     {[]string{"demo"}, none, 0, "kind: Cluster", ""},
		"exec":           {[]string{"demo-a", "--", "x"}, none, 0, "output", "complaint"},
		"kubeconfig":     {[]string{"demo"}, none, 0, "clusters", ""},
		"list":           {nil, none, 0, "default/demo", ""},
		"logs":           {[]string{"demo"}, none, 0, "==> demo-a", ""},
		"support-bundle": {[]string{"demo"}, none, 0, "bundle.tar.gz", ""},
		"doctor":         {nil, none, 0, "Engine", ""},
		"gc":             {nil, none, 0, "No orphaned", ""},
		"forget":         {[]string{"other"}, none, 0, "No record", ""},
		"tunnel":         {nil, none, 1, "", "Error: "},
		"dashboard":      {[]string{"--kubeconfig", "/nonexistent"}, none, 1, "", "Error: "},
		"engine add":     {[]string{"other", "tcp://host"}, none, 1, "", "Error: "},
		"engine list":    {nil, none, 0, "", "No "},
		"engine drain":   {[]string{"other"}, none, 1, "", "Error: "},
		"engine remove":  {[]string{"other"}, none, 1, "", "Error: "},
		"plane up":       {nil, namespace, 0, "is ready after", "management plane: ready"},
		"plane status":   {nil, none, 0, "Management cluster", ""},
		"plane logs":     {nil, none, 0, "started", ""},
		"plane stop":     {nil, none, 0, "is stopped", ""},
		"plane down":     {nil, none, 1, "", "Error: "},
		"images list":    {nil, none, 0, commandtest.NodeImage, ""},
		"images load":    {[]string{"/nonexistent.tar"}, none, 1, "", "Error: "},
		"load":           {[]string{"demo", "absent:v1"}, none, 1, "", "Error: "},
		"registry up":    {nil, none, 1, "", "Error: "},
		"registry down":  {nil, none, 0, "No local registry", ""},
		"certs":          {nil, none, 0, "No certificates", ""},
		"certs renew":    {[]string{"other"}, none, 1, "", "Error: "},
		"stop":           {[]string{"other"}, none, 1, "", "Error: "},
		"start":          {[]string{"other"}, none, 1, "", "Error: "},
		"convert":        {[]string{"-f", "/nonexistent.yaml"}, none, 1, "", "Error: "},
		"version":        {nil, none, 0, "KUBERNETES", ""},
	}
	for _, name := range leaves(t, commandtest.New(t)) {
		row, found := rows[name]
		if !found {
			t.Errorf("command %q has no row; add to rows what it prints on which stream", name)
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := commandtest.Created(t)
			row.before(w)
			w.Workload = fake.NewClientBuilder().WithScheme(w.Client.Scheme()).WithObjects(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "demo-a"}}).Build()
			w.Engine.HandleExec(func(string, engine.Command) (engine.Output, error) {
				return engine.Output{Stdout: []byte("output"), Stderr: []byte("complaint")}, nil
			})
			w.AddContainer(plane.DefaultName, "plane", "plane", "")
			w.Engine.SetLog(plane.DefaultName, "started\n")
			args := append(strings.Fields(name), row.args...)
			switch name {
			case "up":
				w, args = commandtest.New(t), []string{"up", "demo"}
				w.Controllers = w.Become
			case "support-bundle":
				args = append(args, "--file", filepath.Join(t.TempDir(), "bundle.tar.gz"))
			}
			code, out, errs := w.Run(args...)
			if code != row.code {
				t.Errorf("exit code %d, want %d", code, row.code)
			}
			if found := notAResult.FindString(out); found != "" {
				t.Errorf("standard output has %q", found)
			}
			for stream, pair := range map[string][2]string{"standard output": {out, row.out}, "standard error": {errs, row.errs}} {
				if !strings.Contains(pair[0], pair[1]) || pair[1] == "" && pair[0] != "" {
					t.Errorf("%s is %q, want %q in it", stream, pair[0], pair[1])
				}
			}
			if row.out != "" && strings.Contains(errs, row.out) {
				t.Errorf("standard error has %q too", row.out)
			}
		})
	}
}

// leaves are the commands that do something, by their words.
func leaves(t *testing.T, w *commandtest.World, words ...string) []string {
	t.Helper()
	help := w.MustRun(append(slices.Clone(words), "--help")...)
	_, list, found := strings.Cut(help, "Available Commands:\n")
	var names []string
	if len(words) > 0 && (!found || strings.Contains(help, "[NAME] [flags]")) {
		names = append(names, strings.Join(words, " "))
	}
	if !found {
		return names
	}
	list, _, _ = strings.Cut(list, "\n\n")
	for line := range strings.Lines(list) {
		if name := strings.Fields(line)[0]; name != "help" && name != "completion" {
			names = append(names, leaves(t, w, append(slices.Clone(words), name)...)...)
		}
	}
	return names
}
