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

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/e2e/capcon/capcontest"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/test/integration"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

const driftCluster = "drift-test"

// noticed is how long a report may take before it counts as missing. How long
// it takes is measured and printed, and not judged here.
const noticed = 30 * time.Second

// TestDrift disturbs the containers of a cluster behind the controllers' back, as
// TestQuickstart does in between, and nothing else.
//
// Environment:
//
//	KILLS  how many; default 20
func TestDrift(t *testing.T) {
	eng := integration.Engine(t)
	program := capcontest.Build(t, driftCluster)
	program.DownBeforeAndAfter()
	program.MustRun("up", driftCluster, "--control-planes", "1", "--workers", "1")
	driftIsReported(t, eng, program, capcontest.Number(t, "KILLS", 20))
}

// fewKills kill each container of a cluster of 1+1 once.
const fewKills = 3

// driftIsReported disturbs a cluster's containers in all the ways that an engine's own
// command has. Each time the object says so, with the reason, and each time all is
// healthy again without help, or as soon as the disturbance is reverted.
func driftIsReported(t *testing.T, eng engine.Engine, program *capcontest.Program, kills int) {
	t.Helper()
	info := must.Get(eng.Info(t.Context()))(t)
	d := &drift{t: t, engine: eng, program: program, api: capcontest.Management(t, program), command: info.Name}
	steps := []struct {
		name string
		run  func(d *drift)
	}{
		{"killed", func(d *drift) { d.kill(kills) }},
		{"paused", (*drift).pause},
		{"node out of memory", (*drift).exhaust},
		{"node disconnected", (*drift).disconnectNode},
		{"load balancer disconnected", (*drift).disconnectLoadBalancer},
		{"load balancer edited", (*drift).editLoadBalancer},
		{"load balancer removed", (*drift).removeLoadBalancer},
		{"node removed", (*drift).removeNode},
	}
	for _, step := range steps {
		if !t.Run(step.name, func(t *testing.T) { step.run(d.at(t)) }) {
			t.Fatalf("step %q failed; those after it need it", step.name)
		}
	}
}

// drift disturbs containers and reads what their objects say.
type drift struct {
	t       *testing.T
	engine  engine.Engine
	program *capcontest.Program
	api     client.Client
	// command is the engine's own, as a person would use it.
	command string
}

// at is the same in a sub-test.
func (d *drift) at(t *testing.T) *drift {
	other := *d
	other.t, other.program = t, d.program.At(t)
	return &other
}

// kill the containers in turn. An engine that starts them again by itself, and the
// controllers, are both fast: either may be the one that does.
func (d *drift) kill(kills int) {
	containers := d.containers()
	var delays []time.Duration
	refused := 0
	for i := 0; len(delays) < kills; i++ {
		container := containers[i%len(containers)]
		// Before the command: what the engine needs for it is a part of what a
		// person waits.
		start := time.Now()
		report := d.expectReport(container, "exited with code 137", restarted(container)...)
		if err := d.try("kill", container.Name); err != nil {
			report.forget()
			// Podman 4.3 may lose the exit code of what it kills and restarts.
			if refused++; refused > kills/5 {
				d.t.Fatal(err)
			}
			d.t.Logf("not counted: %v", err)
			thaw(d.t, container)
			d.well(container)
			continue
		}
		ended := time.Now()
		reported := report.await()
		d.well(container)
		d.t.Logf("%s: reported after %s, the command took %s; ready again %s later", container.Name,
			milliseconds(reported.at.Sub(start)), milliseconds(ended.Sub(start)), milliseconds(time.Since(reported.at)))
		delays = append(delays, milliseconds(reported.at.Sub(start)))
	}
	slices.Sort(delays)
	d.t.Logf("reported after p50 %s, p99 %s, at most %s, of %d kills",
		delays[len(delays)/2], delays[(len(delays)*99-1)/100], delays[len(delays)-1], len(delays))
}

func milliseconds(d time.Duration) time.Duration { return d.Round(time.Millisecond) }

// containers that have an object in the management plane.
func (d *drift) containers() []engine.Container {
	d.t.Helper()
	containers := must.Get(d.engine.ListContainers(d.t.Context(), map[string]string{identity.LabelCluster: d.program.Cluster}))(d.t)
	return slices.DeleteFunc(containers, func(container engine.Container) bool {
		return container.Labels[identity.LabelRole] == string(identity.RoleServiceLoadBalancer)
	})
}

func (d *drift) run(arguments ...string) {
	d.t.Helper()
	must.Succeed(d.t, d.try(arguments...))
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

// observed is an object that has conditions.
type observed interface {
	client.Object
	conditions.Getter
}

// objectOf is the object that reports a container, empty, and where it is.
func objectOf(container engine.Container) (observed, client.ObjectKey) {
	key := client.ObjectKey{Namespace: container.Labels[identity.LabelNamespace], Name: container.Labels[identity.LabelMachine]}
	if capcontest.IsLoadBalancer(container) {
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
	capcontest.Eventually(d.t, container.Name+" is at rest", func(ctx context.Context) (string, error) {
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

// restarted are the reasons for a container that exited and runs again, by what was
// first to start it: the controllers, or the engine; or for one that exited often recently.
func restarted(container engine.Container) []string {
	if capcontest.IsLoadBalancer(container) {
		return []string{infrav1.LoadBalancerNotRunningReason, infrav1.LoadBalancerRestartedReason}
	}
	return []string{infrav1.ContainerExitedReason, infrav1.ContainerRestartedReason, infrav1.ContainerCrashLoopReason}
}

// expectReport is for when the container's object is not ready, for one of the reasons
// and with the text in its message.
func (d *drift) expectReport(container engine.Container, message string, reasons ...string) *expectation {
	return d.expect(container, fmt.Sprintf("%s with %q", strings.Join(reasons, " or "), message), func(condition metav1.Condition) bool {
		return condition.Status == metav1.ConditionFalse && slices.Contains(reasons, condition.Reason) && strings.Contains(condition.Message, message)
	})
}

// well waits until the container's object is ready.
func (d *drift) well(container engine.Container) {
	d.t.Helper()
	d.expect(container, "True", func(condition metav1.Condition) bool { return condition.Status == metav1.ConditionTrue }).awaitWithin(capcontest.Patience)
}

// expectation is what a container's object is to say. It is looked for from before
// the cause: a report lasts for seconds, and so may the command that causes it.
type expectation struct {
	t      *testing.T
	what   string
	cancel context.CancelFunc
	// found has one, or is closed where it was forgotten.
	found chan sight
	// seen is what was, to be read when found is closed.
	seen map[string]bool
}

// sight of what was expected.
type sight struct {
	message string
	at      time.Time
}

// expect that the container's condition is as wanted and the Ready condition of its
// object says the same.
func (d *drift) expect(container engine.Container, what string, wanted func(metav1.Condition) bool) *expectation {
	ctx, cancel := context.WithCancel(d.t.Context())
	e := &expectation{t: d.t, cancel: cancel, found: make(chan sight, 1), seen: map[string]bool{}}
	about := infrav1.ContainerReadyCondition
	if capcontest.IsLoadBalancer(container) {
		about = infrav1.LoadBalancerReadyCondition
	}
	e.what = fmt.Sprintf("%s of %s %s", about, container.Name, what)
	object, key := objectOf(container)
	go func() {
		defer close(e.found)
		ticker := time.NewTicker(20 * time.Millisecond)
		defer ticker.Stop()
		for ; ctx.Err() == nil; next(ctx, ticker.C) {
			if err := d.api.Get(ctx, key, object); err != nil {
				e.seen[err.Error()] = true
				continue
			}
			part, ready := conditions.Get(object, about), conditions.Get(object, infrav1.MachineReadyCondition)
			if part == nil || ready == nil {
				continue
			}
			e.seen[fmt.Sprintf("%s %s: %s, and Ready %s: %s", part.Status, part.Reason, part.Message, ready.Status, ready.Message)] = true
			if wanted(*part) && ready.Status == part.Status && strings.Contains(ready.Message, part.Message) {
				e.found <- sight{message: part.Message, at: time.Now()}
				return
			}
		}
	}()
	return e
}

// await a report, and fail the test where it does not come.
func (e *expectation) await() sight {
	e.t.Helper()
	return e.awaitWithin(noticed)
}

func (e *expectation) awaitWithin(limit time.Duration) sight {
	e.t.Helper()
	defer e.cancel()
	select {
	case found, ok := <-e.found:
		if ok {
			return found
		}
	case <-time.After(limit):
	}
	e.forget()
	e.t.Fatalf("%s was not seen within %s, but %q", e.what, limit, slices.Sorted(maps.Keys(e.seen)))
	return sight{}
}

// forget that it was expected.
func (e *expectation) forget() {
	e.cancel()
	for range e.found { //nolint:revive // Until it is closed.
	}
}
