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

package command_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/command/commandtest"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/state"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// Another Docker context leads to another engine of the same name, which has
// nothing of the cluster: that must not delete its saved data.
func TestEnginesOfOneNameShareNothing(t *testing.T) {
	t.Parallel()
	w := commandtest.Created(t)
	here, planeHere := w.Engine, w.Plane
	w.Engine, w.Plane = simulated.New(simulated.WithInfo(engine.Info{ID: "another"})), &commandtest.Plane{}
	for _, command := range [][]string{{"down", "--all"}, {"gc", "--yes"}} {
		w.MustRun(command...)
	}
	for _, command := range [][]string{{"down", "demo"}, {"status", "demo"}, {"kubeconfig", "demo"}, {"logs", "demo"}, {"list", "demo"}, {"forget", "demo"}} {
		commandtest.Contains(t, w.MustFail(command...), `state of cluster "demo" is unknown: it was created on simulated at simulated://`, "--engine")
	}

	// Without the management plane only what is saved leads to them.
	w.Engine, w.Plane = here, planeHere
	w.Plane.Current = plane.State{}
	commandtest.Contains(t, w.MustRun("kubeconfig", "demo"), "server: https://127.0.0.1:40123\n")
	w.MustRun("down", "demo", "--force")
	if left := w.Containers(); slices.Contains(left, "demo-a-1234") {
		t.Errorf("The containers of the cluster were forgotten; left are %v", left)
	}
}

// Ports that an engine on another host publishes are reached through tunnels, but for the
// local registry's.
func TestEngineOfAnotherHost(t *testing.T) {
	t.Parallel()
	const endpoint = "ssh://me@build.example.org"
	w := commandtest.New(t)
	if commandtest.Contains(t, w.MustFail("tunnel"), "is on this host"); w.Options.Tunnels != nil {
		t.Error("an engine of this host has tunnels")
	}
	w.Engine = simulated.New(simulated.WithInfo(engine.Info{Name: "docker", Endpoint: endpoint}))
	commandtest.Contains(t, w.MustFail("registry", "up"), endpoint+" is on another host", "run the command there")
	if calls := w.Engine.MutatingCalls(); len(calls) > 0 {
		t.Errorf("registry up called %v", calls)
	}
	commandtest.Contains(t, w.MustRun("doctor"), "EngineRemote", `run "capcon tunnel"`)
	commandtest.Contains(t, w.MustFail("tunnel"), "no management cluster found", "capcon up NAME")
}

func TestEngineSocketIsThePlanes(t *testing.T) {
	t.Parallel()
	w := commandtest.New(t)
	w.Run("status", "--engine-socket", "/run/user/501/podman/podman.sock")
	if got := w.Options.EngineSocket; !strings.HasSuffix(got, "/501/podman/podman.sock") {
		t.Errorf("socket of the management plane: got %q", got)
	}
}

// "Not found" on an engine that has other data than the one of the record says nothing.
func TestEngineWithOtherData(t *testing.T) {
	t.Parallel()
	w := commandtest.Created(t)
	before := w.Record()
	if before.Engine.StorageID == "" {
		t.Fatalf("The record has no identity of the engine: %+v", before)
	}
	w.Engine.SwitchStorage("another")
	w.UseEngine(w.Engine)
	w.Plane.Current = plane.State{}
	for _, command := range [][]string{{"down", "demo"}, {"down", "--all"}, {"status", "demo"}, {"up", "demo"}, {"kubeconfig", "absent"}, {"gc", "--yes"}} {
		code, out, errs := w.Run(command...)
		if command[0] != "gc" && code != 1 {
			t.Errorf("%v ended with %d:\n%s%s", command, code, out, errs)
		}
		if slices.Contains(command, "demo") || slices.Contains(command, "--all") {
			commandtest.Contains(t, out+errs, "unknown")
		}
		if diff := cmp.Diff(before, w.Record()); diff != "" {
			t.Errorf("%v changed the record (-before +after):\n%s", command, diff)
		}
	}
}

// Docker is down and Podman is not: what Docker has is not "not found".
func TestEngineThatWasPassedOver(t *testing.T) {
	t.Parallel()
	w := commandtest.New(t)
	docker := state.For(filepath.Join(w.StateHome, "capcon"), "docker", "d")
	must.Succeed(t, docker.Save("demo", state.Cluster{OwnerID: "x", Engine: state.Engine{Name: "docker", Endpoint: "unix:///var/run/docker.sock"}}))
	w.PassedOver = []string{"unix:///var/run/docker.sock"}
	commandtest.Contains(t, w.MustFail("down", "--all"), `which has cluster "demo", does not respond`, "--engine simulated")
}
