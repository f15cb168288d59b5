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

package machine_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
	"github.com/capi-samples/cluster-api-provider-container/test/world"
)

// TestEndIsReported: that a node ended is seen of Ready even where the same
// reconcile starts it again, or where the engine was quicker.
func TestEndIsReported(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		change func(t *testing.T, w *world.World)
		// reported by the first reconcile, with the text in its message.
		reported, message string
	}{
		"Killed": {
			reason: "One that stays down is started by the reconcile that reports it.",
			change: func(t *testing.T, w *world.World) {
				t.Helper()
				must.Succeed(t, w.Engine.KillContainer(container(), 137, false))
			},
			reported: "False/" + infrav1.ContainerExitedReason, message: "exited with code 137 (SIGKILL: a user, the engine or the kernel ended its processes) and has been started again",
		},
		"OutOfMemory": {
			reason: "A kill by the OOM killer is reported.",
			change: func(t *testing.T, w *world.World) {
				t.Helper()
				must.Succeed(t, w.Engine.KillContainer(container(), 137, true))
			},
			reported: "False/" + infrav1.ContainerExitedReason, message: "(OOMKilled)",
		},
		"RestartedByTheEngine": {
			reason: "The engine's restart policy is quicker than a reconcile; its event reports the exit.",
			change: func(t *testing.T, w *world.World) {
				t.Helper()
				found := must.Get(w.Engine.InspectContainer(t.Context(), container()))(t)
				w.Exits.Observe(engine.Event{Kind: engine.EventDie, ContainerID: found.ID, ExitCode: 143})
			},
			reported: "False/" + infrav1.ContainerRestartedReason, message: "exited with code 143 and was restarted",
		},
		"CrashLoop": {
			reason:   "Restarts do not help: one reason for it, whether the container runs at the moment or not.",
			change:   exitFiveTimes,
			reported: "False/" + infrav1.ContainerCrashLoopReason, message: "exited with code 1, again after each restart",
		},
		"RestartedLater": {
			reason: "The time for which an exit is reported begins when the container runs again, not at a reconcile before.",
			change: func(t *testing.T, w *world.World) {
				t.Helper()
				found, err := w.Engine.InspectContainer(t.Context(), container())
				must.Succeed(t, err)
				w.Exits.Observe(engine.Event{Kind: engine.EventDie, ContainerID: found.ID, ExitCode: 143})
				must.Succeed(t, w.Engine.Pause(container()))
				_, err = w.ReconcileMachine(builders.Machine)
				must.Succeed(t, err)
				w.Clock.SetTime(w.Clock.Now().Add(5 * time.Second))
				must.Succeed(t, w.Engine.Unpause(container()))
			},
			reported: "False/" + infrav1.ContainerRestartedReason, message: "exited with code 143 and was restarted",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := world.New(t, builders.New())
			w.SettleMachine(builders.Machine)
			all(record("done"), becomesNode)(t, w)
			w.SettleMachine(builders.Machine)
			c.change(t, w)
			result, err := w.ReconcileMachine(builders.Machine)
			if err != nil || result.RequeueAfter == 0 {
				t.Errorf("%s\ngot %v, %v, want another look", c.reason, result, err)
			}
			object, _ := world.Get(w, builders.Machine, &infrav1.ContainerMachine{})
			if state, message := world.State(object, infrav1.MachineReadyCondition); state != c.reported || !strings.Contains(message, c.message) {
				t.Errorf("%s\nReady is %s (%s), want %s (%s)", c.reason, state, message, c.reported, c.message)
			}
			w.Clock.SetTime(w.Clock.Now().Add(result.RequeueAfter))
			w.SettleMachine(builders.Machine)
			object, _ = world.Get(w, builders.Machine, &infrav1.ContainerMachine{})
			if state, message := world.State(object, infrav1.MachineReadyCondition); !strings.HasPrefix(state, "True/") {
				t.Errorf("%s\nReady is %s (%s) in the end", c.reason, state, message)
			}
		})
	}
}

// TestCrashLoopHasOneMessage: a container that exits again after each restart is found running
// or exited, and a message that changed each time would be an Event and a line each time.
func TestCrashLoopHasOneMessage(t *testing.T) {
	t.Parallel()
	w := world.New(t, builders.New())
	w.SettleMachine(builders.Machine)
	all(record("done"), becomesNode)(t, w)
	w.SettleMachine(builders.Machine)
	exitFiveTimes(t, w)
	var messages []string
	for range 2 {
		must.Get(w.ReconcileMachine(builders.Machine))(t)
		object, _ := world.Get(w, builders.Machine, &infrav1.ContainerMachine{})
		state, message := world.State(object, infrav1.MachineReadyCondition)
		messages = append(messages, state+": "+message)
		must.Succeed(t, w.Engine.KillContainer(container(), 1, false))
	}
	if diff := cmp.Diff(messages[0], messages[1]); diff != "" || !strings.Contains(messages[0], infrav1.ContainerCrashLoopReason) {
		t.Errorf("while it runs and after it exited (-running +exited):\n%s%s", diff, messages[0])
	}
}

func exitFiveTimes(t *testing.T, w *world.World) {
	t.Helper()
	found := must.Get(w.Engine.InspectContainer(t.Context(), container()))(t)
	for range 5 {
		w.Clock.SetTime(w.Clock.Now().Add(time.Second))
		w.Exits.Observe(engine.Event{Kind: engine.EventDie, ContainerID: found.ID, ExitCode: 1, Time: w.Clock.Now()})
	}
}
