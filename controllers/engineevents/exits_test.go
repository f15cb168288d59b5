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

package engineevents_test

import (
	"testing"
	"time"

	testclock "k8s.io/utils/clock/testing"

	"github.com/capi-samples/cluster-api-provider-container/controllers/engineevents"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

func TestExits(t *testing.T) {
	t.Parallel()
	const id = "c1"
	event := func(kind engine.EventKind, exitCode int) engine.Event {
		return engine.Event{Kind: kind, ContainerID: id, ExitCode: exitCode}
	}
	at := func(e engine.Event, after time.Duration) engine.Event {
		e.Time = e.Time.Add(after)
		return e
	}
	cases := map[string]struct {
		reason string
		events []engine.Event
		later  time.Duration
		// want is the text, empty where no exit is to be reported.
		want string
	}{
		"None": {reason: "What did not end is not reported."},
		"Died": {
			reason: "The exit code is what the event said.",
			events: []engine.Event{event(engine.EventDie, 137), event(engine.EventStart, 0)},
			want:   "exited with code 137 (SIGKILL: a user, the engine or the kernel ended its processes)",
		},
		"ReportedTwice": {
			reason: "Each controller watches, and one may be behind.",
			events: []engine.Event{event(engine.EventOOM, 0), event(engine.EventDie, 137), event(engine.EventOOM, 0)},
			want:   "exited with code 137 (OOMKilled)",
		},
		"OneProcess": {
			reason: "A process within a container that runs on is no exit of the container.",
			events: []engine.Event{event(engine.EventOOM, 0)},
		},
		"Late": {
			reason: "A controller with much to do reports it when it comes to it.",
			events: []engine.Event{event(engine.EventDie, 137)}, later: 29 * time.Second,
			want: "exited with code 137 (SIGKILL: a user, the engine or the kernel ended its processes)",
		},
		"ExitedAgain": {
			reason: "An exit without an OOM kill is no OOM kill because an earlier one was.",
			events: []engine.Event{event(engine.EventOOM, 0), event(engine.EventDie, 137), at(event(engine.EventDie, 1), time.Minute)},
			want:   "exited with code 1",
		},
		"LongAgo": {
			reason: "What has run for a while is healthy again.",
			events: []engine.Event{event(engine.EventDie, 137)}, later: 30 * time.Second,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := testclock.NewFakePassiveClock(time.Unix(1, 0))
			exits := engineevents.NewExits(clock)
			for _, happened := range c.events {
				exits.Observe(happened)
			}
			clock.SetTime(clock.Now().Add(c.later))
			exit, remaining := exits.Recent(id)
			if reported := remaining > 0; reported != (c.want != "") || reported && exit.String() != c.want {
				t.Errorf("%s\ngot %q for another %s, want %q", c.reason, exit, remaining, c.want)
			}
			if _, remaining := exits.Recent("another"); remaining != 0 {
				t.Error("a container that did not end is reported")
			}
			clock.SetTime(clock.Now().Add(3 * time.Second))
			if _, remaining := exits.Recent(id); remaining != 0 {
				t.Error("it is reported for longer than three seconds")
			}
			clock.SetTime(clock.Now().Add(time.Hour))
			exits.Observe(engine.Event{Kind: engine.EventDie, ContainerID: "another"})
			if _, remaining := exits.Recent(id); remaining != 0 {
				t.Error("it is reported again with the exit of another container")
			}
		})
	}
}

// TestLoops: an exit that two watchers report counts once.
func TestLoops(t *testing.T) {
	t.Parallel()
	const id = "c1"
	clock := testclock.NewFakePassiveClock(time.Unix(1, 0))
	exits := engineevents.NewExits(clock)
	exit := func(after time.Duration) {
		clock.SetTime(clock.Now().Add(after))
		for range 2 {
			exits.Observe(engine.Event{Kind: engine.EventDie, ContainerID: id, ExitCode: 1, Time: clock.Now()})
		}
	}
	for i := range 4 {
		exit(time.Minute)
		if exits.IsCrashLooping(id) {
			t.Fatalf("exit %d is a crash loop", i+1)
		}
	}
	exit(time.Minute)
	if _, remaining := exits.Recent(id); !exits.IsCrashLooping(id) || remaining != 20*time.Second {
		t.Errorf("after five exits: loops %t, reported for %s", exits.IsCrashLooping(id), remaining)
	}
	clock.SetTime(clock.Now().Add(20 * time.Second))
	if _, remaining := exits.Recent(id); remaining != 0 {
		t.Errorf("a container that runs for 20s is reported for %s", remaining)
	}
	exit(91 * time.Second)
	if exits.IsCrashLooping(id) {
		t.Error("a container that ran for 91s is in a crash loop")
	}
}
