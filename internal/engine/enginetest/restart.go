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
	"cmp"
	"testing"
	"time"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

func restartChecks() checks {
	return checks{
		// What the restart policy does when the engine restarts.
		"containers": restartsByPolicy,
		// Static address and pinned host port are the same after a restart of the engine.
		"addresses and ports": func(t *testing.T, c *fixture) {
			static := address(c.network(t, "net").Subnets[0], 5)
			spec := c.at("a", static)
			spec.Restart = engine.RestartUnlessStopped
			spec.Ports = []engine.PortBinding{{HostAddress: localhost, HostPort: c.FreePort(t), ContainerPort: 80}}
			c.run(t, spec)
			c.RestartEngine(t)
			found := c.eventuallyStatus(t, "a", engine.StatusRunning)
			c.wantAddresses(t, "a", static)
			if len(found.Ports) != 1 || found.Ports[0] != spec.Ports[0] {
				t.Errorf("ports %v, want %v", found.Ports, spec.Ports)
			}
		},
		// After a restart of the engine the watcher receives a relist, and continues.
		"events": func(t *testing.T, c *fixture) { c.wantWatched(t, c.RestartEngine, 1) },
	}
}

func restartsByPolicy(t *testing.T, c *fixture) {
	cases := map[string]struct {
		reason string
		// policy is RestartUnlessStopped where it is empty, want StatusRunning.
		policy engine.RestartPolicy
		before func(name string)
		want   engine.Status
		// runsOn is expected where containers run on without the engine; empty = want.
		runsOn engine.Status
	}{
		"untouched": {reason: "a running container runs again"},
		"signaled": {
			reason: "a signal from inside does not count as the wish to stop",
			before: func(name string) { c.tool(t, name, "kill", "HUP", "1") },
		},
		"executed": {
			reason: "a command does not change what the policy does",
			before: func(name string) { c.tool(t, name, "print", "x") },
		},
		"started-again": {
			reason: "a start reverts the desired state to running",
			before: func(name string) { c.stop(t, name); c.start(t, name) },
		},
		"stopped": {
			reason: "a container stopped this way is not started again", want: engine.StatusExited,
			before: func(name string) { c.stop(t, name) },
		},
		"always": {
			reason: "RestartAlways starts after a restart of the engine also what was stopped",
			policy: engine.RestartAlways, runsOn: engine.StatusExited,
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
		spec.Restart = cmp.Or(test.policy, engine.RestartUnlessStopped)
		c.run(t, spec)
		if test.before != nil {
			test.before(spec.Name)
		}
		starts[suffix] = c.inspect(t, spec.Name).StartedAt
	}
	before, err := c.Info(t.Context())
	succeed(t, "the engine before its restart", err)
	c.RestartEngine(t)
	if after, err := c.Info(t.Context()); err != nil || after.StorageID != before.StorageID {
		t.Errorf("the storage's ID was %q before and is %q after a restart of the engine: %v", before.StorageID, after.StorageID, err)
	}
	for suffix, test := range cases {
		want := cmp.Or(test.want, engine.StatusRunning)
		wantAgain := want == engine.StatusRunning
		if c.RunsOn {
			want, wantAgain = cmp.Or(test.runsOn, want), false
		}
		found := c.eventuallyStatus(t, suffix, want)
		if again := found.StartedAt.After(starts[suffix]); again != wantAgain {
			t.Errorf("%s: started again %v; %s", suffix, again, test.reason)
		}
	}
}
