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
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/controllers/service"
)

// providerName is how this provider calls itself as a cloud.
const providerName = "container"

// cloud is a cloud that has load balancers and nothing else.
type cloud struct {
	balancers *balancers
}

var _ cloudprovider.Interface = cloud{}

// Initialize implements cloudprovider.Interface.
func (cloud) Initialize(cloudprovider.ControllerClientBuilder, <-chan struct{}) {}

// LoadBalancer implements cloudprovider.Interface.
func (c cloud) LoadBalancer() (cloudprovider.LoadBalancer, bool) { return c.balancers, true }

// Instances implements cloudprovider.Interface.
func (cloud) Instances() (cloudprovider.Instances, bool) { return nil, false }

// InstancesV2 implements cloudprovider.Interface.
func (cloud) InstancesV2() (cloudprovider.InstancesV2, bool) { return nil, false }

// Zones implements cloudprovider.Interface.
func (cloud) Zones() (cloudprovider.Zones, bool) { return nil, false }

// Clusters implements cloudprovider.Interface.
func (cloud) Clusters() (cloudprovider.Clusters, bool) { return nil, false }

// Routes implements cloudprovider.Interface.
func (cloud) Routes() (cloudprovider.Routes, bool) { return nil, false }

// ProviderName implements cloudprovider.Interface.
func (cloud) ProviderName() string { return providerName }

// HasClusterID implements cloudprovider.Interface.
func (cloud) HasClusterID() bool { return true }

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
	return labeled || !node.DeletionTimestamp.IsZero() || !internalAddress(node).IsValid() ||
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
