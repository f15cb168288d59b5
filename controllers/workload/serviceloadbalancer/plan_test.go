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

package serviceloadbalancer

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	servicecontroller "k8s.io/cloud-provider/controllers/service"
	"k8s.io/utils/ptr"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/haproxy"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// web is a Service with one port.
func web() *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "uid-web"},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeLoadBalancer, IPFamilies: []corev1.IPFamily{corev1.IPv4Protocol},
			ExternalTrafficPolicy: corev1.ServiceExternalTrafficPolicyCluster,
			Ports:                 []corev1.ServicePort{{Port: 80, NodePort: 30080, Protocol: corev1.ProtocolTCP}},
		},
	}
}

func nodes() []*corev1.Node {
	node := func(name string, addresses ...corev1.NodeAddress) *corev1.Node {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.NodeStatus{Addresses: addresses}}
	}
	return []*corev1.Node{
		node("a", corev1.NodeAddress{Type: corev1.NodeHostName, Address: "10.7.0.99"},
			corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: "fd00::1"},
			corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: "10.7.0.11"}),
		node("without-address"),
		node("loopback", corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: "127.0.0.1"}),
		node("unspecified", corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: "0.0.0.0"}),
	}
}

func TestPlan(t *testing.T) {
	t.Parallel()
	udp := corev1.ServicePort{Port: 53, NodePort: 30053, Protocol: corev1.ProtocolUDP}
	frontend := func(change func(*haproxy.Frontend)) plan {
		f := haproxy.Frontend{
			Name: "port-80", Port: 80, Check: haproxy.Check{Path: "/healthz", Statuses: "200", Port: 10256},
			Backends: []haproxy.Backend{{Name: "a", Address: netip.MustParseAddr("10.7.0.11"), Port: 30080, Weight: haproxy.FullWeight}},
		}
		if change != nil {
			change(&f)
		}
		return plan{frontends: []haproxy.Frontend{f}, warnings: map[string]string{}}
	}
	cases := map[string]struct {
		change       func(*corev1.Service)
		withoutRelay bool
		want         plan
	}{
		"one port": {want: frontend(nil)},
		"IPv6": {
			change: func(s *corev1.Service) { s.Spec.IPFamilies = []corev1.IPFamily{corev1.IPv6Protocol} },
			want: func() plan {
				p := frontend(func(f *haproxy.Frontend) { f.Backends[0].Address = netip.MustParseAddr("fd00::1") })
				p.family = haproxy.FamilyDual
				return p
			}(),
		},
		"dual stack": {
			change: func(s *corev1.Service) {
				s.Spec.IPFamilies = []corev1.IPFamily{corev1.IPv4Protocol, corev1.IPv6Protocol}
			},
			want: func() plan {
				p := frontend(nil)
				p.family = haproxy.FamilyDual
				return p
			}(),
		},
		"local": {
			change: func(s *corev1.Service) {
				s.Spec.ExternalTrafficPolicy, s.Spec.HealthCheckNodePort = corev1.ServiceExternalTrafficPolicyLocal, 31000
			},
			want: frontend(func(f *haproxy.Frontend) { f.Check.Port, f.Strict = 31000, true }),
		},
		"session affinity": {
			change: func(s *corev1.Service) { s.Spec.SessionAffinity = corev1.ServiceAffinityClientIP },
			want: func() plan {
				p := frontend(func(f *haproxy.Frontend) { f.Sticky = true })
				p.warnings[reasonAffinity] = affinityMessage
				return p
			}(),
		},
		"source ranges": {
			change: func(s *corev1.Service) { s.Spec.LoadBalancerSourceRanges = []string{"192.168.0.0/16", "10.0.0.0/8"} },
			want: func() plan {
				p := frontend(func(f *haproxy.Frontend) {
					f.Sources = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("192.168.0.0/16")}
				})
				p.warnings[reasonSources] = "spec.loadBalancerSourceRanges: clients that connect through a published host port have the address of the network's gateway"
				return p
			}(),
		},
		"all sources": {
			change: func(s *corev1.Service) { s.Spec.LoadBalancerSourceRanges = []string{"0.0.0.0/0"} },
			want:   frontend(nil),
		},
		"UDP alongside TCP": {
			change: func(s *corev1.Service) { s.Spec.Ports = append(s.Spec.Ports, udp) },
			want: func() plan {
				p := frontend(nil)
				other := p.frontends[0]
				other.Name, other.Port, other.UDP, other.Backends = "port-53-udp", 53, true, slices.Clone(other.Backends)
				other.Backends[0].Port = 30053
				p.frontends = append(p.frontends, other)
				return p
			}(),
		},
		"UDP without a relay": {
			withoutRelay: true,
			change:       func(s *corev1.Service) { s.Spec.Ports = append(s.Spec.Ports, udp) },
			want: func() plan {
				p := frontend(nil)
				p.ports = []corev1.PortStatus{
					{Port: 80, Protocol: corev1.ProtocolTCP},
					{Port: 53, Protocol: corev1.ProtocolUDP, Error: ptr.To("container.infrastructure.cluster.x-k8s.io/UnsupportedProtocol")},
				}
				p.warnings[reasonProtocol] = "spec.ports: port 53 has protocol UDP, which the image of load balancers on the engine does not relay; " +
					"load the archive of the image localhost/capcon/haproxy:2.6 of a release into the engine"
				return p
			}(),
		},
		"PROXY protocol": {
			change: func(s *corev1.Service) { s.Annotations = map[string]string{ProxyProtocolAnnotation: "v2"} },
			want:   frontend(func(f *haproxy.Frontend) { f.ProxyProtocol = true }),
		},
		"all sources of one family": {
			change: func(s *corev1.Service) {
				s.Spec.IPFamilies = []corev1.IPFamily{corev1.IPv4Protocol, corev1.IPv6Protocol}
				s.Spec.LoadBalancerSourceRanges = []string{"0.0.0.0/0"}
			},
			want: func() plan {
				p := frontend(func(f *haproxy.Frontend) { f.Sources = []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0")} })
				p.family = haproxy.FamilyDual
				p.warnings[reasonSources] = "spec.loadBalancerSourceRanges: clients that connect through a published host port have the address of the network's gateway"
				return p
			}(),
		},
		"all sources of IPv6": {
			change: func(s *corev1.Service) {
				s.Spec.IPFamilies = []corev1.IPFamily{corev1.IPv4Protocol, corev1.IPv6Protocol}
				s.Spec.LoadBalancerSourceRanges = []string{"::/0"}
			},
			want: func() plan {
				p := frontend(func(f *haproxy.Frontend) { f.Sources = unicast })
				p.family = haproxy.FamilyDual
				p.warnings[reasonSources] = "spec.loadBalancerSourceRanges: clients that connect through a published host port have the address of the network's gateway"
				return p
			}(),
		},
		"all sources of both families": {
			change: func(s *corev1.Service) {
				s.Spec.IPFamilies = []corev1.IPFamily{corev1.IPv4Protocol, corev1.IPv6Protocol}
				s.Spec.LoadBalancerSourceRanges = []string{"::/0", "0.0.0.0/0"}
			},
			want: func() plan {
				p := frontend(nil)
				p.family = haproxy.FamilyDual
				return p
			}(),
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service := web()
			if tc.change != nil {
				tc.change(service)
			}
			got := must.Get(newPlan(service, nodes(), !tc.withoutRelay))(t)
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(plan{}), cmpopts.EquateComparable(netip.Addr{}, netip.Prefix{})); diff != "" {
				t.Errorf("plan: -want +got:\n%s", diff)
			}
			if _, err := haproxy.Render(haproxy.Config{Frontends: got.frontends}); err != nil {
				t.Errorf("Render: %v", err)
			}
		})
	}
}

func TestPlanRefuses(t *testing.T) {
	t.Parallel()
	const prefix = "unsupported Service: "
	cases := map[string]struct {
		change func(*corev1.ServiceSpec)
		want   string
	}{
		"SCTP":      {func(s *corev1.ServiceSpec) { s.Ports[0].Protocol = corev1.ProtocolSCTP }, "spec.ports: port 80 has protocol SCTP; only TCP and UDP are supported"},
		"reserved":  {func(s *corev1.ServiceSpec) { s.Ports[0].Port = 8405 }, "spec.ports: port 8405 is reserved for the load balancer's status; use another port"},
		"node port": {func(s *corev1.ServiceSpec) { s.Ports[0].NodePort = 0 }, "spec.ports: port 80 has no node port; set spec.allocateLoadBalancerNodePorts to true"},
		"many ports": {func(s *corev1.ServiceSpec) {
			for i := range haproxy.MaxFrontends {
				s.Ports = append(s.Ports, corev1.ServicePort{Port: int32(i) + 100, NodePort: 31000, Protocol: corev1.ProtocolTCP})
			}
		}, "spec.ports: 65 ports, of at most 64; use several Services"},
		"many sources": {func(s *corev1.ServiceSpec) {
			for i := range haproxy.MaxSources + 1 {
				s.LoadBalancerSourceRanges = append(s.LoadBalancerSourceRanges, fmt.Sprintf("10.0.%d.%d/32", i/256, i%256))
			}
		}, "spec.loadBalancerSourceRanges: 1001 ranges, of at most 1000; use larger ranges"},
		"two reasons": {func(s *corev1.ServiceSpec) {
			s.Ports[0].Port, s.Ports[0].Protocol = 8405, corev1.ProtocolUDP
			s.Ports = append(s.Ports, corev1.ServicePort{Port: 81, NodePort: 30081, Protocol: corev1.ProtocolSCTP})
		}, "spec.ports: port 81 has protocol SCTP; only TCP and UDP are supported; spec.ports: port 8405 is reserved for the load balancer's status; use another port"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service := web()
			tc.change(&service.Spec)
			if _, err := newPlan(service, nodes(), true); !errors.Is(err, errUnsupported) || err.Error() != prefix+tc.want {
				t.Errorf("newPlan: %v, want %s", err, prefix+tc.want)
			}
		})
	}
}

// TestTooManyNodes: the oldest are backends, so that a new Node replaces none.
func TestTooManyNodes(t *testing.T) {
	t.Parallel()
	var all []*corev1.Node
	for i := range haproxy.MaxBackends + 2 {
		node := nodes()[0]
		node.Name, node.CreationTimestamp = fmt.Sprintf("node-%03d", 999-i), metav1.Unix(int64(i), 0)
		all = append(all, node)
	}
	slices.Reverse(all)
	got := must.Get(newPlan(web(), all, true))(t)
	backends := got.frontends[0].Backends
	if len(backends) != haproxy.MaxBackends || backends[0].Name != "node-999" || backends[haproxy.MaxBackends-1].Name != "node-744" {
		t.Errorf("%d backends, from %s to %s, want %d from node-999 to node-744",
			len(backends), backends[0].Name, backends[len(backends)-1].Name, haproxy.MaxBackends)
	}
	if got.warnings[reasonNodes] != "only the 256 oldest Nodes are backends of the load balancer" {
		t.Errorf("warnings %v", got.warnings)
	}
	must.Get(haproxy.Render(haproxy.Config{Frontends: got.frontends}))(t)
}

func TestHostPorts(t *testing.T) {
	t.Parallel()
	text := formatHostPorts([]engine.PortBinding{
		{HostPort: 20001, ContainerPort: 53}, {HostPort: 20001, ContainerPort: 53, Protocol: engine.ProtocolUDP}, {HostPort: 20002, ContainerPort: 443},
	})
	if want := "127.0.0.1:20001->53/tcp, 127.0.0.1:20001->53/udp, 127.0.0.1:20002->443/tcp"; text != want {
		t.Errorf("formatHostPorts = %q, want %q", text, want)
	}
}

func TestTrim(t *testing.T) {
	t.Parallel()
	const label = corev1.LabelNodeExcludeBalancers
	taint := corev1.Taint{Key: controlPlaneRole, Effect: corev1.TaintEffectNoSchedule}
	cases := map[string]struct {
		labels    map[string]string
		taints    []corev1.Taint
		ready     corev1.ConditionStatus
		addresses []corev1.NodeAddress
		deleted   *metav1.Time
		excluded  bool
	}{
		"control plane":          {labels: map[string]string{controlPlaneRole: "", label: ""}, taints: []corev1.Taint{taint}, excluded: true},
		"it takes Pods":          {labels: map[string]string{controlPlaneRole: "", label: ""}},
		"it is being deleted":    {labels: map[string]string{controlPlaneRole: "", label: "deleting"}, excluded: true},
		"worker a user excludes": {labels: map[string]string{label: ""}, excluded: true},
		"worker a user includes": {labels: map[string]string{label: "false"}},
		"worker that is ready":   {ready: corev1.ConditionTrue},
		"no address yet":         {addresses: []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: "a"}}, excluded: true},
		"the autoscaler removes": {taints: []corev1.Taint{{Key: servicecontroller.ToBeDeletedTaint}}, excluded: true},
		"Node being deleted":     {deleted: &metav1.Time{Time: time.Unix(1, 0)}, excluded: true},
		"its kubelet is silent":  {ready: corev1.ConditionUnknown},
		"no Pod network yet":     {ready: corev1.ConditionFalse, excluded: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tc.addresses == nil {
				tc.addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.7.0.11"}}
			}
			trimmed := must.Get(trim(&corev1.Node{
				ObjectMeta: metav1.ObjectMeta{Labels: tc.labels, DeletionTimestamp: tc.deleted, ManagedFields: make([]metav1.ManagedFieldsEntry, 1)},
				Spec:       corev1.NodeSpec{Taints: tc.taints},
				Status: corev1.NodeStatus{
					Images: make([]corev1.ContainerImage, 1), Addresses: tc.addresses,
					Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: tc.ready}},
				},
			}))(t)
			// Informers may transform an object twice.
			trimmed = must.Get(trim(trimmed))(t)
			node, ok := trimmed.(*corev1.Node)
			if !ok {
				t.Fatalf("trim returned a %T", trimmed)
			}
			if _, excluded := node.Labels[label]; excluded != tc.excluded {
				t.Errorf("excluded: %t, want %t", excluded, tc.excluded)
			}
			if len(node.ManagedFields) > 0 || len(node.Status.Images) > 0 || len(node.Status.Addresses) == 0 {
				t.Errorf("node %+v, want it without what is not needed, and with addresses", node)
			}
		})
	}
}
