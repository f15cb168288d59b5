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

package enginetest

import (
	"testing"
	"time"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

func restartChecks() map[string]check {
	checks := map[string]check{
		"containers": {
			contract: "what the restart policy does when the engine restarts",
			run:      restartsByPolicy,
		},
		"addresses and ports": {
			contract: "static address and pinned host port are the same after a restart of the engine",
			run: func(t *testing.T, c *fixture) {
				static := address(firstSubnet(t, c.network(t, "net")), 5)
				spec := c.at("a", static)
				spec.Restart = engine.RestartUnlessStopped
				spec.Ports = []engine.PortBinding{{HostAddress: localhost, HostPort: c.FreePort(t), ContainerPort: 80}}
				c.run(t, spec)
				c.RestartEngine(t)
				c.eventuallyStatus(t, "a", engine.StatusRunning)
				c.wantAddresses(t, "a", static)
				if got := c.inspect(t, spec.Name).Ports; len(got) != 1 || got[0] != spec.Ports[0] {
					t.Errorf("ports %v, want %v", got, spec.Ports)
				}
			},
		},
		"events": {
			contract: "after a restart of the engine the watcher receives a relist, and continues",
			run: func(t *testing.T, c *fixture) {
				seen := c.watch(t, nil)
				seen.awaitRelist(t, 1)
				before := seen.count(engine.EventRelist)
				c.RestartEngine(t)
				seen.awaitRelist(t, before+1)
				id := c.run(t, c.spec("a"))
				seen.await(t, id, engine.EventStart)
			},
		},
	}
	for title, c := range checks {
		c.restart = true
		checks[title] = c
	}
	return checks
}

func restartsByPolicy(t *testing.T, c *fixture) {
	cases := map[string]struct {
		reason string
		policy engine.RestartPolicy
		before func(name string)
		want   engine.Status
		// runsOn is wanted where containers run on without the engine.
		runsOn engine.Status
	}{
		"untouched": {
			reason: "a running container runs again",
			policy: engine.RestartUnlessStopped, want: engine.StatusRunning, runsOn: engine.StatusRunning,
		},
		"signaled": {
			reason: "a signal from inside does not count as the wish to stop",
			policy: engine.RestartUnlessStopped, want: engine.StatusRunning, runsOn: engine.StatusRunning,
			before: func(name string) { c.tool(t, name, "kill", "HUP", "1") },
		},
		"executed": {
			reason: "a command does not change what the policy does",
			policy: engine.RestartUnlessStopped, want: engine.StatusRunning, runsOn: engine.StatusRunning,
			before: func(name string) { c.tool(t, name, "print", "x") },
		},
		"started-again": {
			reason: "a start reverts the desired state to running",
			policy: engine.RestartUnlessStopped, want: engine.StatusRunning, runsOn: engine.StatusRunning,
			before: func(name string) { c.stop(t, name); c.start(t, name) },
		},
		"stopped": {
			reason: "A container stopped this way is not started again",
			policy: engine.RestartUnlessStopped, want: engine.StatusExited, runsOn: engine.StatusExited,
			before: func(name string) { c.stop(t, name) },
		},
		"always": {
			reason: "RestartAlways starts after a restart of the engine also what was stopped",
			policy: engine.RestartAlways, want: engine.StatusRunning, runsOn: engine.StatusExited,
			before: func(name string) { c.stop(t, name) },
		},
		"never": {
			reason: "RestartNever leaves a container that ended as it is",
			policy: engine.RestartNever, want: engine.StatusExited, runsOn: engine.StatusRunning,
		},
	}
	starts := map[string]time.Time{}
	for suffix, test := range cases {
		spec := c.spec(suffix)
		spec.Restart = test.policy
		c.run(t, spec)
		if test.before != nil {
			test.before(spec.Name)
		}
		starts[suffix] = c.inspect(t, spec.Name).StartedAt
	}
	created := c.spec("created")
	created.Restart = engine.RestartUnlessStopped
	c.create(t, created)

	before, err := c.Info(t.Context())
	succeed(t, "the engine before its restart", err)
	c.RestartEngine(t)
	if after, err := c.Info(t.Context()); err != nil || after.StorageID != before.StorageID {
		t.Errorf("the storage's ID was %q before and is %q after a restart of the engine: %v", before.StorageID, after.StorageID, err)
	}
	for suffix, test := range cases {
		want, wantAgain := test.want, test.want == engine.StatusRunning
		if c.RunsOn {
			want, wantAgain = test.runsOn, false
		}
		c.eventuallyStatus(t, suffix, want)
		found := c.inspect(t, c.named(suffix))
		if again := found.StartedAt.After(starts[suffix]); again != wantAgain {
			t.Errorf("%s: started again %v; %s", suffix, again, test.reason)
		}
	}
	t.Logf("a container that never ran is %s after the restart", c.inspect(t, created.Name).Status)
}
