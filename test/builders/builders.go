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

// Package builders makes the objects of Kubernetes and Cluster API that tests
// begin with: one cluster with one machine, as Cluster API leaves them for
// this provider.
package builders

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonsv1 "sigs.k8s.io/cluster-api/api/addons/v1beta2"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
)

// What the objects are called.
const (
	Namespace = "default"
	Cluster   = "c1"
	Machine   = "m1"
	OwnerID   = "abcdefgh"

	// NodeImage and LoadBalancerImage do not exist anywhere.
	NodeImage         = "example.test/node:v1.36.3"
	LoadBalancerImage = "example.test/haproxy:1"
)

// Bootstrap data, as far as this provider looks into it.
const (
	// SecretWord is in all of them and must never be seen outside.
	SecretWord = "abcdef.0123456789abcdef"

	JoinWorkerData = joinData + `
    nodeRegistration: {}
runcmd:
- kubeadm join --config /run/kubeadm/kubeadm-join-config.yaml
`
	// JoinCloudWorkerData leaves the Node to a cloud controller.
	JoinCloudWorkerData = joinData + `
    nodeRegistration:
      kubeletExtraArgs:
      - name: cloud-provider
        value: external
runcmd:
- kubeadm join --config /run/kubeadm/kubeadm-join-config.yaml
`
	JoinControlPlaneData = joinData + `
    controlPlane: {}
    nodeRegistration: {}
runcmd:
- kubeadm join --config /run/kubeadm/kubeadm-join-config.yaml
`
	InitData = `#cloud-config
write_files:
- path: /run/kubeadm/kubeadm.yaml
  permissions: '0640'
  content: |
    apiVersion: kubeadm.k8s.io/v1beta4
    kind: InitConfiguration
    nodeRegistration: {}
    bootstrapTokens:
    - token: ` + SecretWord + `
runcmd:
- kubeadm init --config /run/kubeadm/kubeadm.yaml
`
	// OwnData is without kubeadm.
	OwnData = `#cloud-config
runcmd:
- /usr/local/bin/start-control-plane
`

	joinData = `#cloud-config
write_files:
- path: /run/kubeadm/kubeadm-join-config.yaml
  permissions: '0640'
  content: |
    apiVersion: kubeadm.k8s.io/v1beta4
    kind: JoinConfiguration
    discovery:
      bootstrapToken:
        token: ` + SecretWord
)

// Objects are those of one cluster with one machine. Tests change them before
// they begin.
type Objects struct {
	Cluster          *clusterv1.Cluster
	ContainerCluster *infrav1.ContainerCluster
	Machine          *clusterv1.Machine
	ContainerMachine *infrav1.ContainerMachine
	Secret           *corev1.Secret
	// Others are created alongside them.
	Others []client.Object
}

// Option changes the objects a test begins with.
type Option func(*Objects)

// New returns a cluster whose infrastructure is provisioned, and a worker
// whose bootstrap data is there.
func New(options ...Option) *Objects {
	o := &Objects{
		Cluster: &clusterv1.Cluster{
			TypeMeta:   typeMeta(clusterv1.GroupVersion.String(), "Cluster"),
			ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: Cluster, UID: "cluster-uid"},
			Spec: clusterv1.ClusterSpec{InfrastructureRef: clusterv1.ContractVersionedObjectReference{
				APIGroup: infrav1.GroupVersion.Group, Kind: "ContainerCluster", Name: Cluster,
			}},
			Status: clusterv1.ClusterStatus{Initialization: clusterv1.ClusterInitializationStatus{InfrastructureProvisioned: ptr.To(true)}},
		},
		ContainerCluster: &infrav1.ContainerCluster{
			TypeMeta: typeMeta(infrav1.GroupVersion.String(), "ContainerCluster"),
			ObjectMeta: metav1.ObjectMeta{
				Namespace: Namespace, Name: Cluster, UID: "container-cluster-uid", Labels: labels(),
				Finalizers:      []string{infrav1.ClusterFinalizer},
				OwnerReferences: ownerReferences("Cluster", Cluster, "cluster-uid"),
			},
			Spec: infrav1.ContainerClusterSpec{OwnerID: OwnerID},
		},
		Secret: DataSecret(Machine, JoinWorkerData),
	}
	o.Machine, o.ContainerMachine = MachinePair(Machine)
	for _, apply := range options {
		apply(o)
	}
	return o
}

// MachinePair returns a Machine and its ContainerMachine of one name.
func MachinePair(name string) (*clusterv1.Machine, *infrav1.ContainerMachine) {
	uid := types.UID(name + "-uid")
	return &clusterv1.Machine{
			TypeMeta:   typeMeta(clusterv1.GroupVersion.String(), "Machine"),
			ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: name, Labels: labels(), UID: uid, Finalizers: []string{clusterv1.MachineFinalizer}},
			Spec: clusterv1.MachineSpec{
				ClusterName: Cluster, Version: "v1.36.3", FailureDomain: "zone-a",
				Bootstrap: clusterv1.Bootstrap{DataSecretName: ptr.To(name + "-data")},
				InfrastructureRef: clusterv1.ContractVersionedObjectReference{
					APIGroup: infrav1.GroupVersion.Group, Kind: "ContainerMachine", Name: name,
				},
			},
		}, &infrav1.ContainerMachine{
			TypeMeta: typeMeta(infrav1.GroupVersion.String(), "ContainerMachine"),
			ObjectMeta: metav1.ObjectMeta{
				Namespace: Namespace, Name: name, Labels: labels(), UID: uid + "-container",
				Finalizers:      []string{infrav1.MachineFinalizer},
				OwnerReferences: ownerReferences("Machine", name, uid),
			},
			Spec: infrav1.ContainerMachineSpec{ContainerMachineCommonSpec: infrav1.ContainerMachineCommonSpec{Image: NodeImage}},
		}
}

// DataSecret holds a machine's bootstrap data.
func DataSecret(machine, data string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: machine + "-data", Labels: labels()},
		Type:       clusterv1.ClusterSecretType,
		Data:       map[string][]byte{"value": []byte(data)},
	}
}

// All returns the objects that are not nil.
func (o *Objects) All() []client.Object {
	var all []client.Object
	if o.Cluster != nil {
		all = append(all, o.Cluster)
	}
	if o.ContainerCluster != nil {
		all = append(all, o.ContainerCluster)
	}
	if o.Machine != nil {
		all = append(all, o.Machine)
	}
	if o.ContainerMachine != nil {
		all = append(all, o.ContainerMachine)
	}
	if o.Secret != nil {
		all = append(all, o.Secret)
	}
	return append(all, o.Others...)
}

// ControlPlane makes the machine a control plane with the data given.
func ControlPlane(data string) Option {
	return func(o *Objects) {
		MakeControlPlane(o.Machine)
		o.ContainerMachine.Labels[clusterv1.MachineControlPlaneLabel] = ""
		o.Secret.Data["value"] = []byte(data)
	}
}

// MakeControlPlane labels a Machine so.
func MakeControlPlane(machine *clusterv1.Machine) {
	machine.Labels[clusterv1.MachineControlPlaneLabel] = ""
}

// Owner is the identity of the cluster on an engine.
func Owner() identity.Owner {
	return identity.Owner{Namespace: Namespace, Cluster: Cluster, ID: OwnerID}
}

// Container is the name of the container of a machine.
func Container(machine string) string { return Owner().NodeContainer(machine) }

// Scheme knows the kinds of these tests and no more: a fake client takes its
// time for each.
func Scheme(tb testing.TB) *runtime.Scheme {
	tb.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, clusterv1.AddToScheme, addonsv1.AddToScheme, bootstrapv1.AddToScheme, infrav1.AddToScheme} {
		if err := add(scheme); err != nil {
			tb.Fatal(err)
		}
	}
	return scheme
}

func typeMeta(apiVersion, kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: apiVersion, Kind: kind}
}

func labels() map[string]string { return map[string]string{clusterv1.ClusterNameLabel: Cluster} }

func ownerReferences(kind, name string, uid types.UID) []metav1.OwnerReference {
	return []metav1.OwnerReference{{APIVersion: clusterv1.GroupVersion.String(), Kind: kind, Name: name, UID: uid}}
}
