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

package clusters_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/cluster-api/util"

	"github.com/capi-samples/cluster-api-provider-container/e2e/capcon/capcontest"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/node"
	"github.com/capi-samples/cluster-api-provider-container/test/integration"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

const certificatesCluster = "certificates-test"

// shortCertificates are certificates of kubeadm that end after half a minute.
const shortCertificates = `cat > /etc/kubernetes/short.yaml <<END
apiVersion: kubeadm.k8s.io/v1beta4
kind: ClusterConfiguration
kubernetesVersion: ` + node.DefaultVersion + `
certificateValidityPeriod: 30s
encryptionAlgorithm: ECDSA-P256
END
kubeadm certs renew all --config /etc/kubernetes/short.yaml
rm /etc/kubernetes/short.yaml
crictl ps --quiet --name '^(etcd|kube-apiserver)$' | xargs crictl stop`

// TestCertificates lets all certificates of three control planes end, so that etcd has no
// quorum and the API servers answer no client, and renews them: with the same Machines, and
// the same kubeconfig.
func TestCertificates(t *testing.T) {
	eng := integration.Engine(t, capcontest.NodeImage, capcontest.LoadBalancerImage, capcontest.PlaneImage)
	program := capcontest.Build(t, certificatesCluster)
	program.DownBeforeAndAfter()
	program.MustRun("up", certificatesCluster, "--control-planes", "3", "--workers", "0")
	cluster := program.ConnectCluster()
	before := machineNames(t, program)
	for _, container := range capcontest.NodeContainers(t, eng, certificatesCluster) {
		if container.Labels[identity.LabelRole] != string(identity.RoleControlPlane) {
			continue
		}
		if output, err := eng.Exec(t.Context(), container.Name, engine.Command{Args: []string{"bash", "-e", "-c", shortCertificates}}); err != nil {
			t.Fatalf("shorten the certificates of %s: %v: %s", container.Name, err, output.Stderr)
		}
	}
	capcontest.Eventually(t, "the certificates have ended", func(ctx context.Context) (string, error) {
		output, err := program.Run(ctx, "certs", certificatesCluster)
		if strings.Contains(output, "CertificatesExpired") {
			return "", nil
		}
		return "none has", err
	})
	if _, err := cluster.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{}); err == nil {
		t.Error("The API server answers with a certificate that has ended: nothing is tested")
	}

	start := time.Now()
	output := program.MustShow("certs", "renew", certificatesCluster)
	t.Logf("renewed after %s:\n%s", time.Since(start).Round(time.Second), output)
	capcontest.NodesReady(t, cluster, len(before))
	if after := machineNames(t, program); !slices.Equal(before, after) {
		t.Errorf("Machines are %v, were %v", after, before)
	}
	capcontest.Eventually(t, "Cluster API has the dates", func(ctx context.Context) (string, error) {
		found, err := capcontest.ListMachines(ctx, capcontest.Management(t, program), certificatesCluster)
		for i := range found {
			date := found[i].Status.CertificatesExpiryDate
			if util.IsControlPlaneMachine(&found[i]) && time.Until(date.Time) < 364*24*time.Hour {
				return fmt.Sprintf("%s has %s", found[i].Name, date), nil
			}
		}
		return "", err
	})
	if output := program.MustRun("status"); strings.Contains(output, "Certificates") {
		t.Errorf("status:\n%s", output)
	}
	again := program.MustShow("certs", "renew", certificatesCluster)
	if strings.Contains(again, "renewing") || strings.Contains(again, "restarting") {
		t.Errorf("A second run renewed again:\n%s", again)
	}
}

func machineNames(t *testing.T, program *capcontest.Program) []string {
	t.Helper()
	found := must.Get(capcontest.ListMachines(t.Context(), capcontest.Management(t, program), program.Cluster))(t)
	names := make([]string, len(found))
	for i := range found {
		names[i] = found[i].Name
	}
	slices.Sort(names)
	return names
}
