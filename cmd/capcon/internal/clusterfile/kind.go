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
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/distribution/reference"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/kind/pkg/apis/config/v1alpha4"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/input"
)

// convertKind returns the Cluster of a file of kind's format, and the image of its nodes.
func (f *file) convertKind(text []byte) (*clusterv1.Cluster, string, error) {
	f.decode(text)
	if len(f.problems) > 0 {
		return nil, "", input.Refuse(f.problems...)
	}
	f.ofKind()
	cluster, image := f.cluster(), f.image()
	cluster.Spec.Topology.Version = VersionOf(image)
	return cluster, image, input.Refuse(f.problems...)
}

func (f *file) cluster() *clusterv1.Cluster {
	documents := f.base()
	for i := range f.KubeadmConfigPatches {
		f.merge(documents, f.node("kubeadmConfigPatches", i), fmt.Sprintf("kubeadmConfigPatches[%d]", i))
	}
	for i, patch := range f.KubeadmConfigPatchesJSON6902 {
		f.patch(documents, patch, f.node("kubeadmConfigPatchesJSON6902", i), fmt.Sprintf("kubeadmConfigPatchesJSON6902[%d]", i))
	}
	f.checkHostPorts()
	f.checkNetworking()
	controlPlane, workers := f.groups(documents)
	variables := f.variables(documents)
	if allowed, _ := controlPlane.variables["allowSchedulingOnControlPlanes"].(bool); allowed || len(workers) == 0 {
		// Pods have no other node, as in kind.
		variables["allowSchedulingOnControlPlanes"] = true
		delete(controlPlane.variables, "allowSchedulingOnControlPlanes")
	}
	cluster := &clusterv1.Cluster{
		TypeMeta:   metav1.TypeMeta{APIVersion: clusterv1.GroupVersion.String(), Kind: clusterv1.ClusterKind},
		ObjectMeta: metav1.ObjectMeta{Name: f.Name},
	}
	network := &cluster.Spec.ClusterNetwork
	if f.Networking.PodSubnet != "" {
		network.Pods.CIDRBlocks = input.SplitCIDRs(f.Networking.PodSubnet)
	}
	if f.Networking.ServiceSubnet != "" {
		network.Services.CIDRBlocks = input.SplitCIDRs(f.Networking.ServiceSubnet)
	}
	networking, _ := documents[clusterKind]["networking"].(map[string]any)
	network.ServiceDomain, _ = networking["dnsDomain"].(string)
	topology := &cluster.Spec.Topology
	topology.ControlPlane.Replicas = ptr.To(controlPlane.count)
	topology.ControlPlane.Variables.Overrides = list(controlPlane.variables)
	f.ofGroup("spec.topology.controlPlane.variables.overrides", controlPlane)
	topology.Variables = list(variables)
	for i, group := range workers {
		deployment := deployment(i, group)
		topology.Workers.MachineDeployments = append(topology.Workers.MachineDeployments, deployment)
		f.ofGroup(fmt.Sprintf("spec.topology.workers.machineDeployments[%s].variables.overrides", deployment.Name), group)
	}
	return cluster
}

// deployment of equal workers. One with a port of the host is deleted before its successor is
// created, which would wait for the port.
func deployment(index int, group group) clusterv1.MachineDeploymentTopology {
	name := "worker"
	if index > 0 {
		name += "-" + strconv.Itoa(index+1)
	}
	deployment := clusterv1.MachineDeploymentTopology{Class: "worker", Name: name, Replicas: ptr.To(group.count)}
	deployment.Variables.Overrides = list(group.variables)
	if group.pinned {
		deployment.Rollout.Strategy = clusterv1.MachineDeploymentTopologyRolloutStrategy{
			Type: clusterv1.RollingUpdateMachineDeploymentStrategyType,
			RollingUpdate: clusterv1.MachineDeploymentTopologyRolloutStrategyRollingUpdate{
				MaxSurge: ptr.To(intstr.FromInt32(0)), MaxUnavailable: ptr.To(intstr.FromInt32(1)),
			},
		}
	}
	return deployment
}

// variables of the whole cluster.
func (f *file) variables(documents documents) map[string]any {
	variables := map[string]any{"cni": "default"}
	if f.Networking.DisableDefaultCNI {
		variables["cni"] = "none"
	}
	set := func(name string, value map[string]any) {
		if len(value) > 0 {
			variables[name] = value
		}
	}
	cluster := documents[clusterKind]
	apiServer := component(cluster, "apiServer")
	if names, _ := apiServer["certSANs"].([]any); slices.Equal(names, f.defaultSANs()) && !f.hasOwnAddress() {
		delete(apiServer, "certSANs")
	}
	set("apiServer", apiServer)
	set("controllerManager", component(cluster, "controllerManager"))
	set("scheduler", component(cluster, "scheduler"))
	if etcd, _ := cluster["etcd"].(map[string]any); etcd != nil {
		set("etcd", component(etcd, "local"))
	}
	set("kubelet", documents[kubeletKind])
	if phases, _ := documents[initKind]["skipPhases"].([]any); slices.Contains(phases, any("addon/kube-proxy")) {
		documents[proxyKind]["mode"] = "none"
	}
	set("kubeProxy", documents[proxyKind])
	if patches := f.containerd(); len(patches) > 0 {
		variables["containerdConfigPatches"] = patches
	}
	if domains := f.Networking.DNSSearch; domains != nil {
		variables["dnsSearch"] = *domains
		if len(*domains) == 0 {
			variables["dnsSearch"] = []string{"."}
		}
	}
	set("loadBalancer", f.loadBalancer())
	return variables
}

// component of the control plane in a ClusterConfiguration, with its arguments as a list.
func component(cluster map[string]any, name string) map[string]any {
	fields, _ := cluster[name].(map[string]any)
	if arguments, _ := fields["extraArgs"].(map[string]any); len(arguments) > 0 {
		fields["extraArgs"] = toList(arguments)
	} else {
		delete(fields, "extraArgs")
	}
	return fields
}

func (f *file) loadBalancer() map[string]any {
	balancer := map[string]any{}
	if port := f.Networking.APIServerPort; port > 0 {
		balancer["hostPort"] = port
	}
	if f.hasOwnAddress() {
		balancer["hostAddress"] = f.Networking.APIServerAddress
	}
	if ports := f.balancerPorts(); len(ports) > 0 {
		balancer["portMappings"] = ports
	}
	return balancer
}

const loopback = "127.0.0.1"

func (f *file) hasOwnAddress() bool {
	return cmp.Or(f.Networking.APIServerAddress, loopback) != loopback
}

// defaultSANs are the names of kind's certificate.
func (f *file) defaultSANs() []any {
	return []any{"localhost", cmp.Or(f.Networking.APIServerAddress, loopback)}
}

func (f *file) checkNetworking() {
	networking := f.Networking
	refuse := func(field, value, reason, remedy string) {
		f.refuse(f.line("networking", field), "networking."+field, value, reason, remedy)
	}
	switch networking.IPFamily {
	case "", v1alpha4.IPv4Family, v1alpha4.IPv6Family, v1alpha4.DualStackFamily:
	default:
		refuse("ipFamily", string(networking.IPFamily), "is no family", "use ipv4, ipv6 or dual")
	}
	switch networking.KubeProxyMode {
	case "", v1alpha4.IPTablesProxyMode, v1alpha4.IPVSProxyMode, v1alpha4.NFTablesProxyMode, "none":
	default:
		refuse("kubeProxyMode", string(networking.KubeProxyMode), "is no mode", "use iptables, nftables, ipvs or none")
	}
	if _, err := netip.ParseAddr(cmp.Or(networking.APIServerAddress, loopback)); err != nil {
		refuse("apiServerAddress", networking.APIServerAddress, "is no IP address", "use 127.0.0.1, or 0.0.0.0 for all")
	}
	if networking.APIServerPort < -1 || networking.APIServerPort > maxPort {
		refuse("apiServerPort", strconv.Itoa(int(networking.APIServerPort)), "is no port", "use 1 to 65535")
	}
	for field, subnet := range map[string]string{"podSubnet": networking.PodSubnet, "serviceSubnet": networking.ServiceSubnet} {
		for _, each := range input.SplitCIDRs(subnet) {
			if _, err := netip.ParsePrefix(each); err != nil {
				refuse(field, subnet, "is no range in CIDR notation", "use one such as 10.244.0.0/16, or one of each family separated by a comma")
			}
		}
	}
}

// image of the nodes. All have one version: Cluster API upgrades control planes first, then
// workers.
func (f *file) image() string {
	image := ""
	for i := range f.Nodes {
		given := f.Nodes[i].Image
		switch {
		case given == "":
		case image == "":
			image = given
			if _, err := reference.ParseNormalizedNamed(given); err != nil {
				f.refuse(f.line("nodes", i, "image"), nodePath(i, "image"), given, "is no image reference", "use NAME:TAG or NAME@DIGEST")
			}
		case given != image:
			f.refuse(f.line("nodes", i, "image"), nodePath(i, "image"), given, "is another image than "+image+" of the nodes before",
				"use one image for all nodes: all have the version of the control plane, and capcon up --kubernetes-version upgrades them in order")
		}
	}
	return image
}

// VersionOf an image by its tag; empty where that is none.
func VersionOf(image string) string {
	named, err := reference.ParseNormalizedNamed(image)
	if err != nil {
		return ""
	}
	tagged, _ := named.(reference.Tagged)
	if tagged == nil {
		return ""
	}
	if _, err := version.ParseSemantic(tagged.Tag()); err != nil || !strings.HasPrefix(tagged.Tag(), "v") {
		return ""
	}
	return tagged.Tag()
}

// list of variables in order of their names.
func list(values map[string]any) []clusterv1.ClusterVariable {
	var variables []clusterv1.ClusterVariable
	for _, name := range slices.Sorted(maps.Keys(values)) {
		text, _ := json.Marshal(values[name]) // It consists of YAML.
		variables = append(variables, clusterv1.ClusterVariable{Name: name, Value: apiextensionsv1.JSON{Raw: text}})
	}
	return variables
}
