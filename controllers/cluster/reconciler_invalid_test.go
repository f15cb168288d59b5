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
	"errors"
	"fmt"
	"net/netip"
	"testing"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/controllers/internal/reconcile"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
	"github.com/capi-samples/cluster-api-provider-container/test/world"
)

// invalidInput tests what only a change of the spec can solve.
func invalidInput() map[string]reconcileTest {
	const notReady = "False/NotReady"
	named := func(name, subnet string) []builders.Option {
		return spec(func(s *infrav1.ContainerClusterSpec) { s.Network = infrav1.Network{Name: name, Subnet: subnet} })
	}
	network := func(spec engine.NetworkSpec) func(*testing.T, *world.World) {
		return func(t *testing.T, w *world.World) {
			t.Helper()
			must.Get(w.Engine.CreateNetwork(t.Context(), spec))(t)
		}
	}
	const unusable = "False/" + infrav1.NetworkUnusableReason
	return map[string]reconcileTest{
		"SubnetMalformed": {
			reason: "The form is shown.",
			args:   args{options: named("mine", "10.77.0.0")},
			want:   want{networkReady: unusable, loadBalancerReady: "absent", ready: notReady, message: "172.30.0.0/16"},
		},
		"SubnetDiffers": {
			reason: "A network that exists with another subnet is not what was asked for.",
			args: args{
				options: named("mine", "10.77.0.0/24"),
				setup:   network(engine.NetworkSpec{Name: "mine"}),
			},
			want: want{networkReady: unusable, loadBalancerReady: "absent", ready: notReady, message: "use its subnet", requeueAfter: reconcile.UserInterval},
		},
		"SubnetOfPods": {
			reason: "Nodes would not reach the Pods.",
			args:   args{options: append(named("mine", "10.244.0.0/24,fd00:9::/64"), ranges([]string{"10.244.0.0/16"}, nil))},
			want: want{
				networkReady: unusable, loadBalancerReady: "absent", ready: notReady,
				message: `spec.network: subnet "10.244.0.0/24" overlaps the range 10.244.0.0/16 of Pods (spec.clusterNetwork.pods.cidrBlocks of the Cluster); use another subnet`,
			},
			assert: func(t *testing.T, w *world.World) {
				t.Helper()
				if _, err := w.Engine.InspectNetwork(t.Context(), "mine"); !errors.Is(err, engine.ErrNotFound) {
					t.Errorf("the network is there: %v", err)
				}
			},
		},
		"PodsOnTheNetwork": {
			reason: "The network may be in use.",
			args: args{
				options: append(named("mine", ""), ranges([]string{"10.77.1.0/24"}, nil)),
				setup:   network(engine.NetworkSpec{Name: "mine", Subnets: []netip.Prefix{prefix("10.77.0.0/16")}}),
			},
			want: want{
				networkReady: "False/" + infrav1.AddressRangesInvalidReason, loadBalancerReady: "absent", ready: notReady,
				message: `of the Cluster: spec.clusterNetwork.pods.cidrBlocks: "10.77.1.0/24" overlaps subnet 10.77.0.0/16 of network "mine"; use another range`,
			},
			assert: noLoadBalancer,
		},
		"SubnetTaken": {
			reason: "Two networks cannot have one subnet.",
			args: args{
				options: named("mine", "10.77.0.0/24"),
				setup:   network(engine.NetworkSpec{Name: "other", Subnets: []netip.Prefix{prefix("10.77.0.0/16")}}),
			},
			want: want{networkReady: unusable, loadBalancerReady: "absent", ready: notReady, message: "10.77.0.0/24", requeueAfter: reconcile.UserInterval},
		},
		"SubnetExhausted": {
			reason: "A full network is named with what to do.",
			args: args{
				options: named("mine", ""),
				setup: func(t *testing.T, w *world.World) {
					t.Helper()
					network(engine.NetworkSpec{Name: "mine", Subnets: []netip.Prefix{prefix("10.77.0.0/29")}})(t, w)
					for i := 2; i < 7; i++ {
						address := fmt.Sprintf("10.77.0.%d", i)
						must.Get(w.Engine.CreateContainer(t.Context(), engine.Spec{
							Name: fmt.Sprintf("filler-%d", i), Image: builders.NodeImage,
							Labels: map[string]string{identity.LabelNetwork: "mine", identity.LabelAddress: address},
						}))(t)
					}
				},
			},
			want: want{loadBalancerReady: "False/" + infrav1.SubnetExhaustedReason, ready: notReady, message: "larger subnet", requeueAfter: anyDelay},
		},
		"NoStaticAddresses": {
			reason: "Docker says only at start that it chose the subnet of a network that exists.",
			args: args{
				options: named("mine", ""),
				setup: func(t *testing.T, w *world.World) {
					t.Helper()
					network(engine.NetworkSpec{Name: "mine"})(t, w)
					w.Calls.Hook(func(call simulatedCall) error {
						if call.Method == "StartContainer" {
							return engine.ErrNoStaticAddresses
						}
						return nil
					}, nil)
				},
			},
			want: want{
				networkReady: unusable, loadBalancerReady: "False/" + infrav1.LoadBalancerNotReadyReason, ready: notReady,
				message: "create it with --subnet", requeueAfter: anyDelay,
			},
			check:  world.TryingAgain,
			assert: noLoadBalancer,
		},
		"HostPortInUse": {
			reason: "A given port that is in use is reported; no other is chosen.",
			args: args{
				options: spec(func(s *infrav1.ContainerClusterSpec) { s.LoadBalancer.HostPort = 8001 }),
				setup:   func(_ *testing.T, w *world.World) { w.Engine.OccupyHostPort(8001) },
			},
			want:   want{loadBalancerReady: "False/" + infrav1.HostPortInUseReason, ready: notReady, message: "8001", requeueAfter: anyDelay},
			check:  world.TryingAgain,
			assert: noLoadBalancer,
		},
		"AddressInUse": {
			reason: "So is an address, with who has it.",
			args: args{
				options: spec(func(s *infrav1.ContainerClusterSpec) {
					s.ControlPlaneEndpoint = infrav1.APIEndpoint{Host: "172.18.222.2", Port: 6443}
				}),
				setup: func(t *testing.T, w *world.World) {
					t.Helper()
					must.Get(w.Engine.CreateContainer(t.Context(), engine.Spec{Name: "other", Image: builders.NodeImage, Labels: map[string]string{
						identity.LabelNetwork: "capcon", identity.LabelAddress: "172.18.222.2",
					}}))(t)
				},
			},
			want:   want{loadBalancerReady: "False/" + infrav1.AddressInUseReason, ready: notReady, message: "other", requeueAfter: anyDelay},
			assert: noLoadBalancer,
		},
		"NotOurs": {
			reason: "A container of our name that is not ours is left alone.",
			args: args{
				setup: func(t *testing.T, w *world.World) {
					t.Helper()
					must.Get(w.Engine.CreateContainer(t.Context(), engine.Spec{Name: balancer(), Image: builders.NodeImage}))(t)
					must.Succeed(t, w.Engine.StartContainer(t.Context(), balancer()))
				},
			},
			want: want{loadBalancerReady: "False/" + infrav1.ContainerNotOwnedReason, ready: notReady, message: balancer(), requeueAfter: reconcile.UserInterval},
			assert: func(t *testing.T, w *world.World) {
				t.Helper()
				if _, err := w.Engine.InspectContainer(t.Context(), balancer()); err != nil {
					t.Errorf("the foreign container: %v", err)
				}
			},
		},
	}
}

func noLoadBalancer(t *testing.T, w *world.World) {
	t.Helper()
	if _, err := w.Engine.InspectContainer(t.Context(), balancer()); engine.IgnoreNotFound(err) != nil || err == nil {
		t.Errorf("a load balancer is left: %v", err)
	}
}
