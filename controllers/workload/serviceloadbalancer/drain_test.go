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
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/cloud-provider/service/helpers"
	"k8s.io/utils/ptr"

	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// TestDrain: what was written for load balancers is removed from Services, and nothing of
// other implementations.
func TestDrain(t *testing.T) {
	t.Parallel()
	const foreign = "example.com/finalizer"
	finalizers := []string{foreign, helpers.LoadBalancerCleanupFinalizer}
	ingress := func(mode corev1.LoadBalancerIPMode) []corev1.LoadBalancerIngress {
		return []corev1.LoadBalancerIngress{{IP: "10.7.0.9", IPMode: ptr.To(mode)}}
	}
	ours := map[string]string{HostPortsAnnotation: "127.0.0.1:20001->80/tcp"}
	cases := map[string]struct {
		reason    string
		container bool
		change    func(*corev1.Service)
		// released: finalizer and status are gone.
		released bool
	}{
		"balanced": {
			reason: "It has a container.", container: true, released: true,
			change: func(s *corev1.Service) {
				s.Annotations, s.Status.LoadBalancer.Ingress = ours, ingress(corev1.LoadBalancerIPModeProxy)
			},
		},
		"manager died before it wrote the status": {
			reason: "It has a container.", container: true, released: true,
		},
		"container removed by hand": {
			reason: "The annotation says that it was balanced.", released: true,
			change: func(s *corev1.Service) {
				s.Annotations, s.Status.LoadBalancer.Ingress = ours, ingress(corev1.LoadBalancerIPModeProxy)
			},
		},
		"pending": {reason: "It has the finalizer already.", released: true},
		"another class": {
			reason: "Its finalizer is that of the implementation of the class.",
			change: func(s *corev1.Service) { s.Spec.LoadBalancerClass = ptr.To("example.com/class") },
		},
		"balanced by another implementation": {
			reason: "It was never balanced here.",
			change: func(s *corev1.Service) { s.Status.LoadBalancer.Ingress = ingress(corev1.LoadBalancerIPModeVIP) },
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			if tc.container {
				w.ensure(web())
			}
			service := web()
			service.Finalizers = finalizers
			if tc.change != nil {
				tc.change(service)
			}
			w.client = fake.NewClientset(service)
			must.Succeed(t, drain(t.Context(), w.client, w.engine, builders.Owner()))
			want := service.DeepCopy()
			if tc.released {
				want.Finalizers, want.Annotations, want.Status.LoadBalancer = []string{foreign}, nil, corev1.LoadBalancerStatus{}
			}
			got := must.Get(w.client.CoreV1().Services("default").Get(t.Context(), "web", metav1.GetOptions{}))(t)
			if diff := cmp.Diff(want.Finalizers, got.Finalizers); diff != "" {
				t.Errorf("%s\nfinalizers: -want +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(want.Status.LoadBalancer, got.Status.LoadBalancer); diff != "" {
				t.Errorf("%s\nstatus: -want +got:\n%s", tc.reason, diff)
			}
			if len(got.Annotations) != len(want.Annotations) {
				t.Errorf("%s\nannotations %v, want %v", tc.reason, got.Annotations, want.Annotations)
			}
			if left := w.containers(); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
		})
	}
}
