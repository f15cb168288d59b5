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

package quickstart_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/capi-samples/cluster-api-provider-container/e2e/capcon/capcontest"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// bootstrapToken is one of kubeadm's.
var bootstrapToken = regexp.MustCompile(`\b[a-z0-9]{6}\.[a-z0-9]{16}\b`)

// upTraced makes the cluster of one control plane and one worker, and looks for what a
// trace is for in the one that it writes.
func upTraced(t *testing.T, program *capcontest.Program, args ...string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "up.json")
	program.MustRun(slices.Concat([]string{"up"}, args, []string{"--memory", "3Gi", "--trace", file})...)
	content := must.Get(os.ReadFile(file))(t)
	if token := bootstrapToken.Find(content); token != nil {
		t.Errorf("the trace has a bootstrap token: %s", token)
	}
	var written struct {
		TraceEvents []struct {
			Name     string            `json:"name"`
			Duration int               `json:"dur"`
			Process  int               `json:"pid"`
			Thread   int               `json:"tid"`
			Args     map[string]string `json:"args"`
		} `json:"traceEvents"`
	}
	must.Succeed(t, json.Unmarshal(content, &written))
	groups, tracks := map[int]string{}, map[int]string{}
	var got []string
	for _, event := range written.TraceEvents {
		switch event.Name {
		case "process_name":
			groups[event.Process], _, _ = strings.Cut(event.Args["name"], " "+clusterName)
		case "thread_name":
			tracks[event.Thread], _, _ = strings.Cut(event.Args["name"], " "+clusterName)
		default:
			if event.Duration > 0 {
				got = append(got, groups[event.Process]+"/"+tracks[event.Thread]+"/"+event.Name)
			}
		}
	}
	for _, want := range []string{
		"capcon/wait until ready/wait until ready",
		"Management plane/Machine/Ready=True",
		"Management plane/ContainerMachine/Ready=False (Bootstrapping)",
		"Workload cluster/Node/Ready=True",
		"Container engine/ContainerMachine/StartContainer",
		"Container engine/ContainerCluster/CreateContainer",
		"Node/bootstrap/preflight",
		"Node/bootstrap/control-plane-check",
	} {
		if !slices.Contains(got, want) {
			t.Errorf("the trace has no %q, but %q", want, got)
		}
	}
}
