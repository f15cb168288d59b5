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

package up_test

import (
	"context"
	"strings"
	"testing"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/command/commandtest"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

// otherImage of nodes: a change to it replaces them.
const otherImage = "localhost/capcon/node:v1.36.3-other"

func TestUpAsksBeforeItDestroys(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason       string
		args         []string
		answer       string
		unreachable  bool
		code, writes int
		words        []string
	}{
		"deletes":            {"A Machine is deleted.", []string{"--workers", "2"}, "", false, 3, 0, []string{"delete  Machine demo-worker-1 of MachineDeployment worker", "--yes"}},
		"replaces a volume":  {"Its data is lost.", []string{"--image", otherImage}, "", false, 3, 0, []string{"lose    PersistentVolume pv (claim default/data) on Machine demo-worker-0"}},
		"--yes":              {"The user agrees.", []string{"--workers", "2", "--yes"}, "", false, 0, 2, []string{"delete  Machine demo-worker-1"}},
		"yes on a terminal":  {"The user agrees.", []string{"--workers", "2"}, "y\n", false, 0, 2, []string{"Continue? [y/N]"}},
		"no on a terminal":   {"The user does not.", []string{"--workers", "2"}, "n\n", false, 3, 0, []string{"nothing was changed"}},
		"just enter":         {"The user does not.", []string{"--image", otherImage}, "\n", false, 3, 0, nil},
		"does not know":      {"There may be volumes.", []string{"--image", otherImage}, "", true, 3, 0, []string{"lose    PersistentVolumes on these Machines, if there are any"}},
		"in place":           {"No node is replaced.", []string{"--memory", "3Gi"}, "", true, 0, 1, []string{"update  Machine demo-worker-0 in place"}},
		"loses nothing":      {"It continues.", []string{"--load-balancer-image", "localhost/capcon/haproxy:other"}, "", false, 0, 1, []string{"change  Cluster demo"}},
		"adds":               {"It continues.", []string{"--workers", "4"}, "", true, 0, 1, []string{"3 -> 4"}},
		"of another version": {"The image does not fit.", []string{"--kubernetes-version", "v1.37.2", "--image", "localhost/capcon/node:v1.36.3", "--yes"}, "", false, 1, 0, []string{"has Kubernetes v1.36.3 instead of v1.37.2"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := commandtest.WithVolume(t)
			w.Engine.AddImage(engine.Image{Tags: []string{"localhost/capcon/haproxy:other"}}, nil)
			w.Engine.AddImage(engine.Image{Tags: []string{otherImage}}, nil)
			if tc.answer != "" {
				w.Terminal = strings.NewReader(tc.answer)
			}
			if tc.unreachable {
				w.Workload = nil
			}
			// No controller carries it out: it is interrupted when it waits.
			code, out, errs := w.RunUntilItWaits(append([]string{"up", "demo"}, tc.args...)...)
			if code != tc.code || w.Writes != tc.writes {
				t.Errorf("%s Ended with %d after %d writes, want %d after %d:\n%s%s", tc.reason, code, w.Writes, tc.code, tc.writes, out, errs)
			}
			commandtest.Contains(t, out+errs, tc.words...)
		})
	}
}

// interrupting is a terminal whose user answers with Ctrl-C.
type interrupting struct{ interrupt context.CancelFunc }

func (i interrupting) Read([]byte) (int, error) {
	i.interrupt()
	select {}
}

func TestUpIsInterruptedAtTheQuestion(t *testing.T) {
	t.Parallel()
	w := commandtest.WithVolume(t)
	ctx, cancel := context.WithCancel(t.Context())
	w.Terminal = interrupting{cancel}
	_, _, errs := w.RunIn(ctx, "up", "demo", "--workers", "2")
	commandtest.Contains(t, errs, "Interrupted. Nothing was changed.")
	commandtest.Lacks(t, errs, "capcon down")
	if w.Writes != 0 {
		t.Errorf("%d writes", w.Writes)
	}
}

func TestUpRefusesAFormatWithoutDryRun(t *testing.T) {
	t.Parallel()
	w := commandtest.WithVolume(t)
	commandtest.Contains(t, w.MustFail("up", "demo", "--workers", "4", "-o", "json"), `--output "json": is the format of --dry-run; add --dry-run, or omit it`)
}
