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
	"maps"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/cloud-provider/service/helpers"
	"k8s.io/utils/ptr"

	"github.com/capi-samples/cluster-api-provider-container/internal/haproxy"
	"github.com/capi-samples/cluster-api-provider-container/internal/loadbalancer"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
)

// Reasons in status.loadBalancer.ingress[].ports[].error and in Events.
const (
	reasonProtocol = "UnsupportedProtocol"
	reasonReserved = "ReservedPort"
	reasonNodePort = "NodePortMissing"
	reasonSources  = "SourceRangesOfHostPorts"
	reasonAffinity = "SessionAffinityOfNodes"
	reasonNodes    = "TooManyNodes"
	reasonProxy    = "ProxyProtocolOfTCP"
	reasonRelay    = "RecreatedForUDP"

	reasonPrefix = "container.infrastructure.cluster.x-k8s.io/"
)

// ProxyProtocolAnnotation of a Service has the value v2 where backends expect the PROXY protocol.
const ProxyProtocolAnnotation = "container.infrastructure.cluster.x-k8s.io/proxy-protocol"

// proxyProtocolV2 is its only value: version 1 has no other use.
const proxyProtocolV2 = "v2"

// affinityMessage says what becomes of session affinity: kube-proxy sees one client.
const affinityMessage = "spec.sessionAffinity: connections of a client go to one Node, where kube-proxy sends those of all clients to one Pod, " +
	"because they come from the load balancer; for affinity to Pods use cookies, for example of an ingress controller"

const (
	// kubeProxyHealthPort is the default port of kube-proxy's health check. It fails while
	// the Node is deleted.
	kubeProxyHealthPort = 10256
	healthPath          = "/healthz"
)

// errUnsupported says that a Service requests what no load balancer here does.
var errUnsupported = errors.New("unsupported Service")

// plan is what a Service requests.
type plan struct {
	// family that the load balancer listens on, which need not be the only one of the Service.
	family    haproxy.Family
	frontends []haproxy.Frontend
	// ports are set where one is not served.
	ports []corev1.PortStatus
	// warnings by their reason.
	warnings map[string]string
}

// newPlan returns what a Service requests, with these nodes as backends. Without a relay, its UDP ports
// are not served.
func newPlan(service *corev1.Service, nodes []*corev1.Node, relay bool) (plan, error) {
	sources, err := sourceRanges(service)
	if err != nil {
		return plan{}, err
	}
	proxy, err := proxyProtocol(service)
	if err != nil {
		return plan{}, err
	}
	desired := plan{warnings: map[string]string{}}
	families := familiesOf(service)
	if families.Has(network.IPv6) {
		// Also on IPv4: the ports that engines publish lead there.
		desired.family = haproxy.FamilyDual
	}
	backends := backendsOf(nodes, families)
	if len(backends) > haproxy.MaxBackends {
		backends = backends[:haproxy.MaxBackends]
		desired.warnings[reasonNodes] = fmt.Sprintf("only the %d oldest Nodes are backends of the load balancer", haproxy.MaxBackends)
	}
	for _, port := range service.Spec.Ports {
		status := corev1.PortStatus{Port: port.Port, Protocol: port.Protocol}
		if reason, message := refusal(port, relay); reason != "" {
			status.Error = ptr.To(reasonPrefix + reason)
			desired.warn(reason, message)
		} else {
			served := frontend(service, port, sources, backends)
			served.ProxyProtocol = proxy && !served.UDP
			if proxy && served.UDP {
				desired.warn(reasonProxy, fmt.Sprintf("metadata.annotations[%s]: port %d of UDP has no PROXY protocol", ProxyProtocolAnnotation, port.Port))
			}
			desired.frontends = append(desired.frontends, served)
		}
		desired.ports = append(desired.ports, status)
	}
	switch served := len(desired.frontends); {
	case served == 0:
		return plan{}, fmt.Errorf("%w: %s", errUnsupported, strings.Join(slices.Sorted(maps.Values(desired.warnings)), "; "))
	case served > haproxy.MaxFrontends:
		return plan{}, fmt.Errorf("%w: spec.ports: %d ports, of at most %d; use several Services", errUnsupported, served, haproxy.MaxFrontends)
	case served == len(desired.ports):
		desired.ports = nil
	}
	if len(sources) > 0 {
		desired.warn(reasonSources, "spec.loadBalancerSourceRanges: clients that connect through a published host port have the address of the network's gateway")
	}
	if service.Spec.SessionAffinity == corev1.ServiceAffinityClientIP {
		desired.warn(reasonAffinity, affinityMessage)
	}
	return desired, nil
}

// familiesOf a Service, which are those of its clients.
func familiesOf(service *corev1.Service) network.Families {
	families := make(network.Families, 0, len(service.Spec.IPFamilies))
	for _, family := range service.Spec.IPFamilies {
		families = append(families, network.Family(family))
	}
	return families
}

// warn of something; several warnings of a reason become one.
func (p *plan) warn(reason, message string) {
	if before := p.warnings[reason]; before != "" {
		message = before + "; " + message
	}
	p.warnings[reason] = message
}

func refusal(port corev1.ServicePort, relay bool) (reason, message string) {
	switch {
	case port.Protocol != corev1.ProtocolTCP && port.Protocol != corev1.ProtocolUDP:
		return reasonProtocol, fmt.Sprintf("spec.ports: port %d has protocol %s; only TCP and UDP are supported", port.Port, port.Protocol)
	case port.Protocol == corev1.ProtocolUDP && !relay:
		return reasonProtocol, fmt.Sprintf("spec.ports: port %d has protocol UDP, which the image of load balancers on the engine does not relay; "+
			"load the archive of the image %s of a release into the engine", port.Port, loadbalancer.BuiltImage)
	case port.Port == haproxy.StatusPort:
		return reasonReserved, fmt.Sprintf("spec.ports: port %d is reserved for the load balancer's status; use another port", port.Port)
	case port.NodePort == 0:
		return reasonNodePort, fmt.Sprintf("spec.ports: port %d has no node port; set spec.allocateLoadBalancerNodePorts to true", port.Port)
	}
	return "", ""
}

func frontend(service *corev1.Service, port corev1.ServicePort, sources []netip.Prefix, backends []haproxy.Backend) haproxy.Frontend {
	f := haproxy.Frontend{
		Name:    fmt.Sprintf("port-%d", port.Port),
		UDP:     port.Protocol == corev1.ProtocolUDP,
		Port:    uint16(port.Port), //nolint:gosec // The API admits 1 to 65535.
		Sources: sources,
		Sticky:  service.Spec.SessionAffinity == corev1.ServiceAffinityClientIP,
		Check:   haproxy.Check{Path: healthPath, Statuses: "200", Port: kubeProxyHealthPort},
	}
	if f.UDP {
		f.Name += "-udp"
	}
	if helpers.NeedsHealthCheck(service) {
		// A node without an endpoint drops connections.
		f.Check.Port, f.Strict = uint16(service.Spec.HealthCheckNodePort), true //nolint:gosec // The API admits 1 to 65535.
	}
	for _, backend := range backends {
		backend.Port = uint16(port.NodePort) //nolint:gosec // The API admits 1 to 65535.
		f.Backends = append(f.Backends, backend)
	}
	return f
}

// proxyProtocol reports whether a Service requests it.
func proxyProtocol(service *corev1.Service) (bool, error) {
	value, found := service.Annotations[ProxyProtocolAnnotation]
	if found && value != proxyProtocolV2 {
		return false, fmt.Errorf("%w: metadata.annotations[%s]: %q; use %q, or remove the annotation", errUnsupported, ProxyProtocolAnnotation, value, proxyProtocolV2)
	}
	return found, nil
}

// hasRelay reports whether it has a UDP port.
func (p plan) hasRelay() bool {
	return slices.ContainsFunc(p.frontends, func(f haproxy.Frontend) bool { return f.UDP })
}

// admitsAll reports whether ranges have all clients of each family of a Service.
func admitsAll(service *corev1.Service, ranges []string) bool {
	all := map[network.Family]string{network.IPv4: "0.0.0.0/0", network.IPv6: "::/0"}
	return !slices.ContainsFunc(familiesOf(service), func(family network.Family) bool { return !slices.Contains(ranges, all[family]) })
}

// unicast are the addresses of IPv6 that clients have.
var unicast = []netip.Prefix{
	netip.MustParsePrefix("2000::/3"), netip.MustParsePrefix("fc00::/7"), netip.MustParsePrefix("fe80::/10"), netip.MustParsePrefix("::1/128"),
}

// withoutIPv4 splits a range of IPv6 that has the IPv4-mapped addresses: HAProxy compares clients of IPv4 by them.
func withoutIPv4(source netip.Prefix) []netip.Prefix {
	if source.Addr().Is4() || !source.Contains(netip.MustParseAddr("::ffff:0:0")) {
		return []netip.Prefix{source}
	}
	return slices.DeleteFunc(slices.Clone(unicast), func(each netip.Prefix) bool { return !source.Overlaps(each) })
}

// sourceRanges are the clients that may connect; none where all may.
func sourceRanges(service *corev1.Service) ([]netip.Prefix, error) {
	ranges, err := helpers.GetLoadBalancerSourceRanges(service)
	if err != nil {
		return nil, fmt.Errorf("%w: spec.loadBalancerSourceRanges: %w", errUnsupported, err)
	}
	texts := ranges.StringSlice()
	// Without ranges, the one of all of IPv4 is returned.
	hasRanges := len(service.Spec.LoadBalancerSourceRanges) > 0 || strings.TrimSpace(service.Annotations[corev1.AnnotationLoadBalancerSourceRangesKey]) != ""
	if !hasRanges || admitsAll(service, texts) {
		return nil, nil
	}
	if len(texts) > haproxy.MaxSources {
		return nil, fmt.Errorf("%w: spec.loadBalancerSourceRanges: %d ranges, of at most %d; use larger ranges", errUnsupported, len(texts), haproxy.MaxSources)
	}
	slices.Sort(texts)
	sources := make([]netip.Prefix, 0, len(texts))
	for _, text := range texts {
		source, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, fmt.Errorf("%w: spec.loadBalancerSourceRanges: %w", errUnsupported, err)
		}
		sources = append(sources, withoutIPv4(source)...)
	}
	return sources, nil
}
