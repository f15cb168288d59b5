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

package command

import (
	"context"
	"strings"
	"testing"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/session"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

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
		"deletes":            {"A Machine is deleted.", []string{"--workers", "2"}, "", false, exitNoConsent, 0, []string{"delete  1 of the Machines", "--yes"}},
		"replaces a volume":  {"Its data is lost.", []string{"--memory", "3Gi"}, "", false, exitNoConsent, 0, []string{"lose    PersistentVolume pv (claim default/data) on Machine demo-worker-0"}},
		"--yes":              {"The user agrees.", []string{"--workers", "2", "--yes"}, "", false, exitOK, 1, []string{"delete  1 of"}},
		"yes on a terminal":  {"The user agrees.", []string{"--workers", "2"}, "y\n", false, exitOK, 1, []string{"Continue? [y/N]"}},
		"no on a terminal":   {"The user does not.", []string{"--workers", "2"}, "n\n", false, exitNoConsent, 0, []string{"nothing was changed"}},
		"just enter":         {"The user does not.", []string{"--memory", "3Gi"}, "\n", false, exitNoConsent, 0, nil},
		"does not know":      {"There may be volumes.", []string{"--cpus", "1"}, "", true, exitNoConsent, 0, []string{"lose    PersistentVolumes on these Machines, if there are any"}},
		"loses nothing":      {"It continues.", []string{"--load-balancer-image", "localhost/capcon/haproxy:other"}, "", false, exitOK, 1, []string{"change  Cluster demo"}},
		"adds":               {"It continues.", []string{"--workers", "4"}, "", true, exitOK, 1, []string{"3 -> 4"}},
		"of another version": {"The image does not fit.", []string{"--kubernetes-version", "v1.37.2", "--image", "localhost/capcon/node:v1.36.3", "--yes"}, "", false, exitError, 0, []string{"has Kubernetes v1.36.3 instead of v1.37.2"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := created(t)
			w.engine.AddImage(engine.Image{Tags: []string{"localhost/capcon/haproxy:other"}}, nil)
			w.answer = tc.answer
			for i := range 3 {
				w.label("demo-worker-"+string(rune('0'+i)), clusterv1.ClusterTopologyMachineDeploymentNameLabel, "worker")
			}
			w.writes = 0
			if tc.unreachable {
				w.workload = nil
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			w.controllers = cancel // no controller carries it out: end it when it waits
			code, out, errs := w.runIn(ctx, append([]string{"up", "demo"}, tc.args...)...)
			if code != tc.code || w.writes != tc.writes {
				t.Errorf("%s Ended with %d after %d writes, want %d after %d:\n%s%s", tc.reason, code, w.writes, tc.code, tc.writes, out, errs)
			}
			mustContain(t, out+errs, tc.words...)
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
	w := created(t)
	w.answer = "interactive"
	for i := range 3 {
		w.label("demo-worker-"+string(rune('0'+i)), clusterv1.ClusterTopologyMachineDeploymentNameLabel, "worker")
	}
	w.writes = 0
	ctx, cancel := context.WithCancel(t.Context())
	var out, errs strings.Builder
	Run(ctx, []string{"up", "demo", "--workers", "2"}, session.Streams{In: interrupting{cancel}, Out: &out, Err: &errs}, w.deps())
	mustContain(t, errs.String(), "Interrupted. Nothing was changed.")
	if w.writes != 0 || strings.Contains(errs.String(), "capcon down") {
		t.Errorf("%d writes; printed:\n%s", w.writes, errs.String())
	}
}

func TestUpRefusesAFormatWithoutDryRun(t *testing.T) {
	t.Parallel()
	w := created(t)
	w.writes = 0
	code, _, errs := w.run("up", "demo", "--workers", "4", "-o", "json")
	if code != exitError || w.writes != 0 {
		t.Errorf("ended with %d after %d writes", code, w.writes)
	}
	mustContain(t, errs, `--output "json": is the format of --dry-run; add --dry-run, or omit it`)
}
