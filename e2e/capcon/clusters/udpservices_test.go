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
	"net"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/capi-samples/cluster-api-provider-container/controllers/workload/serviceloadbalancer"
	"github.com/capi-samples/cluster-api-provider-container/e2e/capcon/capcontest"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/test/integration"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

const (
	udpCluster = "udp-test"
	// clusterName is what each cluster's DNS knows.
	clusterName = "kubernetes.default.svc.cluster.local."
)

// TestUDPServices exposes the cluster's DNS: TCP first, then UDP on the same port, with the address and host port that it
// had. The host and another container get answers, also after a restart of all containers.
func TestUDPServices(t *testing.T) {
	eng := integration.Engine(t, capcontest.NodeImage, capcontest.LoadBalancerImage, capcontest.PlaneImage)
	program := capcontest.Build(t, udpCluster)
	program.DownBeforeAndAfter()
	// With a worker, control planes get no traffic of load balancers, and the Pods of DNS may all be on one: the Service
	// would have no local endpoint.
	program.MustRun("up", udpCluster, "--workers", "0")
	cluster := program.ConnectCluster()
	services := cluster.CoreV1().Services("kube-system")
	tcp := corev1.ServicePort{Name: "dns-tcp", Port: 53, Protocol: corev1.ProtocolTCP}
	must.Get(services.Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "exposed"},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeLoadBalancer, Selector: map[string]string{"k8s-app": "kube-dns"}, Ports: []corev1.ServicePort{tcp},
		},
	}, metav1.CreateOptions{}))(t)
	before := awaitPlace(t, cluster, "tcp")
	nameResolves(t, "tcp", before...)

	patch := func(text string) {
		t.Helper()
		must.Get(services.Patch(t.Context(), "exposed", types.MergePatchType, []byte(text), metav1.PatchOptions{}))(t)
	}
	// A strategic merge patch takes the port's number as its key, whatever the protocol.
	patch(`{"spec":{"ports":[{"name":"dns-tcp","port":53,"protocol":"TCP"},{"name":"dns","port":53,"protocol":"UDP"}]}}`)
	after := awaitPlace(t, cluster, "udp")
	if !slices.Equal(before, after) {
		t.Errorf("the Service was reached at %v, and is at %v with UDP", before, after)
	}
	nameResolves(t, "udp", after...)
	nameResolves(t, "tcp", after...)
	containerResolves(t, eng, after[0])

	patch(`{"spec":{"externalTrafficPolicy":"Local"}}`)
	nameResolves(t, "udp", after...)
	program.MustRun("stop", udpCluster)
	program.MustRun("start", udpCluster)
	nameResolves(t, "udp", after...)
	nameResolves(t, "tcp", after...)
}

// awaitPlace returns where a Service is reached: its address, and its port of the host that a protocol has.
func awaitPlace(t *testing.T, cluster kubernetes.Interface, protocol string) []netip.AddrPort {
	t.Helper()
	published := regexp.MustCompile(`(127\.0\.0\.1:\d+)->53/` + protocol)
	var place []netip.AddrPort
	capcontest.Eventually(t, "the Service has an address, and a port of the host for "+protocol, func(ctx context.Context) (string, error) {
		service, err := cluster.CoreV1().Services("kube-system").Get(ctx, "exposed", metav1.GetOptions{})
		if err != nil {
			return "", err
		}
		annotation := service.Annotations[serviceloadbalancer.HostPortsAnnotation]
		match := published.FindStringSubmatch(annotation)
		ingress := service.Status.LoadBalancer.Ingress
		if match == nil || len(ingress) != 1 {
			return fmt.Sprintf("ingress %v, host ports %q", ingress, annotation), nil
		}
		place = []netip.AddrPort{netip.AddrPortFrom(must.Get(netip.ParseAddr(ingress[0].IP))(t), 53), must.Get(netip.ParseAddrPort(match[1]))(t)}
		return "", nil
	})
	return place
}

// nameResolves by questions to each of these addresses.
func nameResolves(t *testing.T, protocol string, servers ...netip.AddrPort) {
	t.Helper()
	for _, server := range servers {
		resolver := net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var dialer net.Dialer
			return dialer.DialContext(ctx, protocol, server.String())
		}}
		capcontest.Eventually(t, fmt.Sprintf("%s is answered by %s over %s", clusterName, server, protocol), func(ctx context.Context) (string, error) {
			ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
			defer cancel()
			_, err := resolver.LookupNetIP(ctx, "ip4", clusterName)
			return "", err
		})
	}
}

// containerResolves the name from the container of the control plane's load balancer.
func containerResolves(t *testing.T, eng engine.Engine, server netip.AddrPort) {
	t.Helper()
	containers := must.Get(eng.ListContainers(t.Context(), map[string]string{identity.LabelCluster: udpCluster, identity.LabelRole: string(identity.RoleLoadBalancer)}))(t)
	if len(containers) != 1 {
		t.Fatalf("load balancers %v, want one", containers)
	}
	// A question with the number 7 for the name's address, whose answer has the number too.
	var question strings.Builder
	question.WriteString(`\x00\x07\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00`)
	for label := range strings.SplitSeq(clusterName, ".") {
		fmt.Fprintf(&question, `\x%02x%s`, len(label), label)
	}
	question.WriteString(`\x00\x01\x00\x01`)
	// The length of a label is a newline, at which bash writes what it has: dd makes one datagram of it.
	command := fmt.Sprintf(`exec 3<>/dev/udp/%s/%d && printf '%s' | dd bs=512 iflag=fullblock >&3 && timeout 5 dd bs=512 count=1 <&3`, server.Addr(), server.Port(), question.String())
	capcontest.Eventually(t, "a container gets an answer from "+server.String(), func(ctx context.Context) (string, error) {
		output, err := eng.Exec(ctx, containers[0].Name, engine.Command{Args: []string{"bash", "-c", command}})
		if err != nil {
			return "", err
		}
		// A response without an error, with one answer.
		if answer := output.Stdout; len(answer) < 12 || answer[1] != 7 || answer[3]&15 != 0 || answer[7] == 0 {
			return fmt.Sprintf("response %x", answer), nil
		}
		return "", nil
	})
}
