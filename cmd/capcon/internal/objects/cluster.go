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
	"maps"
	"slices"
	"strings"

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
	// EngineVariable names the ContainerEngine.
	EngineVariable = "engineName"
	// EnginesVariable names those of a cluster over several.
	EnginesVariable = "engineNames"
	StorageVariable = "storage"
	// ServiceLoadBalancerVariable is that of Services.
	ServiceLoadBalancerVariable = "serviceLoadBalancer"
	ResourcesVariable           = "resources"
	// RoleResourcesVariable has limits that running nodes get too. Those of ResourcesVariable take precedence.
	RoleResourcesVariable = "roleResources"
	EnvironmentVariable   = "environment"
	SchedulingVariable    = "allowSchedulingOnControlPlanes"
)

// EngineName is the ContainerEngine that the topology of a cluster names; empty = none.
func EngineName(topology *clusterv1.Topology) (name string) {
	decode(topology, EngineVariable, &name)
	return name
}

// EngineNames are the ContainerEngines of a cluster over several that its topology names; empty = it is on one.
func EngineNames(topology *clusterv1.Topology) (names []string) {
	decode(topology, EnginesVariable, &names)
	return names
}

func decode(topology *clusterv1.Topology, name string, into any) {
	for _, variable := range topology.Variables {
		if variable.Name == name {
			_ = json.Unmarshal(variable.Value.Raw, into) // The API server admits nothing else.
		}
	}
}

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
				ServiceDomain: v.ServiceDomain,
				Pods:          clusterv1.NetworkRanges{CIDRBlocks: strings.Split(v.PodCIDR, ",")},
				Services:      clusterv1.NetworkRanges{CIDRBlocks: strings.Split(v.ServiceCIDR, ",")},
			},
			Topology: topology(v, values),
		},
	}
	if v.CNIManifest == "" {
		rendered.Annotations = map[string]string{NoCNIAnnotation: ""}
	}
	return rendered, nil
}

// topology of a file or of the fields.
func topology(v Values, variables []clusterv1.ClusterVariable) clusterv1.Topology {
	topology := clusterv1.Topology{Workers: clusterv1.WorkersTopology{MachineDeployments: []clusterv1.MachineDeploymentTopology{
		{Class: workers, Name: workers, Replicas: ptr.To(v.Workers)},
	}}}
	if v.Topology != nil {
		topology = *v.Topology.DeepCopy()
	}
	topology.ClassRef = clusterv1.ClusterClassRef{Name: ClassName()}
	topology.Version = v.KubernetesVersion
	topology.ControlPlane.Replicas = ptr.To(v.ControlPlanes)
	topology.Variables = MergeVariables(variables, topology.Variables)
	return topology
}

// MergeVariables adds the variables of a file to others: their keys, if they are objects, and
// the others as a whole.
func MergeVariables(variables, file []clusterv1.ClusterVariable) []clusterv1.ClusterVariable {
	merged := slices.Clone(variables)
	for _, variable := range file {
		at := slices.IndexFunc(merged, func(other clusterv1.ClusterVariable) bool { return other.Name == variable.Name })
		if at < 0 {
			merged = append(merged, variable)
			continue
		}
		var keys, added map[string]json.RawMessage
		if json.Unmarshal(merged[at].Value.Raw, &keys) != nil || json.Unmarshal(variable.Value.Raw, &added) != nil {
			merged[at] = variable
			continue
		}
		maps.Copy(keys, added)
		if string(keys["type"]) == `"None"` && variable.Name == LoadBalancerVariable {
			delete(keys, "image")
		}
		raw, _ := json.Marshal(keys) // It consists of JSON.
		merged[at].Value = apiextensionsv1.JSON{Raw: raw}
	}
	return merged
}

// storage of a cluster that is over several engines is on its nodes: a volume is of one engine. In memory there is none.
func (v Values) storage() infrav1.StorageType {
	switch {
	case v.InMemory:
		return infrav1.StorageNone
	case len(v.EngineNames) > 0:
		return infrav1.StorageNodeLocal
	default:
		return infrav1.StorageCluster
	}
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
		{StorageVariable, infrav1.Storage{Type: v.storage()}},
	}
	if len(v.EngineNames) > 0 {
		values = append(values, variable{EnginesVariable, v.EngineNames})
	}
	if v.InMemory {
		values = append(values, variable{ServiceLoadBalancerVariable, infrav1.ServiceLoadBalancer{Type: infrav1.LoadBalancerNone}})
	}
	if v.EngineName != "" {
		values = append(values, variable{EngineVariable, v.EngineName})
	}
	if v.Resources != (infrav1.MachineResources{}) {
		values = append(values, variable{RoleResourcesVariable, infrav1.RoleResources{ControlPlane: v.Resources, Workers: v.Resources}})
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
