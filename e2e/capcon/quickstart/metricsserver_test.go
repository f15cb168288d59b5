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
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/capi-samples/cluster-api-provider-container/e2e/capcon/capcontest"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// metricsServerExample is docs/how-to/metrics-server.md's.
const metricsServerExample = "../../../examples/metrics-server.yaml"

// installMetricsServer from the engine's image. It answers half a minute later: usage is
// the difference of two measurements.
func installMetricsServer(t *testing.T, eng engine.Engine, program *capcontest.Program) {
	t.Helper()
	manifest := string(must.Get(os.ReadFile(metricsServerExample))(t))
	_, image, _ := strings.Cut(manifest, " image: ")
	image, _, _ = strings.Cut(image, "\n")
	program.MustRun("load", program.Cluster, image)
	must.Get(capcontest.Kubectl(t.Context(), eng, program, manifest, "apply", "--filename=-"))(t)
}

// topAnswers: "kubectl top" prints what all nodes and Pods use. Afterwards metrics-server
// is removed.
func topAnswers(t *testing.T, eng engine.Engine, program *capcontest.Program) {
	capcontest.Eventually(t, "kubectl top nodes", func(ctx context.Context) (string, error) {
		nodes, err := capcontest.Kubectl(ctx, eng, program, "", "top", "nodes", "--no-headers")
		if err != nil {
			return "", err
		}
		if want := len(capcontest.NodeContainers(t, eng, program.Cluster)); strings.Count(nodes, "\n") != want || strings.Contains(nodes, "<unknown>") {
			return fmt.Sprintf("not all of %d nodes are measured:\n%s", want, nodes), nil
		}
		t.Log(nodes)
		return "", nil
	})
	// A Pod has metrics from its second measurement on.
	capcontest.Eventually(t, "kubectl top pods", func(ctx context.Context) (string, error) {
		pods, err := capcontest.Kubectl(ctx, eng, program, "", "top", "pods", "--all-namespaces")
		for _, want := range []string{"kube-apiserver-", "kube-proxy-"} {
			if err == nil && !strings.Contains(pods, want) {
				return fmt.Sprintf("no %s*:\n%s", want, pods), nil
			}
		}
		return "", err
	})
	manifest := string(must.Get(os.ReadFile(metricsServerExample))(t))
	must.Get(capcontest.Kubectl(t.Context(), eng, program, manifest, "delete", "--filename=-"))(t)
}
