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
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/haproxy"
	"github.com/capi-samples/cluster-api-provider-container/internal/loadbalancer"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// TestUsersChooseNoHostPorts: what a user of the workload cluster writes into a Service
// decides nothing on the host.
func TestUsersChooseNoHostPorts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.ensure(web())
	want := w.hostPort()
	must.Succeed(t, w.balancers.EnsureLoadBalancerDeleted(t.Context(), "", web()))
	w.start()
	service := web()
	service.Annotations = map[string]string{HostPortsAnnotation: "127.0.0.1:25000->80/tcp"}
	w.ensure(service)
	if got := w.hostPort(); got != want {
		t.Errorf("port %d of the host, want %d", got, want)
	}
	published := w.service(&corev1.LoadBalancerStatus{}).Annotations[HostPortsAnnotation]
	if want := formatHostPorts([]engine.PortBinding{{HostPort: want, ContainerPort: 80}}); published != want {
		t.Errorf("annotation %q, want %q", published, want)
	}
}

// TestHostPortRangeApplies to the next container.
func TestHostPortRangeApplies(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.ensure(web())
	before := w.hostPort()
	w.start()
	w.balancers.HostPorts = network.HostPortRange{First: before + 1, Last: before + 10}
	w.ensure(web())
	if after := w.hostPort(); after != before {
		t.Errorf("port %d became %d, want it kept while the container lives", before, after)
	}
	w.ensure(withPort443())
	for port, hostPort := range must.Get(loadbalancer.Inspect(t.Context(), w.engine, name()))(t).HostPorts {
		if !w.balancers.HostPorts.Contains(hostPort) {
			t.Errorf("port %d is published on %d, want one of %s", port, hostPort, w.balancers.HostPorts)
		}
	}
}

// TestTakenHostPortMoves alone, and comes from what the container has recorded.
func TestTakenHostPortMoves(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.ensure(withPort443())
	ports := func() map[uint16]uint16 {
		return must.Get(loadbalancer.Inspect(t.Context(), w.engine, name()))(t).HostPorts
	}
	before := ports()
	must.Succeed(t, w.engine.StopContainer(t.Context(), name(), 0))
	w.engine.OccupyHostPort(before[80])
	w.start()
	w.ensure(withPort443())
	if after := ports(); after[443] != before[443] || after[80] == before[80] {
		t.Errorf("host ports %v became %v, want another one for port 80 alone", before, after)
	}
}

// TestMovedHostPortIsKept although the one before it would be chosen again.
func TestMovedHostPortIsKept(t *testing.T) {
	t.Parallel()
	cases := map[string]func(*world){
		"other ports": func(w *world) { w.ensure(withPort443()) },
		"stopped, and manager restarted": func(w *world) {
			must.Succeed(w.t, w.engine.StopContainer(w.t.Context(), name(), 0))
			w.start()
			w.ensure(withPort443())
		},
		"removed": func(w *world) {
			must.Succeed(w.t, w.engine.RemoveContainer(w.t.Context(), name()))
			w.changes.AddAll()
			w.repair()
		},
	}
	for title, change := range cases {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			preferred := network.DefaultHostPorts().Choose(network.HostPortKey(name(), engine.PortBinding{ContainerPort: 80}), func(uint16) bool { return false })
			must.Get(w.engine.CreateContainer(t.Context(), engine.Spec{
				Name: "other", Image: builders.LoadBalancerImage, Ports: []engine.PortBinding{{ContainerPort: 80, HostPort: preferred}},
			}))(t)
			must.Succeed(t, w.engine.StartContainer(t.Context(), "other"))
			w.ensure(web())
			moved := w.hostPort()
			must.Succeed(t, w.engine.RemoveContainer(t.Context(), "other"))
			change(w)
			if after := w.hostPort(); moved == preferred || after != moved {
				t.Errorf("host port %d became %d, want it kept, and another one than %d", moved, after, preferred)
			}
		})
	}
}

// TestBothFamilies: a Service has an address of each of its families, in their order, and keeps them.
func TestBothFamilies(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ipv4, ipv6 := netip.MustParsePrefix("10.8.0.0/24"), netip.MustParsePrefix("fd00:8::/64")
	must.Get(w.engine.CreateNetwork(t.Context(), engine.NetworkSpec{Name: "both", Subnets: []netip.Prefix{ipv4, ipv6}}))(t)
	w.balancers.Network = "both"
	addresses := func(families ...corev1.IPFamily) []netip.Addr {
		service := web()
		service.Spec.IPFamilies = families
		var all []netip.Addr
		for _, ingress := range w.ensure(service).Ingress {
			all = append(all, must.Get(netip.ParseAddr(ingress.IP))(t))
		}
		return all
	}
	first := addresses(corev1.IPv6Protocol, corev1.IPv4Protocol)
	if len(first) != 2 || !ipv6.Contains(first[0]) || !ipv4.Contains(first[1]) {
		t.Fatalf("addresses %v, want one of %s and one of %s", first, ipv6, ipv4)
	}
	text := string(must.Get(w.engine.ReadFile(name(), haproxy.ConfigPath))(t))
	if !strings.Contains(text, "bind :::80 v4v6") || !strings.Contains(text, "[fd00::1]:30080") {
		t.Errorf("haproxy does not listen on both families, or connects to another one than the first:\n%s", text)
	}
	must.Succeed(t, w.engine.RemoveContainer(t.Context(), name()))
	again := addresses(corev1.IPv6Protocol, corev1.IPv4Protocol)
	if diff := cmp.Diff(first, again, cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); diff != "" {
		t.Errorf("another container got other addresses (-first +again):\n%s", diff)
	}
	if one := addresses(corev1.IPv4Protocol); len(one) != 1 || one[0] != first[1] {
		t.Errorf("addresses of IPv4 alone: %v, want %s", one, first[1])
	}
}

// TestFailures: one Event says why, and only what can end otherwise is retried.
func TestFailures(t *testing.T) {
	t.Parallel()
	const create = "Warning SyncLoadBalancerFailed "
	cases := map[string]struct {
		reason    string
		change    func(*world, *corev1.Service)
		want      string
		isRetried bool
	}{
		"no address": {
			reason: "It is no address.",
			change: func(_ *world, s *corev1.Service) { s.Spec.LoadBalancerIP = "10.7.0" },
			want:   `unsupported Service: spec.loadBalancerIP: "10.7.0" is not an address of spec.ipFamilies (IPv4)`,
		},
		"address of another network": {
			reason: "No container can have it.",
			change: func(_ *world, s *corev1.Service) { s.Spec.LoadBalancerIP = "192.168.0.1" },
			want:   `spec.loadBalancerIP: subnet "10.7.0.0/24" does not contain 192.168.0.1; use another address of the subnet`,
		},
		"unknown version of the PROXY protocol": {
			reason: "Nothing is sent that backends would not understand.",
			change: func(_ *world, s *corev1.Service) {
				s.Annotations = map[string]string{ProxyProtocolAnnotation: "v3"}
			},
			want: `unsupported Service: metadata.annotations[container.infrastructure.cluster.x-k8s.io/proxy-protocol]: "v3"; use "v2", or remove the annotation`,
		},
		"SCTP alone": {
			reason: "There is nothing to serve.",
			change: func(_ *world, s *corev1.Service) { s.Spec.Ports[0].Protocol = corev1.ProtocolSCTP },
			want:   "unsupported Service: spec.ports: port 80 has protocol SCTP; only TCP and UDP are supported",
		},
		"refused by haproxy": {
			reason: "It will refuse it again.",
			change: func(w *world, _ *corev1.Service) { w.processes.Refuse("too many words") },
			want:   `synchronize "` + name() + `": haproxy rejects the configuration: too many words`,
		},
		"no host port": {
			reason:    "The range does not overlap with that of the manager, until one of them is changed.",
			change:    func(w *world, _ *corev1.Service) { w.balancers.HostPorts = network.HostPortRange{First: 2, Last: 1} },
			want:      "create load balancer: no free host port in an empty range; remove what uses them, or extend the range: spec.limits.hostPortRange of the ContainerCluster, in --host-port-range of its manager",
			isRetried: true,
		},
		"engine unavailable": {
			reason:    "It comes back.",
			change:    func(w *world, _ *corev1.Service) { w.engine.FailNext("InspectContainer", engine.ErrUnavailable) },
			want:      `inspect load balancer "` + name() + `": unavailable`,
			isRetried: true,
		},
	}
	for title, tc := range cases {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				service := web()
				tc.change(w, service)
				if diff := cmp.Diff([]string{create + tc.want}, w.refuse(service)); diff != "" {
					t.Errorf("%s\nEvents: -want +got:\n%s", tc.reason, diff)
				}
				time.Sleep(2 * retryInterval)
				synctest.Wait()
				if isRetried := w.changes.Len() > 0; isRetried != tc.isRetried {
					t.Errorf("%s\nretried: %t, want %t", tc.reason, isRetried, tc.isRetried)
				}
				// A Node comes, or the engine is back.
				must.Succeed(t, w.balancers.UpdateLoadBalancer(t.Context(), "", service, nil))
				w.changes.AddAll()
				w.repair()
				for _, again := range w.emitted() {
					if again != "Normal EnsuredLoadBalancer Ensured load balancer" || !tc.isRetried {
						t.Errorf("%s\nanother Event: %s", tc.reason, again)
					}
				}
			})
		})
	}
}

// TestLimit of the number of load balancers.
func TestLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		other := web()
		other.Name, other.UID = "other", "uid-other"
		w.client = fake.NewClientset(web(), other)
		w.start()
		w.balancers.MaxServices = 1
		w.ensure(web())
		// One that exists counts once, also while its container is recreated.
		must.Succeed(t, w.engine.RemoveContainer(t.Context(), name()))
		w.ensure(withPort443())
		want := []string{"Warning SyncLoadBalancerFailed limit of load balancers is reached: the cluster may have 1; delete other Services of type LoadBalancer, " +
			"or increase spec.limits.loadBalancers of the ContainerCluster or --max-load-balancers of its manager"}
		if diff := cmp.Diff(want, w.refuse(other)); diff != "" {
			t.Errorf("Events: -want +got:\n%s", diff)
		}
		must.Succeed(t, w.balancers.EnsureLoadBalancerDeleted(t.Context(), "", web()))
		must.Succeed(t, w.services.Delete(web()))
		time.Sleep(2 * retryInterval)
		synctest.Wait()
		w.repair()
		if created := w.containers(); len(created) != 1 || created[0].Name != builders.Owner().ServiceContainer("other", "uid-other") {
			t.Errorf("containers %v, want that of the Service that waited", created)
		}
		if diff := cmp.Diff([]string{"Normal EnsuredLoadBalancer Ensured load balancer"}, w.emitted()); diff != "" {
			t.Errorf("Events: -want +got:\n%s", diff)
		}
	})
}

// TestWarningsAreReportedOnce until they change.
func TestWarningsAreReportedOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	service := web()
	service.Spec.SessionAffinity = corev1.ServiceAffinityClientIP
	w.ensure(service)
	if diff := cmp.Diff([]string{"Warning SessionAffinityOfNodes " + affinityMessage}, w.emitted()); diff != "" {
		t.Errorf("Events: -want +got:\n%s", diff)
	}
	w.ensure(service)
	w.changes.AddAll()
	w.repair()
	if again := w.emitted(); len(again) > 0 {
		t.Errorf("reported again: %v", again)
	}
	w.ensure(web())
	w.ensure(service)
	if again := w.emitted(); len(again) != 1 {
		t.Errorf("Events %v, want one: it was changed back", again)
	}
}
