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
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
	"github.com/capi-samples/cluster-api-provider-container/test/world"
)

const runs = "True/" + infrav1.ContainerRunningReason

// running tests a bootstrap that has not completed.
func running() map[string]reconcileTest {
	return map[string]reconcileTest{
		"Bootstrapping": {
			reason: "The machine is provisioned as soon as its container runs, and the record is read every two seconds.",
			want:   want{containerReady: runs, bootstrapCompleted: "False/" + infrav1.BootstrappingReason, requeueAfter: atARecord, containers: 1, provisioned: true},
			assert: publishedWhole,
		},
		"ControlPlaneBootstrapping": {
			reason: "A control plane begins as a worker does.",
			args:   args{options: []builders.Option{builders.ControlPlane(builders.InitData)}},
			want:   want{containerReady: runs, bootstrapCompleted: "False/" + infrav1.BootstrappingReason, requeueAfter: atARecord, containers: 1, provisioned: true},
		},
		"ClusterExternallyManaged": {
			reason: "Who manages the cluster gives it an identity, and the rest is as always.",
			args: args{
				options: []builders.Option{func(o *builders.Objects) {
					metav1.SetMetaDataAnnotation(&o.ContainerCluster.ObjectMeta, clusterv1.ManagedByAnnotation, "another-controller")
				}},
			},
			want: want{containerReady: runs, bootstrapCompleted: "False/" + infrav1.BootstrappingReason, requeueAfter: atARecord, containers: 1, provisioned: true},
		},
		"TakesTooLong": {
			reason: "A bootstrap that hangs is reported, and nothing is stopped.",
			args: args{
				options: []builders.Option{func(o *builders.Objects) {
					o.ContainerMachine.Spec.BootstrapTimeout = &metav1.Duration{Duration: time.Minute}
				}},
				change: func(_ *testing.T, w *world.World) { w.Clock.SetTime(w.Clock.Now().Add(2 * time.Minute)) },
			},
			want: want{containerReady: runs, bootstrapCompleted: "False/" + infrav1.BootstrapTimeoutReason, message: "did not complete within 1m0s", requeueAfter: atARecord, containers: 1, provisioned: true},
		},
		"FailureDomainSaidLater": {
			reason: "A container stays where it was put, and so does the label of its Node.",
			args: args{
				change: func(_ *testing.T, w *world.World) {
					world.Edit(w, builders.Machine, &clusterv1.Machine{}, func(m *clusterv1.Machine) { m.Spec.FailureDomain = "zone-b" })
					world.Edit(w, builders.Cluster, &clusterv1.Cluster{}, func(c *clusterv1.Cluster) {
						c.Status.FailureDomains = []clusterv1.FailureDomain{{Name: "zone-c"}}
					})
				},
			},
			want:   want{containerReady: runs, bootstrapCompleted: "False/" + infrav1.BootstrappingReason, requeueAfter: atARecord, containers: 1, provisioned: true},
			assert: publishedWhole,
		},
		"RecordIsNotOne": {
			reason: "What root in the node wrote over the record is not believed, and not repeated.",
			args:   args{change: record(builders.SecretWord)},
			want:   want{containerReady: runs, bootstrapCompleted: "Unknown/" + infrav1.BootstrapStatusUnknownReason, message: "invalid bootstrap record", err: true, containers: 1, provisioned: true},
		},
	}
}

// publishedWhole checks what Cluster API reads, and what the node was made of.
func publishedWhole(t *testing.T, w *world.World) {
	t.Helper()
	object, _ := world.Get(w, builders.Machine, &infrav1.ContainerMachine{})
	found := containers(t, w)[0]
	want := clusterv1.MachineAddresses{
		{Type: clusterv1.MachineHostName, Address: "m1"},
		{Type: clusterv1.MachineInternalIP, Address: found.Labels[identity.LabelAddress]},
	}
	if diff := diff(want, object.Status.Addresses); diff != "" {
		t.Errorf("addresses (-want +got):\n%s", diff)
	}
	if object.Spec.ProviderID != identity.ProviderID(found.Name) || object.Status.FailureDomain != "zone-a" {
		t.Errorf("provider ID %q, failure domain %q", object.Spec.ProviderID, object.Status.FailureDomain)
	}
	flags, err := w.Engine.ReadFile(found.Name, "/opt/cluster-api-bootstrap/kubelet-flags")
	if err != nil || !strings.Contains(string(flags), "--provider-id="+object.Spec.ProviderID) || !strings.Contains(string(flags), "zone-a") {
		t.Errorf("kubelet flags are %q, %v", flags, err)
	}
}

// exited tests a completed or failed bootstrap.
func exited() map[string]reconcileTest {
	return map[string]reconcileTest{
		"Done": {
			reason: "The whole script ended with 0; Cluster API has not found the Node yet, so it is helped along.",
			args:   args{change: record("done")},
			want:   want{containerReady: runs, bootstrapCompleted: "True/" + infrav1.BootstrapCompletedReason, requeueAfter: atANode, containers: 1, provisioned: true},
		},
		"OwnBootstrapDone": {
			reason: "A control plane that its user's own data started is as ready as any: nothing of kubeadm's is looked for.",
			args: args{
				options: []builders.Option{builders.ControlPlane(builders.OwnData)},
				change:  all(record("done"), becomesNode),
			},
			want: want{containerReady: runs, bootstrapCompleted: "True/" + infrav1.BootstrapCompletedReason, containers: 1, provisioned: true},
		},
		"Node": {
			reason: "A machine that is a Node needs no looking at.",
			args:   args{change: all(record("done"), becomesNode)},
			want:   want{containerReady: runs, bootstrapCompleted: "True/" + infrav1.BootstrapCompletedReason, containers: 1, provisioned: true},
		},
		"NodeWithoutData": {
			reason: "What runs does not need its data any more.",
			args: args{
				change: all(record("done"), becomesNode, func(_ *testing.T, w *world.World) {
					world.Purge(w, "m1-data", builders.DataSecret(builders.Machine, ""))
				}),
			},
			want: want{containerReady: runs, bootstrapCompleted: "True/" + infrav1.BootstrapCompletedReason, containers: 1, provisioned: true},
		},
		"Failed": {
			reason: "Step, exit code and the end of the log are reported, without secrets.",
			args: args{
				change: record("failed", "step", "runcmd[0]", "exit-code", "1", "log-tail",
					"preflight: port 10250 is in use, token "+builders.SecretWord),
			},
			want: want{containerReady: runs, bootstrapCompleted: "False/" + infrav1.BootstrapFailedReason, message: "runcmd[0] with exit code 1", containers: 1, provisioned: true},
			assert: func(t *testing.T, w *world.World) {
				t.Helper()
				object, _ := world.Get(w, builders.Machine, &infrav1.ContainerMachine{})
				_, message := world.State(object, infrav1.BootstrapCompletedCondition)
				if !strings.Contains(message, "port 10250") {
					t.Errorf("message %q does not say why", message)
				}
				event := corev1.EventTypeWarning + " " + infrav1.BootstrapFailedReason + " " + message
				if sent := w.Events.Sent(); !slices.Contains(sent, event) {
					t.Errorf("Events %q, want %q", sent, event)
				}
			},
		},
	}
}

func becomesNode(_ *testing.T, w *world.World) {
	world.EditStatus(w, builders.Machine, &clusterv1.Machine{}, func(m *clusterv1.Machine) {
		m.Status.NodeRef = clusterv1.MachineNodeReference{Name: builders.Machine}
	})
}

// disrupted tests containers that were changed from outside.
func disrupted() map[string]reconcileTest {
	stop := func(t *testing.T, w *world.World) {
		t.Helper()
		must.Succeed(t, w.Engine.KillContainer(container(), 137, false))
	}
	loadBalancer := builders.Owner().LoadBalancerContainer()
	maintained := []builders.Option{annotate(infrav1.MaintenanceAnnotation, "")}
	gone := func(t *testing.T, w *world.World) {
		t.Helper()
		must.Succeed(t, w.Engine.RemoveContainer(t.Context(), container()))
	}
	asNode := func(steps ...func(*testing.T, *world.World)) func(*testing.T, *world.World) {
		return all(append([]func(*testing.T, *world.World){record("done"), becomesNode}, steps...)...)
	}
	return map[string]reconcileTest{
		"Paused": {
			reason: "A paused node is not ready; only a user unpauses it.",
			args: args{
				change: asNode(func(t *testing.T, w *world.World) {
					t.Helper()
					must.Succeed(t, w.Engine.Pause(container()))
				}),
			},
			want: want{containerReady: "False/" + infrav1.ContainerPausedReason, bootstrapCompleted: "True/" + infrav1.BootstrapCompletedReason, message: "unpause", containers: 1, provisioned: true},
		},
		"Stopped": {
			reason: "A node that was stopped is started again.",
			args:   args{change: asNode(stop)},
			want:   want{containerReady: runs, bootstrapCompleted: "True/" + infrav1.BootstrapCompletedReason, containers: 1, provisioned: true},
			assert: event("ContainerStarted Restarted after exit: container " + container() + " exited with code 137"),
		},
		"StoppedWithItsLoadBalancer": {
			reason: "The API server's endpoint is there before the node, whichever controller comes first.",
			args: args{
				setup: func(_ *testing.T, w *world.World) { w.SettleCluster() },
				change: asNode(func(t *testing.T, w *world.World) {
					t.Helper()
					must.Succeed(t, w.Engine.KillContainer(loadBalancer, 137, false))
					stop(t, w)
				}),
			},
			want:   want{containerReady: runs, bootstrapCompleted: "True/" + infrav1.BootstrapCompletedReason, containers: 1, provisioned: true},
			assert: startedLast(loadBalancer, container()),
		},
		"LoadBalancerDoesNotStart": {
			reason: "A node does not stay down for a load balancer that does not start: its workload may need none.",
			args: args{
				setup: func(_ *testing.T, w *world.World) { w.SettleCluster() },
				change: asNode(func(t *testing.T, w *world.World) {
					t.Helper()
					must.Succeed(t, w.Engine.KillContainer(loadBalancer, 137, false))
					stop(t, w)
					w.Calls.Hook(func(call simulatedCall) error {
						if call.Method == "StartContainer" && call.Name == loadBalancer {
							return engine.ErrInvalid
						}
						return nil
					}, nil)
				}),
			},
			want:   want{containerReady: runs, bootstrapCompleted: "True/" + infrav1.BootstrapCompletedReason, containers: 1, provisioned: true},
			assert: startedLast(container()),
		},
		"OutOfMemory": {
			reason: "OOMKilled is reported.",
			args: args{
				change: asNode(func(t *testing.T, w *world.World) {
					t.Helper()
					must.Succeed(t, w.Engine.KillContainer(container(), 137, true))
				}),
			},
			want:   want{containerReady: runs, bootstrapCompleted: "True/" + infrav1.BootstrapCompletedReason, containers: 1, provisioned: true},
			assert: event("(OOMKilled)"),
		},
		"DoesNotStart": {
			reason: "The cause of a failed start is reported, and the start is retried.",
			args: args{
				change: asNode(stop, func(t *testing.T, w *world.World) {
					t.Helper()
					stop(t, w)
					w.Calls.Hook(func(call simulatedCall) error {
						if call.Method == "StartContainer" {
							return engine.Failed("start", container(), engine.ErrInvalid)
						}
						return nil
					}, nil)
				}),
			},
			want: want{containerReady: "False/" + infrav1.ContainerExitedReason, bootstrapCompleted: "True/" + infrav1.BootstrapCompletedReason, message: "and failed to start: invalid", requeueAfter: anyDelay, containers: 1, provisioned: true},
		},
		"StoppedForMaintenance": {
			reason: "Who annotates for maintenance may stop a node.",
			args: args{
				options: maintained,
				change:  asNode(stop),
			},
			want: want{containerReady: "False/" + infrav1.ContainerExitedReason, bootstrapCompleted: "True/" + infrav1.BootstrapCompletedReason, message: "maintenance", containers: 1, provisioned: true},
		},
		"GoneBeforeItWasANode": {
			reason: "It held no state yet: it is recreated, with the same name and address.",
			args:   args{change: gone},
			want:   want{containerReady: runs, bootstrapCompleted: "False/" + infrav1.BootstrappingReason, requeueAfter: atARecord, containers: 1, provisioned: true},
			assert: publishedWhole,
		},
		"GoneAfterItsBootstrap": {
			reason: "Once the node recorded the end of its bootstrap, its state is what the cluster relies on, also where no Node was seen yet.",
			args: args{
				options: []builders.Option{builders.ControlPlane(builders.InitData)},
				change:  all(record("done"), gone),
			},
			want: want{containerReady: "False/" + infrav1.ContainerNotFoundReason, bootstrapCompleted: "False/" + infrav1.WaitingForContainerReason, message: "it held the state of a Node", provisioned: true},
		},
		"GoneAfterInitialization": {
			reason: "Cluster API may see that the control plane is initialized before the node has recorded it.",
			args: args{
				options: []builders.Option{builders.ControlPlane(builders.InitData)},
				change: all(gone, func(t *testing.T, w *world.World) {
					t.Helper()
					world.EditStatus(w, builders.Cluster, &clusterv1.Cluster{}, func(c *clusterv1.Cluster) {
						c.Status.Initialization.ControlPlaneInitialized = ptr.To(true)
					})
					gone(t, w)
				}),
			},
			want: want{containerReady: "False/" + infrav1.ContainerNotFoundReason, bootstrapCompleted: "False/" + infrav1.WaitingForContainerReason, message: "kubeadm init would create an empty one", provisioned: true},
		},
		"ControlPlaneJoinGone": {
			reason: "It may have become a member of etcd.",
			args: args{
				options: []builders.Option{builders.ControlPlane(builders.JoinControlPlaneData)},
				change:  gone,
			},
			want: want{containerReady: "False/" + infrav1.ContainerNotFoundReason, bootstrapCompleted: "False/" + infrav1.WaitingForContainerReason, message: "is not repeatable", provisioned: true},
		},
		"Missing": {
			reason: "A node's state is gone with its container; only its owner can replace it.",
			args:   args{change: asNode(gone)},
			want:   want{containerReady: "False/" + infrav1.ContainerNotFoundReason, bootstrapCompleted: "False/" + infrav1.WaitingForContainerReason, message: "MachineHealthCheck", provisioned: true},
		},
		"MissingWithEverythingElse": {
			reason: "The lost container is reported even if its bootstrap data is missing too.",
			args: args{
				change: asNode(func(t *testing.T, w *world.World) {
					t.Helper()
					must.Succeed(t, w.Engine.RemoveContainer(t.Context(), container()))
					w.Engine.RemoveImage(builders.NodeImage)
					world.Purge(w, "m1-data", builders.DataSecret(builders.Machine, ""))
					world.EditStatus(w, builders.Cluster, &clusterv1.Cluster{}, func(c *clusterv1.Cluster) {
						c.Status.FailureDomains = []clusterv1.FailureDomain{{Name: "zone-c"}}
					})
				}),
			},
			want:  want{containerReady: "False/" + infrav1.ContainerNotFoundReason, bootstrapCompleted: "False/" + infrav1.WaitingForContainerReason, message: "MachineHealthCheck", provisioned: true},
			check: world.WithoutLoss,
		},
		"Disconnected": {
			reason: "A node off its network is not ready.",
			args: args{
				change: asNode(func(t *testing.T, w *world.World) {
					t.Helper()
					must.Succeed(t, w.Engine.DisconnectNetwork(t.Context(), "capcon", container()))
				}),
			},
			want: want{containerReady: "False/" + infrav1.ContainerDisconnectedReason, bootstrapCompleted: "True/" + infrav1.BootstrapCompletedReason, message: "capcon", containers: 1, provisioned: true},
		},
		"OtherAddress": {
			reason: "A node without its address is not ready: certificates and peers name the old one.",
			args: args{
				change: asNode(func(t *testing.T, w *world.World) {
					t.Helper()
					must.Succeed(t, w.Engine.DisconnectNetwork(t.Context(), "capcon", container()))
					must.Succeed(t, w.Engine.ConnectNetwork(t.Context(), "capcon", container(), engine.Attachment{Network: "capcon"}))
				}),
			},
			want: want{containerReady: "False/" + infrav1.ContainerDisconnectedReason, bootstrapCompleted: "True/" + infrav1.BootstrapCompletedReason, message: "without its address", containers: 1, provisioned: true},
		},
		"EngineRestarted": {
			reason: "The engine starts a node again by itself.",
			args:   args{change: asNode(func(_ *testing.T, w *world.World) { w.Engine.RestartEngine() })},
			want:   want{containerReady: runs, bootstrapCompleted: "True/" + infrav1.BootstrapCompletedReason, containers: 1, provisioned: true},
		},
	}
}

// event checks that an Event holds a text.
func event(text string) func(*testing.T, *world.World) {
	return func(t *testing.T, w *world.World) {
		t.Helper()
		if sent := strings.Join(w.Events.Sent(), "\n"); !strings.Contains(sent, text) {
			t.Errorf("no Event holds %q:\n%s", text, sent)
		}
	}
}

// startedLast says which containers were started last, in this order.
func startedLast(names ...string) func(*testing.T, *world.World) {
	return func(t *testing.T, w *world.World) {
		t.Helper()
		var started []string
		for _, call := range w.Calls.Effects() {
			if call.Method == "StartContainer" {
				started = append(started, call.Name)
			}
		}
		if diff := diff(names, started[max(0, len(started)-len(names)):]); diff != "" {
			t.Errorf("started last (-want +got):\n%s", diff)
		}
	}
}
