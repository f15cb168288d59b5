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

package cli

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// power is the part of the provider: it stops and starts as the annotation says.
func (w *world) power() {
	cluster := &clusterv1.Cluster{}
	must.Succeed(w.t, w.client.Get(w.t.Context(), client.ObjectKey{Namespace: "default", Name: "demo"}, cluster))
	if _, stopped := cluster.Annotations[infrav1.StoppedAnnotation]; stopped {
		must.Succeed(w.t, w.engine.StopContainer(w.t.Context(), "demo-a-1234", 0))
		cluster.Spec.Paused = ptr.To(true)
		metav1.SetMetaDataAnnotation(&cluster.ObjectMeta, infrav1.PausedWhileStoppedAnnotation, "")
	} else {
		must.Succeed(w.t, w.engine.StartContainer(w.t.Context(), "demo-a-1234"))
		cluster.Spec.Paused = nil
		delete(cluster.Annotations, infrav1.PausedWhileStoppedAnnotation)
	}
	must.Succeed(w.t, w.client.Update(w.t.Context(), cluster))
}

func TestStopAndStart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.controllers = w.become
	if code, out, errs := w.run("up", "demo"); code != 0 {
		t.Fatalf("up ended with %d:\n%s%s", code, out, errs)
	}
	w.controllers = w.power
	// A second stop finds it done.
	for range 2 {
		code, out, errs := w.run("stop", "demo")
		if code != 0 {
			t.Fatalf("stop ended with %d:\n%s%s", code, out, errs)
		}
		mustContain(t, out+errs, "containers: 0 of 1 run", "Cluster demo is stopped after", "capcon start demo")
	}
	if code, out, _ := w.run("status", "demo"); code != 0 {
		t.Errorf("status ended with %d", code)
	} else {
		mustContain(t, out, `The cluster is stopped. Start it with "capcon start demo".`)
	}
	_, table, _ := w.run("status")
	mustContain(t, table, "stopped")
	for _, command := range []string{"start", "up"} {
		code, out, errs := w.run(command, "demo")
		if code != 0 {
			t.Fatalf("%s ended with %d:\n%s%s", command, code, out, errs)
		}
		mustContain(t, out, "Cluster demo is ready")
		if found := must.Get(w.engine.InspectContainer(t.Context(), "demo-a-1234"))(t); found.Status != engine.StatusRunning {
			t.Errorf("after %s the container is %s", command, found.Status)
		}
		w.run("stop", "demo")
	}
}

func TestStopRefuses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, args := range [][]string{{"stop", "demo"}, {"start", "demo"}} {
		if code, _, errs := w.run(args...); code != 1 {
			t.Errorf("%v without a plane ended with %d", args, code)
		} else {
			mustContain(t, errs, "no management cluster found")
		}
	}
	if code, _, errs := w.run("plane", "stop"); code != 1 {
		t.Errorf("plane stop without one ended with %d", code)
	} else {
		mustContain(t, errs, `no management cluster found on`, `start it with "capcon plane up"`)
	}
	w.run("plane", "up")
	code, _, errs := w.run("stop", "demo")
	if code != 1 {
		t.Errorf("stop of no cluster ended with %d", code)
	}
	mustContain(t, errs, `"demo"`, "not found")
}
