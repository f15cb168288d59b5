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
// nothing of the cluster: that must not delete its saved data.
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

	// Without the management plane only what is saved leads to them.
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

// Ports that an engine on another host publishes are not reachable: nothing is created
// that would be waited for without success.
func TestEnginesOfOtherHostsAreRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.engine = simulated.New(simulated.WithInfo(engine.Info{Name: "docker", Endpoint: "ssh://me@build.example.org", ChosenBy: "DOCKER_HOST"}))
	for _, command := range [][]string{{"up", "demo"}, {"down", "demo"}, {"plane", "up"}, {"plane", "down"}} {
		code, _, errs := w.run(command...)
		if code != 1 {
			t.Errorf("%v: want exit code 1, got %d", command, code)
		}
		mustContain(t, errs, "ssh://me@build.example.org (DOCKER_HOST) is remote", "run capcon on that host")
	}
	_, out, _ := w.run("doctor")
	mustContain(t, squeeze(out), "EngineRemote", "run capcon on that host")
	if calls := w.engine.MutatingCalls(); len(calls) > 0 || len(w.plane.ensured) > 0 {
		t.Errorf("Nothing may be touched, got %v, %v", calls, w.plane.ensured)
	}
}

func TestEngineSocketIsThePlanes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run("status", "--engine-socket", "/run/user/501/podman/podman.sock")
	if got := w.options.EngineSocket; !strings.HasSuffix(got, "/501/podman/podman.sock") {
		t.Errorf("socket of the management plane: got %q", got)
	}
}
