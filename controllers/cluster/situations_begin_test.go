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
	"net/netip"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1alpha1"
	"github.com/capi-samples/cluster-api-provider-container/controllers/phase"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/world"
)

// provisioning are the situations until there is a cluster.
func provisioning() map[string]situation {
	return map[string]situation{
		"Provisioned": {
			reason:       "Network and load balancer are all a cluster needs; what was chosen is pinned.",
			options:      spec(func(s *infrav1.ContainerClusterSpec) { s.FailureDomains = failureDomains() }),
			loadBalancer: usable, ready: usable, provisioned: true, holds: pinnedWhole,
		},
		"NetworkCreated": {
			reason: "A network that does not exist is created, and marked as ours to remove.",
			options: spec(func(s *infrav1.ContainerClusterSpec) {
				s.Network = infrav1.Network{Name: "mine", Subnet: "10.77.0.0/24"}
			}),
			loadBalancer: usable, ready: usable, provisioned: true,
			holds: func(t *testing.T, w *world.World) {
				t.Helper()
				event("NetworkCreated")(t, w)
				found, err := w.Engine.InspectNetwork(t.Context(), "mine")
				must(t, err)
				if found.Labels[identity.LabelManaged] == "" || found.Subnets[0].Prefix != prefix("10.77.0.0/24") {
					t.Errorf("the network is %+v", found)
				}
			},
		},
		"APIServerPort": {
			reason: "Clients and API servers use the port of the Cluster.",
			options: []builders.Option{func(o *builders.Objects) {
				o.Cluster.Spec.ClusterNetwork.APIServerPort = 7443
			}},
			loadBalancer: usable, ready: usable, provisioned: true,
			holds: func(t *testing.T, w *world.World) {
				t.Helper()
				if port := get(w).Spec.ControlPlaneEndpoint.Port; port != 7443 {
					t.Errorf("the endpoint's port is %d", port)
				}
			},
		},
		"ImageBeingPulled": {
			reason:       "A pull does not hold up the reconcile.",
			begins:       func(_ *testing.T, w *world.World) { w.Engine.RemoveImage(builders.LoadBalancerImage) },
			loadBalancer: "False/" + infrav1.LoadBalancerImagePullingReason, ready: "False/NotReady", message: builders.LoadBalancerImage, again: phase.PullInterval,
		},
		"RegistryUnreachable": {
			reason: "An image that cannot be had is named, with what to do.",
			begins: func(t *testing.T, w *world.World) {
				t.Helper()
				w.Engine.RemoveImage(builders.LoadBalancerImage)
				w.Engine.FailNext("PullImage", engine.ErrUnavailable)
				go func() { _ = w.Cluster.Images.Start(t.Context()) }()
				for limit := time.Now().Add(10 * time.Second); time.Now().Before(limit); time.Sleep(time.Millisecond) {
					_, _ = w.ReconcileCluster()
					if state, _ := world.State(get(w), infrav1.LoadBalancerReadyCondition); state == "False/"+infrav1.LoadBalancerImagePullFailedReason {
						return
					}
				}
			},
			loadBalancer: "False/" + infrav1.LoadBalancerImagePullFailedReason, ready: "False/NotReady", message: "load the image into the engine", again: phase.PullInterval, check: world.BySameManager,
		},
		"EngineDown": {
			reason: "What the engine does not tell is unknown.",
			begins: func(_ *testing.T, w *world.World) {
				w.Calls.Hook(func(simulatedCall) error { return engine.ErrUnavailable }, nil)
			},
			preflight: "Unknown/" + infrav1.EngineUnavailableReason, network: "absent", loadBalancer: "absent", ready: "Unknown/ReadyUnknown", fails: true,
		},
	}
}

// pinnedWhole checks what Cluster API reads of a provisioned cluster, and what
// is pinned for its life.
func pinnedWhole(t *testing.T, w *world.World) {
	t.Helper()
	event("LoadBalancerCreated")(t, w)
	object := get(w)
	found, err := w.Engine.InspectContainer(t.Context(), balancer())
	must(t, err)
	want := infrav1.ContainerClusterSpec{
		OwnerID:              builders.OwnerID,
		ControlPlaneEndpoint: infrav1.APIEndpoint{Host: found.Labels[identity.LabelAddress], Port: 6443},
		LoadBalancer:         infrav1.LoadBalancer{HostPort: int32(found.Ports[0].HostPort)},
		FailureDomains:       failureDomains(),
	}
	if diff := gocmp.Diff(want, object.Spec); diff != "" {
		t.Errorf("spec (-want +got):\n%s", diff)
	}
	if diff := gocmp.Diff(failureDomains(), object.Status.FailureDomains); diff != "" {
		t.Errorf("failure domains (-want +got):\n%s", diff)
	}
	if published := found.Ports[0].HostAddress; published != netip.MustParseAddr("127.0.0.1") {
		t.Errorf("the API is published on %s", published)
	}
}

// endpoints are those that somebody else decides on.
func endpoints() map[string]situation {
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
	return map[string]situation{
		"NoneWithoutEndpoint": {
			reason: "Who wants no load balancer has to say where the API servers are.", options: without(func(*infrav1.ContainerClusterSpec) {}),
			loadBalancer: "False/" + infrav1.EndpointMissingReason, ready: "False/NotReady", message: "spec.controlPlaneEndpoint",
		},
		"NoneWithEndpoint": {
			reason: "An endpoint that is given is kept.",
			options: without(func(s *infrav1.ContainerClusterSpec) {
				s.ControlPlaneEndpoint = infrav1.APIEndpoint{Host: "api.example.test", Port: 443}
			}),
			loadBalancer: notUsed, ready: usable, provisioned: true, holds: endpoint("api.example.test", 443),
		},
		"NoneWithEndpointOfCluster": {
			reason: "Also one that the Cluster or its control plane provider gives.",
			options: append(without(func(*infrav1.ContainerClusterSpec) {}), func(o *builders.Objects) {
				o.Cluster.Spec.ControlPlaneEndpoint = clusterv1.APIEndpoint{Host: "api.example.test", Port: 8443}
			}),
			loadBalancer: notUsed, ready: usable, provisioned: true, holds: endpoint("api.example.test", 8443),
		},
		"AddressGiven": {
			reason: "The load balancer takes the address that the user chose.",
			options: spec(func(s *infrav1.ContainerClusterSpec) {
				s.ControlPlaneEndpoint = infrav1.APIEndpoint{Host: "172.18.222.2", Port: 8443}
			}),
			loadBalancer: usable, ready: usable, provisioned: true,
			holds: func(t *testing.T, w *world.World) {
				t.Helper()
				endpoint("172.18.222.2", 8443)(t, w)
				found, err := w.Engine.InspectContainer(t.Context(), balancer())
				must(t, err)
				if address := found.Labels[identity.LabelAddress]; address != "172.18.222.2" {
					t.Errorf("the load balancer is at %s", address)
				}
			},
		},
		"AddressOfCluster": {
			reason: "Or that the Cluster names.",
			options: []builders.Option{func(o *builders.Objects) {
				o.Cluster.Spec.ControlPlaneEndpoint = clusterv1.APIEndpoint{Host: "172.18.222.3", Port: 8443}
			}},
			loadBalancer: usable, ready: usable, provisioned: true, holds: endpoint("172.18.222.3", 8443),
		},
		"IPv6OfCluster": {
			reason: "The load balancer listens on IPv4 only: nothing would ever be reached.",
			options: []builders.Option{func(o *builders.Objects) {
				o.Cluster.Spec.ControlPlaneEndpoint = clusterv1.APIEndpoint{Host: "fd00::5", Port: 6443}
			}},
			loadBalancer: "False/" + infrav1.EndpointUnsupportedReason, ready: "False/NotReady", holds: noLoadBalancer,
			message: `spec.controlPlaneEndpoint.host of the Cluster: "fd00::5" is an IPv6 address`,
		},
		"IPv6OfClusterWithoutLoadBalancer": {
			reason: "Whoever serves it, API servers and nodes have IPv4 addresses.",
			options: append(without(func(*infrav1.ContainerClusterSpec) {}), func(o *builders.Objects) {
				o.Cluster.Spec.ControlPlaneEndpoint = clusterv1.APIEndpoint{Host: "fd00::5", Port: 6443}
			}),
			loadBalancer: "False/" + infrav1.EndpointUnsupportedReason, ready: "False/NotReady", message: "give an IPv4 address",
		},
		"NameGiven": {
			reason: "A name is kept, wherever it leads.",
			options: spec(func(s *infrav1.ContainerClusterSpec) {
				s.ControlPlaneEndpoint = infrav1.APIEndpoint{Host: "api.example.test"}
			}),
			loadBalancer: usable, ready: usable, provisioned: true, holds: endpoint("api.example.test", 6443),
		},
	}
}

// refused are the situations that only a person can mend.
func refused() map[string]situation {
	const notReady = "False/NotReady"
	named := func(name, subnet string) []builders.Option {
		return spec(func(s *infrav1.ContainerClusterSpec) { s.Network = infrav1.Network{Name: name, Subnet: subnet} })
	}
	network := func(spec engine.NetworkSpec) func(*testing.T, *world.World) {
		return func(t *testing.T, w *world.World) {
			t.Helper()
			_, err := w.Engine.CreateNetwork(t.Context(), spec)
			must(t, err)
		}
	}
	const unusable = "False/" + infrav1.NetworkUnusableReason
	return map[string]situation{
		"SubnetMalformed": {
			reason: "The form is shown.", options: named("mine", "10.77.0.0"),
			network: unusable, loadBalancer: "absent", ready: notReady, message: "172.30.0.0/16",
		},
		"SubnetDiffers": {
			reason: "A network that exists with another subnet is not what was asked for.", options: named("mine", "10.77.0.0/24"),
			begins:  network(engine.NetworkSpec{Name: "mine"}),
			network: unusable, loadBalancer: "absent", ready: notReady, message: "ask for the subnet it has", again: phase.UserInterval,
		},
		"SubnetTooSmall": {
			reason: "A subnet without room for anything is told.", options: named("mine", ""),
			begins:  network(engine.NetworkSpec{Name: "mine", Subnets: []netip.Prefix{prefix("10.77.0.0/31")}}),
			network: unusable, loadBalancer: "absent", ready: notReady, message: "too small", again: phase.UserInterval,
		},
		"SubnetTaken": {
			reason: "Two networks cannot have one subnet.", options: named("mine", "10.77.0.0/24"),
			begins:  network(engine.NetworkSpec{Name: "other", Subnets: []netip.Prefix{prefix("10.77.0.0/16")}}),
			network: unusable, loadBalancer: "absent", ready: notReady, message: "10.77.0.0/24", again: phase.UserInterval,
		},
		"SubnetExhausted": {
			reason: "A full network is named with what to do.", options: named("mine", ""),
			begins: func(t *testing.T, w *world.World) {
				t.Helper()
				network(engine.NetworkSpec{Name: "mine", Subnets: []netip.Prefix{prefix("10.77.0.0/29")}})(t, w)
				for i := 2; i < 7; i++ {
					address := fmt.Sprintf("10.77.0.%d", i)
					_, err := w.Engine.CreateContainer(t.Context(), engine.Spec{
						Name: fmt.Sprintf("filler-%d", i), Image: builders.NodeImage,
						Labels: map[string]string{identity.LabelNetwork: "mine", identity.LabelAddress: address},
					})
					must(t, err)
				}
			},
			loadBalancer: "False/" + infrav1.SubnetExhaustedReason, ready: notReady, message: "larger subnet", again: atLeisure,
		},
		"HostPortInUse": {
			reason:       "A port that is given and taken is told; no other is chosen.",
			options:      spec(func(s *infrav1.ContainerClusterSpec) { s.LoadBalancer.HostPort = 8001 }),
			begins:       func(_ *testing.T, w *world.World) { w.Engine.OccupyHostPort(8001) },
			loadBalancer: "False/" + infrav1.HostPortInUseReason, ready: notReady, message: "8001", again: atLeisure, check: world.TryingAgain,
			holds: noLoadBalancer,
		},
		"AddressInUse": {
			reason: "So is an address, with who has it.",
			options: spec(func(s *infrav1.ContainerClusterSpec) {
				s.ControlPlaneEndpoint = infrav1.APIEndpoint{Host: "172.18.222.2", Port: 6443}
			}),
			begins: func(t *testing.T, w *world.World) {
				t.Helper()
				_, err := w.Engine.CreateContainer(t.Context(), engine.Spec{Name: "somebody", Image: builders.NodeImage, Labels: map[string]string{
					identity.LabelNetwork: "capcon", identity.LabelAddress: "172.18.222.2",
				}})
				must(t, err)
			},
			loadBalancer: "False/" + infrav1.AddressInUseReason, ready: notReady, message: "somebody", again: atLeisure, holds: noLoadBalancer,
		},
		"AddressIsGateway": {
			reason: "Which address the gateway has is known of the network, not of the subnet.",
			options: spec(func(s *infrav1.ContainerClusterSpec) {
				s.Network = infrav1.Network{Name: "mine", Subnet: "10.77.0.0/24"}
				s.ControlPlaneEndpoint = infrav1.APIEndpoint{Host: "10.77.0.1", Port: 6443}
			}),
			loadBalancer: "False/" + infrav1.AddressInUseReason, ready: notReady, message: "the gateway of network", again: atLeisure, holds: noLoadBalancer,
		},
		"NotOurs": {
			reason: "A container of our name that is not ours is left alone.",
			begins: func(t *testing.T, w *world.World) {
				t.Helper()
				_, err := w.Engine.CreateContainer(t.Context(), engine.Spec{Name: balancer(), Image: builders.NodeImage})
				must(t, err)
				must(t, w.Engine.StartContainer(t.Context(), balancer()))
			},
			loadBalancer: "False/" + infrav1.ContainerNotOwnedReason, ready: notReady, message: balancer(), again: phase.UserInterval,
			holds: func(t *testing.T, w *world.World) {
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
