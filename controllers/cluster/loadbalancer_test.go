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

package cluster_test

import (
	"strings"
	"testing"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/haproxy"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
	"github.com/capi-samples/cluster-api-provider-container/test/world"
)

// TestEndIsReported: that a load balancer ended is seen of its conditions even
// where the same reconcile starts it again, or where the engine was quicker.
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
				must.Succeed(t, w.Engine.KillContainer(balancer(), 137, true))
			},
			reported: "False/" + infrav1.LoadBalancerNotRunningReason, message: "exited with code 137 (OOMKilled) and has been started again",
		},
		"Removed": {
			reason: "One that is not found is recreated.",
			change: func(t *testing.T, w *world.World) {
				t.Helper()
				must.Succeed(t, w.Engine.RemoveContainer(t.Context(), balancer()))
			},
			reported: "False/" + infrav1.LoadBalancerNotRunningReason, message: "was not found and has been recreated",
		},
		"Disconnected": {
			reason: "One that lost its network is recreated.",
			change: func(t *testing.T, w *world.World) {
				t.Helper()
				must.Succeed(t, w.Engine.DisconnectNetwork(t.Context(), "capcon", balancer()))
			},
			reported: "False/" + infrav1.LoadBalancerNotRunningReason, message: "lost its network or address and has been recreated",
		},
		"RestartedByTheEngine": {
			reason: "The engine's restart policy is quicker than a reconcile; its event reports the exit.",
			change: func(t *testing.T, w *world.World) {
				t.Helper()
				found := must.Get(w.Engine.InspectContainer(t.Context(), balancer()))(t)
				w.Exits.Observe(engine.Event{Kind: engine.EventDie, ContainerID: found.ID, ExitCode: 1})
			},
			reported: "False/" + infrav1.LoadBalancerRestartedReason, message: "exited with code 1 and was restarted",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := world.New(t, builders.New())
			w.SettleCluster()
			c.change(t, w)
			result, err := w.ReconcileCluster()
			if err != nil || result.RequeueAfter == 0 {
				t.Errorf("%s\ngot %v, %v, want another look", c.reason, result, err)
			}
			object := get(w)
			if state, message := world.State(object, infrav1.LoadBalancerReadyCondition); state != c.reported || !strings.Contains(message, c.message) {
				t.Errorf("%s\nLoadBalancerReady is %s (%s), want %s (%s)", c.reason, state, message, c.reported, c.message)
			}
			if state, _ := world.State(object, infrav1.ClusterReadyCondition); !strings.HasPrefix(state, "False/") {
				t.Errorf("%s\nReady is %s", c.reason, state)
			}
			w.Clock.SetTime(w.Clock.Now().Add(result.RequeueAfter))
			w.SettleCluster()
			if state, message := world.State(get(w), infrav1.ClusterReadyCondition); !strings.HasPrefix(state, "True/") {
				t.Errorf("%s\nReady is %s (%s) in the end", c.reason, state, message)
			}
		})
	}
}

// TestAdditionalPorts lead to the same ports of the control planes, and change without
// another container.
func TestAdditionalPorts(t *testing.T) {
	t.Parallel()
	w := twoControlPlanes(t)
	before := must.Get(w.Engine.InspectContainer(t.Context(), balancer()))(t)
	for _, tc := range []struct {
		ports []int32
		// servers of port 9345: two, and two without a health check.
		servers int
	}{{[]int32{8132, 9345}, 4}, {nil, 0}} {
		world.Edit(w, builders.Cluster, &infrav1.ContainerCluster{}, func(c *infrav1.ContainerCluster) {
			c.Spec.LoadBalancer.AdditionalPorts = tc.ports
		})
		w.SettleCluster()
		text := string(must.Get(w.Engine.ReadFile(balancer(), haproxy.ConfigPath))(t))
		if got := strings.Count(text, ":9345 weight 100\n"); got != tc.servers {
			t.Errorf("with ports %v, %d servers of port 9345, want %d in:\n%s", tc.ports, got, tc.servers, text)
		}
	}
	if after := must.Get(w.Engine.InspectContainer(t.Context(), balancer()))(t); after.ID != before.ID {
		t.Errorf("container %s became %s", before.ID, after.ID)
	}
}
