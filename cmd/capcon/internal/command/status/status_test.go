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

package status_test

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/cluster-api/util/conditions"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/command/commandtest"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

func setAvailable(w *commandtest.World) {
	w.T.Helper()
	commandtest.Update(w, "demo", &clusterv1.Cluster{}, func(cluster *clusterv1.Cluster) {
		cluster.Status.Initialization.ControlPlaneInitialized = ptr.To(true)
		conditions.Set(cluster, metav1.Condition{Type: clusterv1.ClusterAvailableCondition, Status: metav1.ConditionTrue, Reason: "Available"})
	})
}

// After a restart of the engine Cluster API still reports what was true before.
func TestStatusOfStoppedContainer(t *testing.T) {
	t.Parallel()
	w := commandtest.Created(t)
	setAvailable(w)
	commandtest.Contains(t, w.MustRun("status"), "1/1             1/1      available")
	commandtest.Contains(t, w.MustRun("status", "demo"), "1/1             1/1      available", "True   Available  0s")

	must.Succeed(t, w.Engine.StopContainer(t.Context(), "demo-a-1234", time.Second))
	commandtest.Contains(t, w.MustNotYet("status"), "not available: container demo-a-1234 is exited")
	commandtest.Contains(t, w.MustNotYet("status", "demo"), "1/1      not available: container demo-a-1234 is exited", "False                 not available: container demo-a-1234 is exited")
	commandtest.Contains(t, w.MustNotYet("status", "-o", "json"), `"available": false`)
}

// Containers on all engines of a cluster count. An engine that is not reached says nothing about its own.
func TestStatusOverEngines(t *testing.T) {
	t.Parallel()
	w, _, other := commandtest.Spread(t)
	// Also of a cluster that is not available.
	w.BreakEngine("build", "connection refused")
	commandtest.Contains(t, w.MustNotYet("status"), "build,other", "ContainerEngine build", "connection refused")
	commandtest.Update(w, "demo", &infrav1.ContainerCluster{}, func(o *infrav1.ContainerCluster) {
		o.Status.Conditions = append(o.Status.Conditions, metav1.Condition{
			Type: infrav1.WorkloadControllersReadyCondition, Status: metav1.ConditionFalse,
			Reason: infrav1.WorkloadControllersNotReadyReason, Message: "serviceLoadBalancer: list containers",
		})
	})
	commandtest.Contains(t, w.MustNotYet("status"), "it is retried once ContainerEngine build is reached")
	commandtest.Update(w, "build", &infrav1.ContainerEngine{}, func(o *infrav1.ContainerEngine) {
		for i := range o.Status.Conditions {
			o.Status.Conditions[i].Status = metav1.ConditionTrue
		}
	})
	setAvailable(w)
	commandtest.Lacks(t, w.MustNotYet("status"), "ContainerEngine", "exited")
	must.Succeed(t, other.StopContainer(t.Context(), "demo-b", time.Second))
	commandtest.Contains(t, w.MustNotYet("status"), "not available: container demo-b is exited")

	w.BreakEngine("other", "no route to host")
	commandtest.Contains(t, w.MustNotYet("status"), "ContainerEngine other", "Unreachable", "no route to host", "capcon engine list -o wide")
	commandtest.Lacks(t, w.MustNotYet("status"), "exited")
}

// The Pods of a claim whose node was deleted stay pending, in a cluster that is available.
func TestStatusOfVolumeWithoutNode(t *testing.T) {
	t.Parallel()
	w := commandtest.WithVolume(t)
	setAvailable(w)
	commandtest.Lacks(t, w.MustRun("status"), "PersistentVolume") // its node exists
	must.Succeed(t, w.Workload.DeleteAllOf(t.Context(), &corev1.Node{}))
	for _, args := range [][]string{{"status"}, {"status", "demo"}} {
		commandtest.Contains(t, w.MustRun(args...), "default/data", "VolumeNodeDeleted", "kubectl --namespace default delete persistentvolumeclaim data")
	}
	w.Workload = nil
	commandtest.Lacks(t, w.MustRun("status"), "PersistentVolume")
}

// Both forms of status go by the Nodes, which Cluster API's summary follows by some seconds.
func TestStatusGoesByTheNodes(t *testing.T) {
	t.Parallel()
	w := commandtest.Created(t)
	setAvailable(w)
	for _, name := range []string{"demo-a", "demo-worker-0"} {
		commandtest.Update(w, name, &clusterv1.Machine{}, func(machine *clusterv1.Machine) {
			conditions.Set(machine, metav1.Condition{Type: clusterv1.MachineNodeReadyCondition, Status: metav1.ConditionFalse, Reason: "NodeNotReady"})
		})
	}
	for _, args := range [][]string{{"status"}, {"status", "demo"}} {
		out := w.MustNotYet(args...)
		commandtest.Contains(t, out, "0/1  0/1  not available: control plane: 0 of 1 available")
		commandtest.Lacks(t, out, "True")
	}
}

// Cluster API calls a cluster available whose only worker may be missing.
func TestStatusWithoutItsWorker(t *testing.T) {
	t.Parallel()
	w := commandtest.Created(t)
	setAvailable(w)
	commandtest.Update(w, "demo-worker-0", &clusterv1.Machine{}, func(machine *clusterv1.Machine) {
		conditions.Set(machine, metav1.Condition{Type: clusterv1.MachineNodeReadyCondition, Status: metav1.ConditionFalse, Reason: "NodeNotReady"})
	})
	commandtest.Contains(t, w.MustNotYet("status", "demo"), "1/1  0/1  available, not complete: workers: 0 of 1 available")
	commandtest.Contains(t, w.MustNotYet("status", "-o", "json"), `"available": true`)
}

func TestStatusOfClusterDeletedMeanwhile(t *testing.T) {
	t.Parallel()
	w := commandtest.Created(t)
	w.ReadErrors = map[string]error{"Cluster": apierrors.NewNotFound(schema.GroupResource{Resource: "clusters"}, "demo")}
	commandtest.Contains(t, w.MustRun("status"), "No clusters found")
}

func TestStatusWithoutEngine(t *testing.T) {
	t.Parallel()
	w := commandtest.New(t)
	w.Engine.Down()
	for _, format := range []string{"text", "json"} {
		commandtest.Contains(t, w.MustFail("status", "-o", format), "unavailable", "get engine info")
	}
}

// A pipe gets one line for each change, until the user ends the command.
func TestStatusWatch(t *testing.T) {
	t.Parallel()
	w := commandtest.Created(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	looks := 0
	w.Controllers = func() {
		switch looks++; looks {
		case 2:
			setAvailable(w)
		case 4:
			cancel()
		}
	}
	code, out, errs := w.RunIn(ctx, "status", "--watch")
	if code != 130 || errs != "" {
		t.Errorf("exit code %d, standard error %q", code, errs)
	}
	commandtest.Contains(t, out, "done    management plane: ready", "cluster demo: v1.36.3, 2 of 2 Nodes ready, starting", "cluster demo: v1.36.3, 2 of 2 Nodes ready, available")
	if lines := strings.Count(out, "\n"); lines != 3 {
		t.Errorf("%d lines for 3 changes:\n%s", lines, out)
	}
	commandtest.Contains(t, w.MustFail("status", "dmeo", "--watch"), `cluster "dmeo" not found`)
	commandtest.Contains(t, w.MustFail("status", "--watch", "-o", "json"), "omit --output")
}

// TestStatusOnEngine: the status of a cluster on the engine of another host says on which.
func TestStatusOnEngine(t *testing.T) {
	t.Parallel()
	w, _ := commandtest.WithEngine(t)
	for _, args := range [][]string{{"status"}, {"status", "demo"}} {
		commandtest.Contains(t, w.MustNotYet(args...), "WORKERS  ENGINE  STATE", "0/0  build  ")
	}
	commandtest.Contains(t, w.MustNotYet("status", "-o", "json"), `"engineName": "build"`)
}
