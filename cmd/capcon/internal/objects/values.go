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
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// Values say what a cluster shall be. All are required but those that say
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
	// Network of the engine; empty = the provider's default.
	Network string
	// PodCIDR and ServiceCIDR are the address ranges within the cluster.
	PodCIDR, ServiceCIDR string
	// CNIManifest is applied to the cluster once its API server answers;
	// empty = the cluster's network is left to the user.
	CNIManifest string
}

// Names of the objects that belong to a cluster.

// ControlPlaneName of the KubeadmControlPlane.
func ControlPlaneName(cluster string) string { return cluster + "-control-plane" }

// WorkersName of the MachineDeployment.
func WorkersName(cluster string) string { return cluster + "-worker" }

// CNIName of the ClusterResourceSet with the Pod network.
func CNIName(cluster string) string { return cluster + "-cni" }

// Render returns the objects in the order they are to be applied, the Cluster
// first. Templates are named after their content: a changed value makes a new
// template, which is what rolls machines out.
func Render(v Values) ([]client.Object, error) {
	controlPlaneTemplate, err := machineTemplate(v, ControlPlaneName(v.Name))
	if err != nil {
		return nil, err
	}
	workerTemplate, err := machineTemplate(v, WorkersName(v.Name))
	if err != nil {
		return nil, err
	}
	bootstrapTemplate, err := kubeadmConfigTemplate(v)
	if err != nil {
		return nil, err
	}
	rendered := []client.Object{
		cluster(v),
		containerCluster(v),
		controlPlaneTemplate,
		controlPlane(v, controlPlaneTemplate.Name),
		bootstrapTemplate,
		workerTemplate,
		workers(v, workerTemplate.Name, bootstrapTemplate.Name),
	}
	return append(rendered, cni(v)...), nil
}

// OwnedByCluster makes the object go when the Cluster goes. Cluster API does
// this for the objects it refers to; the others would be left behind.
func OwnedByCluster(object client.Object, name string, uid types.UID) {
	object.SetOwnerReferences([]metav1.OwnerReference{{
		APIVersion: clusterv1.GroupVersion.String(),
		Kind:       clusterv1.ClusterKind,
		Name:       name,
		UID:        uid,
	}})
}

func meta(v Values, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: v.Namespace,
		Name:      name,
		Labels:    map[string]string{clusterv1.ClusterNameLabel: v.Name},
	}
}

// contentName is the prefix and a hash over what is named: 32 bits are enough
// to tell the few templates of a cluster apart.
func contentName(prefix string, content any) (string, error) {
	const digits = 8
	text, err := json.Marshal(content)
	if err != nil {
		return "", fmt.Errorf("name a template of %s after its content: %w", prefix, err)
	}
	sum := sha256.Sum256(text)
	return prefix + "-" + hex.EncodeToString(sum[:])[:digits], nil
}
