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
	"fmt"
	"net/netip"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cloud-provider/service/helpers"
	"k8s.io/utils/ptr"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/loadbalancer"
)

// HostPortsAnnotation on a Service has the ports of the engine's host that lead to it, in
// the form of "docker ps". It is only written: the container has them.
const HostPortsAnnotation = "container.infrastructure.cluster.x-k8s.io/host-ports"

// publish address and host ports of a load balancer in its Service.
func (b *balancers) publish(service *corev1.Service, state loadbalancer.State, ports []corev1.PortStatus) (*corev1.LoadBalancerStatus, error) {
	balanced, hostPorts := status(service, state, ports), formatHostPorts(state.Ports())
	if helpers.LoadBalancerStatusEqual(&service.Status.LoadBalancer, balanced) && service.Annotations[HostPortsAnnotation] == hostPorts {
		return balanced, nil
	}
	published := service.DeepCopy()
	published.Status.LoadBalancer = *balanced
	metav1.SetMetaDataAnnotation(&published.ObjectMeta, HostPortsAnnotation, hostPorts)
	_, err := helpers.PatchService(b.client.CoreV1(), service, published)
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("publish address and host ports of Service: %w", err)
	}
	return balanced, nil
}

// assigned are the addresses in the status of a Service.
func assigned(service *corev1.Service) []netip.Addr {
	var addresses []netip.Addr
	for _, ingress := range service.Status.LoadBalancer.Ingress {
		if address, err := netip.ParseAddr(ingress.IP); err == nil {
			addresses = append(addresses, address)
		}
	}
	return addresses
}

// status has an address of each family of the Service.
func status(service *corev1.Service, state loadbalancer.State, ports []corev1.PortStatus) *corev1.LoadBalancerStatus {
	balanced := &corev1.LoadBalancerStatus{}
	for _, address := range familiesOf(service).Choose(state.Addresses) {
		balanced.Ingress = append(balanced.Ingress, corev1.LoadBalancerIngress{
			IP: address.String(),
			// Nodes connect to it as other clients do, and do not bypass it.
			IPMode: ptr.To(corev1.LoadBalancerIPModeProxy),
			Ports:  ports,
		})
	}
	return balanced
}

// formatHostPorts returns the annotation's value for published ports, which are in order.
func formatHostPorts(ports []engine.PortBinding) string {
	texts := make([]string, 0, len(ports))
	for _, port := range ports {
		texts = append(texts, fmt.Sprintf("127.0.0.1:%d->%d/%s", port.HostPort, port.ContainerPort, port.Protocol.Name()))
	}
	return strings.Join(texts, ", ")
}
