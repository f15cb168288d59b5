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

package clusterfile

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/input"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/objects"
)

// Read completes a request by a file, a Cluster or a configuration of kind. A field of the request
// that is set stays. It says where the file has what it took from it.
func Read(name string, text []byte, request input.Request) (input.Request, input.Origins, error) {
	f, err := parse(name, text)
	if err != nil {
		return request, nil, err
	}
	var cluster *clusterv1.Cluster
	var image string
	switch version := child(f.root.Content[0], "apiVersion"); {
	case version == nil:
		err = input.Refuse(input.Problem{Field: name, Reason: "has no apiVersion", Remedy: usable})
	case version.Value == kindVersion:
		cluster, image, err = f.convertKind(text)
	case version.Value == clusterv1.GroupVersion.String():
		cluster, err = f.readManifest(text)
	default:
		err = input.Refuse(input.Problem{
			Field: position(name, version.Line, "apiVersion"), Value: version.Value, Reason: "is neither that of a configuration of kind nor that of a Cluster",
			Remedy: usable,
		})
	}
	if err != nil {
		return request, nil, err
	}
	f.leaveFlags(request)
	request.Image = cmp.Or(request.Image, image)
	if f.APIVersion == kindVersion {
		request.IPFamily = cmp.Or(request.IPFamily, string(f.Networking.IPFamily))
		cluster.Name = cmp.Or(cluster.Name, "kind") // as there
	}
	request, err = fill(request, cluster)
	return request, f.origins, err
}

const usable = "use a Cluster of " + kindVersion + " or cluster.x-k8s.io/v1beta2"

// fill the request with what its flags leave open. The rest becomes its topology.
func fill(request input.Request, cluster *clusterv1.Cluster) (input.Request, error) {
	topology := cluster.Spec.Topology.DeepCopy()
	request.Name = cmp.Or(request.Name, cluster.Name)
	request.KubernetesVersion = cmp.Or(request.KubernetesVersion, topology.Version)
	if request.ControlPlanes == nil && topology.ControlPlane.Replicas != nil {
		request.ControlPlanes = ptr.To(int(*topology.ControlPlane.Replicas))
	}
	if workers := request.Workers; workers != nil {
		if deployments := topology.Workers.MachineDeployments; len(deployments) != 1 {
			return request, input.Refuse(input.Problem{
				Field: "--workers", Value: fmt.Sprint(*workers), Reason: fmt.Sprintf("the file has %d MachineDeployments", len(deployments)),
				Remedy: "omit the flag, and change the file",
			})
		}
		topology.Workers.MachineDeployments[0].Replicas = ptr.To(int32(*workers)) //nolint:gosec // validated to be small
		request.Workers = nil
	}
	request.PodCIDR = cmp.Or(request.PodCIDR, cluster.Spec.ClusterNetwork.Pods.String())
	request.ServiceCIDR = cmp.Or(request.ServiceCIDR, cluster.Spec.ClusterNetwork.Services.String())
	request.ServiceDomain = cluster.Spec.ClusterNetwork.ServiceDomain
	take := func(variable, key string, into *string) { *into = cmp.Or(*into, taken(topology, variable, key)) }
	take(objects.NodeImagesVariable, request.KubernetesVersion, &request.Image)
	take(objects.LoadBalancerVariable, "image", &request.LoadBalancerImage)
	request.EngineName = cmp.Or(request.EngineName, objects.EngineName(topology))
	topology.Variables = without(topology.Variables, objects.EngineVariable)
	if len(request.EngineNames) == 0 {
		request.EngineNames = objects.EngineNames(topology)
	}
	topology.Variables = without(topology.Variables, objects.EnginesVariable)
	take(objects.NetworkVariable, "name", &request.Network)
	// Machines' own limits would take precedence over those that the flags set.
	for key, flag := range map[string]string{"cpu": request.CPUs, "memory": request.Memory} {
		if flag != "" {
			taken(topology, objects.ResourcesVariable, key)
		}
	}
	if request.CNI == "" {
		request.CNI = input.CNINone
		if slices.ContainsFunc(topology.Variables, func(v clusterv1.ClusterVariable) bool {
			return v.Name == podNetwork && string(v.Value.Raw) == `"default"`
		}) {
			request.CNI = input.CNIAuto
		}
	}
	topology.Variables = without(topology.Variables, podNetwork)
	request.Topology = topology
	return request, nil
}

// podNetwork is the variable of the Pod network, which capcon installs itself.
const podNetwork = "cni"

// taken is a text of a variable that is an object, from which it is removed.
func taken(topology *clusterv1.Topology, variable, key string) string {
	for i := range topology.Variables {
		keys := map[string]json.RawMessage{}
		if topology.Variables[i].Name != variable || json.Unmarshal(topology.Variables[i].Value.Raw, &keys) != nil || keys[key] == nil {
			continue
		}
		var text string
		if json.Unmarshal(keys[key], &text) != nil {
			text = string(keys[key]) // a number of CPUs
		}
		delete(keys, key)
		if len(keys) == 0 {
			topology.Variables = without(topology.Variables, variable)
			return text
		}
		raw, _ := json.Marshal(keys) // It consists of JSON.
		topology.Variables[i].Value = apiextensionsv1.JSON{Raw: raw}
		return text
	}
	return ""
}

// Manifest of a Cluster, which makes the same cluster. hasPodNetwork: capcon installed one.
func Manifest(cluster *clusterv1.Cluster, hasPodNetwork bool) *clusterv1.Cluster { //nolint:revive // It is a property of the cluster.
	manifest := stripped(cluster)
	if hasPodNetwork {
		topology := &manifest.Spec.Topology
		topology.Variables = without(topology.Variables, podNetwork)
		topology.Variables = append(topology.Variables, list(map[string]any{podNetwork: "default"})...)
	}
	return manifest
}
