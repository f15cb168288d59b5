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
	"fmt"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/controllers/hostinfo"
	"github.com/capi-samples/cluster-api-provider-container/controllers/internal/reconcile"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
	"github.com/capi-samples/cluster-api-provider-container/test/world"
)

// provisioned tests a cluster after its first provisioning.
func provisioned() map[string]reconcileTest {
	const notReady = "False/NotReady"
	remove := func(t *testing.T, w *world.World) {
		t.Helper()
		must.Succeed(t, w.Engine.RemoveContainer(t.Context(), balancer()))
	}
	failing := func(method string, err error) func(*testing.T, *world.World) {
		return func(t *testing.T, w *world.World) {
			t.Helper()
			w.Calls.Hook(func(call simulatedCall) error {
				if call.Method == method {
					return err
				}
				return nil
			}, nil)
		}
	}
	return map[string]reconcileTest{
		"LoadBalancerGoneAndPortTaken": {
			reason: "The port is not exchanged for another: kubeconfigs name it.",
			args: args{
				setup: recordPins,
				change: func(t *testing.T, w *world.World) {
					t.Helper()
					remove(t, w)
					w.Engine.OccupyHostPort(uint16(get(w).Spec.LoadBalancer.HostPort)) //nolint:gosec // A port.
				},
			},
			want:  want{loadBalancerReady: "False/" + infrav1.HostPortInUseReason, ready: notReady, requeueAfter: anyDelay, provisioned: true},
			check: world.TryingAgainWithoutLoss,
		},
		"PortFreeAgain": {
			reason: "When the port is free, the load balancer comes back.",
			args: args{
				setup: recordPins,
				change: func(t *testing.T, w *world.World) {
					t.Helper()
					remove(t, w)
					port := uint16(get(w).Spec.LoadBalancer.HostPort) //nolint:gosec // A port.
					w.Engine.OccupyHostPort(port)
					w.SettleCluster()
					w.Engine.ReleaseHostPort(port)
					w.Clock.SetTime(w.Clock.Now().Add(reconcile.UserInterval))
				},
			},
			want:   want{loadBalancerReady: usable, ready: usable, provisioned: true},
			assert: samePins,
		},
		"LoadBalancerStopped": {
			reason: "It is started again.",
			args: args{
				setup: recordPins,
				change: func(t *testing.T, w *world.World) {
					t.Helper()
					must.Succeed(t, w.Engine.KillContainer(balancer(), 137, false))
				},
			},
			want: want{loadBalancerReady: usable, ready: usable, provisioned: true},
			assert: func(t *testing.T, w *world.World) {
				t.Helper()
				event("LoadBalancerStarted")(t, w)
				samePins(t, w)
			},
		},
		"LoadBalancerPaused": {
			reason: "Who paused it unpauses it.",
			args: args{
				change: func(t *testing.T, w *world.World) {
					t.Helper()
					must.Succeed(t, w.Engine.Pause(balancer()))
				},
			},
			want:  want{loadBalancerReady: "False/" + infrav1.LoadBalancerPausedReason, ready: notReady, message: "unpause", provisioned: true},
			check: world.WithoutLoss,
		},
		"EngineDown": {
			reason: "Conditions are Unknown while the engine is not reachable; what is pinned stays.",
			args: args{
				setup: recordPins,
				change: func(_ *testing.T, w *world.World) {
					w.Calls.Hook(func(simulatedCall) error { return engine.ErrUnavailable }, nil)
				},
			},
			want: want{
				networkReady: "Unknown/" + infrav1.EngineUnavailableReason, loadBalancerReady: "Unknown/" + infrav1.EngineUnavailableReason, ready: "Unknown/ReadyUnknown",
				err: true, provisioned: true,
			},
			assert: samePins,
			check:  world.WithoutLoss,
		},
		"ImageGone": {
			reason: "What runs does not need its image.",
			args:   args{change: func(_ *testing.T, w *world.World) { w.Engine.RemoveImage(builders.LoadBalancerImage) }},
			want:   want{loadBalancerReady: usable, ready: usable, provisioned: true},
		},
		"PreflightFails": {
			reason: "A failed preflight is reported, and a running cluster keeps running.",
			args: args{
				change: func(t *testing.T, w *world.World) {
					t.Helper()
					// A new manager does not know earlier answers of the engine.
					w.Engines.Own().Host = hostinfo.NewObserver(w.Engine)
					failing("Info", engine.ErrUnavailable)(t, w)
				},
			},
			want:  want{preflightPassed: "Unknown/" + infrav1.EngineUnavailableReason, loadBalancerReady: usable, ready: usable, err: true, provisioned: true},
			check: world.WithoutLoss,
		},
		"NetworkFails": {
			reason: "A network that cannot be looked at keeps no load balancer from following its machines.",
			args: args{
				change: func(t *testing.T, w *world.World) {
					t.Helper()
					settleControlPlane(w)
					failing("InspectNetwork", engine.ErrUnavailable)(t, w)
				},
				options: []builders.Option{builders.ControlPlane(builders.InitData)},
			},
			want:  want{networkReady: "Unknown/" + infrav1.EngineUnavailableReason, loadBalancerReady: usable, ready: "Unknown/ReadyUnknown", err: true, provisioned: true},
			check: world.WithoutLoss,
			assert: func(t *testing.T, w *world.World) {
				t.Helper()
				if weights := w.LoadBalancers.Weights(balancer()); len(weights) != 1 {
					t.Errorf("backends are %v", weights)
				}
			},
		},
		"ConfigurationRefused": {
			reason: "HAProxy's error is reported, and the process keeps its configuration.",
			args: args{
				options: []builders.Option{builders.ControlPlane(builders.InitData)},
				change: func(_ *testing.T, w *world.World) {
					settleControlPlane(w)
					w.LoadBalancers.Refuse("unknown keyword 'serve'")
				},
			},
			want:  want{loadBalancerReady: notReady, ready: notReady, message: "unknown keyword", err: true, provisioned: true},
			check: world.WithoutLoss,
		},
	}
}

// settleControlPlane lets the machine controller create the machine.
func settleControlPlane(w *world.World) { w.SettleMachine(builders.Machine) }

// recordPins keeps what was pinned when the cluster was first provisioned, in
// an annotation of another controller.
func recordPins(t *testing.T, w *world.World) {
	t.Helper()
	w.SettleCluster()
	world.Edit(w, builders.Cluster, &infrav1.ContainerCluster{}, func(c *infrav1.ContainerCluster) {
		metav1.SetMetaDataAnnotation(&c.ObjectMeta, pinsAnnotation, pins(t, w))
	})
}

const pinsAnnotation = "test/pins"

func samePins(t *testing.T, w *world.World) {
	t.Helper()
	if diff := gocmp.Diff(get(w).Annotations[pinsAnnotation], pins(t, w)); diff != "" {
		t.Errorf("address and port (-before +after):\n%s", diff)
	}
}

// pins are address and port as the spec has them and as the load balancer has.
func pins(t *testing.T, w *world.World) string {
	t.Helper()
	found := must.Get(w.Engine.InspectContainer(t.Context(), balancer()))(t)
	object := get(w)
	return fmt.Sprint(
		object.Spec.ControlPlaneEndpoint.Host, object.Spec.LoadBalancer.HostPort,
		found.Networks["capcon"].Addresses[0].String(), found.Ports[0].HostPort,
	)
}
