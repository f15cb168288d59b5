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

package serviceloadbalancer

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/cloud-provider/controllers/service"

	"github.com/capi-samples/cluster-api-provider-container/internal/haproxy"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
)

// controlPlaneRole is the label and the taint of kubeadm's control planes.
const controlPlaneRole = "node-role.kubernetes.io/control-plane"

// trim returns an object as the informers store it: without what no load balancer needs. A
// Node has the label that excludes it from load balancers if isExcluded, and not otherwise.
// The service controller compares this label, and plan reads it.
func trim(object any) (any, error) {
	if accessor, ok := object.(metav1.Object); ok {
		accessor.SetManagedFields(nil)
	}
	node, ok := object.(*corev1.Node)
	if !ok {
		return object, nil
	}
	if isExcluded(node) {
		metav1.SetMetaDataLabel(&node.ObjectMeta, corev1.LabelNodeExcludeBalancers, "true")
	} else {
		delete(node.Labels, corev1.LabelNodeExcludeBalancers)
	}
	node.Status = corev1.NodeStatus{Addresses: node.Status.Addresses}
	return node, nil
}

// isExcluded reports whether a Node is no backend: a user excludes it, it is being deleted,
// has no address, or its kubelet reports that it is not ready. Before its Pod network is
// configured, kube-proxy answers health checks and sends connections to Pods of other nodes
// to the engine's host, which routes them elsewhere.
//
// kubeadm excludes each control plane with an empty value. One that takes Pods is a backend
// like any other node, as in a cluster without workers.
func isExcluded(node *corev1.Node) bool {
	value, labeled := node.Labels[corev1.LabelNodeExcludeBalancers]
	if value == "" && labeled {
		_, isControlPlane := node.Labels[controlPlaneRole]
		labeled = !isControlPlane || !takesPods(node)
	}
	if included, err := strconv.ParseBool(value); err == nil && !included {
		labeled = false
	}
	return labeled || !node.DeletionTimestamp.IsZero() || len(internalAddresses(node)) == 0 ||
		slices.ContainsFunc(node.Spec.Taints, func(taint corev1.Taint) bool { return taint.Key == service.ToBeDeletedTaint }) ||
		slices.ContainsFunc(node.Status.Conditions, func(condition corev1.NodeCondition) bool {
			return condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionFalse
		})
}

func takesPods(node *corev1.Node) bool {
	for _, taint := range node.Spec.Taints {
		if taint.Key == controlPlaneRole && taint.Effect != corev1.TaintEffectPreferNoSchedule {
			return false
		}
	}
	return true
}

// backendNodes are the Nodes of now. Those that the service controller passes were listed
// before the Service was locked: a call may get older ones than the call before it.
func (b *balancers) backendNodes() ([]*corev1.Node, error) {
	all, err := b.nodes.List(labels.Everything())
	if err != nil {
		return nil, fmt.Errorf("list Nodes: %w", err)
	}
	var nodes []*corev1.Node
	for _, node := range all {
		if _, excluded := node.Labels[corev1.LabelNodeExcludeBalancers]; !excluded {
			nodes = append(nodes, node)
		}
	}
	return nodes, nil
}

// backendsOf are the Nodes that have an address of the primary family, the oldest first: where
// there are too many, a new one moves no clients.
func backendsOf(nodes []*corev1.Node, families network.Families) []haproxy.Backend {
	nodes = slices.Clone(nodes)
	slices.SortFunc(nodes, func(a, b *corev1.Node) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	var backends []haproxy.Backend
	for _, node := range nodes {
		if address := families.First(internalAddresses(node)); address.IsValid() {
			backends = append(backends, haproxy.Backend{Name: node.Name, Address: address, Weight: haproxy.FullWeight})
		}
	}
	return backends
}

// internalAddresses are those of a Node that can be a backend's.
func internalAddresses(node *corev1.Node) []netip.Addr {
	var addresses []netip.Addr
	for _, entry := range node.Status.Addresses {
		if address, err := netip.ParseAddr(entry.Address); err == nil && entry.Type == corev1.NodeInternalIP && haproxy.IsMachine(address) {
			addresses = append(addresses, address)
		}
	}
	return addresses
}
