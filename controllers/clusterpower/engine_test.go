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

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
)

// TestAnotherEngine: what another engine does not have is neither stopped nor lost.
func TestAnotherEngine(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *builders.Objects) {
		metav1.SetMetaDataAnnotation(&o.ContainerCluster.ObjectMeta, infrav1.EngineAnnotation, "simulated")
	})
	look := func(what string, want state) {
		t.Helper()
		for range 10 {
			w.reconcile()
			w.clock.Step(time.Minute)
		}
		w.expect(what, want)
		if reason, message := w.condition(); reason != infrav1.EngineChangedReason {
			t.Errorf("%s: condition %s (%s), want %s", what, reason, message, infrav1.EngineChangedReason)
		}
	}
	w.setReported(metav1.ConditionFalse)
	w.edit(stopped)
	w.engine.SwitchStorage("another")
	look("stopped elsewhere", state{})

	w.engine.SwitchStorage("simulated")
	w.settle()
	w.expect("stopped", state{0, true, true})

	w.edit(started)
	w.engine.SwitchStorage("another")
	// A MachineHealthCheck would remediate the Machines of a Cluster that is not paused.
	look("started elsewhere", state{0, true, true})

	w.engine.SwitchStorage("simulated")
	w.settle()
	w.expect("started", state{5, false, false})
}
