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

package objects

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
)

// Values are the desired state of a new cluster. All are required but those that say
// otherwise.
type Values struct {
	// Namespace and Name of the Cluster.
	Namespace, Name string
	// KubernetesVersion such as v1.36.3.
	KubernetesVersion string
	// ControlPlanes and Workers are how many machines of each there are.
	ControlPlanes, Workers int32
	// NodeImage of every machine.
	NodeImage string
	// LoadBalancerImage; empty = the provider's default.
	LoadBalancerImage string
	// EngineName of the ContainerEngine; empty = the engine of the management cluster.
	EngineName string
	// EngineNames of the ContainerEngines of a cluster over several; empty = it is on one.
	EngineNames []string
	// Network of the engine; empty = the provider's default.
	Network string
	// Resources that each node is limited to; empty = none.
	Resources infrav1.MachineResources
	// Environment of each node; empty = none.
	Environment []infrav1.EnvironmentVariable
	// AllowSchedulingOnControlPlanes leaves them without a taint.
	AllowSchedulingOnControlPlanes bool
	// PodCIDR and ServiceCIDR are the address ranges within the cluster, as comma-separated lists.
	PodCIDR, ServiceCIDR string
	// Topology of a file, whose workers and variables come before those of the fields above; nil
	// without a file.
	Topology *clusterv1.Topology
	// ServiceDomain of the cluster; empty = Kubernetes' default.
	ServiceDomain string
	// InMemory: the cluster runs no Pods, and has neither storage nor load balancers of Services.
	InMemory bool
	// CNIManifest is applied to the cluster once its API server answers;
	// empty = the cluster's network is left to the user.
	CNIManifest string
}

// Names of the objects that belong to a cluster, as the ClusterClass has them.

// ControlPlaneName of the KubeadmControlPlane.
func ControlPlaneName(cluster string) string { return cluster + "-control-plane" }

// CNIName of the ClusterResourceSet with the Pod network.
func CNIName(cluster string) string { return cluster + "-cni" }

// Rendered are the objects of a new cluster.
type Rendered struct {
	// Class is the ClusterClass behind its templates.
	Class []client.Object
	// Owned are further objects that go with the Cluster.
	Owned []client.Object
	// Cluster has its whole topology, of which Cluster API makes the rest.
	Cluster *clusterv1.Cluster
}

// Render returns the objects, which are to be applied in the order of the
// fields.
func Render(v Values) (Rendered, error) {
	topology, err := cluster(v)
	if err != nil {
		return Rendered{}, err
	}
	parts, err := class(v.Namespace, ClassName(), classSuffix())
	return Rendered{Class: parts, Owned: cni(v), Cluster: topology}, err
}

// OwnerOf makes the object that has it go when the Cluster goes.
func OwnerOf(cluster *clusterv1.Cluster) metav1.OwnerReference {
	return metav1.OwnerReference{
		APIVersion: clusterv1.GroupVersion.String(), Kind: clusterv1.ClusterKind, Name: cluster.Name, UID: cluster.UID,
	}
}

func meta(v Values, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: v.Namespace,
		Name:      name,
		Labels:    map[string]string{clusterv1.ClusterNameLabel: v.Name},
	}
}
