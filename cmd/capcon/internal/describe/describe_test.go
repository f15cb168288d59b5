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

package describe

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/management"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

func TestClusterPrinted(t *testing.T) {
	t.Parallel()
	then := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	c := fakeClient(t, then)
	root := must.Get(Cluster(t.Context(), c, "default", "demo"))(t)
	var out strings.Builder
	must.Succeed(t, Print(&out, root, Options{Now: then.Add(90 * time.Second)}))
	want := `NAME                                                      READY  REASON           SINCE  MESSAGE
Cluster/demo                                              False  NotAvailable     90s    InfrastructureReady: not yet
├─ClusterInfrastructure - ContainerCluster/demo           True   Ready            90s
└─ControlPlane - KubeadmControlPlane/demo-control-plane
  └─Machine/demo-control-plane-a                          False  NotReady         90s    Kubelet stopped posting node status.
    └─MachineInfrastructure - ContainerMachine/demo-cp-a  False  ImagePullFailed  90s    no such image
          ContainerReady                                  False  ImagePullFailed  90s    no such; image
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("tree differs (-want +got):\n%s\n%s", diff, out.String())
	}
}

func TestPrintKeepsToTheColumns(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	must.Succeed(t, Print(&out, Node{Kind: "Cluster", Name: "demo", Deleting: true}, Options{Columns: 12}))
	if diff := cmp.Diff("NAME       …\nCluster/dem…\n", out.String()); diff != "" {
		t.Errorf("tree differs (-want +got):\n%s", diff)
	}
}

// A paused Cluster is reported once, and why its topology does not change.
func TestPrintConditions(t *testing.T) {
	t.Parallel()
	condition := func(conditionType string, status metav1.ConditionStatus, reason, message string) metav1.Condition {
		return metav1.Condition{Type: conditionType, Status: status, Reason: reason, Message: message}
	}
	tree := func(ofCluster, ofContainer []metav1.Condition) Node {
		return Node{Kind: "Cluster", Name: "demo", Conditions: ofCluster, Children: []Node{
			{Kind: "KubeadmControlPlane", Name: "cp", Conditions: ofContainer, Children: []Node{{Kind: "ContainerMachine", Name: "a", Conditions: ofContainer}}},
		}}
	}
	available := condition("Available", metav1.ConditionTrue, "Available", "")
	paused := condition("Paused", metav1.ConditionTrue, "Paused", "spec.paused is true")
	cases := map[string]struct {
		reason  string
		tree    Node
		options Options
		want    string
	}{
		"Topology": {
			reason: "No other object has it.",
			tree:   tree([]metav1.Condition{available, condition("TopologyReconciled", metav1.ConditionFalse, "TopologyReconcileFailed", "no class")}, nil),
			want: `Cluster/demo              True   Available                0s
│   TopologyReconciled    False  TopologyReconcileFailed  0s     no class
└─KubeadmControlPlane/cp
  └─ContainerMachine/a
`,
		},
		"PausedCluster": {
			reason: "All its objects are paused.",
			tree: tree([]metav1.Condition{
				available, condition("TopologyReconciled", metav1.ConditionFalse, clusterv1.ClusterTopologyReconcilePausedReason, "paused"), paused,
			}, []metav1.Condition{paused}),
			want: `Cluster/demo              True   Available  0s
│   Paused                True   Paused     0s     spec.paused is true
└─KubeadmControlPlane/cp
  └─ContainerMachine/a
`,
		},
		"PausedMachine": {
			reason: "Its annotation pauses it alone.",
			tree: Node{Kind: "Cluster", Name: "demo", Conditions: []metav1.Condition{available}, Children: []Node{
				{Kind: "ContainerMachine", Name: "a", Conditions: []metav1.Condition{paused}},
			}},
			want: `Cluster/demo          True   Available  0s
└─ContainerMachine/a
      Paused          True   Paused     0s     spec.paused is true
`,
		},
		"All": {
			reason:  "Also those of objects that only repeat.",
			tree:    Node{Kind: "Cluster", Name: "demo", Conditions: []metav1.Condition{available, condition("RemoteConnectionProbe", metav1.ConditionFalse, "ProbeFailed", "no answer")}},
			options: Options{All: true},
			want: `Cluster/demo               True   Available    0s
    RemoteConnectionProbe  False  ProbeFailed  0s     no answer
`,
		},
		"Unavailable": {
			reason:  "Cluster API's summary follows later.",
			tree:    Node{Kind: "Cluster", Name: "demo", Conditions: []metav1.Condition{available}},
			options: Options{Unavailable: "container a is exited"},
			want: `Cluster/demo  False                 container a is exited
`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			must.Succeed(t, Print(&out, tc.tree, tc.options))
			_, got, _ := strings.Cut(out.String(), "\n")
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s\n%s", tc.reason, diff, got)
			}
		})
	}
}

func fakeClient(t *testing.T, then time.Time) client.Client {
	t.Helper()
	scheme := must.Get(management.Scheme())(t)
	condition := func(conditionType string, status metav1.ConditionStatus, reason, message string) metav1.Condition {
		return metav1.Condition{
			Type: conditionType, Status: status, Reason: reason, Message: message, LastTransitionTime: metav1.NewTime(then),
		}
	}
	meta := func(kind, name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{
			Namespace: "default", Name: name, UID: types.UID(kind + name), Labels: map[string]string{clusterv1.ClusterNameLabel: "demo"},
		}
	}
	cluster := &clusterv1.Cluster{
		TypeMeta:   metav1.TypeMeta{APIVersion: clusterv1.GroupVersion.String(), Kind: clusterv1.ClusterKind},
		ObjectMeta: meta("Cluster", "demo"),
		Spec: clusterv1.ClusterSpec{
			InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: infrav1.GroupVersion.Group, Kind: "ContainerCluster", Name: "demo"},
			ControlPlaneRef: clusterv1.ContractVersionedObjectReference{
				APIGroup: controlplanev1.GroupVersion.Group, Kind: "KubeadmControlPlane", Name: "demo-control-plane",
			},
		},
		Status: clusterv1.ClusterStatus{Conditions: []metav1.Condition{
			condition("Available", metav1.ConditionFalse, "NotAvailable", "* InfrastructureReady: not yet"),
			condition("Paused", metav1.ConditionFalse, "NotPaused", ""),
		}},
	}
	infrastructure := &infrav1.ContainerCluster{
		TypeMeta:   metav1.TypeMeta{APIVersion: infrav1.GroupVersion.String(), Kind: "ContainerCluster"},
		ObjectMeta: meta("ContainerCluster", "demo"),
		Status:     infrav1.ContainerClusterStatus{Conditions: []metav1.Condition{condition("Ready", metav1.ConditionTrue, "Ready", "")}},
	}
	controlPlane := &controlplanev1.KubeadmControlPlane{
		TypeMeta:   metav1.TypeMeta{APIVersion: controlplanev1.GroupVersion.String(), Kind: "KubeadmControlPlane"},
		ObjectMeta: meta("KubeadmControlPlane", "demo-control-plane"),
	}
	machine := &clusterv1.Machine{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: "demo-control-plane-a", UID: "machine",
			Labels: map[string]string{clusterv1.ClusterNameLabel: "demo", clusterv1.MachineControlPlaneLabel: ""},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: controlplanev1.GroupVersion.String(), Kind: "KubeadmControlPlane", Name: "demo-control-plane",
				UID: "KubeadmControlPlanedemo-control-plane", Controller: new(bool),
			}},
		},
		Spec: clusterv1.MachineSpec{
			ClusterName:       "demo",
			InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: infrav1.GroupVersion.Group, Kind: "ContainerMachine", Name: "demo-cp-a"},
		},
		Status: clusterv1.MachineStatus{Conditions: []metav1.Condition{
			condition("Ready", metav1.ConditionFalse, "NotReady", ""),
			condition("NodeHealthy", metav1.ConditionUnknown, "NodeReadyUnknown", "Kubelet stopped posting node status."),
		}},
	}
	container := &infrav1.ContainerMachine{
		TypeMeta:   metav1.TypeMeta{APIVersion: infrav1.GroupVersion.String(), Kind: "ContainerMachine"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "demo-cp-a", UID: "container"},
		Status: infrav1.ContainerMachineStatus{Conditions: []metav1.Condition{
			condition("Ready", metav1.ConditionFalse, "ImagePullFailed", "no such image"),
			condition("ContainerReady", metav1.ConditionFalse, "ImagePullFailed", "no such\nimage"),
		}},
	}
	builder := fake.NewClientBuilder().WithScheme(scheme).WithObjects(cluster, infrastructure, controlPlane, machine, container)
	for _, crd := range crds() {
		builder = builder.WithObjects(crd)
	}
	return builder.Build()
}

// crds are what discovery asks for the version that follows the contract.
func crds() []client.Object {
	versions := map[string]string{
		"containerclusters.infrastructure.cluster.x-k8s.io":         infrav1.GroupVersion.Version,
		"containermachines.infrastructure.cluster.x-k8s.io":         infrav1.GroupVersion.Version,
		"containermachinetemplates.infrastructure.cluster.x-k8s.io": infrav1.GroupVersion.Version,
		"kubeadmconfigtemplates.bootstrap.cluster.x-k8s.io":         "v1beta2",
		"kubeadmcontrolplanes.controlplane.cluster.x-k8s.io":        "v1beta2",
	}
	var made []client.Object
	for name, version := range versions {
		made = append(made, &apiextensionsv1.CustomResourceDefinition{
			TypeMeta:   metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition"},
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"cluster.x-k8s.io/v1beta2": version}},
		})
	}
	return made
}
