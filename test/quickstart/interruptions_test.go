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
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
)

// interruptions are what can be done to this engine. One that "make engine"
// did not start by hand is never stopped: others may need it.
func interruptions(t *testing.T, eng engine.Engine, program *capcon) map[string]func(*testing.T) {
	t.Helper()
	possible := map[string]func(*testing.T){
		"containers-in-random-order": func(t *testing.T) { restartContainers(t, eng) },
	}
	info, err := eng.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if enginePID(t, info.Name) == 0 {
		t.Logf("%s was not started by \"make engine\", so it is not stopped", info.Name)
		return possible
	}
	if others := foreign(t, eng); len(others) > 0 {
		t.Logf("%s runs %q too, so it is not stopped", info.Name, others)
		return possible
	}
	start := func(t *testing.T) {
		t.Helper()
		mustExecute(t, "make", "-C", "../..", "--no-print-directory", "engine", "ENGINE="+info.Name)
	}
	possible["engine-SIGTERM"] = func(t *testing.T) {
		mustExecute(t, "make", "-C", "../..", "--no-print-directory", "engine-stop", "ENGINE="+info.Name)
		start(t)
	}
	possible["engine-SIGKILL"] = func(t *testing.T) {
		if err := syscall.Kill(enginePID(t, info.Name), syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		start(t)
	}
	if info.Name == "podman" {
		possible["stop-all"] = func(t *testing.T) {
			mustExecute(t, "podman", "stop", "--all", "--time", "10")
			// Who stopped the management plane too starts it.
			program.at(t).mustRun("up", program.cluster)
		}
		possible["host-reboot"] = func(t *testing.T) {
			mustExecute(t, "testdata/podman-reboot.sh")
			// It also does what podman-restart.service does where systemd runs
			// the host.
			start(t)
		}
	}
	return possible
}

// foreign names running containers that are not of this test.
func foreign(t *testing.T, eng engine.Engine) []string {
	t.Helper()
	containers, err := eng.ListContainers(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, container := range containers {
		own := container.Labels[identity.LabelCluster] == restartCluster || container.Labels[identity.LabelRole] == string(identity.RolePlane)
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
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	if comm, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid)); err != nil || strings.TrimSpace(string(comm)) != program {
		return 0
	}
	return pid
}

func mustExecute(t *testing.T, command ...string) {
	t.Helper()
	output, err := exec.CommandContext(t.Context(), command[0], command[1:]...).CombinedOutput()
	t.Logf("%s\n%s", strings.Join(command, " "), output)
	if err != nil {
		t.Fatalf("%s: %v", strings.Join(command, " "), err)
	}
}

// restartContainers stops and starts every container of this project, the
// management plane's too, one after the other.
func restartContainers(t *testing.T, eng engine.Engine) {
	t.Helper()
	containers, err := eng.ListContainers(t.Context(), map[string]string{identity.LabelRole: ""})
	if err != nil {
		t.Fatal(err)
	}
	rand.Shuffle(len(containers), func(i, j int) { containers[i], containers[j] = containers[j], containers[i] })
	for _, container := range containers {
		if err := eng.StopContainer(t.Context(), container.Name, 10*time.Second); err != nil {
			t.Fatal(err)
		}
		if err := eng.StartContainer(t.Context(), container.Name); err != nil {
			t.Fatal(err)
		}
		t.Logf("restarted %s", container.Name)
	}
}
