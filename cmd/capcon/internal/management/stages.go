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
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/cluster-api/util/conditions"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/objects"
)

// The stages that count Nodes.
const (
	controlPlaneStageName = "control plane"
	workersStageName      = "workers"
	nodesStageName        = "nodes"
)

// topologyStage: until Cluster API has carried the Cluster's topology into the
// other objects, these are complete by the earlier request.
func topologyStage(o Observed) []Stage {
	if !o.Cluster.Spec.Topology.IsDefined() {
		return nil
	}
	reconciled := conditions.Get(o.Cluster, clusterv1.ClusterTopologyReconciledCondition)
	stage := Stage{Name: "topology", Detail: "waiting for the topology controller"}
	switch {
	case reconciled == nil || reconciled.ObservedGeneration != o.Cluster.Generation:
	case reconciled.Status == metav1.ConditionTrue:
		stage.Done, stage.Detail = true, "Kubernetes "+o.Cluster.Spec.Topology.Version
	default:
		stage.Detail = describe(*reconciled)
	}
	return []Stage{stage}
}

func infrastructureStage(o Observed) Stage {
	stage := Stage{Name: "infrastructure", Detail: "network and load balancer"}
	if ptr.Deref(o.Cluster.Status.Initialization.InfrastructureProvisioned, false) {
		stage.Done = true
		if o.Infrastructure != nil && Server(o.Infrastructure.Spec) != "" {
			stage.Detail = "API server at " + Server(o.Infrastructure.Spec)
		}
		return stage
	}
	if o.Infrastructure != nil {
		stage.Detail = cmp.Or(firstNotTrue(o.Infrastructure.Status.Conditions,
			infrav1.PreflightPassedCondition, infrav1.NetworkReadyCondition, infrav1.LoadBalancerReadyCondition), stage.Detail)
	}
	return stage
}

// controlPlaneStage goes by the Nodes of its machines. The control plane
// provider reports its components up to 20 s later: it checks static
// Pods at intervals, and users of the cluster need not wait for that.
func controlPlaneStage(o Observed) Stage {
	stage := Stage{Name: controlPlaneStageName, Detail: "not created yet"}
	if o.ControlPlane == nil {
		return stage
	}
	status := o.ControlPlane.Status
	counts := replicas{
		desired: o.ControlPlane.Spec.Replicas, present: status.Replicas,
		ready: o.count(util.IsControlPlaneMachine, o.machineComplete), upToDate: status.UpToDateReplicas,
	}
	observed := status.ObservedGeneration == o.ControlPlane.Generation
	initialized := ptr.Deref(status.Initialization.ControlPlaneInitialized, false)
	stage.Done = observed && initialized && o.HasKubeconfig && counts.complete()
	switch {
	case !initialized:
		stage.Detail = "waiting for first API server"
	case !o.HasKubeconfig:
		stage.Detail = "waiting for kubeconfig"
	default:
		stage.Detail = counts.String()
	}
	return stage
}

// isWorker of a MachineDeployment.
func isWorker(machine *clusterv1.Machine) bool {
	return machine.Labels[clusterv1.MachineDeploymentNameLabel] != ""
}

// count the machines of a kind that are ready.
func (o Observed) count(isOfKind, isReady func(*clusterv1.Machine) bool) *int32 {
	found := int32(0)
	for i := range o.Machines {
		if isOfKind(&o.Machines[i]) && isReady(&o.Machines[i]) {
			found++
		}
	}
	return &found
}

// workersStage goes by the Nodes of its machines too: a MachineDeployment counts what its
// MachineSet has counted before. Without MachineDeployments there is no stage.
func workersStage(o Observed) []Stage {
	stage := Stage{Name: workersStageName, Detail: "not created yet"}
	desired := len(o.Cluster.Spec.Topology.Workers.MachineDeployments)
	switch {
	case len(o.Workers) < desired:
		return []Stage{stage}
	case len(o.Workers) == 0:
		return nil
	}
	stage.Done = true
	var details []string
	for i := range o.Workers {
		workers := &o.Workers[i]
		belongs := func(machine *clusterv1.Machine) bool {
			return machine.Labels[clusterv1.MachineDeploymentNameLabel] == workers.Name
		}
		counts := replicas{
			desired: workers.Spec.Replicas, present: workers.Status.Replicas,
			ready: o.count(belongs, o.machineComplete), upToDate: workers.Status.UpToDateReplicas,
		}
		current := o.count(belongs, func(machine *clusterv1.Machine) bool { return o.isCurrent(workers, machine) })
		if counts.upToDate != nil {
			counts.upToDate = ptr.To(min(*counts.upToDate, *current))
		}
		stage.Done = stage.Done && workers.Status.ObservedGeneration == workers.Generation && counts.complete()
		detail := counts.String()
		if len(o.Workers) > 1 {
			detail = workers.Name + " " + detail
		}
		details = append(details, detail)
	}
	stage.Detail = strings.Join(details, "; ")
	return []Stage{stage}
}

// isCurrent reports whether a machine has what its MachineDeployment has, and is not being updated in place. The MachineDeployment
// counts as up to date what was so before its last change, until the MachineSets have noticed that.
func (o Observed) isCurrent(workers *clusterv1.MachineDeployment, machine *clusterv1.Machine) bool {
	at := slices.IndexFunc(o.MachineSets, func(set clusterv1.MachineSet) bool { return set.Name == machine.Labels[clusterv1.MachineSetNameLabel] })
	if at < 0 {
		return true // It belongs to none yet, or that was deleted since.
	}
	has, desired := o.MachineSets[at].Spec.Template.Spec, workers.Spec.Template.Spec
	_, updating := machine.Annotations[clusterv1.UpdateInProgressAnnotation]
	return !updating && has.Version == desired.Version && has.FailureDomain == desired.FailureDomain &&
		has.InfrastructureRef == desired.InfrastructureRef && equality.Semantic.DeepEqual(has.Bootstrap, desired.Bootstrap)
}

// nodesStage guards against counts that have not caught up with a change: machines on their way
// out are not counted anywhere else, and those that are not there yet are missing.
func nodesStage(o Observed, machines []Machine) Stage {
	desired := int32(0)
	if o.ControlPlane != nil {
		desired += ptr.Deref(o.ControlPlane.Spec.Replicas, 1)
	}
	for _, workers := range o.Workers {
		desired += ptr.Deref(workers.Spec.Replicas, 1)
	}
	ready := 0
	for _, machine := range machines {
		if machine.Ready {
			ready++
		}
	}
	total := max(len(machines), int(desired))
	return Stage{
		Name:   nodesStageName,
		Done:   total > 0 && ready == total,
		Detail: fmt.Sprintf("%d of %d ready", ready, total),
	}
}

// replicas are the counts of a scalable object. A count that is not
// reported yet is not complete.
type replicas struct {
	desired, present, ready, upToDate *int32
}

func (r replicas) complete() bool {
	desired := ptr.To(ptr.Deref(r.desired, 1))
	return ptr.Equal(r.present, desired) && ptr.Equal(r.ready, desired) && ptr.Equal(r.upToDate, desired)
}

func (r replicas) String() string {
	desired, ready := ptr.Deref(r.desired, 1), ptr.Deref(r.ready, 0)
	// A surge, or machines that are deleted yet, are not counted: "4 of 3" reads like an error.
	text := fmt.Sprintf("%d of %d available", min(ready, desired), desired)
	if upToDate := ptr.Deref(r.upToDate, 0); ready >= desired && upToDate < desired {
		text += fmt.Sprintf(", %d up to date", upToDate)
	}
	if present := ptr.Deref(r.present, 0); present > desired {
		text += fmt.Sprintf(", %d to be deleted", present-desired)
	}
	return text
}

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

// resourcesStage: while running nodes get other limits.
func resourcesStage(o Observed) []Stage {
	lacking := *o.count(func(*clusterv1.Machine) bool { return true }, o.lacksResources)
	if lacking == 0 {
		return nil
	}
	return []Stage{{Name: "limits", Detail: fmt.Sprintf("%d of %d nodes have those of their role", len(o.Machines)-int(lacking), len(o.Machines))}}
}

// lacksResources reports whether a running node has not got the limits of its role yet.
func (o Observed) lacksResources(machine *clusterv1.Machine) bool {
	if o.Infrastructure == nil {
		return false
	}
	ofRole := o.Infrastructure.Spec.Resources.Of(machine)
	container := o.container(machine)
	return container != nil && ofRole != (infrav1.MachineResources{}) &&
		!equality.Semantic.DeepEqual(container.Status.Resources, ptr.To(container.Spec.Resources.Or(ofRole)))
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
