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

package capcontest

import (
	"context"
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// PodsHaveFamilies checks that each Pod of DeployServers has an address of each family, the primary one first.
func PodsHaveFamilies(t *testing.T, cluster kubernetes.Interface, want network.Families) {
	t.Helper()
	pods := must.Get(cluster.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{LabelSelector: "app=servers"}))(t)
	if len(pods.Items) == 0 {
		t.Error("no Pod of the servers")
	}
	for _, pod := range pods.Items {
		var families network.Families
		for _, address := range pod.Status.PodIPs {
			families = append(families, network.FamilyOf(must.Get(netip.ParseAddr(address.IP))(t)))
		}
		if diff := cmp.Diff(want, families); diff != "" {
			t.Errorf("families of Pod %s (-want, +got):\n%s", pod.Name, diff)
		}
	}
}

// LocalhostHasFamilies looks into the nodes: etcd of a cluster with IPv6 first listens on ::1, and containerd looks localhost
// up to forward its port.
func LocalhostHasFamilies(t *testing.T, eng engine.Engine, cluster string, want network.Families) {
	t.Helper()
	if !want.Has(network.IPv6) {
		return
	}
	for _, container := range NodeContainers(t, eng, cluster) {
		output := must.Get(eng.Exec(t.Context(), container.Name, engine.Command{Args: []string{"getent", "ahostsv6", "localhost"}}))(t)
		if !strings.HasPrefix(string(output.Stdout), "::1 ") {
			t.Errorf("in %s, localhost is %s, want ::1", container.Name, output.Stdout)
		}
	}
}

// ServiceAnswersOn creates a Service of type LoadBalancer before the servers, and waits until it has an address of each
// family, the primary one first, and the host gets an answer from each.
func ServiceAnswersOn(t *testing.T, cluster kubernetes.Interface, name string, want network.Families) {
	t.Helper()
	services := cluster.CoreV1().Services("default")
	must.Get(services.Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeLoadBalancer, Selector: map[string]string{"app": "servers"},
			IPFamilyPolicy: ptr.To(corev1.IPFamilyPolicyPreferDualStack),
			Ports:          []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(8080)}},
		},
	}, metav1.CreateOptions{}))(t)
	var urls []string
	Eventually(t, "Service "+name+" has an address of each family", func(ctx context.Context) (string, error) {
		service, err := services.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return "", err
		}
		var external, internal network.Families
		urls = nil
		for _, ingress := range service.Status.LoadBalancer.Ingress {
			external = append(external, network.FamilyOf(must.Get(netip.ParseAddr(ingress.IP))(t)))
			urls = append(urls, "http://"+net.JoinHostPort(ingress.IP, "80"))
		}
		for _, address := range service.Spec.ClusterIPs {
			internal = append(internal, network.FamilyOf(must.Get(netip.ParseAddr(address))(t)))
		}
		return cmp.Diff([]network.Families{want, want}, []network.Families{internal, external}), nil
	})
	for _, url := range urls {
		Eventually(t, "an answer of "+url, func(ctx context.Context) (string, error) {
			_, err := Get(ctx, NewClient(), url)
			return "", err
		})
	}
}
