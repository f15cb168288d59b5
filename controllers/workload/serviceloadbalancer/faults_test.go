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
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/service/helpers"
	"k8s.io/utils/ptr"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/loadbalancer"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/faults"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// served is a world whose Services the service controller reconciles.
type served struct{ *world }

// Revive implements faults.World.
func (s *served) Revive() { s.start() }

// LoseStatus implements faults.World.
func (s *served) LoseStatus() {
	if service := s.found(); service != nil {
		service.Status = corev1.ServiceStatus{}
		s.update(service)
	}
}

// RestartEngine implements faults.World.
func (s *served) RestartEngine() { s.engine.RestartEngine() }

// found is the Service as the API server has it; nil where it is gone.
func (s *served) found() *corev1.Service {
	s.t.Helper()
	list := must.Get(s.client.CoreV1().Services("default").List(s.t.Context(), metav1.ListOptions{}))(s.t)
	if len(list.Items) == 0 {
		return nil
	}
	return &list.Items[0]
}

func (s *served) update(service *corev1.Service) {
	s.t.Helper()
	must.Get(s.client.CoreV1().Services("default").Update(s.t.Context(), service, metav1.UpdateOptions{}))(s.t)
}

// edit the Service as its user does.
func (s *served) edit(change func(*corev1.Service)) {
	s.t.Helper()
	service := s.found()
	change(service)
	s.update(service)
}

// state is what there is.
func (s *served) state() []string {
	s.t.Helper()
	var state []string
	for _, container := range s.containers() {
		state = append(state, container.Name, container.ID, string(container.Status), fmt.Sprint(s.processes.Weights(container.Name)))
	}
	return append(state, string(must.Get(json.Marshal(s.found()))(s.t)))
}

// look is what the API server, the informers, the service controller and repairs do once.
func (s *served) look() {
	service := s.found()
	if service != nil && !service.DeletionTimestamp.IsZero() && len(service.Finalizers) == 0 {
		_ = s.client.CoreV1().Services("default").Delete(s.t.Context(), service.Name, metav1.DeleteOptions{})
		service = s.found()
	}
	for _, cached := range s.services.List() {
		_ = s.services.Delete(cached)
	}
	if service != nil {
		_ = s.services.Add(service)
		// What fails is retried.
		_ = s.reconcile(service)
	}
	s.changes.AddAll()
	s.repair()
	s.emitted()
}

// reconcile a Service as Kubernetes' service controller does.
func (s *served) reconcile(service *corev1.Service) error {
	ctx, after := s.t.Context(), service.DeepCopy()
	switch hasFinalizer := helpers.HasLBFinalizer(service); {
	case needsLoadBalancer(service) && !hasFinalizer:
		after.Finalizers = append(after.Finalizers, helpers.LoadBalancerCleanupFinalizer)
	case needsLoadBalancer(service):
		status, err := s.balancers.EnsureLoadBalancer(ctx, "", service, nil)
		if errors.Is(err, cloudprovider.ImplementedElsewhere) {
			return nil
		}
		if err != nil {
			return err
		}
		after = s.found()
		service = after.DeepCopy()
		after.Status.LoadBalancer = *status
	case hasFinalizer:
		_, exists, err := s.balancers.GetLoadBalancer(ctx, "", service)
		if err != nil {
			return err
		}
		if exists {
			if err := s.balancers.EnsureLoadBalancerDeleted(ctx, "", service); err != nil {
				return err
			}
		}
		after.Status.LoadBalancer = corev1.LoadBalancerStatus{}
		after.Finalizers = nil
	}
	_, err := helpers.PatchService(s.client.CoreV1(), service, after)
	return err
}

// TestFaults: a Service has one load balancer, which keeps its address and serves its ports,
// or none if it wants none, whichever call fails, loses its answer or sees the manager killed.
func TestFaults(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		// change a Service that is served; nil = begin with one that is not.
		change func(*served)
		drains bool
		// ports that the load balancer has in the end; none = there is no load balancer.
		ports []string
	}{
		"Create": {reason: "It gets one.", ports: []string{"80/tcp"}},
		"Change": {
			reason: "The container is replaced, with its address, and gets a relay.", ports: []string{"80/tcp", "80/udp", "443/tcp"},
			change: func(s *served) {
				s.edit(func(service *corev1.Service) {
					service.Spec.Ports = slices.Concat(withPort443().Spec.Ports, []corev1.ServicePort{udpPort(80)})
				})
			},
		},
		"Lost": {
			reason: "Another container takes its place.", ports: []string{"80/tcp"},
			change: func(s *served) { must.Succeed(s.t, s.engine.RemoveContainer(s.t.Context(), name())) },
		},
		"Delete": {
			reason: "The load balancer goes first.",
			change: func(s *served) {
				s.edit(func(service *corev1.Service) { service.DeletionTimestamp = ptr.To(metav1.Now()) })
			},
		},
		"AnotherType": {
			reason: "It wants none any more.",
			change: func(s *served) {
				s.edit(func(service *corev1.Service) { service.Spec.Type = corev1.ServiceTypeClusterIP })
			},
		},
		"SwitchedOff": {reason: "The cluster provides none any more.", change: func(*served) {}, drains: true},
	}
	for title, tc := range cases {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			faults.Each(t, nil, func(t *testing.T, f faults.Fault) *faults.Injector {
				t.Helper()
				s := &served{newWorld(t)}
				var address netip.Addr
				if tc.change != nil {
					if !(faults.Fault{}).Arm(s).Settle(s.state, s.look) {
						t.Fatal("the Service is not served")
					}
					address = s.address()
					tc.change(s)
				}
				injector := f.Arm(s)
				injector.Engine(s.engine)
				injector.Client(&s.client.Fake, s.client.Tracker())
				act := s.look
				if tc.drains {
					act = func() { _ = drain(t.Context(), s.client, s.engine, builders.Owner()) }
				}
				if !injector.Settle(s.state, act) {
					t.Fatal("the work does not end")
				}
				s.check(tc.ports, address)
				if t.Failed() {
					t.Log(tc.reason)
				}
				return injector
			})
		})
	}
}

// address of the load balancer.
func (s *served) address() netip.Addr {
	s.t.Helper()
	return network.Addresses(must.Get(s.engine.InspectContainer(s.t.Context(), name()))(s.t), network.DefaultName)[0]
}

// check that there is one load balancer with these ports, and the address unless it is zero.
func (s *served) check(ports []string, address netip.Addr) {
	s.t.Helper()
	service, containers := s.found(), s.containers()
	if len(ports) == 0 {
		if len(containers) > 0 || service != nil && (len(service.Finalizers) > 0 || len(service.Status.LoadBalancer.Ingress) > 0) {
			s.t.Errorf("containers %v and Service %+v are left", containers, service)
		}
		return
	}
	if len(containers) != 1 || containers[0].Status != engine.StatusRunning {
		s.t.Fatalf("containers %v, want one that runs", containers)
	}
	published := must.Get(loadbalancer.Inspect(s.t.Context(), s.engine, name()))(s.t).Ports()
	var served []string
	for _, port := range published {
		served = append(served, fmt.Sprintf("%d/%s", port.ContainerPort, port.Protocol.Name()))
	}
	if !slices.Equal(served, ports) {
		s.t.Errorf("ports %v are served, want %v", served, ports)
	}
	if annotation := service.Annotations[HostPortsAnnotation]; annotation != formatHostPorts(published) {
		s.t.Errorf("annotation %q, want that of %v", annotation, published)
	}
	if diff := cmp.Diff(map[string]int{"a": 100}, s.processes.Weights(name())); diff != "" {
		s.t.Errorf("backends (-want +got):\n%s", diff)
	}
	if address.IsValid() && s.address() != address {
		s.t.Errorf("address %s became %s", address, s.address())
	}
	if ingress := service.Status.LoadBalancer.Ingress; len(ingress) != 1 || ingress[0].IP != s.address().String() {
		s.t.Errorf("status %v, want %s", ingress, s.address())
	}
}
