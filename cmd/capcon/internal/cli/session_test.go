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
	"slices"
	"strings"
	"testing"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane"
)

// Another Docker context leads to another engine of the same name, which has
// nothing of the cluster: that must not end what is remembered of it.
func TestEnginesOfOneNameShareNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.controllers = w.become
	if code, out, errs := w.run("up", "demo"); code != 0 {
		t.Fatalf("up ended with %d:\n%s%s", code, out, errs)
	}
	here, planeHere := w.engine, w.plane
	w.engine, w.plane = simulated.New(simulated.WithInfo(engine.Info{ID: "another"})), &fakePlane{}
	for _, command := range [][]string{{"down", "demo"}, {"down", "--all"}, {"gc", "--yes"}} {
		if code, out, errs := w.run(command...); code != 0 {
			t.Fatalf("%v on the other engine ended with %d:\n%s%s", command, code, out, errs)
		}
	}

	// Without the management plane only what is remembered leads to them.
	w.engine, w.plane = here, planeHere
	w.plane.state = plane.State{}
	code, out, errs := w.run("kubeconfig", "demo")
	if code != 0 || !strings.Contains(out, "server: https://127.0.0.1:40123\n") {
		t.Errorf("kubeconfig ended with %d:\n%s%s", code, out, errs)
	}
	if code, out, errs := w.run("down", "demo"); code != 0 {
		t.Errorf("down ended with %d:\n%s%s", code, out, errs)
	}
	if left := containerNames(t, w); slices.Contains(left, "demo-a-1234") {
		t.Errorf("The containers of the cluster were forgotten; left are %v", left)
	}
}
