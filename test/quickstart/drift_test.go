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
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1alpha1"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/test/integration"
)

const driftCluster = "drift-test"

// noticed is how long a report may take before it counts as missing. How long
// it takes is measured and printed, and not judged here.
const noticed = 30 * time.Second

// TestDrift disturbs the containers of a cluster behind the controllers' back, as
// TestRestart does at its end, and nothing else.
//
// Environment:
//
//	KILLS  how many; default 20
func TestDrift(t *testing.T) {
	eng := integration.Engine(t)
	program := build(t, driftCluster)
	program.mustRun("down", driftCluster)
	t.Cleanup(func() {
		if !t.Failed() || os.Getenv("KEEP") == "" {
			_, _ = program.run(context.WithoutCancel(t.Context()), "down", driftCluster)
		}
	})
	program.mustRun("up", driftCluster, "--control-planes", "1", "--workers", "1")
	driftIsTold(t, eng, program, number(t, "KILLS", 20))
}

// driftIsTold kills a cluster's containers, in turn. Each time the object says so,
// with the exit code, and each time all is well again without help. A container
// that is paused, or off its network, is reported for as long as it is.
func driftIsTold(t *testing.T, eng engine.Engine, program *capcon, kills int) {
	t.Helper()
	d := &drift{t: t, engine: eng, api: management(t, program), cluster: program.cluster}
	info, err := eng.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	d.command = info.Name

	containers := d.containers()
	var delays []time.Duration
	refused := 0
	for i := 0; len(delays) < kills; i++ {
		container := containers[i%len(containers)]
		if err := d.try("kill", container.Name); err != nil {
			// Podman 4.3 may lose the exit code of what it kills and restarts.
			if refused++; refused > kills/5 {
				t.Fatal(err)
			}
			t.Logf("not counted: %v", err)
			thaw(t, container)
			d.await(container, "True", "")
			continue
		}
		killed := time.Now()
		d.await(container, "False", "exit code 137")
		delay := time.Since(killed).Round(time.Millisecond)
		killed = time.Now()
		d.await(container, "True", "")
		t.Logf("%s: reported after %s, well again %s later", container.Name, delay, time.Since(killed).Round(time.Millisecond))
		delays = append(delays, delay)
	}
	slices.Sort(delays)
	t.Logf("reported after p50 %s, p99 %s, at most %s, of %d kills",
		delays[len(delays)/2], delays[(len(delays)*99-1)/100], delays[len(delays)-1], len(delays))

	for _, container := range containers {
		d.rest(container)
		d.disturb(container, "False", "paused", "pause", container.Name)
		d.run("unpause", container.Name)
		d.await(container, "True", "")
	}
	nodes := slices.DeleteFunc(containers, isLoadBalancer)
	d.disturb(nodes[0], "False", "is not on network", "network", "disconnect", "capcon", nodes[0].Name)
	d.run("network", "connect", "--ip", nodes[0].Labels[identity.LabelAddress], "capcon", nodes[0].Name)
	d.await(nodes[0], "True", "")
}

// drift disturbs containers and reads what their objects say.
type drift struct {
	t      *testing.T
	engine engine.Engine
	api    client.Client
	// cluster is the name of theirs.
	cluster string
	// command is the engine's own, as a person would use it.
	command string
}

func isLoadBalancer(container engine.Container) bool {
	return container.Labels[identity.LabelRole] == string(identity.RoleLoadBalancer)
}

func (d *drift) containers() []engine.Container {
	d.t.Helper()
	containers, err := d.engine.ListContainers(d.t.Context(), map[string]string{identity.LabelCluster: d.cluster})
	if err != nil {
		d.t.Fatal(err)
	}
	return containers
}

func (d *drift) run(arguments ...string) {
	d.t.Helper()
	if err := d.try(arguments...); err != nil {
		d.t.Fatal(err)
	}
}

func (d *drift) try(arguments ...string) error {
	if output, err := exec.CommandContext(d.t.Context(), d.command, arguments...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", d.command, strings.Join(arguments, " "), err, output)
	}
	return nil
}

// thaw lets a killed container end that cannot, on a host with cgroups of version
// 1: what is frozen does not die there, and runc freezes a Pod's cgroup while it
// makes its containers. Killed in between, it leaves it frozen. Where the engine
// is elsewhere, or the cgroups are of version 2, there is nothing to do.
func thaw(t *testing.T, container engine.Container) {
	t.Helper()
	_ = filepath.WalkDir("/sys/fs/cgroup/freezer", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Base(path) != "freezer.state" || !strings.Contains(path, container.ID) {
			return nil // cgroups come and go meanwhile
		}
		if state, err := os.ReadFile(path); err == nil && strings.HasPrefix(string(state), "FROZEN") {
			t.Logf("thawing %s: %v", filepath.Dir(path), os.WriteFile(path, []byte("THAWED"), 0o644))
		}
		return nil
	})
}

// disturb runs a command of the engine and returns how long it took from its
// end until the object said so.
func (d *drift) disturb(container engine.Container, status metav1.ConditionStatus, message string, command ...string) time.Duration {
	d.t.Helper()
	d.run(command...)
	began := time.Now()
	d.await(container, status, message)
	return time.Since(began).Round(time.Millisecond)
}

// observed is an object that has conditions.
type observed interface {
	client.Object
	conditions.Getter
}

// objectOf is what tells of a container, empty, and where it is.
func objectOf(container engine.Container) (observed, client.ObjectKey) {
	key := client.ObjectKey{Namespace: container.Labels[identity.LabelNamespace], Name: container.Labels[identity.LabelMachine]}
	if isLoadBalancer(container) {
		key.Name = container.Labels[identity.LabelCluster]
		return &infrav1.ContainerCluster{}, key
	}
	return &infrav1.ContainerMachine{}, key
}

// rest waits until the container's object has not changed for some seconds, so
// that nothing runs a command in it. Docker 20.10 says nothing more about a
// container that is paused while a command begins in it, nor unpauses it.
func (d *drift) rest(container engine.Container) {
	d.t.Helper()
	object, key := objectOf(container)
	version, since := "", time.Now()
	eventually(d.t, container.Name+" is at rest", func(ctx context.Context) (string, error) {
		if err := d.api.Get(ctx, key, object); err != nil {
			return "", err
		}
		if now := object.GetResourceVersion(); now != version {
			version, since = now, time.Now()
		}
		if time.Since(since) < 4*time.Second {
			return "it changed " + since.Format(time.TimeOnly), nil
		}
		return "", nil
	})
}

// await waits until the Ready condition of the container's object has the
// status and the text in its message.
func (d *drift) await(container engine.Container, status metav1.ConditionStatus, message string) {
	d.t.Helper()
	object, key := objectOf(container)
	last, seen := "", map[string]bool{}
	deadline := time.After(noticed)
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		if err := d.api.Get(d.t.Context(), key, object); err != nil {
			last = err.Error()
		} else if ready := conditions.Get(object, infrav1.MachineReadyCondition); ready != nil {
			last = fmt.Sprintf("%s %s: %s", ready.Status, ready.Reason, ready.Message)
			if ready.Status == status && strings.Contains(ready.Message, message) {
				return
			}
			seen[last] = true
		}
		select {
		case <-ticker.C:
		case <-deadline:
			d.t.Fatalf("Ready of %s is not %s with %q after %s, but %s; seen were %q", container.Name, status, message, noticed, last, slices.Sorted(maps.Keys(seen)))
		}
	}
}
