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
	"fmt"
	"path/filepath"
	"testing"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/command/commandtest"
)

func TestUpAndDown(t *testing.T) {
	t.Parallel()
	w := commandtest.New(t)
	w.Controllers = w.Become
	commandtest.Contains(t, w.MustRun("up", "demo"), "engine: simulated", "management plane: ready", "images: localhost/capcon/node:v1.36.3",
		"nodes: 2 of 2 ready", "Cluster demo is ready after", "kubectl --kubeconfig /etc/kubernetes/admin.conf get nodes",
		"The current context of kubectl is capcon-demo, in "+w.Kubeconfig, "kubectl get nodes", "capcon down demo")

	// Manifests of the documentation name it.
	w.Get("container", &clusterv1.ClusterClass{})
	commandtest.Contains(t, w.MustRun("kubeconfig", "demo"), "server: https://127.0.0.1:40123\n")
	// No controller of Cluster API sets it to available here.
	commandtest.Contains(t, w.MustRun("status"), "Management plane  ready", "demo", "v1.36.3", "1/1", "starting")
	commandtest.Contains(t, w.MustRun("plane", "status"), "State  ready", "Clusters  1")

	w.Controllers = w.Vanish
	commandtest.Contains(t, w.MustRun("down", "demo"), "cluster demo: deleted", "management plane: removed", "Images were kept")
	if w.Plane.Removed != 1 {
		t.Errorf("The plane goes with the last cluster, once; got %d", w.Plane.Removed)
	}
	if left, err := filepath.Glob(filepath.Join(w.StateHome, "*")); err != nil || len(left) > 0 {
		t.Errorf("No state stays, got %v, %v", left, err)
	}
	w.MustRun("down", "demo")
}

func TestUsage(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		args   []string
		code   int
		words  []string
	}{
		"help":            {"Help is no error.", []string{"--help"}, 0, []string{"up", "down", "status", "kubeconfig", "images", "completion"}},
		"version":         {"It names what it knows.", []string{"version"}, 0, []string{"v1.36.3"}},
		"down nothing":    {"It has to know what.", []string{"down"}, 1, []string{"--all"}},
		"down two ways":   {"It has to know what.", []string{"down", "demo", "--all"}, 1, []string{"one of them"}},
		"trace of all":    {"A trace has one cluster.", []string{"down", "--all", "--trace", "a.json"}, 1, []string{"one cluster", "--all"}},
		"trace nowhere":   {"Nothing is created.", []string{"up", "demo", "--trace", "/proc/none/a.json"}, 1, []string{"create trace", "/proc/none/a.json"}},
		"no kubeconfig":   {"It has to know whose.", []string{"kubeconfig"}, 1, []string{"--management"}},
		"unknown output":  {"It names the formats.", []string{"status", "-o", "yaml"}, 1, []string{"text or json"}},
		"not a number":    {"Go's words are of no help.", []string{"up", "demo", "--workers", "two"}, 1, []string{`--workers "two": not a whole number`}},
		"no duration":     {"The units are named.", []string{"up", "demo", "--timeout", "5"}, 1, []string{`--timeout "5": not a duration`, "10m"}},
		"own spelling":    {"It is repeated as it was typed.", []string{"up", "demo", "--kubernetes-version", "1.20.0"}, 1, []string{`--kubernetes-version "1.20.0"`}},
		"unknown cluster": {"It says how to make it.", []string{"status", "demo"}, 1, []string{"capcon up demo"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, out, errs := commandtest.New(t).Run(tc.args...)
			if code != tc.code {
				t.Errorf("%s Want exit code %d, got %d: %s", tc.reason, tc.code, code, errs)
			}
			commandtest.Contains(t, out+errs, tc.words...)
		})
	}
}

// A mistyped word is no success with a help that a script takes for the result.
func TestUnknownSubcommands(t *testing.T) {
	t.Parallel()
	w := commandtest.New(t)
	for _, group := range []string{"get", "plane", "images", "registry"} {
		commandtest.Contains(t, w.MustFail(group, "foo"), fmt.Sprintf("unknown command \"foo\" for \"capcon %s\"", group))
	}
}
