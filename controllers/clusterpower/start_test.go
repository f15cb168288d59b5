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

package clusterpower_test

import (
	"testing"
	"time"

	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// TestCrashingContainer: a container that exits after each start does not keep the Cluster
// paused, and is not started without end.
func TestCrashingContainer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.edit(stopped)
	w.reconcile()
	w.edit(started)
	w.engine.OnStart(func(name string) {
		if name == "worker-1" {
			must.Succeed(t, w.engine.KillContainer(name, 1, false))
		}
	})
	w.engine.ResetJournal()
	for range 600 {
		w.reconcile()
		w.clock.Step(time.Second)
	}
	w.expect("after ten minutes", state{4, false, false})
	starts := 0
	for _, name := range w.calls("StartContainer") {
		if name == "worker-1" {
			starts++
		}
	}
	if starts < 3 || starts > 12 {
		t.Errorf("the container was started %d times", starts)
	}
}

// TestStartedEarly: whatever stop has done so far, the containers are started when its
// annotation is removed.
func TestStartedEarly(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.setReported("True")
	w.edit(stopped)
	w.reconcile()
	w.expect("not paused yet", state{0, false, false})
	w.edit(started)
	w.reconcile()
	w.reconcile()
	w.expect("started again", state{5, false, false})
}

// TestPausedMachine: a ContainerMachine that its user paused reports nothing, and is not
// waited for.
func TestPausedMachine(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *builders.Objects) {
		o.ContainerMachine.Annotations = map[string]string{clusterv1.PausedAnnotation: ""}
	})
	w.setReported("True")
	w.edit(stopped)
	w.reconcile()
	w.expect("stopped", state{0, true, true})
}

// TestPauseOfUser: what a user paused is stopped and started, and stays paused.
func TestPauseOfUser(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *builders.Objects) { o.Cluster.Spec.Paused = ptr.To(true) })
	w.edit(stopped)
	w.reconcile()
	w.expect("stopped", state{0, true, false})
	w.edit(started)
	w.reconcile()
	w.reconcile()
	w.expect("started", state{5, true, false})
}

// TestMaintenance: a container that a user keeps stopped stays so, and is not waited for.
func TestMaintenance(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *builders.Objects) {
		o.ContainerMachine.Annotations = map[string]string{infrav1.MaintenanceAnnotation: ""}
	})
	w.edit(stopped)
	w.reconcile()
	w.edit(started)
	w.reconcile()
	w.reconcile()
	w.expect("started", state{4, false, false})
}
