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

package simulated_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

const testImage = "localhost/test:v1"

func newEngine(t *testing.T) *simulated.Engine {
	t.Helper()
	eng := simulated.New()
	eng.AddImage(engine.Image{Tags: []string{testImage}}, map[string][]byte{"/etc/name": []byte("image")})
	return eng
}

func TestFaultsOnBothSidesOfACall(t *testing.T) {
	t.Parallel()
	lost := errors.New("answer lost")
	cases := map[string]struct {
		reason string
		fault  func(*simulated.Engine)
		exists bool
	}{
		"FailNext": {
			reason: "the call has no effect",
			fault:  func(eng *simulated.Engine) { eng.FailNext("CreateContainer", lost) },
		},
		"OnCall": {
			reason: "the hook runs before the effect",
			fault:  func(eng *simulated.Engine) { eng.OnCall(func(simulated.Call) error { return lost }) },
		},
		"AfterCall": {
			reason: "the hook runs after the effect",
			fault:  func(eng *simulated.Engine) { eng.AfterCall(func(simulated.Call) error { return lost }) },
			exists: true,
		},
		"panic before": {
			reason: "no lock survives a panic",
			fault:  func(eng *simulated.Engine) { eng.OnCall(func(simulated.Call) error { panic(lost) }) },
		},
		"panic after": {
			reason: "no lock survives a panic, the effect does",
			fault:  func(eng *simulated.Engine) { eng.AfterCall(func(simulated.Call) error { panic(lost) }) },
			exists: true,
		},
	}
	for name, c := range cases {
		eng := newEngine(t)
		c.fault(eng)
		if err := createRecovering(t.Context(), eng); !errors.Is(err, lost) {
			t.Errorf("%s: %s: CreateContainer: %v, want %v", name, c.reason, err, lost)
		}
		calls := []simulated.Call{{Number: 1, Method: "CreateContainer", Name: "a", Mutating: true}}
		if diff := cmp.Diff(calls, eng.MutatingCalls()); diff != "" {
			t.Errorf("%s: calls (-want +got):\n%s", name, diff)
		}
		eng.ResetHooks()
		_, err := eng.InspectContainer(t.Context(), "a")
		if exists := err == nil; exists != c.exists {
			t.Errorf("%s: %s: container exists %v, want %v (%v)", name, c.reason, exists, c.exists, err)
		}
	}
}

// createRecovering turns a panic with an error into that error.
func createRecovering(ctx context.Context, eng *simulated.Engine) (err error) {
	defer func() {
		if crash, ok := recover().(error); ok {
			err = crash
		}
	}()
	_, err = eng.CreateContainer(ctx, engine.Spec{Name: "a", Image: testImage})
	return err
}

func TestEndsOfAProcess(t *testing.T) {
	t.Parallel()
	crash := func(eng *simulated.Engine) error { return eng.CrashContainer("a", 1, false) }
	kill := func(eng *simulated.Engine) error { return eng.KillContainer("a", 137, true) }
	cases := map[string]struct {
		reason  string
		policy  engine.RestartPolicy
		end     func(*simulated.Engine) error
		status  engine.Status
		restart engine.Status
	}{
		"crash without policy": {
			reason: "nothing starts it again",
			policy: engine.RestartNever, end: crash,
			status: engine.StatusExited, restart: engine.StatusExited,
		},
		"crash with policy": {
			reason: "the policy starts it immediately",
			policy: engine.RestartUnlessStopped, end: crash,
			status: engine.StatusRunning, restart: engine.StatusRunning,
		},
		"kill by a user": {
			reason: "a signal through the API counts as the wish to stop",
			policy: engine.RestartUnlessStopped, end: kill,
			status: engine.StatusExited, restart: engine.StatusExited,
		},
		"kill by a user, always": {
			reason: "the wish to stop ends with the engine",
			policy: engine.RestartAlways, end: kill,
			status: engine.StatusExited, restart: engine.StatusRunning,
		},
		"engine restart": {
			reason: "a running container runs again",
			policy: engine.RestartUnlessStopped, end: func(*simulated.Engine) error { return nil },
			status: engine.StatusRunning, restart: engine.StatusRunning,
		},
	}
	for name, c := range cases {
		eng, ctx := newEngine(t), t.Context()
		must.Get(eng.CreateContainer(ctx, engine.Spec{Name: "a", Image: testImage, Restart: c.policy}))(t)
		must.Succeed(t, eng.StartContainer(ctx, "a"))
		must.Succeed(t, c.end(eng))
		wantStatus(t, eng, name+": "+c.reason, c.status)
		eng.RestartEngine()
		wantStatus(t, eng, name+": "+c.reason+", after the engine's restart", c.restart)
	}
}

func wantStatus(t *testing.T, eng *simulated.Engine, reason string, want engine.Status) {
	t.Helper()
	got := must.Get(eng.InspectContainer(t.Context(), "a"))(t)
	if got.Status != want {
		t.Errorf("%s: status %q, want %q", reason, got.Status, want)
	}
}

func TestDownIsUnavailableAndLosesEvents(t *testing.T) {
	t.Parallel()
	eng, ctx := newEngine(t), t.Context()
	events := make(chan engine.Event, 16)
	go eng.Events(ctx, func(event engine.Event) { events <- event })
	wantEvent(t, events, engine.EventRelist)

	eng.Down()
	eng.Down()
	wantEvent(t, events, engine.EventLost)
	if _, err := eng.Info(ctx); !errors.Is(err, engine.ErrUnavailable) {
		t.Errorf("Info of an engine that is down: %v, want ErrUnavailable", err)
	}
	eng.Up()
	wantEvent(t, events, engine.EventRelist)
	must.Succeed(t, eng.Close())
	if _, err := eng.Info(ctx); !errors.Is(err, engine.ErrUnavailable) {
		t.Errorf("Info after Close: %v, want ErrUnavailable", err)
	}
}

func wantEvent(t *testing.T, events <-chan engine.Event, want engine.EventKind) {
	t.Helper()
	if event := <-events; event.Kind != want {
		t.Errorf("event %q, want %q", event.Kind, want)
	}
}

func TestSwitchStorage(t *testing.T) {
	t.Parallel()
	eng := newEngine(t)
	first := must.Get(eng.Info(t.Context()))(t).StorageID
	must.Get(eng.CreateContainer(t.Context(), engine.Spec{Name: "a", Image: testImage}))(t)
	for _, id := range []string{"another", first} {
		eng.SwitchStorage(id)
		if got := must.Get(eng.Info(t.Context()))(t).StorageID; got != id {
			t.Errorf("storage %q answers, want %q", got, id)
		}
		if _, err := eng.InspectContainer(t.Context(), "a"); errors.Is(err, engine.ErrNotFound) == (id == first) {
			t.Errorf("container a of storage %q on %q: %v", first, id, err)
		}
	}
}

// TestLongRun: what a manager needs that runs on the simulated engine for days.
func TestLongRun(t *testing.T) {
	t.Parallel()
	const first = 32768
	eng := simulated.New(simulated.WithoutJournal(), simulated.WithHostPorts(func(port uint16) bool { return port != first }))
	var numbers []int
	eng.OnCall(func(call simulated.Call) error {
		numbers = append(numbers, call.Number)
		return nil
	})
	eng.AddImage(engine.Image{Tags: []string{"node:v1"}}, nil)
	must.Get(eng.CreateContainer(t.Context(), engine.Spec{
		Name: "a", Image: "node:v1", Ports: []engine.PortBinding{{ContainerPort: 6443, Protocol: engine.ProtocolTCP}},
	}))(t)
	must.Succeed(t, eng.StartContainer(t.Context(), "a"))
	if calls := eng.Journal(); len(calls) > 0 {
		t.Errorf("the journal has %v", calls)
	}
	if diff := cmp.Diff([]int{1, 2}, numbers); diff != "" {
		t.Errorf("numbers of calls: -want, +got:\n%s", diff)
	}
	if got := must.Get(eng.Observe("a"))(t).Ports[0].HostPort; got != first+1 {
		t.Errorf("the engine chose port %d, want the first that is free, %d", got, first+1)
	}
	must.Succeed(t, eng.WriteFile("a", "/opt/b/steps/1/path", []byte("/etc/c")))
	must.Succeed(t, eng.WriteFile("a", "/opt/other", nil))
	if diff := cmp.Diff(map[string][]byte{"steps/1/path": []byte("/etc/c")}, must.Get(eng.Files("a", "/opt/b"))(t)); diff != "" {
		t.Errorf("Files(...): -want, +got:\n%s", diff)
	}
}
