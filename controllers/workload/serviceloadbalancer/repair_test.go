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
	"net/netip"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/utils/ptr"

	containercluster "github.com/capi-samples/cluster-api-provider-container/controllers/cluster"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// withPort443 is the Service of web with another port.
func withPort443() *corev1.Service {
	service := web()
	service.Spec.Ports = append(service.Spec.Ports, corev1.ServicePort{Port: 443, NodePort: 30443, Protocol: corev1.ProtocolTCP})
	return service
}

// TestRepairAppliesTheLatest: a repair between a change that failed and its retry does not
// undo the change.
func TestRepairAppliesTheLatest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.ensure(web())
	// The container with another port exists, and does not answer.
	w.engine.FailNext("Exec", engine.ErrUnavailable)
	w.refuse(withPort443())
	changed := must.Get(w.engine.InspectContainer(t.Context(), name()))(t)
	w.changes.AddAll()
	w.repair()
	after := must.Get(w.engine.InspectContainer(t.Context(), name()))(t)
	if after.ID != changed.ID || len(after.Ports) != 2 {
		t.Errorf("container with ports %v was replaced by one with %v", changed.Ports, after.Ports)
	}
	// The service controller passes a Service that is older than the last one it balanced.
	must.Succeed(t, w.balancers.UpdateLoadBalancer(t.Context(), "", web(), nil))
	if again := must.Get(w.engine.InspectContainer(t.Context(), name()))(t); again.ID != changed.ID {
		t.Errorf("an update with an older Service replaced the container by one with %v", again.Ports)
	}
}

// TestRepairLooksAtOne: an event is about one container.
func TestRepairLooksAtOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	other := web()
	other.Name, other.UID = "other", "uid-other"
	w.client = fake.NewClientset(web(), other)
	w.start()
	w.ensure(web())
	w.ensure(other)
	must.Succeed(t, w.engine.StopContainer(t.Context(), name(), 0))
	w.engine.ResetJournal()
	w.changes.Add(must.Get(w.engine.InspectContainer(t.Context(), name()))(t).Labels)
	w.repair()
	if found := must.Get(w.engine.InspectContainer(t.Context(), name()))(t); found.Status != engine.StatusRunning {
		t.Errorf("container is %s, want it running", found.Status)
	}
	for _, call := range w.engine.Journal() {
		if call.Name == builders.Owner().ServiceContainer("other", "uid-other") || call.Method == "ListContainers" {
			t.Errorf("call %s of %q: only %q has changed", call.Method, call.Name, name())
		}
	}
}

// TestNoLoadBalancerAfterDeletion: the container of a Service was removed by hand before the
// Service was deleted.
func TestNoLoadBalancerAfterDeletion(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		change func(*corev1.Service)
	}{
		"deleted":      {"Its finalizer is about to be removed.", func(s *corev1.Service) { s.DeletionTimestamp = ptr.To(metav1.Now()) }},
		"other type":   {"It wants none.", func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeClusterIP }},
		"not observed": {"The cache does not have the deletion yet.", func(*corev1.Service) {}},
	}
	for title, tc := range cases {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.ensure(web())
			labels := must.Get(w.engine.InspectContainer(t.Context(), name()))(t).Labels
			must.Succeed(t, w.engine.RemoveContainer(t.Context(), name()))
			service := web()
			tc.change(service)
			must.Succeed(t, w.services.Update(service))
			if _, exists, err := w.balancers.GetLoadBalancer(t.Context(), "", service); exists || err != nil {
				t.Errorf("GetLoadBalancer: %t, %v, want none", exists, err)
			}
			w.changes.Add(labels)
			w.changes.AddAll()
			w.repair()
			must.Succeed(t, w.balancers.UpdateLoadBalancer(t.Context(), "", service, nil))
			if left := w.containers(); len(left) > 0 {
				t.Errorf("%s\nit got a load balancer once more: %v", tc.reason, left)
			}
		})
	}
}

// TestAnotherEngine: on another engine than the cluster's no load balancer is created, and that
// it has none does not release a Service.
func TestAnotherEngine(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.ensure(web())
	w.balancers.Recorded.StorageID = "simulated"
	w.engine.SwitchStorage("another")
	w.engine.AddImage(engine.Image{Tags: []string{builders.LoadBalancerImage}}, nil)
	must.Get(network.Ensure(t.Context(), w.engine, network.Request{Subnets: []netip.Prefix{netip.MustParsePrefix("10.7.0.0/24")}}))(t)

	events := w.refuse(web())
	if len(events) != 1 || !strings.Contains(events[0], "another container engine") {
		t.Errorf("Events: %q", events)
	}
	if created := w.containers(); len(created) > 0 {
		t.Errorf("created on another engine: %v", created)
	}
	other := new(*containercluster.OtherEngineError)
	if _, exists, err := w.balancers.GetLoadBalancer(t.Context(), "", web()); exists || !errors.As(err, other) {
		t.Errorf("the load balancer exists: %t (%v)", exists, err)
	}
	if err := w.balancers.EnsureLoadBalancerDeleted(t.Context(), "", web()); !errors.As(err, other) {
		t.Errorf("deleted: %v", err)
	}
	w.engine.SwitchStorage("simulated")
	must.Succeed(t, w.balancers.EnsureLoadBalancerDeleted(t.Context(), "", web()))
	if left := w.containers(); len(left) > 0 {
		t.Errorf("left on the engine of the cluster: %v", left)
	}
}

// TestRepairRemovesOrphans: another Service of the name has another load balancer.
func TestRepairRemovesOrphans(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.ensure(web())
	again := web()
	again.UID = "uid-again"
	must.Succeed(t, w.services.Update(again))
	w.engine.FailNext("RemoveContainer", engine.ErrUnavailable)
	labels := must.Get(w.engine.InspectContainer(t.Context(), name()))(t).Labels
	if err := w.balancers.repairOne(t.Context(), serviceOf(labels)); !errors.Is(err, engine.ErrUnavailable) {
		t.Errorf("repairOne: %v, want ErrUnavailable, which is retried", err)
	}
	w.changes.Add(labels)
	w.repair()
	if left := w.containers(); len(left) > 0 {
		t.Errorf("left: %v, whose Service was deleted and created again", left)
	}
}

// TestRepairReports an engine that does not list containers, until it does.
func TestRepairReports(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.engine.FailNext("ListContainers", engine.ErrUnavailable)
	for range 2 {
		w.changes.AddAll()
		w.repair()
	}
	if len(w.reported) != 2 || !errors.Is(w.reported[0], engine.ErrUnavailable) || w.reported[1] != nil {
		t.Errorf("reported: %v, want one error and its end", w.reported)
	}
}
