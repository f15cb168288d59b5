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

package cluster_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/haproxy"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
	"github.com/capi-samples/cluster-api-provider-container/test/world"
)

// TestAdditionalPorts lead to the same ports of the control planes, and change without
// another container.
func TestAdditionalPorts(t *testing.T) {
	t.Parallel()
	w := twoControlPlanes(t)
	before := must.Get(w.Engine.InspectContainer(t.Context(), balancer()))(t)
	for _, tc := range []struct {
		ports []int32
		// servers of port 9345: two, and two without a health check.
		servers int
	}{{[]int32{8132, 9345}, 4}, {nil, 0}} {
		world.Edit(w, builders.Cluster, &infrav1.ContainerCluster{}, func(c *infrav1.ContainerCluster) {
			c.Spec.LoadBalancer.AdditionalPorts = tc.ports
		})
		w.SettleCluster()
		text := string(must.Get(w.Engine.ReadFile(balancer(), haproxy.ConfigPath))(t))
		if got := strings.Count(text, ":9345 weight 100\n"); got != tc.servers {
			t.Errorf("with ports %v, %d servers of port 9345, want %d in:\n%s", tc.ports, got, tc.servers, text)
		}
	}
	if after := must.Get(w.Engine.InspectContainer(t.Context(), balancer()))(t); after.ID != before.ID {
		t.Errorf("container %s became %s", before.ID, after.ID)
	}
}

// TestFamiliesOfLoadBalancer: with IPv6 it listens on both families and connects to the primary one; with IPv4 alone it
// is as it was before there were families, also on a network that has both.
func TestFamiliesOfLoadBalancer(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason           string
		ranges           []string
		listens, servers string
	}{
		"IPv4": {"Nothing changes.", []string{"10.244.0.0/16"}, "bind 0.0.0.0:6443\n", "172."},
		"dual": {"Clients of both.", []string{"10.244.0.0/16", "fd00:10:244::/56"}, "bind :::6443 v4v6\n", "172."},
		"IPv6": {"Ports of the host lead to IPv4.", []string{"fd00:10:244::/56"}, "bind :::6443 v4v6\n", "[fd00:9::"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := twoControlPlanes(t, ranges(tc.ranges, nil), func(o *builders.Objects) {
				o.ContainerCluster.Spec.Network = infrav1.Network{Name: "both", Subnet: "fd00:9::/64"}
			})
			text := string(must.Get(w.Engine.ReadFile(balancer(), haproxy.ConfigPath))(t))
			if !strings.Contains(text, tc.listens) || strings.Count(text, tc.servers) < 2 {
				t.Errorf("%s Want %q and two servers in %s:\n%s", tc.reason, tc.listens, tc.servers, text)
			}
		})
	}
}

// TestNetworkOfAnEarlierRelease: a cluster that was provisioned on a network without a family of its ranges keeps the load
// balancer that it has, and says why it lacks the family.
func TestNetworkOfAnEarlierRelease(t *testing.T) {
	t.Parallel()
	for name, later := range map[string][]string{
		"IPv4 first": {"10.244.0.0/16", "fd00:10:244::/56"}, "IPv6 first": {"fd00:10:244::/56", "10.244.0.0/16"}, "IPv6": {"fd00:10:244::/56"},
	} {
		for _, recorded := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, subnets recorded %t", name, recorded), func(t *testing.T) {
				t.Parallel()
				w := twoControlPlanes(t, ranges([]string{"10.244.0.0/16"}, nil))
				config := func() string { return string(must.Get(w.Engine.ReadFile(balancer(), haproxy.ConfigPath))(t)) }
				before, container := config(), must.Get(w.Engine.InspectContainer(t.Context(), balancer()))(t)
				world.Edit(w, builders.Cluster, &clusterv1.Cluster{}, func(c *clusterv1.Cluster) { c.Spec.ClusterNetwork.Pods.CIDRBlocks = later })
				if !recorded {
					object := get(w)
					object.Status.Network = infrav1.NetworkStatus{}
					must.Succeed(t, w.Client.Status().Update(t.Context(), object))
				}
				for range 3 {
					_, _ = w.ReconcileCluster()
				}
				if diff := gocmp.Diff(before, config()); diff != "" {
					t.Errorf("configuration of the load balancer (-before, +after):\n%s", diff)
				}
				if after := must.Get(w.Engine.InspectContainer(t.Context(), balancer()))(t); after.ID != container.ID {
					t.Error("the load balancer was recreated")
				}
				const want = `network "capcon" has no IPv6 subnet, and the cluster has IPv6 ranges; the cluster continues with [IPv4]: for IPv6, create another cluster`
				if state, message := world.State(get(w), infrav1.NetworkReadyCondition); state != "False/"+infrav1.NetworkUnusableReason || message != want {
					t.Errorf("NetworkReady is %s: %s", state, message)
				}
			})
		}
	}
}

// TestPortMappings are published by the load balancer, which is recreated when they change, and
// lead to the same ports of the control planes.
func TestPortMappings(t *testing.T) {
	t.Parallel()
	w := twoControlPlanes(t)
	find := func() engine.Container { return must.Get(w.Engine.InspectContainer(t.Context(), balancer()))(t) }
	before := find()
	for _, tc := range []struct {
		mappings []infrav1.LoadBalancerPort
		servers  int
		want     []engine.PortBinding
	}{
		{
			[]infrav1.LoadBalancerPort{{ContainerPort: 80, HostPort: 8080}, {ContainerPort: 443, HostPort: 8443, Address: "0.0.0.0"}}, 4,
			[]engine.PortBinding{
				{HostAddress: netip.MustParseAddr("127.0.0.1"), HostPort: 8080, ContainerPort: 80},
				{HostAddress: netip.IPv4Unspecified(), HostPort: 8443, ContainerPort: 443},
			},
		},
		{nil, 0, nil},
	} {
		world.Edit(w, builders.Cluster, &infrav1.ContainerCluster{}, func(c *infrav1.ContainerCluster) {
			c.Spec.LoadBalancer.PortMappings = tc.mappings
		})
		w.SettleCluster()
		after := find()
		if got := slices.Concat(before.Ports, tc.want); !sameBindings(after.Ports, got) {
			t.Errorf("published %v, want %v", after.Ports, got)
		}
		if !slices.Equal(after.Networks["capcon"].Addresses, before.Networks["capcon"].Addresses) {
			t.Errorf("the endpoint moved from %v to %v", before.Networks["capcon"].Addresses, after.Networks["capcon"].Addresses)
		}
		text := string(must.Get(w.Engine.ReadFile(balancer(), haproxy.ConfigPath))(t))
		if got := strings.Count(text, ":443 weight 100\n"); got != tc.servers {
			t.Errorf("%d servers of port 443, want %d in:\n%s", got, tc.servers, text)
		}
	}
}

// sameBindings in any order.
func sameBindings(a, b []engine.PortBinding) bool {
	return len(a) == len(b) && !slices.ContainsFunc(a, func(port engine.PortBinding) bool { return !slices.Contains(b, port) })
}
