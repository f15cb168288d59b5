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

package command

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// After a restart of the engine Cluster API still reports what was true before.
func TestStatusOfStoppedContainer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.controllers = w.become
	if code, out, errs := w.run("up", "demo"); code != 0 {
		t.Fatalf("up ended with %d:\n%s%s", code, out, errs)
	}
	cluster := &clusterv1.Cluster{}
	must.Succeed(t, w.client.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "demo"}, cluster))
	conditions.Set(cluster, metav1.Condition{Type: clusterv1.ClusterAvailableCondition, Status: metav1.ConditionTrue, Reason: "Available"})
	must.Succeed(t, w.client.Update(t.Context(), cluster))
	_, out, _ := w.run("status")
	mustContain(t, out, "1/1             1/1      available")
	_, out, _ = w.run("status", "demo")
	mustContain(t, out, "1/1             1/1      available", "True   Available  0s")

	must.Succeed(t, w.engine.StopContainer(t.Context(), "demo-a-1234", time.Second))
	_, out, _ = w.run("status")
	mustContain(t, out, "not available: container demo-a-1234 is exited")
	_, out, _ = w.run("status", "demo")
	mustContain(t, out, "1/1      not available: container demo-a-1234 is exited", "False                 not available: container demo-a-1234 is exited")
	_, out, _ = w.run("status", "-o", "json")
	mustContain(t, out, `"available": false`)
}

// The Pods of a claim whose node was deleted stay pending, in a cluster that is available.
func TestStatusOfVolumeWithoutNode(t *testing.T) {
	t.Parallel()
	w := created(t)
	cluster := w.cluster()
	conditions.Set(cluster, metav1.Condition{Type: clusterv1.ClusterAvailableCondition, Status: metav1.ConditionTrue, Reason: "Available"})
	must.Succeed(t, w.client.Update(t.Context(), cluster))
	if _, out, _ := w.run("status"); strings.Contains(out, "PersistentVolume") {
		t.Errorf("its node exists:\n%s", out)
	}
	must.Succeed(t, w.workload.DeleteAllOf(t.Context(), &corev1.Node{}))
	for _, args := range [][]string{{"status"}, {"status", "demo"}} {
		_, out, _ := w.run(args...)
		mustContain(t, out, "default/data", "VolumeNodeDeleted", "kubectl --namespace default delete persistentvolumeclaim data")
	}
	w.workload = nil
	if code, out, errs := w.run("status"); code != 0 || strings.Contains(out, "PersistentVolume") {
		t.Errorf("without an API server, status ended with %d:\n%s%s", code, out, errs)
	}
}

// Both forms of status go by the Nodes, which Cluster API's summary follows by some seconds.
func TestStatusGoesByTheNodes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.controllers = w.become
	if code, out, errs := w.run("up", "demo"); code != 0 {
		t.Fatalf("up ended with %d:\n%s%s", code, out, errs)
	}
	cluster := w.cluster()
	cluster.Status.Initialization.ControlPlaneInitialized = ptr.To(true)
	conditions.Set(cluster, metav1.Condition{Type: clusterv1.ClusterAvailableCondition, Status: metav1.ConditionTrue, Reason: "Available"})
	must.Succeed(t, w.client.Update(t.Context(), cluster))
	for _, name := range []string{"demo-a", "demo-worker-0"} {
		machine := &clusterv1.Machine{}
		must.Succeed(t, w.client.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: name}, machine))
		conditions.Set(machine, metav1.Condition{Type: clusterv1.MachineNodeReadyCondition, Status: metav1.ConditionFalse, Reason: "NodeNotReady"})
		must.Succeed(t, w.client.Update(t.Context(), machine))
	}
	for _, args := range [][]string{{"status"}, {"status", "demo"}} {
		_, out, _ := w.run(args...)
		mustContain(t, out, "0/1             0/1      not available: control plane: 0 of 1 available")
		if strings.Contains(out, "True") {
			t.Errorf("%v contradicts itself:\n%s", args, out)
		}
	}
}
