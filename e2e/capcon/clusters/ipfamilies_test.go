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
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/capi-samples/cluster-api-provider-container/e2e/capcon/capcontest"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
	"github.com/capi-samples/cluster-api-provider-container/test/integration"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

const familiesCluster = "families-test"

// TestIPFamilies creates a cluster of each combination of IP families. Nodes, Pods and Services have addresses of its
// families, the primary one first, Pods of all nodes reach each other and Services, and the host reaches a Service at each
// of its addresses. After a restart of all containers, nodes have the addresses they had.
func TestIPFamilies(t *testing.T) {
	eng := integration.Engine(t, capcontest.NodeImage, capcontest.LoadBalancerImage, capcontest.PlaneImage)
	program := capcontest.Build(t, familiesCluster)
	for _, tc := range []struct {
		name     string
		args     []string
		families network.Families
	}{
		{"ipv6", []string{"--ip-family", "ipv6"}, network.Families{network.IPv6}},
		{"dual", []string{"--ip-family", "dual"}, network.Families{network.IPv4, network.IPv6}},
		{"ipv6-first", []string{"--pod-cidr", "fd00:10:244::/56,10.244.0.0/16"}, network.Families{network.IPv6, network.IPv4}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			program := program.At(t)
			program.DownBeforeAndAfter()
			program.MustRun(append([]string{"up", familiesCluster}, tc.args...)...)
			cluster := program.ConnectCluster()
			before := nodeAddresses(t, cluster, tc.families)
			capcontest.PodsTalk(t, eng, program)
			capcontest.PodsHaveFamilies(t, cluster, tc.families)
			capcontest.ServiceAnswersOn(t, cluster, "of-all-families", tc.families)
			program.MustRun("stop", familiesCluster)
			program.MustRun("start", familiesCluster)
			capcontest.NodesReady(t, cluster, len(before))
			if diff := cmp.Diff(before, nodeAddresses(t, cluster, tc.families)); diff != "" {
				t.Errorf("addresses after a restart (-before, +after):\n%s", diff)
			}
		})
	}
}

// nodeAddresses by the names of the Nodes, each with an address and a Pod CIDR of each family.
func nodeAddresses(t *testing.T, cluster kubernetes.Interface, want network.Families) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	for _, node := range must.Get(cluster.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{}))(t).Items {
		var families, ofPods network.Families
		for _, address := range node.Status.Addresses {
			if address.Type == corev1.NodeInternalIP {
				families = append(families, network.FamilyOf(must.Get(netip.ParseAddr(address.Address))(t)))
				all[node.Name] = append(all[node.Name], address.Address)
			}
		}
		for _, cidr := range node.Spec.PodCIDRs {
			ofPods = append(ofPods, network.FamilyOf(must.Get(netip.ParsePrefix(cidr))(t).Addr()))
		}
		if diff := cmp.Diff([]network.Families{want, want}, []network.Families{families, ofPods}); diff != "" {
			t.Errorf("families of Node %s and of its Pods (-want, +got):\n%s", node.Name, diff)
		}
	}
	return all
}
