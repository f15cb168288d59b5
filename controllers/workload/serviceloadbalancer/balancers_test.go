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
	"context"
	"errors"
	"math"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	listersv1 "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	cloudprovider "k8s.io/cloud-provider"

	containercluster "github.com/capi-samples/cluster-api-provider-container/controllers/cluster"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/imagepull"
	"github.com/capi-samples/cluster-api-provider-container/internal/loadbalancer"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
	"github.com/capi-samples/cluster-api-provider-container/test/simulatedhaproxy"
)

// world is a cluster with the Service of web, on a simulated engine.
type world struct {
	t         *testing.T
	engine    *simulated.Engine
	processes *simulatedhaproxy.Processes
	client    *fake.Clientset
	services  cache.Indexer
	nodes     cache.Indexer
	events    *record.FakeRecorder
	changes   *Changes
	balancers *balancers
	// reported is what repairs report.
	reported []error
}

type images struct{ absent bool }

func (i *images) Ensure(_ context.Context, reference string) (imagepull.Status, error) {
	return imagepull.Status{Reference: reference, Present: !i.absent}, nil
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{
		t: t, engine: simulated.New(), client: fake.NewClientset(web()), events: record.NewFakeRecorder(100),
		services: cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{}),
		nodes:    cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{}),
	}
	for _, node := range nodes() {
		must.Succeed(t, w.nodes.Add(node))
	}
	w.processes = simulatedhaproxy.Run(w.engine)
	w.engine.AddImage(engine.Image{Tags: []string{builders.LoadBalancerImage}, Labels: map[string]string{loadbalancer.RelayLabel: "true"}}, nil)
	must.Get(network.Ensure(t.Context(), w.engine, network.Request{Subnets: []netip.Prefix{netip.MustParsePrefix("10.7.0.0/24")}}))(t)
	must.Succeed(t, w.services.Add(web()))
	w.start()
	return w
}

// start as a manager does, without what the last one knew.
func (w *world) start() {
	w.changes = NewChanges()
	w.t.Cleanup(w.changes.Close)
	w.balancers = newBalancers(w.t.Context(), Options{
		Engine: w.engine, Images: &images{}, Recorded: containercluster.EngineRecord{Owner: builders.Owner()}, Network: network.DefaultName, Image: builders.LoadBalancerImage,
		HostPorts: network.DefaultHostPorts(), MaxServices: math.MaxInt32,
		Report: func(err error) { w.reported = append(w.reported, err) },
	}, access{client: w.client, services: listersv1.NewServiceLister(w.services), nodes: listersv1.NewNodeLister(w.nodes)}, w.changes, w.events)
}

// ensure the load balancer of a Service as the service controller does, which has it from
// the cache.
func (w *world) ensure(service *corev1.Service) *corev1.LoadBalancerStatus {
	w.t.Helper()
	must.Succeed(w.t, w.services.Update(service))
	return must.Get(w.balancers.EnsureLoadBalancer(w.t.Context(), "", service, nil))(w.t)
}

// refuse is ensure of a Service that gets no load balancer. It returns the Events.
func (w *world) refuse(service *corev1.Service) []string {
	w.t.Helper()
	must.Succeed(w.t, w.services.Update(service))
	_, err := w.balancers.EnsureLoadBalancer(w.t.Context(), "", service, nil)
	// The service controller compares it, and neither retries nor emits an Event.
	if err != cloudprovider.ImplementedElsewhere { //nolint:errorlint // See above.
		w.t.Errorf("EnsureLoadBalancer: %v, want it handled", err)
	}
	return w.emitted()
}

// emitted are the Events since it was last called.
func (w *world) emitted() []string {
	var all []string
	for len(w.events.Events) > 0 {
		all = append(all, <-w.events.Events)
	}
	return all
}

// repair what is to be looked at, and not what is retried later.
func (w *world) repair() {
	for w.changes.Len() > 0 {
		w.balancers.repairNext()
	}
}

// hostPort on which the container publishes port 80.
func (w *world) hostPort() uint16 {
	w.t.Helper()
	return must.Get(w.engine.InspectContainer(w.t.Context(), name()))(w.t).Ports[0].HostPort
}

// service as it is in the API server, with a status.
func (w *world) service(status *corev1.LoadBalancerStatus) *corev1.Service {
	w.t.Helper()
	service := must.Get(w.client.CoreV1().Services("default").Get(w.t.Context(), "web", metav1.GetOptions{}))(w.t)
	service.Status.LoadBalancer = *status
	return service
}

func (w *world) containers() []engine.Container {
	w.t.Helper()
	return must.Get(w.engine.ListContainers(w.t.Context(), builders.Owner().Labels()))(w.t)
}

func name() string { return builders.Owner().ServiceContainer("web", "uid-web") }

func TestEnsure(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if got := w.balancers.GetLoadBalancerName(t.Context(), "", web()); got != name() {
		t.Errorf("load balancer %q, want %q", got, name())
	}
	status := w.ensure(web())
	found := must.Get(w.engine.InspectContainer(t.Context(), name()))(t)
	if len(status.Ingress) != 1 || status.Ingress[0].IP != found.Networks["capcon"].Addresses[0].String() ||
		*status.Ingress[0].IPMode != corev1.LoadBalancerIPModeProxy {
		t.Errorf("status %+v, want the address of the container", status)
	}
	if found.Labels[identity.LabelService] != "default/web" || found.Labels[identity.LabelServiceUID] != "uid-web" || found.Labels["io.x-k8s.kind.cluster"] != "" {
		t.Errorf("labels %v", found.Labels)
	}
	if diff := cmp.Diff(map[string]int{"a": 100}, w.processes.Weights(name())); diff != "" {
		t.Errorf("backends: -want +got:\n%s", diff)
	}
	want := formatHostPorts(found.Ports)
	service := w.service(status)
	if got := service.Annotations[HostPortsAnnotation]; got != want {
		t.Errorf("annotation %q, want %q", got, want)
	}
	w.engine.ResetJournal()
	w.ensure(service)
	for _, call := range w.engine.MutatingCalls() {
		if !simulatedhaproxy.Reads(call) {
			t.Errorf("nothing changed, and it called %+v", call)
		}
	}
	if _, exists, err := w.balancers.GetLoadBalancer(t.Context(), "", service); err != nil || !exists {
		t.Errorf("GetLoadBalancer: %t, %v", exists, err)
	}
}

// TestPlaceIsKept whatever removes the container and whatever is lost with it.
func TestPlaceIsKept(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		change func(*world)
		// moved: address and host port are others.
		moved bool
	}{
		"removed":           {change: func(w *world) { must.Succeed(w.t, w.engine.RemoveContainer(w.t.Context(), name())) }},
		"manager restarted": {change: func(w *world) { w.start() }},
		"removed, and manager restarted": {change: func(w *world) {
			must.Succeed(w.t, w.engine.RemoveContainer(w.t.Context(), name()))
			w.start()
		}},
		"stopped": {change: func(w *world) { must.Succeed(w.t, w.engine.StopContainer(w.t.Context(), name(), 0)) }},
		"taken meanwhile": {
			change: func(w *world) {
				found := must.Get(w.engine.InspectContainer(w.t.Context(), name()))(w.t)
				must.Succeed(w.t, w.engine.RemoveContainer(w.t.Context(), name()))
				w.engine.OccupyHostPort(found.Ports[0].HostPort)
				must.Get(w.engine.CreateContainer(w.t.Context(), engine.Spec{
					Name: "other", Image: builders.LoadBalancerImage,
					Attachment: engine.Attachment{Network: "capcon", Addresses: found.Networks["capcon"].Addresses},
				}))(w.t)
				must.Succeed(w.t, w.engine.StartContainer(w.t.Context(), "other"))
			},
			moved: true,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			before := w.ensure(web())
			service := w.service(before)
			tc.change(w)
			after := w.ensure(service)
			moved := after.Ingress[0].IP != before.Ingress[0].IP
			movedPort := w.service(after).Annotations[HostPortsAnnotation] != service.Annotations[HostPortsAnnotation]
			if moved != tc.moved || movedPort != tc.moved {
				t.Errorf("address moved: %t, host port: %t, want %t", moved, movedPort, tc.moved)
			}
		})
	}
}

func TestAddressAskedFor(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.ensure(web())
	service := web()
	service.Spec.LoadBalancerIP = "10.7.0.77"
	if status := w.ensure(service); status.Ingress[0].IP != "10.7.0.77" {
		t.Errorf("status %+v, want 10.7.0.77", status)
	}
	other := web()
	other.Name, other.UID, other.Spec.LoadBalancerIP = "other", "uid-other", "10.7.0.77"
	want := []string{`Warning SyncLoadBalancerFailed create load balancer: place container "` + builders.Owner().ServiceContainer("other", "uid-other") +
		`": on network "capcon": address 10.7.0.77 is in use by container "` + name() + `"`}
	if diff := cmp.Diff(want, w.refuse(other)); diff != "" {
		t.Errorf("Events: -want +got:\n%s", diff)
	}
	must.Succeed(t, w.balancers.EnsureLoadBalancerDeleted(t.Context(), "", web()))
	must.Succeed(t, w.services.Delete(web()))
	must.Get(w.client.CoreV1().Services("default").Create(t.Context(), other, metav1.CreateOptions{}))(t)
	w.changes.AddAll()
	w.repair()
	published := must.Get(w.client.CoreV1().Services("default").Get(t.Context(), "other", metav1.GetOptions{}))(t)
	if ingress := published.Status.LoadBalancer.Ingress; len(ingress) != 1 || ingress[0].IP != "10.7.0.77" {
		t.Errorf("status %+v, want 10.7.0.77, which is free now", published.Status)
	}
	if diff := cmp.Diff([]string{"Normal EnsuredLoadBalancer Ensured load balancer"}, w.emitted()); diff != "" {
		t.Errorf("Events: -want +got:\n%s", diff)
	}
}

func TestUpdate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	must.Succeed(t, w.balancers.UpdateLoadBalancer(t.Context(), "", web(), nil))
	if left := w.containers(); len(left) > 0 {
		t.Errorf("an update created %v", left)
	}
	w.ensure(web())
	excluded := nodes()[0]
	excluded.Labels = map[string]string{corev1.LabelNodeExcludeBalancers: "true"}
	must.Succeed(t, w.nodes.Update(excluded))
	must.Succeed(t, w.balancers.UpdateLoadBalancer(t.Context(), "", web(), nodes()))
	if weights := w.processes.Weights(name()); len(weights) > 0 {
		t.Errorf("backends %v, want none: the list that was passed is older than the cache", weights)
	}
	must.Succeed(t, w.nodes.Update(nodes()[0]))
	w.changes.AddAll()
	w.repair()
	if diff := cmp.Diff(map[string]int{"a": 100}, w.processes.Weights(name())); diff != "" {
		t.Errorf("backends: -want +got:\n%s", diff)
	}
	must.Succeed(t, w.balancers.EnsureLoadBalancerDeleted(t.Context(), "", web()))
	must.Succeed(t, w.balancers.UpdateLoadBalancer(t.Context(), "", web(), nil))
	w.changes.AddAll()
	w.repair()
	if left := w.containers(); len(left) > 0 {
		t.Errorf("left after the deletion: %v", left)
	}
}

func TestImageIsPulled(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	pulling := &images{absent: true}
	w.balancers.Images = pulling
	want := []string{"Warning SyncLoadBalancerFailed image is not present: pulling image " + builders.LoadBalancerImage}
	if diff := cmp.Diff(want, w.refuse(web())); diff != "" {
		t.Errorf("Events: -want +got:\n%s", diff)
	}
	pulling.absent = false
	w.changes.AddAll()
	w.repair()
	if created := w.containers(); len(created) != 1 {
		t.Errorf("containers %v, want one", created)
	}
}

func TestClosed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.balancers.close()
	if _, err := w.balancers.EnsureLoadBalancer(t.Context(), "", web(), nil); !errors.Is(err, errStopped) {
		t.Errorf("EnsureLoadBalancer: %v, want errStopped", err)
	}
	w.changes.Close()
	w.balancers.repair() // It ends with the changes.
}
