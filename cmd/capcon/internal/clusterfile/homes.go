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
	"slices"
	"strings"
)

// The kinds that kubeadm reads.
const (
	clusterKind = "ClusterConfiguration"
	initKind    = "InitConfiguration"
	joinKind    = "JoinConfiguration"
	kubeletKind = "KubeletConfiguration"
	proxyKind   = "KubeProxyConfiguration"
)

// homes are the fields, by kind, that a variable of the ClusterClass has a place for, with all
// that is below them.
var homes = map[string][]string{
	clusterKind: {
		"apiServer.extraArgs", "apiServer.extraVolumes", "apiServer.certSANs",
		"controllerManager.extraArgs", "controllerManager.extraVolumes",
		"scheduler.extraArgs", "scheduler.extraVolumes",
		"etcd.local.extraArgs", "networking.dnsDomain",
	},
	initKind:    {"nodeRegistration.kubeletExtraArgs", "nodeRegistration.taints", "skipPhases"},
	joinKind:    {"nodeRegistration.kubeletExtraArgs", "nodeRegistration.taints"},
	kubeletKind: {""},
	proxyKind:   {""},
}

// versions of the kinds that are understood.
var versions = map[string][]string{
	clusterKind: {"kubeadm.k8s.io/v1beta3", "kubeadm.k8s.io/v1beta4"},
	initKind:    {"kubeadm.k8s.io/v1beta3", "kubeadm.k8s.io/v1beta4"},
	joinKind:    {"kubeadm.k8s.io/v1beta3", "kubeadm.k8s.io/v1beta4"},
	kubeletKind: {"kubelet.config.k8s.io/v1beta1"},
	proxyKind:   {"kubeproxy.config.k8s.io/v1alpha1"},
}

// refusal of a field without a home.
type refusal struct{ reason, remedy string }

// refusals by the beginning of the path, without its kind.
var refusals = map[string]refusal{
	"networking.podSubnet":     {"the Cluster decides it", "set networking.podSubnet of the file"},
	"networking.serviceSubnet": {"the Cluster decides it", "set networking.serviceSubnet of the file"},
	"kubernetesVersion":        {"the version of the node image decides it", "set image of the nodes, or --kubernetes-version"},
	"controlPlaneEndpoint":     {"it is the load balancer of the cluster", "remove it"},
	"clusterName":              {"it is the name of the Cluster", "set name of the file"},
	"nodeRegistration.name":    {"Cluster API names the nodes", "remove it"},
	"localAPIEndpoint":         {"the provider decides the addresses of the nodes", "remove it"},
	"controlPlane":             {"the provider decides the addresses of the nodes", "remove it"},
	"discovery":                {"Cluster API has a token for each node", "remove it"},
	"bootstrapTokens":          {"Cluster API has a token for each node", "remove it"},
}

// home reports whether a path of a kind, or what is below it, has a home: exactly, or only
// parts of it.
func home(kind, path string) (exact, parts bool) {
	for _, prefix := range homes[kind] {
		switch {
		case prefix == "", path == prefix, strings.HasPrefix(path, prefix+"."):
			return true, true
		case path == "", strings.HasPrefix(prefix, path+"."):
			parts = true
		}
	}
	return false, parts
}

func refusalOf(path string) refusal {
	for prefix, refused := range refusals {
		if path == prefix || strings.HasPrefix(path, prefix+".") {
			return refused
		}
	}
	return refusal{"the ClusterClass has no variable for it", "remove it; " + page}
}

// checkVersion returns what is wrong with the apiVersion of a patch.
func checkVersion(kind, apiVersion string) (refusal, bool) {
	known, found := versions[kind]
	switch {
	case kind == "":
		return refusal{"has no kind", "add kind: " + clusterKind + ", or the one that has the field"}, false
	case !found:
		return refusal{"kubeadm has no such kind", "use " + strings.Join([]string{clusterKind, initKind, joinKind, kubeletKind, proxyKind}, ", ")}, false
	case apiVersion != "" && !slices.Contains(known, apiVersion):
		return refusal{"is not a version that is converted", "use " + strings.Join(known, " or ")}, false
	}
	return refusal{}, true
}
