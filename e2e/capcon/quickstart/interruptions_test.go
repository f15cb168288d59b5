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

package quickstart_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/capi-samples/cluster-api-provider-container/e2e/capcon/capcontest"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// interruption is something that is done to an engine and reverted.
type interruption struct {
	// stopsAll says that more ends than the containers of this project.
	stopsAll    bool
	stop, start func(*testing.T)
}

const (
	// randomOrder is the interruption that no other container notices.
	randomOrder   = "containers-in-random-order"
	engineStopped = "engine-SIGTERM"
	hostReboot    = "host-reboot"
)

// interruptions are what can be done to an engine of the kind, by name.
func interruptions(eng engine.Engine, program *capcontest.Program, kind string) map[string]interruption {
	start := func(t *testing.T) {
		t.Helper()
		capcontest.MustExecute(t, "make", "-C", capcontest.Root, "--no-print-directory", "engine", "ENGINE="+kind)
	}
	known := map[string]interruption{
		randomOrder: {
			stop:  func(t *testing.T) { restartContainers(t, eng, program.At(t)) },
			start: func(*testing.T) {},
		},
		engineStopped: {stopsAll: true, start: start, stop: func(t *testing.T) {
			capcontest.MustExecute(t, "make", "-C", capcontest.Root, "--no-print-directory", "engine-stop", "ENGINE="+kind)
			statusIsUnknown(t, program.At(t))
		}},
		"engine-SIGKILL": {stopsAll: true, start: start, stop: func(t *testing.T) {
			must.Succeed(t, syscall.Kill(enginePID(t, kind), syscall.SIGKILL))
			capcontest.Eventually(t, "the engine has ended", func(context.Context) (string, error) {
				if enginePID(t, kind) != 0 {
					return "it runs", nil
				}
				return "", nil
			})
			statusIsUnknown(t, program.At(t))
		}},
	}
	if kind == "podman" {
		known["stop-all"] = interruption{
			stopsAll: true,
			stop: func(t *testing.T) {
				capcontest.MustExecute(t, "podman", "stop", "--all", "--time", "10")
				statusIsUnknown(t, program.At(t))
			},
			// Who stopped the management plane too starts it.
			start: func(t *testing.T) { program.At(t).MustRun("up", program.Cluster) },
		}
		known[hostReboot] = interruption{
			stopsAll: true,
			stop: func(t *testing.T) {
				capcontest.MustExecute(t, "../../../lab/engine/podman-reboot.sh")
				statusIsUnknown(t, program.At(t))
			},
			// It also does what podman-restart.service does where systemd runs
			// the host.
			start: start,
		}
	}
	return known
}

// inUse says why an engine must not be stopped, and what to do about it; empty
// where it may be. One that "make engine" did not start by hand is never stopped,
// nor one that runs what is not of the test's cluster: others need it.
func inUse(t *testing.T, eng engine.Engine, kind, cluster string) string {
	t.Helper()
	instead := "; without it: RESTARTS=" + randomOrder
	if enginePID(t, kind) == 0 {
		return fmt.Sprintf("%s was not started by hand by \"make engine\", so it is not stopped; "+
			"stop it, and run \"make engine ENGINE=%s\" where systemd does not run the host%s", kind, kind, instead)
	}
	if others := foreign(t, eng, cluster); len(others) > 0 {
		return fmt.Sprintf("%s runs %q too, so it is not stopped; stop these%s", kind, others, instead)
	}
	return ""
}

// foreign names running containers that are neither of the cluster nor the plane's.
func foreign(t *testing.T, eng engine.Engine, cluster string) []string {
	t.Helper()
	containers := must.Get(eng.ListContainers(t.Context(), nil))(t)
	var names []string
	for _, container := range containers {
		own := container.Labels[identity.LabelCluster] == cluster || container.Labels[identity.LabelRole] == string(identity.RolePlane)
		if container.Status == engine.StatusRunning && !own {
			names = append(names, container.Name)
		}
	}
	return names
}

// enginePID is the process that "make engine" started by hand, 0 where it did
// not.
func enginePID(t *testing.T, name string) int {
	t.Helper()
	program := map[string]string{"docker": "dockerd", "podman": "podman"}[name]
	text, err := os.ReadFile("/run/cluster-api-provider-container-" + program + ".pid")
	if err != nil {
		return 0
	}
	pid := must.Get(strconv.Atoi(strings.TrimSpace(string(text))))(t)
	if comm, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid)); err != nil || strings.TrimSpace(string(comm)) != program {
		return 0
	}
	return pid
}

// restartContainers stops and starts every container of this project, the
// management plane's too, one after the other.
func restartContainers(t *testing.T, eng engine.Engine, program *capcontest.Program) {
	t.Helper()
	containers := must.Get(eng.ListContainers(t.Context(), map[string]string{identity.LabelRole: ""}))(t)
	rand.Shuffle(len(containers), func(i, j int) { containers[i], containers[j] = containers[j], containers[i] })
	for _, container := range containers {
		must.Succeed(t, eng.StopContainer(t.Context(), container.Name, 10*time.Second))
		if container.Labels[identity.LabelRole] == string(identity.RolePlane) {
			statusIsUnknown(t, program)
		}
		must.Succeed(t, eng.StartContainer(t.Context(), container.Name))
		t.Logf("restarted %s", container.Name)
	}
}
