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
	"context"
	"errors"
	"net/netip"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/controllers/internal/reconcile"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/loadbalancer"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
	"github.com/capi-samples/cluster-api-provider-container/test/world"
)

// ranges of Pods and Services of the Cluster.
func ranges(pods, services []string) builders.Option {
	return func(o *builders.Objects) {
		o.Cluster.Spec.ClusterNetwork.Pods.CIDRBlocks, o.Cluster.Spec.ClusterNetwork.Services.CIDRBlocks = pods, services
	}
}

// provisioning tests the way to a provisioned cluster.
func provisioning() map[string]reconcileTest {
	return map[string]reconcileTest{
		"Provisioned": {
			reason: "Network and load balancer are all a cluster needs; what was chosen is pinned.",
			args:   args{options: spec(func(s *infrav1.ContainerClusterSpec) { s.FailureDomains = failureDomains() })},
			want:   want{loadBalancerReady: usable, ready: usable, provisioned: true},
			assert: pinnedWhole,
		},
		"NetworkCreated": {
			reason: "A network that does not exist is created, and marked as ours to remove.",
			args: args{
				options: spec(func(s *infrav1.ContainerClusterSpec) {
					s.Network = infrav1.Network{Name: "mine", Subnet: "10.77.0.0/24,fd00:77::/64"}
				}),
			},
			want: want{loadBalancerReady: usable, ready: usable, provisioned: true},
			assert: func(t *testing.T, w *world.World) {
				t.Helper()
				event("NetworkCreated")(t, w)
				found := must.Get(w.Engine.InspectNetwork(t.Context(), "mine"))(t)
				if found.Labels[identity.LabelManaged] == "" || found.Subnets[0].Prefix != prefix("10.77.0.0/24") || found.Subnets[1].Prefix != prefix("fd00:77::/64") {
					t.Errorf("the network is %+v", found)
				}
			},
		},
		"APIServerPort": {
			reason: "Clients and API servers use the port of the Cluster.",
			args: args{
				options: []builders.Option{func(o *builders.Objects) {
					o.Cluster.Spec.ClusterNetwork.APIServerPort = 7443
				}},
			},
			want: want{loadBalancerReady: usable, ready: usable, provisioned: true},
			assert: func(t *testing.T, w *world.World) {
				t.Helper()
				if port := get(w).Spec.ControlPlaneEndpoint.Port; port != 7443 {
					t.Errorf("the endpoint's port is %d", port)
				}
			},
		},
		"AdvertiseAddress": {
			reason: "Where clients do not reach the network, the endpoint is the port on the engine's host.",
			args: args{setup: func(_ *testing.T, w *world.World) {
				w.Engines.Own().Placement.AdvertiseAddress = "127.0.0.1"
			}},
			want: want{loadBalancerReady: usable, ready: usable, provisioned: true},
			assert: func(t *testing.T, w *world.World) {
				t.Helper()
				spec := get(w).Spec
				if want := (infrav1.APIEndpoint{Host: "127.0.0.1", Port: spec.LoadBalancer.HostPort}); spec.ControlPlaneEndpoint != want || want.Port == 0 {
					t.Errorf("the endpoint is %+v, want %+v", spec.ControlPlaneEndpoint, want)
				}
				found := must.Get(w.Engine.InspectContainer(t.Context(), balancer()))(t)
				if port := found.Ports[0]; int32(port.HostPort) != spec.LoadBalancer.HostPort || port.ContainerPort != 6443 {
					t.Errorf("the load balancer publishes %+v", found.Ports)
				}
			},
			check: world.BySameManager,
		},
		"OwnImage": {
			reason: "The load balancer has the image that the cluster asks for.",
			args: args{
				options: spec(func(s *infrav1.ContainerClusterSpec) { s.LoadBalancer.Image = "localhost/mine:1" }),
				setup: func(_ *testing.T, w *world.World) {
					w.Engine.AddImage(engine.Image{Tags: []string{"localhost/mine:1"}}, nil)
				},
			},
			want: want{loadBalancerReady: usable, ready: usable, provisioned: true},
			assert: func(t *testing.T, w *world.World) {
				t.Helper()
				found := must.Get(w.Engine.InspectContainer(t.Context(), balancer()))(t)
				if found.Image != "localhost/mine:1" {
					t.Errorf("the load balancer has the image %s", found.Image)
				}
			},
		},
		"ImageOfTheEngine": {
			reason: "Without a registry, the image that was built from source is there.",
			args: args{setup: func(_ *testing.T, w *world.World) {
				w.Cluster.LoadBalancerImage = loadbalancer.DefaultImage
				w.Engine.AddImage(engine.Image{Tags: []string{loadbalancer.BuiltImage}}, nil)
			}},
			want: want{loadBalancerReady: usable, ready: usable, provisioned: true},
			assert: func(t *testing.T, w *world.World) {
				t.Helper()
				found := must.Get(w.Engine.InspectContainer(t.Context(), balancer()))(t)
				if found.Image != loadbalancer.BuiltImage {
					t.Errorf("the load balancer has the image %s", found.Image)
				}
			},
			check: world.BySameManager,
		},
		"ImageBeingPulled": {
			reason: "A pull does not hold up the reconcile.",
			args:   args{setup: func(_ *testing.T, w *world.World) { w.Engine.RemoveImage(builders.LoadBalancerImage) }},
			want:   want{loadBalancerReady: "False/" + infrav1.LoadBalancerImagePullingReason, ready: "False/NotReady", message: builders.LoadBalancerImage, requeueAfter: reconcile.PullInterval},
		},
		"RegistryUnreachable": {
			reason: "An image that cannot be had is named, with what to do.",
			args: args{
				setup: func(t *testing.T, w *world.World) {
					t.Helper()
					w.Engine.RemoveImage(builders.LoadBalancerImage)
					w.Engine.OnCall(func(call simulatedCall) error {
						if call.Method == "PullImage" {
							return engine.ErrUnavailable
						}
						return nil
					})
					go func() { _ = w.Engines.Own().Images.Start(t.Context()) }()
					must.Eventually(t, 10*time.Second, "the pull has failed", func(context.Context) error {
						_, _ = w.ReconcileCluster()
						if state, _ := world.State(get(w), infrav1.LoadBalancerReadyCondition); state != "False/"+infrav1.LoadBalancerImagePullFailedReason {
							return errors.New(state)
						}
						return nil
					})
				},
			},
			want:  want{loadBalancerReady: "False/" + infrav1.LoadBalancerImagePullFailedReason, ready: "False/NotReady", message: "load the image into the engine", requeueAfter: reconcile.PullInterval},
			check: world.BySameManager,
		},
		"EngineDown": {
			reason: "Conditions are Unknown while the engine is not reachable.",
			args: args{
				setup: func(_ *testing.T, w *world.World) {
					w.Calls.Hook(func(simulatedCall) error { return engine.ErrUnavailable }, nil)
				},
			},
			want: want{preflightPassed: "Unknown/" + infrav1.EngineUnavailableReason, networkReady: "absent", loadBalancerReady: "absent", ready: "Unknown/ReadyUnknown", err: true},
		},
	}
}

// pinnedWhole checks what Cluster API reads of a provisioned cluster, and what
// is pinned for its life.
func pinnedWhole(t *testing.T, w *world.World) {
	t.Helper()
	event("LoadBalancerCreated")(t, w)
	object := get(w)
	found := must.Get(w.Engine.InspectContainer(t.Context(), balancer()))(t)
	want := infrav1.ContainerClusterSpec{
		OwnerID:              builders.OwnerID,
		ControlPlaneEndpoint: infrav1.APIEndpoint{Host: found.Labels[identity.LabelAddress], Port: 6443},
		Network:              infrav1.Network{Name: network.DefaultName},
		LoadBalancer:         infrav1.LoadBalancer{HostPort: int32(found.Ports[0].HostPort)},
		FailureDomains:       failureDomains(),
	}
	if diff := gocmp.Diff(want, object.Spec); diff != "" {
		t.Errorf("spec (-want +got):\n%s", diff)
	}
	if diff := gocmp.Diff(failureDomains(), object.Status.FailureDomains); diff != "" {
		t.Errorf("failure domains (-want +got):\n%s", diff)
	}
	subnet := must.Get(w.Engine.InspectNetwork(t.Context(), network.DefaultName))(t).Subnets[0]
	wantNetwork := infrav1.NetworkStatus{Subnets: []string{subnet.Prefix.String()}, ReservedSubnets: []string{network.Reserved(subnet).String()}}
	if diff := gocmp.Diff(wantNetwork, object.Status.Network); diff != "" {
		t.Errorf("network (-want +got):\n%s", diff)
	}
	if published := found.Ports[0].HostAddress; published != netip.MustParseAddr("127.0.0.1") {
		t.Errorf("the API is published on %s", published)
	}
}

// endpoints tests endpoints that the user gives.
func endpoints() map[string]reconcileTest {
	without := func(change func(*infrav1.ContainerClusterSpec)) []builders.Option {
		return spec(func(s *infrav1.ContainerClusterSpec) {
			s.LoadBalancer.Type = infrav1.LoadBalancerNone
			change(s)
		})
	}
	endpoint := func(host string, port int32) func(t *testing.T, w *world.World) {
		return func(t *testing.T, w *world.World) {
			t.Helper()
			if diff := gocmp.Diff(infrav1.APIEndpoint{Host: host, Port: port}, get(w).Spec.ControlPlaneEndpoint); diff != "" {
				t.Errorf("endpoint (-want +got):\n%s", diff)
			}
		}
	}
	const notUsed = "True/" + infrav1.LoadBalancerNotUsedReason
	return map[string]reconcileTest{
		"NoneWithoutEndpoint": {
			reason: "Who wants no load balancer has to say where the API servers are.",
			args:   args{options: without(func(*infrav1.ContainerClusterSpec) {})},
			want:   want{loadBalancerReady: "False/" + infrav1.EndpointMissingReason, ready: "False/NotReady", message: "spec.controlPlaneEndpoint"},
		},
		"NoneWithEndpoint": {
			reason: "An endpoint that is given is kept.",
			args: args{
				options: without(func(s *infrav1.ContainerClusterSpec) {
					s.ControlPlaneEndpoint = infrav1.APIEndpoint{Host: "api.example.test", Port: 443}
				}),
			},
			want:   want{loadBalancerReady: notUsed, ready: usable, provisioned: true},
			assert: endpoint("api.example.test", 443),
		},
		"NoneWithEndpointOfCluster": {
			reason: "Also one that the Cluster or its control plane provider gives.",
			args: args{
				options: append(without(func(*infrav1.ContainerClusterSpec) {}), func(o *builders.Objects) {
					o.Cluster.Spec.ControlPlaneEndpoint = clusterv1.APIEndpoint{Host: "api.example.test", Port: 8443}
				}),
			},
			want:   want{loadBalancerReady: notUsed, ready: usable, provisioned: true},
			assert: endpoint("api.example.test", 8443),
		},
		"AddressGiven": {
			reason: "The load balancer takes the address that the user chose.",
			args: args{
				options: spec(func(s *infrav1.ContainerClusterSpec) {
					s.ControlPlaneEndpoint = infrav1.APIEndpoint{Host: "172.18.222.2", Port: 8443}
				}),
			},
			want: want{loadBalancerReady: usable, ready: usable, provisioned: true},
			assert: func(t *testing.T, w *world.World) {
				t.Helper()
				endpoint("172.18.222.2", 8443)(t, w)
				found := must.Get(w.Engine.InspectContainer(t.Context(), balancer()))(t)
				if address := found.Labels[identity.LabelAddress]; address != "172.18.222.2" {
					t.Errorf("the load balancer is at %s", address)
				}
			},
		},
		"AddressOfCluster": {
			reason: "Or that the Cluster names.",
			args: args{
				options: []builders.Option{func(o *builders.Objects) {
					o.Cluster.Spec.ControlPlaneEndpoint = clusterv1.APIEndpoint{Host: "172.18.222.3", Port: 8443}
				}},
			},
			want:   want{loadBalancerReady: usable, ready: usable, provisioned: true},
			assert: endpoint("172.18.222.3", 8443),
		},
		"IPv6OfCluster": {
			reason: "No node of the cluster has an address to reach it from.",
			args: args{
				options: []builders.Option{func(o *builders.Objects) {
					o.Cluster.Spec.ControlPlaneEndpoint = clusterv1.APIEndpoint{Host: "fd00::5", Port: 6443}
				}},
			},
			want: want{
				loadBalancerReady: "False/" + infrav1.EndpointUnsupportedReason, ready: "False/NotReady",
				message: `spec.controlPlaneEndpoint.host of the Cluster: "fd00::5" is an IPv6 address`,
			},
			assert: noLoadBalancer,
		},
		"DualStack": {
			reason: "The first range decides the family of the endpoint, and the network has both.",
			args: args{options: append(spec(func(s *infrav1.ContainerClusterSpec) { s.Network.Name = "mine" }),
				ranges([]string{"fd00:10:244::/56", "10.244.0.0/16"}, []string{"fd00:10:96::/112", "10.96.0.0/16"}))},
			want: want{loadBalancerReady: usable, ready: usable, provisioned: true},
			assert: func(t *testing.T, w *world.World) {
				t.Helper()
				subnets := must.Get(w.Engine.InspectNetwork(t.Context(), "mine"))(t).Subnets
				object, _ := world.Get(w, builders.Cluster, &infrav1.ContainerCluster{})
				host := object.Spec.ControlPlaneEndpoint.Host
				if len(subnets) != 2 || !subnets[1].Prefix.Contains(netip.MustParseAddr(host)) {
					t.Errorf("the endpoint is %s, and the subnets of the network are %v", host, subnets)
				}
			},
		},
		"NetworkOfFamilies": {
			reason: "Who names no network gets one with the families of the Cluster.",
			args:   args{options: []builders.Option{ranges([]string{"10.244.0.0/16", "fd00:10:244::/56"}, nil)}},
			want:   want{loadBalancerReady: usable, ready: usable, provisioned: true},
			assert: func(t *testing.T, w *world.World) {
				t.Helper()
				if name := get(w).Spec.Network.Name; name != network.IPv6Name {
					t.Errorf("the network is %q", name)
				}
			},
		},
		"NetworkWithoutIPv6": {
			reason: "It cannot get another subnet, and may be in use.",
			args:   args{options: append(spec(func(s *infrav1.ContainerClusterSpec) { s.Network.Name = network.DefaultName }), ranges([]string{"10.244.0.0/16", "fd00:10:244::/56"}, nil))},
			want: want{
				networkReady: "False/" + infrav1.NetworkUnusableReason, loadBalancerReady: "absent", ready: "False/NotReady",
				message: `network "capcon" has no IPv6 subnet, and the cluster has IPv6 ranges; use another network, such as capcon-ipv6`, requeueAfter: anyDelay,
			},
			assert: noLoadBalancer,
		},
		"NetworkOfEarlierRelease": {
			reason: "A cluster that began before names were recorded stays on the network it is on.",
			args:   args{options: append(spec(func(s *infrav1.ContainerClusterSpec) { s.LoadBalancer.HostPort = 30001 }), ranges([]string{"10.244.0.0/16", "fd00:10:244::/56"}, nil))},
			want: want{
				networkReady: "False/" + infrav1.NetworkUnusableReason, loadBalancerReady: "absent", ready: "False/NotReady",
				message: `network "capcon" has no IPv6 subnet, and the cluster has IPv6 ranges; use another network, such as capcon-ipv6`, requeueAfter: anyDelay,
			},
			assert: func(t *testing.T, w *world.World) {
				t.Helper()
				if name := get(w).Spec.Network.Name; name != network.DefaultName {
					t.Errorf("the network is %q", name)
				}
			},
		},
		"TwoRangesOfOneFamily": {
			reason: "kubeadm would refuse them in the first node.",
			args:   args{options: []builders.Option{ranges([]string{"10.244.0.0/16", "10.245.0.0/16"}, nil)}},
			want: want{
				networkReady: "False/" + infrav1.AddressRangesInvalidReason, loadBalancerReady: "absent", ready: "False/NotReady",
				message: `of the Cluster: spec.clusterNetwork.pods.cidrBlocks: "10.245.0.0/16" is of the same family as 10.244.0.0/16; use at most one range of each family`,
			},
			assert: noLoadBalancer,
		},
		"NameGiven": {
			reason: "A name is kept, wherever it leads.",
			args: args{
				options: spec(func(s *infrav1.ContainerClusterSpec) {
					s.ControlPlaneEndpoint = infrav1.APIEndpoint{Host: "api.example.test"}
				}),
			},
			want:   want{loadBalancerReady: usable, ready: usable, provisioned: true},
			assert: endpoint("api.example.test", 6443),
		},
	}
}
