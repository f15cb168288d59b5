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

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

func TestMetrics(t *testing.T) {
	t.Parallel()
	before, after := observation{apiHost: "127.0.0.1:16443"}, observation{apiHost: "127.0.0.1:16443"}
	const first = `rest_client_requests_total{code="200",host="127.0.0.1:16443",method="GET"} 10`
	before.metric(first)
	for line := range strings.Lines(`# TYPE rest_client_requests_total counter
rest_client_requests_total{code="200",host="127.0.0.1:16443",method="GET"} 15
rest_client_requests_total{code="200",host="127.0.0.1:16443",method="PATCH"} 3
rest_client_requests_total{code="200",host="127.0.0.1:20000",method="PUT"} 7
controller_runtime_reconcile_total{controller="machine",result="success"} 4
controller_runtime_reconcile_total{controller="cluster",result="error"} 1
process_open_fds 12
`) {
		after.metric(strings.TrimSpace(line))
	}
	type counts struct{ Plane, Writes, Clusters, Reconciles float64 }
	step := after.since(before)
	got := counts{step.plane, step.writes, step.clusters, step.reconciles}
	if diff := cmp.Diff(counts{Plane: 8, Writes: 3, Clusters: 7, Reconciles: 5}, got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

func TestProcesses(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(directory, name)
		must.Succeed(t, os.WriteFile(path, []byte(content), 0o600))
		return path
	}
	write("status", "Name:\tkube (a)\nVmRSS:\t    2048 kB\nRssAnon:\t    1024 kB\n")
	o := observation{processor: map[string]time.Duration{}, memory: map[string]int64{}, anonymous: map[string]int64{}}
	o.process(write("stat", "42 (kube (a)) S 7 1 1 0 -1 0 0 0 0 0 150 50 0 0"), 7)
	o.process(write("other", "43 (sh) S 8 1 1 0 -1 0 0 0 0 0 150 50 0 0"), 7)
	o.process(write("empty", ""), 7)
	o.process(filepath.Join(directory, "gone"), 7)
	if diff := cmp.Diff(map[string]time.Duration{"kube (a)": 2 * time.Second}, o.processor); diff != "" {
		t.Errorf("processor time: -want, +got:\n%s", diff)
	}
	if diff := cmp.Diff(map[string]int64{"kube (a)": 2 << 20}, o.memory); diff != "" {
		t.Errorf("memory: -want, +got:\n%s", diff)
	}
	if diff := cmp.Diff(map[string]int64{"kube (a)": 1 << 20}, o.anonymous); diff != "" {
		t.Errorf("memory without files: -want, +got:\n%s", diff)
	}
}

// TestRatios: what this provider uses is a part of what CAPD does.
func TestRatios(t *testing.T) {
	t.Parallel()
	opts := options{manager: "bin/capcon-memory-manager", stock: "bin/stock"}
	rival := result{"settled", observation{
		processor: map[string]time.Duration{"capd": 10 * time.Second, "core": 10 * time.Second}, memory: map[string]int64{"capd": 200 << 20}, anonymous: map[string]int64{"capd": 100 << 20},
	}}
	ours := result{"settled", observation{
		processor: map[string]time.Duration{"capcon-memory-m": 5 * time.Second, "core": 10 * time.Second}, memory: map[string]int64{"capcon-memory-m": 50 << 20}, anonymous: map[string]int64{"capcon-memory-m": 40 << 20},
	}}
	got := strings.Fields(ratios(rival, ours, "capd", processName(container(opts).manager)))
	if diff := cmp.Diff([]string{"settled", "0.50", "0.25", "0.40", "0.75"}, got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

// TestRival has the ClusterClass of Cluster API, in which nothing takes time to start.
func TestRival(t *testing.T) {
	t.Parallel()
	module := must.Get(exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/cluster-api/test").Output())(t)
	rival := must.Get(capd(options{clusterAPITest: strings.TrimSpace(string(module))}))(t)
	if off := strings.Count(rival.class, `startupDuration: "0"`); off != 8 || strings.Contains(rival.class, `startupDuration: "1`) {
		t.Errorf("%d of 8 startup durations are 0 in\n%s", off, rival.class)
	}
}
