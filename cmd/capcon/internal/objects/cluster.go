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
	"encoding/json"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
)

// The variables of the ClusterClass that this program gives values to.
const (
	NodeImagesVariable   = "nodeImages"
	LoadBalancerVariable = "loadBalancer"
	NetworkVariable      = "network"
	ResourcesVariable    = "resources"
	EnvironmentVariable  = "environment"
	SchedulingVariable   = "allowSchedulingOnControlPlanes"
)

// workers is both the class of the worker machines and their name in the
// topology, which the name of the MachineDeployment ends with.
const workers = "worker"

func cluster(v Values) (*clusterv1.Cluster, error) {
	values, err := variables(v)
	if err != nil {
		return nil, err
	}
	rendered := &clusterv1.Cluster{
		TypeMeta:   metav1.TypeMeta{APIVersion: clusterv1.GroupVersion.String(), Kind: clusterv1.ClusterKind},
		ObjectMeta: meta(v, v.Name),
		Spec: clusterv1.ClusterSpec{
			ClusterNetwork: clusterv1.ClusterNetwork{
				Pods:     clusterv1.NetworkRanges{CIDRBlocks: []string{v.PodCIDR}},
				Services: clusterv1.NetworkRanges{CIDRBlocks: []string{v.ServiceCIDR}},
			},
			Topology: clusterv1.Topology{
				ClassRef:     clusterv1.ClusterClassRef{Name: ClassName()},
				Version:      v.KubernetesVersion,
				ControlPlane: clusterv1.ControlPlaneTopology{Replicas: ptr.To(v.ControlPlanes)},
				Workers: clusterv1.WorkersTopology{MachineDeployments: []clusterv1.MachineDeploymentTopology{
					{Class: workers, Name: workers, Replicas: ptr.To(v.Workers)},
				}},
				Variables: values,
			},
		},
	}
	if v.CNIManifest == "" {
		rendered.Annotations = map[string]string{NoCNIAnnotation: ""}
	}
	return rendered, nil
}

// variables says all of each value, defaults too: a value is replaced as a
// whole, and what a default had filled in would come and go.
func variables(v Values) ([]clusterv1.ClusterVariable, error) {
	type variable struct {
		name  string
		value any
	}
	values := []variable{
		{NodeImagesVariable, map[string]string{v.KubernetesVersion: v.NodeImage}},
		{LoadBalancerVariable, infrav1.LoadBalancerTemplate{Type: infrav1.LoadBalancerHAProxy, Image: v.LoadBalancerImage}},
		{NetworkVariable, infrav1.Network{Name: v.Network}},
	}
	if v.Resources != (infrav1.MachineResources{}) {
		values = append(values, variable{ResourcesVariable, v.Resources})
	}
	if len(v.Environment) > 0 {
		values = append(values, variable{EnvironmentVariable, v.Environment})
	}
	if v.AllowSchedulingOnControlPlanes {
		values = append(values, variable{SchedulingVariable, true})
	}
	rendered := make([]clusterv1.ClusterVariable, 0, len(values))
	for _, variable := range values {
		text, err := json.Marshal(variable.value)
		if err != nil {
			return nil, fmt.Errorf("write variable %s: %w", variable.name, err)
		}
		rendered = append(rendered, clusterv1.ClusterVariable{Name: variable.name, Value: apiextensionsv1.JSON{Raw: text}})
	}
	return rendered, nil
}
