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

package v1beta2

// StorageType says what provides PersistentVolumes in a workload cluster.
// +kubebuilder:validation:Enum=Cluster;NodeLocal;None
type StorageType string

const (
	// StorageCluster provisions directories of a volume of the engine that all nodes of the
	// cluster share.
	StorageCluster StorageType = "Cluster"
	// StorageNodeLocal provisions directories in the containers of the nodes.
	StorageNodeLocal StorageType = "NodeLocal"
	// StorageNone leaves storage to what is installed in the workload cluster.
	StorageNone StorageType = "None"
)

// Storage says what provides PersistentVolumes in the workload cluster.
// +kubebuilder:validation:MinProperties=1
type Storage struct {
	// type is None by default. With Cluster or NodeLocal the provider creates the default
	// StorageClass "standard" and provisions its volumes. With Cluster, each is a directory of a
	// volume of the engine that all nodes mount: it outlives them, and the type is immutable. Nodes
	// that were created with another type do not mount it: the ClusterClass "container" rolls them
	// out when the type becomes Cluster; without it, roll out templates with the annotation
	// "container.infrastructure.cluster.x-k8s.io/storage: Cluster". With NodeLocal, each
	// is a directory on the node that the scheduler chose for the claim's first Pod: it remains
	// while that node remains. A change to None keeps the volumes; those released later are
	// not deleted.
	// +optional
	Type StorageType `json:"type,omitempty"`
}
