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
	"errors"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/controllers/internal/reconcile"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
	"github.com/capi-samples/cluster-api-provider-container/test/world"
)

type simulatedCall = simulated.Call

const (
	labelNetwork = identity.LabelNetwork
	labelAddress = identity.LabelAddress
)

// engineFailures tests an engine that does not answer.
func engineFailures() map[string]reconcileTest {
	const unavailable = "Unknown/" + infrav1.EngineUnavailableReason
	unreachable := func(_ *testing.T, w *world.World) {
		w.Calls.Hook(func(simulatedCall) error { return engine.ErrUnavailable }, nil)
	}
	return map[string]reconcileTest{
		"EngineDown": {
			reason: "Conditions are Unknown while the engine is not reachable.",
			args:   args{setup: unreachable},
			want:   want{containerReady: unavailable, bootstrapCompleted: "absent", err: true},
		},
		"EngineDownLater": {
			reason: "A node that cannot be seen is not known to be broken.",
			args:   args{change: all(record("done"), becomesNode, unreachable)},
			want:   want{containerReady: unavailable, bootstrapCompleted: "True/" + infrav1.BootstrapCompletedReason, err: true, containers: 1, provisioned: true},
			check:  world.WithoutLoss,
		},
		"EngineBack": {
			reason: "An outage leaves no trace.",
			args: args{
				change: all(record("done"), becomesNode, unreachable, func(_ *testing.T, w *world.World) {
					w.Calls.Hook(nil, nil)
				}),
			},
			want: want{containerReady: runs, bootstrapCompleted: "True/" + infrav1.BootstrapCompletedReason, containers: 1, provisioned: true},
		},
	}
}

// adopted tests machines whose object was lost and recreated.
func adopted() map[string]reconcileTest {
	const kept = "kept-from-before"
	named := []builders.Option{func(o *builders.Objects) { o.ContainerMachine.Spec.ProviderID = identity.ProviderID(kept) }}
	ours := identity.Owner{Namespace: builders.Namespace, Cluster: builders.Cluster, ID: builders.OwnerID}
	runsWith := func(labels map[string]string) func(*testing.T, *world.World) {
		return func(t *testing.T, w *world.World) {
			t.Helper()
			all := map[string]string{labelNetwork: "capcon", labelAddress: "172.18.200.9"}
			maps.Copy(all, labels)
			must.Get(w.Engine.CreateContainer(t.Context(), engine.Spec{
				Name: kept, Image: builders.NodeImage, Labels: all,
				Attachment: engine.Attachment{Network: "capcon", Addresses: addresses("172.18.200.9")},
			}))(t)
			must.Succeed(t, w.Engine.StartContainer(t.Context(), kept))
			must.Succeed(t, w.Engine.WriteFile(kept, "/var/lib/cluster-api-bootstrap/record/state", []byte("done")))
		}
	}
	const notOurs = "False/" + infrav1.ContainerNotOwnedReason
	anothers := ours
	anothers.ID = "another"
	return map[string]reconcileTest{
		"AdoptedByProviderID": {
			reason: "A recreated object with only its provider ID adopts the container of an object with another name.",
			args: args{
				options: named,
				setup:   runsWith(ours.ContainerLabels(identity.RoleWorker, "before")),
				change:  becomesNode,
			},
			want: want{containerReady: runs, bootstrapCompleted: "True/" + infrav1.BootstrapCompletedReason, provisioned: true, containers: 0},
			assert: func(t *testing.T, w *world.World) {
				t.Helper()
				object, _ := world.Get(w, builders.Machine, &infrav1.ContainerMachine{})
				if diff := diff("172.18.200.9", object.Status.Addresses[1].Address); diff != "" {
					t.Error(diff)
				}
			},
		},
		"AdoptedMissing": {
			reason: "A provider ID without a record names a container to adopt: a new one would not be what was lost.",
			args:   args{options: named},
			want:   want{containerReady: "False/" + infrav1.ContainerNotFoundReason, bootstrapCompleted: "False/" + infrav1.WaitingForContainerReason, message: "names a container to adopt", provisioned: true},
		},
		"ProviderIDOfTheLoadBalancer": {
			reason: "Deleting the machine would remove it.",
			args: args{
				options: named,
				setup:   runsWith(ours.ContainerLabels(identity.RoleLoadBalancer, "")),
			},
			want: want{containerReady: notOurs, bootstrapCompleted: "absent", message: "load-balancer", requeueAfter: reconcile.UserInterval},
		},
		"ProviderIDOfAControlPlane": {
			reason: "A worker that adopted it would take it from the load balancer's backends.",
			args: args{
				options: named,
				setup:   runsWith(ours.ContainerLabels(identity.RoleControlPlane, "before")),
			},
			want: want{containerReady: notOurs, bootstrapCompleted: "absent", message: "control-plane", requeueAfter: reconcile.UserInterval},
		},
		"ProviderIDOfAnotherMachine": {
			reason: "One container is the node of one object: the one it was created for is still there.",
			args: args{
				options: append(slices.Clone(named), func(o *builders.Objects) {
					_, other := builders.MachinePair("before")
					o.Others = append(o.Others, other)
				}),
				setup: runsWith(ours.ContainerLabels(identity.RoleWorker, "before")),
			},
			want: want{containerReady: notOurs, bootstrapCompleted: "absent", message: `ContainerMachine "before"`, requeueAfter: reconcile.UserInterval},
		},
		"ProviderIDNamedTwice": {
			reason: "Of two objects that name one container, the first gets it.",
			args: args{
				options: append(slices.Clone(named), func(o *builders.Objects) {
					_, other := builders.MachinePair("a-first")
					other.Spec.ProviderID = identity.ProviderID(kept)
					o.Others = append(o.Others, other)
				}),
				setup: runsWith(ours.ContainerLabels(identity.RoleWorker, "before")),
			},
			want: want{containerReady: notOurs, bootstrapCompleted: "absent", message: `ContainerMachine "a-first"`, requeueAfter: reconcile.UserInterval},
		},
		"ProviderIDOfAnothers": {
			reason: "A name is no proof against the labels: the load balancer would never find it, and its owner would miss it.",
			args: args{
				options: named,
				setup:   runsWith(anothers.ContainerLabels(identity.RoleWorker, builders.Machine)),
			},
			want: want{containerReady: notOurs, bootstrapCompleted: "absent", message: "owner ID another", requeueAfter: reconcile.UserInterval},
		},
		"ProviderIDOfAUsersContainer": {
			reason: "What this provider did not make it does not take over: it would remove it with the Machine.",
			args: args{
				options: named,
				setup:   runsWith(nil),
			},
			want: want{containerReady: notOurs, bootstrapCompleted: "absent", message: "it has no owner labels", requeueAfter: reconcile.UserInterval},
		},
	}
}

func diff(want, got any) string { return gocmp.Diff(want, got) }

func addresses(texts ...string) []netip.Addr {
	parsed := make([]netip.Addr, len(texts))
	for i, text := range texts {
		parsed[i] = netip.MustParseAddr(text)
	}
	return parsed
}

func prefixes(texts ...string) []netip.Prefix {
	parsed := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		parsed[i] = netip.MustParsePrefix(text)
	}
	return parsed
}

// Each layer below the condition may name the container.
func TestMessagesNameTheContainerOnce(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason, method, action string
		err                    error
		want                   string
	}{
		"PortInUse": {
			"The remedy is about the port.", "StartContainer", "start",
			&engine.ConflictError{Resource: engine.ResourceHostPort, Value: "8001", Holder: "other"},
			`host port 8001 is in use by container "other"; stop or remove that container, or use another port`,
		},
		"AddressInUse": {
			"The network is where the address is.", "StartContainer", "start",
			&engine.ConflictError{Resource: engine.ResourceAddress, Value: "10.7.0.2", Holder: "other"},
			`on network "capcon": start container "NAME": address 10.7.0.2 is in use by container "other"`,
		},
		"ImageMissing": {
			"The image was removed after it was found.", "CreateContainer", "create",
			engine.WithKind(errors.New("no such image: node:v1"), engine.ErrNotFound),
			`on network "capcon": create container "NAME": no such image: node:v1`,
		},
		"StartFailed": {
			"The engine's own words say why.", "StartContainer", "start",
			errors.New("no space left on device"),
			`on network "capcon": start container "NAME": no space left on device`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := world.New(t, builders.New())
			w.Engine.OnCall(func(call simulated.Call) error {
				if call.Method != tc.method {
					return nil
				}
				return engine.Failed(tc.action, container(), tc.err)
			})
			w.SettleMachine(builders.Machine)
			object, _ := world.Get(w, builders.Machine, &infrav1.ContainerMachine{})
			_, got := world.State(object, infrav1.ContainerReadyCondition)
			if want := strings.ReplaceAll(tc.want, "NAME", container()); got != want {
				t.Errorf("%s Got %q, want %q", tc.reason, got, want)
			}
		})
	}
}
