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

package access_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/e2e/capcon/capcontest"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// enginesPort of the API servers on the second host.
const enginesPort = "16444"

// up are the arguments that create the cluster: its port is requested, and it has a worker.
func (s *enginesTest) up(t *testing.T) []string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "cluster.yaml")
	must.Succeed(t, os.WriteFile(path, []byte(`kind: Cluster
apiVersion: kind.x-k8s.io/v1alpha4
networking: {apiServerPort: `+enginesPort+`}
nodes: [{role: control-plane}, {role: worker}]
`), 0o600))
	return []string{"up", enginesCluster, "-f", path, "--engine-name", secondEngine}
}

// portTaken: a process of the second host listens on the port. Who waits reads which port, on which engine, and what to do; no
// other port is chosen, and the load balancer gets this one once it is free.
func (s *enginesTest) portTaken(t *testing.T) {
	taken := s.host.Listen(t, net.JoinHostPort("0.0.0.0", enginesPort))
	output, err := s.program.At(t).Command(t.Context(), s.up(t)...).CombinedOutput()
	t.Logf("%s", output)
	if err == nil {
		t.Fatal("the cluster is ready although its port is in use")
	}
	const says = "host port " + enginesPort + " is in use by a process of the host of ContainerEngine \"" + secondEngine + "\"; stop it, or use another port"
	for _, words := range []string{infrav1.HostPortInUseReason, says, "remedy: "} {
		if !strings.Contains(string(output), words) {
			t.Errorf("the output lacks %q", words)
		}
	}
	if nodes := capcontest.NodeContainers(t, s.host.Connect(t), enginesCluster); len(nodes) > 0 {
		t.Errorf("nodes are created without an endpoint: %q", capcontest.IDs(nodes))
	}
	must.Succeed(t, taken.Close())
	capcontest.Eventually(t, "the load balancer is ready", func(ctx context.Context) (string, error) {
		clusters := &infrav1.ContainerClusterList{}
		if err := s.api.List(ctx, clusters, client.MatchingLabels{clusterv1.ClusterNameLabel: enginesCluster}); err != nil || len(clusters.Items) != 1 {
			return fmt.Sprintf("%d ContainerClusters", len(clusters.Items)), err
		}
		if ready := conditions.Get(&clusters.Items[0], infrav1.LoadBalancerReadyCondition); ready == nil || ready.Status != metav1.ConditionTrue {
			return ready.String(), nil
		}
		return "", nil
	})
}
