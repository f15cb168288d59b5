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
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/haproxy"
	"github.com/capi-samples/cluster-api-provider-container/internal/loadbalancer"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

func udpPort(port int32) corev1.ServicePort {
	return corev1.ServicePort{Name: "udp", Port: port, NodePort: 31000 + port, Protocol: corev1.ProtocolUDP}
}

// withUDP is the Service with UDP on the port that it has for TCP.
func withUDP() *corev1.Service {
	service := web()
	service.Spec.Ports = append(service.Spec.Ports, udpPort(80))
	return service
}

// TestUDP on the port of TCP: another container with the same address, and one host port for both.
func TestUDP(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	before := w.ensure(web())
	hostPort := w.hostPort()
	after := w.ensure(withUDP())
	if after.Ingress[0].IP != before.Ingress[0].IP || len(after.Ingress[0].Ports) > 0 {
		t.Errorf("status %+v, want the address of %+v", after, before)
	}
	want := []engine.PortBinding{
		{HostAddress: netip.MustParseAddr("127.0.0.1"), HostPort: hostPort, ContainerPort: 80},
		{HostAddress: netip.MustParseAddr("127.0.0.1"), HostPort: hostPort, ContainerPort: 80, Protocol: engine.ProtocolUDP},
	}
	found := must.Get(w.engine.InspectContainer(t.Context(), name()))(t)
	if diff := cmp.Diff(want, found.Ports, cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); diff != "" {
		t.Errorf("published: -want +got:\n%s", diff)
	}
	events := w.emitted()
	if len(events) != 1 || !strings.HasPrefix(events[0], "Warning RecreatedForUDP ") {
		t.Errorf("Events %v, want that of the container that is recreated", events)
	}
	ports := must.Get(haproxy.ParseRelay(w.processes.Loaded(name())))(t)
	if len(ports) != 1 || ports[0].Port != 80 {
		t.Errorf("the relay listens on %+v", ports)
	}
	// Nothing changes, whatever the manager forgets.
	w.start()
	w.engine.ResetJournal()
	w.ensure(withUDP())
	if again := must.Get(w.engine.InspectContainer(t.Context(), name()))(t); again.ID != found.ID || len(w.emitted()) > 0 {
		t.Errorf("container %s became %s", found.ID, again.ID)
	}
	w.ensure(web())
	if after := must.Get(w.engine.InspectContainer(t.Context(), name()))(t); len(after.Ports) != 1 || after.Ports[0] != want[0] {
		t.Errorf("published without UDP: %+v, want %+v", after.Ports, want[:1])
	}
}

// TestRelayThatIgnoresItsSignal is not taken as done.
func TestRelayThatIgnoresItsSignal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.ensure(withUDP())
		w.processes.FreezeRelays()
		excluded := nodes()[0]
		excluded.Labels = map[string]string{corev1.LabelNodeExcludeBalancers: "true"}
		must.Succeed(t, w.nodes.Update(excluded))
		events := w.refuse(withUDP())
		if len(events) != 1 || !strings.Contains(events[0], "did not apply its configuration") || !strings.Contains(events[0], "the relay uses configuration") {
			t.Errorf("Events %v, want what the relay uses", events)
		}
		w.processes.ThawRelays()
		w.changes.AddAll()
		w.repair()
		if diff := cmp.Diff([]string{"Normal EnsuredLoadBalancer Ensured load balancer"}, w.emitted()); diff != "" {
			t.Errorf("Events: -want +got:\n%s", diff)
		}
	})
}

// TestImageWithoutRelay: TCP is served, and UDP as soon as the engine has an image for it.
func TestImageWithoutRelay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		stock := loadbalancer.DefaultImage
		w.engine.AddImage(engine.Image{Tags: []string{stock}}, nil)
		w.balancers.Image = stock
		status := w.ensure(withUDP())
		if ports := status.Ingress[0].Ports; len(ports) != 2 || ports[0].Error != nil || ports[1].Error == nil {
			t.Errorf("ports %+v, want UDP not served", ports)
		}
		events := w.emitted()
		if len(events) != 1 || !strings.HasPrefix(events[0], "Warning UnsupportedProtocol spec.ports: port 80 has protocol UDP") {
			t.Errorf("Events %v, want one for UDP", events)
		}
		w.engine.AddImage(engine.Image{Tags: []string{loadbalancer.BuiltImage}, Labels: map[string]string{loadbalancer.RelayLabel: "true"}}, nil)
		time.Sleep(2 * lateInterval)
		synctest.Wait()
		w.repair()
		found := must.Get(w.engine.InspectContainer(t.Context(), name()))(t)
		if len(found.Ports) != 2 || found.Image != loadbalancer.BuiltImage {
			t.Errorf("container %+v, want one of the image with the relay", found)
		}
	})
}

// TestProxyProtocol is sent by TCP alone, and a bad value changes nothing.
func TestProxyProtocol(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	service := withUDP()
	service.Annotations = map[string]string{ProxyProtocolAnnotation: "v2"}
	w.ensure(service)
	text := w.processes.Loaded(name())
	_, udp, _ := strings.Cut(text, "\nbackend port-80-udp\n")
	if strings.Count(text, "send-proxy-v2") != 2 || strings.Contains(udp, "send-proxy-v2") {
		t.Errorf("want the header on TCP alone:\n%s", text)
	}
	if events := w.emitted(); !slices.ContainsFunc(events, func(event string) bool { return strings.HasPrefix(event, "Warning ProxyProtocolOfTCP ") }) {
		t.Errorf("Events %v, want one for UDP", events)
	}
	service.Annotations[ProxyProtocolAnnotation] = "true"
	w.refuse(service)
	if after := w.processes.Loaded(name()); after != text {
		t.Errorf("a bad value changed the configuration:\n%s", cmp.Diff(text, after))
	}
	delete(service.Annotations, ProxyProtocolAnnotation)
	w.ensure(service)
	if after := w.processes.Loaded(name()); strings.Contains(after, "send-proxy") {
		t.Errorf("without the annotation:\n%s", after)
	}
}
