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
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/kind/pkg/apis/config/v1alpha4"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
)

// group of nodes that are alike, which becomes the control plane or a MachineDeployment.
type group struct {
	// index of the first node.
	index int
	count int32
	// mounts, ports, labels and the rest of their variables.
	variables map[string]any
	// pinned says that a port of the host is mapped.
	pinned bool
}

// groups of the nodes, the control plane first.
func (f *file) groups(cluster documents) (controlPlane group, workers []group) {
	for i := range f.Nodes {
		node := &f.Nodes[i]
		role := cmp.Or(node.Role, v1alpha4.ControlPlaneRole)
		one := group{index: i, count: 1, variables: f.variablesOf(i, role, cluster)}
		switch {
		case role == v1alpha4.WorkerRole:
			one.pinned = f.workerPorts(i, one.variables)
			at := slices.IndexFunc(workers, func(other group) bool {
				return !one.pinned && reflect.DeepEqual(other.variables, one.variables)
			})
			if at < 0 {
				workers = append(workers, one)
			} else {
				workers[at].count++
			}
		case role != v1alpha4.ControlPlaneRole:
			f.refuse(f.line("nodes", i, "role"), nodePath(i, "role"), string(role), "is no role", "use control-plane or worker")
		case controlPlane.count == 0:
			controlPlane = one
		case !reflect.DeepEqual(controlPlane.variables, one.variables):
			f.refuse(f.line("nodes", i), fmt.Sprintf("nodes[%d]", i), "",
				fmt.Sprintf("control planes differ (nodes[%d] and nodes[%d]), but a control plane is replaced by an equal one", controlPlane.index, i),
				"give all control planes the same labels, mounts and patches")
		default:
			controlPlane.count++
		}
	}
	if controlPlane.count == 0 && len(f.problems) == 0 {
		if len(f.Nodes) > 0 {
			f.refuse(f.line("nodes"), "nodes", "", "there is no control plane", "add a node with the role control-plane")
		}
		controlPlane = group{count: 1, variables: f.registration(cluster, initKind)}
	}
	return controlPlane, workers
}

// variablesOf a node, without its ports.
func (f *file) variablesOf(index int, role v1alpha4.NodeRole, cluster documents) map[string]any {
	node := &f.Nodes[index]
	own := documents{}
	for kind, document := range cluster {
		own[kind] = clone(document)
	}
	kinds := []string{initKind, joinKind, kubeletKind}
	for i := range node.KubeadmConfigPatches {
		f.merge(own, f.node("nodes", index, "kubeadmConfigPatches", i), fmt.Sprintf("nodes[%d].kubeadmConfigPatches[%d]", index, i), kinds...)
	}
	for i, patch := range node.KubeadmConfigPatchesJSON6902 {
		f.patch(own, patch, f.node("nodes", index, "kubeadmConfigPatchesJSON6902", i), fmt.Sprintf("nodes[%d].kubeadmConfigPatchesJSON6902[%d]", index, i), kinds...)
	}
	kind := joinKind
	if role == v1alpha4.ControlPlaneRole {
		// The first one is replaced by one that joins: both documents are of each.
		kind = initKind
		if len(f.controlPlanes()) > 1 {
			mergeValues(own[initKind], own[joinKind])
		}
	}
	variables := f.registration(own, kind)
	if !reflect.DeepEqual(clone(own[kubeletKind]), clone(cluster[kubeletKind])) {
		variables["kubelet"] = own[kubeletKind]
	}
	labels, _ := variables["nodeLabels"].(map[string]string)
	if len(node.Labels) > 0 && labels == nil {
		labels = map[string]string{}
	}
	for name, value := range node.Labels {
		if _, patched := labels[name]; !patched {
			labels[name] = value
		}
	}
	if len(labels) > 0 {
		variables["nodeLabels"] = labels
	}
	if mounts := f.mounts(index); len(mounts) > 0 {
		variables["extraMounts"] = mounts
	}
	return variables
}

func (f *file) controlPlanes() []int {
	var found []int
	for i := range f.Nodes {
		if cmp.Or(f.Nodes[i].Role, v1alpha4.ControlPlaneRole) == v1alpha4.ControlPlaneRole {
			found = append(found, i)
		}
	}
	return found
}

// registration of a node: its labels, taints and arguments of the kubelet.
func (f *file) registration(own documents, kind string) map[string]any {
	variables := map[string]any{}
	registration, _ := own[kind]["nodeRegistration"].(map[string]any)
	arguments, _ := registration["kubeletExtraArgs"].(map[string]any)
	arguments = maps.Clone(arguments)
	if text, _ := arguments["node-labels"].(string); text != "" {
		labels := map[string]string{}
		for entry := range strings.SplitSeq(text, ",") {
			name, value, _ := strings.Cut(entry, "=")
			labels[strings.TrimSpace(name)] = strings.TrimSpace(value)
		}
		variables["nodeLabels"] = labels
	}
	delete(arguments, "node-labels")
	if len(arguments) > 0 {
		variables["kubeletExtraArgs"] = toList(arguments)
	}
	taints, given := registration["taints"].([]any)
	if given && kind == initKind {
		// A list replaces kubeadm's own taint, also an empty one.
		variables["allowSchedulingOnControlPlanes"] = true
	}
	if len(taints) > 0 {
		variables["nodeTaints"] = taints
	}
	return variables
}

func (f *file) mounts(index int) []infrav1.Mount {
	var mounts []infrav1.Mount
	for i, mount := range f.Nodes[index].ExtraMounts {
		path := fmt.Sprintf("nodes[%d].extraMounts[%d].", index, i)
		line := func(field string) int { return f.line("nodes", index, "extraMounts", i, field) }
		for field, value := range map[string]string{"hostPath": mount.HostPath, "containerPath": mount.ContainerPath} {
			if value == "" {
				f.refuse(line(field), path+field, "", "is needed", "set it")
			}
		}
		if mount.SelinuxRelabel {
			f.refuse(line("selinuxRelabel"), path+"selinuxRelabel", "true", "nodes run without SELinux confinement, and the label of the path would change on the host",
				"remove it")
		}
		// kind takes a relative path from the working directory.
		hostPath, err := filepath.Abs(mount.HostPath)
		if err != nil {
			f.refuse(line("hostPath"), path+"hostPath", mount.HostPath, err.Error(), "use an absolute path")
		}
		mapped := infrav1.Mount{
			HostPath: hostPath, ContainerPath: mount.ContainerPath,
			Propagation: infrav1.MountPropagation(mount.Propagation),
		}
		if mount.Readonly {
			mapped.ReadOnly = ptr.To(true)
		}
		mounts = append(mounts, mapped)
	}
	return mounts
}
