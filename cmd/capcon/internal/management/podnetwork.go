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

package management

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/objects"
)

const (
	// podNetworkNotReady is the kubelet's reason for a Node without a Pod network, which each
	// Node has while it starts. It is known only as a part of the message of the Node's condition.
	podNetworkNotReady = "NetworkPluginNotReady"
	// onlyPodNetwork is the message of a Node that lacks nothing else: the kubelet puts several
	// causes into brackets.
	onlyPodNetwork = "Node.Ready: container runtime network not ready: NetworkReady=false reason:" + podNetworkNotReady
)

// machineComplete: the machine is ready, or would be if the user had installed the Pod network.
func (o Observed) machineComplete(machine *clusterv1.Machine) bool {
	return machineReady(machine) || o.lacksPodNetworkOnly(machine)
}

// lacksPodNetworkOnly reports whether only a Pod network is missing that its user installs.
func (o Observed) lacksPodNetworkOnly(machine *clusterv1.Machine) bool {
	if _, left := o.Cluster.Annotations[objects.NoCNIAnnotation]; !left || !provisioned(machine) {
		return false
	}
	node := conditions.Get(machine, clusterv1.MachineNodeReadyCondition)
	return node != nil && node.Status == metav1.ConditionFalse && strings.Contains(node.Message, onlyPodNetwork)
}

// withPodNetworkPending says so in a snapshot where nothing else is missing.
func (o Observed) withPodNetworkPending(snapshot Snapshot) Snapshot {
	isPending := func(machine clusterv1.Machine) bool { return o.lacksPodNetworkOnly(&machine) }
	snapshot.PodNetworkPending = snapshot.Ready() && slices.ContainsFunc(o.Machines, isPending)
	if !snapshot.PodNetworkPending {
		return snapshot
	}
	snapshot.Stages = slices.Clone(snapshot.Stages)
	for i, stage := range snapshot.Stages {
		if slices.Contains([]string{controlPlaneStageName, workersStageName, nodesStageName}, stage.Name) {
			snapshot.Stages[i].Detail += " but for the Pod network"
		}
	}
	return snapshot
}
