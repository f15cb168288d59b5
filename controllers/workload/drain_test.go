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

package workload_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/controllers/engines"
	"github.com/capi-samples/cluster-api-provider-container/controllers/workload"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

func (w *world) isAnnotated() bool {
	_, annotated := w.containerCluster().Annotations[infrav1.ServiceLoadBalancersAnnotation]
	return annotated
}

func balanced(o *builders.Objects) {
	o.ContainerCluster.Spec.Storage = infrav1.Storage{}
	o.ContainerCluster.Spec.ServiceLoadBalancer.Type = infrav1.LoadBalancerHAProxy
}

func switchOff(c *infrav1.ContainerCluster) {
	c.Spec.ServiceLoadBalancer.Type = infrav1.LoadBalancerNone
}

// TestDrain: load balancers are removed once, after they were switched off.
func TestDrain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, balanced)
	w.reconcile()
	w.expect(1, 0)
	if !w.isAnnotated() || w.drains != 0 {
		t.Fatalf("annotated: %t, drained %d times", w.isAnnotated(), w.drains)
	}
	w.report(workload.LoadBalancers, "", nil)
	w.edit(switchOff)
	w.drainError = errors.New("no connection")
	if diff := w.reconcile(); diff != (ctrl.Result{RequeueAfter: 5 * time.Second}) {
		t.Errorf("result %+v", diff)
	}
	// Nothing of them ran meanwhile.
	w.expect(1, 1)
	w.expectCondition("False Draining serviceLoadBalancer: remove load balancers of Services: no connection")
	if !w.isAnnotated() {
		t.Error("a manager that starts now would not continue")
	}
	w.drainError = nil
	for range 2 {
		w.reconcile()
	}
	w.expectCondition("")
	if w.isAnnotated() || w.drains != 2 {
		t.Errorf("annotated: %t, drained %d times, want twice: Services are then another implementation's", w.isAnnotated(), w.drains)
	}
}

// TestDrainLater: the workload cluster was not reached when load balancers were switched off,
// and another manager does it.
func TestDrainLater(t *testing.T) {
	t.Parallel()
	w := newWorld(t, balanced)
	w.reconcile()
	w.expect(1, 0)
	w.cache.config = nil
	w.edit(switchOff)
	w.reconcile()
	w.expect(0, 1)
	w.expectCondition("False Connecting Waiting for the API server of the workload cluster")
	w.cache.config = connected().config
	w.reconciler = &workload.Reconciler{
		Client: w.client, ClusterCache: w.cache, Engines: engines.New(&engines.Connection{Engine: w.engine}, engines.Options{}), Run: w.run, Drain: w.drain,
	}
	w.reconcile()
	w.expectCondition("")
	if w.isAnnotated() || w.drains != 1 {
		t.Errorf("annotated: %t, drained %d times", w.isAnnotated(), w.drains)
	}
}

// TestDrainWithoutAnnotation: a container on the engine is reason enough, as one that another
// version of the provider has left.
func TestDrainWithoutAnnotation(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nothing)
	w.reconcile()
	w.expect(1, 0)
	if w.drains != 0 {
		t.Fatal("drained a cluster that has no load balancer")
	}
	w.engine.AddImage(engine.Image{Tags: []string{builders.NodeImage}}, nil)
	_, err := w.engine.CreateContainer(t.Context(), engine.Spec{
		Name: "lb", Image: builders.NodeImage, Labels: builders.Owner().ContainerLabels(identity.RoleServiceLoadBalancer, "web"),
	})
	must.Succeed(t, err)
	w.reconcile()
	if w.drains != 1 {
		t.Errorf("drained %d times", w.drains)
	}
}

// TestDrainOnAnotherEngine: Services are not released while their load balancers may run
// elsewhere.
func TestDrainOnAnotherEngine(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *builders.Objects) {
		balanced(o)
		metav1.SetMetaDataAnnotation(&o.ContainerCluster.ObjectMeta, infrav1.EngineAnnotation, "simulated")
		switchOff(o.ContainerCluster)
		metav1.SetMetaDataAnnotation(&o.ContainerCluster.ObjectMeta, infrav1.ServiceLoadBalancersAnnotation, "")
	})
	w.engine.SwitchStorage("another")
	if result := w.reconcile(); w.drains != 0 || !w.isAnnotated() || result.RequeueAfter == 0 {
		t.Errorf("drained %d times, annotated: %t, %+v", w.drains, w.isAnnotated(), result)
	}
	if condition := w.condition(); !strings.Contains(condition, "another container engine") {
		t.Errorf("condition %q", condition)
	}
	w.engine.SwitchStorage("simulated")
	w.reconcile()
	if w.drains != 1 || w.isAnnotated() {
		t.Errorf("on the engine of the cluster: drained %d times, annotated: %t", w.drains, w.isAnnotated())
	}
}

// TestDrainUnknown: an engine that does not answer is asked again, and the rest is reported.
func TestDrainUnknown(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.engine.FailNext("ListContainers", engine.ErrUnavailable)
	_, err := w.reconciler.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(w.objects.Cluster)})
	if !errors.Is(err, engine.ErrUnavailable) || w.drains != 0 {
		t.Errorf("Reconcile: %v, drained %d times", err, w.drains)
	}
	w.expectCondition("False Connecting Starting: storage")
}

// TestCleanUp: a run without any part removes what was published for tools, once.
func TestCleanUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *builders.Objects) {
		nothing(o)
		o.ContainerCluster.Spec.Registries = []infrav1.Registry{{Host: "localhost:5001", Mirrors: []infrav1.RegistryMirror{{URL: "http://10.0.0.5:5000"}}}}
	})
	w.reconcile()
	if settings := <-w.started; settings.LocalRegistry.Host != "localhost:5001" {
		t.Errorf("started with %+v", settings)
	}
	w.edit(func(c *infrav1.ContainerCluster) { c.Spec.Registries = nil })
	for range 2 {
		w.reconcile()
	}
	if settings := <-w.started; settings.LocalRegistry != (workload.LocalRegistry{}) {
		t.Errorf("started with %+v", settings)
	}
	<-w.ended
	w.expect(0, 0)
}
