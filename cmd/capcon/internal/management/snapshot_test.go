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

package management

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/cluster-api/util/conditions"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/objects"
)

func TestSummarizeReady(t *testing.T) {
	t.Parallel()
	want := Snapshot{
		Exists: true, Initialized: true, ReadyControlPlanes: 1, ReadyWorkers: 1,
		Stages: []Stage{
			{"infrastructure", true, "API server at 127.0.0.1:40001"},
			{"control plane", true, "1 of 1 available"},
			{"workers", true, "1 of 1 available"},
			{"nodes", true, "2 of 2 ready"},
		},
		Machines: []Machine{{"demo-control-plane-a", true, "ready"}, {"demo-worker-b", true, "ready"}},
	}
	got := Summarize(ready())
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("snapshot differs (-want +got):\n%s", diff)
	}
	if !got.Ready() || len(got.Missing()) > 0 {
		t.Errorf("A complete cluster is ready; missing: %v", got.Missing())
	}
}

func TestSummarizeNotReady(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		change func(*Observed)
		want   []string
	}{
		"just applied": {
			"Nothing has been reported yet.",
			func(o *Observed) {
				*o = Observed{Cluster: &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "demo"}}}
			},
			[]string{
				"infrastructure: network and load balancer", "control plane: not created yet", "nodes: 0 of 0 ready",
			},
		},
		"scaled a moment ago": {
			"The counts are those of before the change.",
			func(o *Observed) { o.Workers[0].Generation, o.Workers[0].Spec.Replicas = 2, ptr.To[int32](2) },
			[]string{"workers: 1 of 2 available", "nodes: 2 of 3 ready"},
		},
		"generation not observed": {
			"Equal counts may still be those of before a change.",
			func(o *Observed) { o.ControlPlane.Generation = 2 },
			[]string{"control plane: 1 of 1 available"},
		},
		"rolling out": {
			"All are available, and one has the configuration of before the change.",
			func(o *Observed) { o.ControlPlane.Status.UpToDateReplicas = ptr.To[int32](0) },
			[]string{"control plane: 1 of 1 available, 0 up to date"},
		},
		"changed a moment ago": {
			"The MachineDeployment counts what its MachineSets have not noticed yet.",
			func(o *Observed) {
				o.MachineSets = []clusterv1.MachineSet{{ObjectMeta: metav1.ObjectMeta{Name: "old"}}}
				o.Machines[0].Labels[clusterv1.MachineSetNameLabel] = "old"
				o.Workers[0].Spec.Template.Spec.Bootstrap.ConfigRef.Name = "new"
			},
			[]string{"workers: 1 of 1 available, 0 up to date"},
		},
		"updated in place": {
			"It belongs to the new MachineSet already.",
			func(o *Observed) {
				o.MachineSets = []clusterv1.MachineSet{{ObjectMeta: metav1.ObjectMeta{Name: "new"}}}
				o.Machines[0].Labels[clusterv1.MachineSetNameLabel] = "new"
				o.Machines[0].Annotations = map[string]string{clusterv1.UpdateInProgressAnnotation: ""}
			},
			[]string{"workers: 1 of 1 available, 0 up to date"},
		},
		"one too many": {
			"Scaling down is not done while a machine is on its way out.",
			func(o *Observed) {
				o.Workers[0].Status.Replicas = ptr.To[int32](2)
				leaving := machine("demo-worker-c")
				leaving.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
				o.Machines = append(o.Machines, leaving)
			},
			[]string{"workers: 1 of 1 available, 1 to be deleted", "nodes: 2 of 3 ready", "demo-worker-c: being deleted"},
		},
		"surge": {
			"\"2 of 1\" reads like an error.",
			func(o *Observed) {
				o.Workers[0].Status.Replicas = ptr.To[int32](2)
				surge := *o.Machines[0].DeepCopy()
				surge.Name = "demo-worker-surge"
				o.Machines = append(o.Machines, surge)
			},
			[]string{"workers: 1 of 1 available, 1 to be deleted"},
		},
		"no Pod network yet": {
			"Each Node starts so, and the kubelet's message reads like an error.",
			func(o *Observed) {
				worker := &o.Machines[0]
				worker.Status.Conditions = []metav1.Condition{{
					Type: clusterv1.MachineNodeReadyCondition, Status: metav1.ConditionFalse, Reason: "NodeNotReady",
					Message: "* Node.Ready: container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:Network plugin returns error: cni plugin not initialized",
				}}
			},
			[]string{"workers: 0 of 1 available", "nodes: 1 of 2 ready", "demo-worker-b: waiting for the Pod network"},
		},
		"no kubeconfig": {
			"The user could not use the cluster.",
			func(o *Observed) { o.HasKubeconfig = false },
			[]string{"control plane: waiting for kubeconfig"},
		},
		"load balancer": {
			"The cause is in the infrastructure's conditions.",
			func(o *Observed) {
				o.Cluster.Status.Initialization.InfrastructureProvisioned = nil
				o.Infrastructure.Status.Conditions = []metav1.Condition{
					{Type: infrav1.LoadBalancerReadyCondition, Status: metav1.ConditionFalse, Reason: "ImagePulling", Message: "3 of 7 MB"},
				}
			},
			[]string{"infrastructure: ImagePulling: 3 of 7 MB"},
		},
		"bootstrapping": {
			"The container knows more than Cluster API.",
			func(o *Observed) {
				o.Machines[0].Status.Conditions[0].Status = metav1.ConditionFalse
				o.Containers[0].Status.Conditions[1] = metav1.Condition{
					Type: infrav1.BootstrapCompletedCondition, Status: metav1.ConditionFalse, Reason: "Bootstrapping", Message: "for 3s",
				}
			},
			[]string{"workers: 0 of 1 available", "nodes: 1 of 2 ready", "demo-worker-b: Bootstrapping: for 3s"},
		},
		"no node yet": {
			"What is left is Cluster API's view.",
			func(o *Observed) {
				o.Machines[0].Status.NodeRef = clusterv1.MachineNodeReference{}
				o.Machines[0].Status.Conditions[1] = metav1.Condition{
					Type: clusterv1.MachineNodeReadyCondition, Status: metav1.ConditionUnknown, Reason: "NodeInspectionFailed", Message: "* a\n* b",
				}
			},
			[]string{"workers: 0 of 1 available", "nodes: 1 of 2 ready", "demo-worker-b: NodeInspectionFailed: a; b"},
		},
		"resized": {
			"A running node has the limits of before.",
			func(o *Observed) {
				limits := infrav1.MachineResources{Memory: ptr.To(resource.MustParse("4Gi"))}
				o.Infrastructure.Spec.Resources = infrav1.RoleResources{ControlPlane: limits, Workers: limits}
				o.Containers[0].Status.Resources = &infrav1.MachineResources{Memory: ptr.To(resource.MustParse("4096Mi"))}
			},
			[]string{"limits: 1 of 2 nodes have those of their role"},
		},
		"deleting": {
			"A cluster on its way out never becomes ready.",
			func(o *Observed) { o.Cluster.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} },
			nil,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			observed := ready()
			tc.change(&observed)
			got := Summarize(observed)
			if got.Ready() {
				t.Errorf("%s It is not ready.", tc.reason)
			}
			if diff := cmp.Diff(tc.want, got.Missing()); diff != "" {
				t.Errorf("%s Missing differs (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// What a Cluster's topology asks for counts once it has been carried into the
// other objects: until then they are complete by what was asked for before.
func TestSummarizeTopology(t *testing.T) {
	t.Parallel()
	const generation = 2
	cases := map[string]struct {
		reason    string
		condition *metav1.Condition
		want      Stage
	}{
		"new": {"It was not reconciled yet.", nil, Stage{"topology", false, "waiting for the topology controller"}},
		"changed a moment ago": {
			"What is true was true of the topology before.",
			&metav1.Condition{Status: metav1.ConditionTrue, ObservedGeneration: generation - 1}, Stage{"topology", false, "waiting for the topology controller"},
		},
		"upgrading": {
			"The condition names who is next.",
			&metav1.Condition{
				Status: metav1.ConditionFalse, ObservedGeneration: generation,
				Reason: clusterv1.ClusterTopologyReconciledClusterUpgradingReason, Message: "Cluster is upgrading to v1.36.3\n  * MachineDeployment a pending",
			},
			Stage{"topology", false, "ClusterUpgrading: Cluster is upgrading to v1.36.3; MachineDeployment a pending"},
		},
		"carried out": {
			"The others say the rest.",
			&metav1.Condition{Status: metav1.ConditionTrue, ObservedGeneration: generation}, Stage{"topology", true, "Kubernetes v1.36.3"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			observed := ready()
			observed.Cluster.Generation = generation
			observed.Cluster.Spec.Topology = clusterv1.Topology{ClassRef: clusterv1.ClusterClassRef{Name: "container"}, Version: "v1.36.3"}
			if tc.condition != nil {
				tc.condition.Type = clusterv1.ClusterTopologyReconciledCondition
				observed.Cluster.Status.Conditions = append(observed.Cluster.Status.Conditions, *tc.condition)
			}
			got := Summarize(observed)
			if diff := cmp.Diff(tc.want, got.Stages[0]); diff != "" {
				t.Errorf("%s Stage differs (-want +got):\n%s", tc.reason, diff)
			}
			if got.Ready() != tc.want.Done {
				t.Errorf("%s Ready is %t", tc.reason, got.Ready())
			}
		})
	}
}

// The state says what the cluster waits for, and never that one that has just
// been made is broken.
func TestState(t *testing.T) {
	t.Parallel()
	available := func(o *Observed, status metav1.ConditionStatus, message string) {
		o.Cluster.Status.Conditions = []metav1.Condition{{Type: clusterv1.ClusterAvailableCondition, Status: status, Message: message}}
	}
	cases := map[string]struct {
		reason string
		change func(*Observed)
		want   string
	}{
		"Available": {"Cluster API says so.", func(o *Observed) { available(o, metav1.ConditionTrue, "") }, "available"},
		"Incomplete": {
			"A cluster may be available without a worker.",
			func(o *Observed) {
				o.Machines[0].Status.Conditions[1].Status = metav1.ConditionFalse
				available(o, metav1.ConditionTrue, "")
			},
			"available, not complete: workers: 0 of 1 available",
		},
		"Lagging": {
			"All Nodes are ready, and Cluster API has not looked yet.",
			func(o *Observed) {
				available(o, metav1.ConditionFalse, "* ControlPlaneAvailable:\n  * Etcd member is starting")
			},
			"starting: ControlPlaneAvailable: Etcd member is starting",
		},
		"New": {"Nothing is reported yet.", func(*Observed) {}, "starting"},
		"Beginning": {
			"What is missing first.",
			func(o *Observed) {
				o.Cluster.Status.Initialization = clusterv1.ClusterInitializationStatus{}
				available(o, metav1.ConditionFalse, "whatever")
			},
			"starting: infrastructure: network and load balancer",
		},
		"Broken": {
			"It was there before.",
			func(o *Observed) {
				o.Machines[0].Status.Conditions[1].Status = metav1.ConditionFalse
				available(o, metav1.ConditionFalse, "whatever")
			},
			"not available: workers: 0 of 1 available",
		},
		"Deleting": {
			"Whatever else is true.",
			func(o *Observed) { o.Cluster.DeletionTimestamp = ptr.To(metav1.Now()) }, "deleting",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			observed := ready()
			tc.change(&observed)
			if got := Summarize(observed).State(); got != tc.want {
				t.Errorf("%s\nGot %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

// A cluster whose Pod network its user installs is complete without it.
func TestSummarizeWithoutPodNetwork(t *testing.T) {
	t.Parallel()
	const missing = "* Node.Ready: container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady " +
		"message:Network plugin returns error: cni plugin not initialized"
	cases := map[string]struct {
		reason  string
		change  func(*Observed)
		message string
		// pending: all but the Pod network is ready.
		ready, pending bool
		state          string
	}{
		"Users": {
			reason: "Nothing is left to wait for.", change: func(*Observed) {}, message: missing, ready: true, pending: true,
			state: "waiting for the Pod network, which --cni none leaves to you",
		},
		"Ours": {
			reason:  "Its Pod network comes with the cluster.",
			change:  func(o *Observed) { o.Cluster.Annotations = nil },
			message: missing, state: "not available: control plane: 0 of 1 available",
		},
		"AnotherCause": {
			reason: "Its kubelet has more to report.", change: func(*Observed) {},
			message: "* Node.Ready: [container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:…, PLEG is not healthy]",
			state:   "not available: control plane: 0 of 1 available",
		},
		"NoContainer": {
			reason: "A machine is missing.",
			change: func(o *Observed) {
				conditions.Set(&o.Machines[0], metav1.Condition{Type: clusterv1.MachineInfrastructureReadyCondition, Status: metav1.ConditionFalse, Reason: "NotReady"})
			},
			message: missing, state: "not available: workers: 0 of 1 available",
		},
		"Installed": {
			reason: "The user's Pod network is there.", change: func(*Observed) {}, message: "", ready: true, state: "available",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := ready()
			o.Cluster.Annotations = map[string]string{objects.NoCNIAnnotation: ""}
			available := metav1.ConditionTrue
			for i := range o.Machines {
				if tc.message != "" {
					available = metav1.ConditionFalse
					conditions.Set(&o.Machines[i], metav1.Condition{
						Type: clusterv1.MachineNodeReadyCondition, Status: metav1.ConditionFalse, Reason: "NodeNotReady", Message: tc.message,
					})
				}
			}
			conditions.Set(o.Cluster, metav1.Condition{Type: clusterv1.ClusterAvailableCondition, Status: available, Reason: "Reason"})
			tc.change(&o)
			got := Summarize(o)
			if got.Ready() != tc.ready || got.PodNetworkPending != tc.pending || got.State() != tc.state {
				t.Errorf("%s Got ready %t, pending %t, state %q", tc.reason, got.Ready(), got.PodNetworkPending, got.State())
			}
		})
	}
}
