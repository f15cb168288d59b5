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

package capd

import (
	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
)

const (
	clusterTemplate = "ContainerClusterTemplate"
	preLoadImages   = "preLoadImages"
)

// kind says what becomes of a kind of CAPD. Paths have dots; one that is empty is where one is.
type kind struct {
	// name of the kind of this provider.
	name string
	// spec is where both have their fields.
	spec string
	// settings is where CAPD has most of them, below spec.
	settings string
	// into is where they are in this provider, below spec.
	into   string
	fields map[string]move
}

// move is what becomes of a field.
type move struct {
	// to is its name in this provider. Without it the field has no equivalent.
	to             string
	reason, remedy string
}

const (
	inTemplate = "spec.template.spec"
	ofPool     = "template.spec"
)

// kinds of CAPD.
func kinds() map[string]kind {
	found := map[string]kind{}
	for prefix, backend := range map[string]string{"Docker": "", "Dev": "backend.docker"} {
		pool := backend
		if pool == "" {
			pool = "template"
		}
		found[prefix+"Cluster"] = kind{"ContainerCluster", "spec", backend, "", clusterFields()}
		found[prefix+"ClusterTemplate"] = kind{clusterTemplate, inTemplate, backend, "", clusterFields()}
		found[prefix+"Machine"] = kind{"ContainerMachine", "spec", backend, "", machineFields()}
		found[prefix+"MachineTemplate"] = kind{"ContainerMachineTemplate", inTemplate, backend, "", machineFields()}
		found[prefix+"MachinePool"] = kind{"ContainerMachinePool", "spec", pool, ofPool, machineFields()}
		found[prefix+"MachinePoolTemplate"] = kind{"ContainerMachinePoolTemplate", inTemplate, pool, ofPool, machineFields()}
	}
	return found
}

func machineFields() map[string]move {
	return map[string]move{
		"customImage":      {to: "image"},
		"extraMounts":      {to: "extraMounts"},
		"bootstrapTimeout": {to: "bootstrapTimeout"},
		preLoadImages: {
			reason: "images are a field of the cluster, for all its nodes",
			remedy: "list them in spec.images of the ContainerCluster",
		},
		"providerID":     containersStay(),
		"providerIDList": containersStay(),
	}
}

func clusterFields() map[string]move {
	return map[string]move{
		"failureDomains": {to: "failureDomains"},
		"loadBalancer": {
			reason: "the image has other fields",
			remedy: "patch /spec/template/spec/loadBalancer/image, or leave the image to the provider",
		},
		"controlPlaneEndpoint": {to: "controlPlaneEndpoint"},
	}
}

func containersStay() move {
	return move{reason: "it names a container of CAPD, which cannot be adopted", remedy: "nothing to do: the provider creates another container"}
}

// Findings that are no fields.
func inMemory() move {
	return move{
		reason: "machines in memory have no equivalent: these become containers",
		remedy: "keep CAPD's in-memory backend where no real cluster is needed",
	}
}

func engineSocket() move {
	return move{
		reason: "the mount gives the node the engine of its host",
		remedy: "remove it, unless the cluster runs managers that need an engine; Podman's socket is /run/podman/podman.sock",
	}
}

func unknownField() move {
	return move{reason: "CAPD has no such field", remedy: "see docs/reference/api.md"}
}

// wholeSettings is of a JSON patch that sets what becomes several fields.
func wholeSettings() move {
	return move{reason: "the patch sets fields that have other places", remedy: "patch each field by itself"}
}

func otherPatch() move {
	return move{reason: "a JSON patch alone does not say which kind it patches", remedy: "build the kustomization first, and convert what it builds"}
}

func extension() move {
	return move{reason: "a runtime extension patches CAPD's kinds in its code", remedy: "have it patch those of " + infrav1.GroupVersion.String()}
}
