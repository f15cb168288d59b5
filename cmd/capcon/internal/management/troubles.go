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
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
)

// Trouble is a condition that waiting does not resolve, or may not.
type Trouble struct {
	// Object that has the condition, for users.
	Object string `json:"object"`
	// Reason and Message of the condition.
	Reason  string `json:"reason"`
	Message string `json:"message"`
	// Remedy says what to do.
	Remedy string `json:"remedy"`
	// Replace names the Machine whose replacement resolves it; empty where that
	// would not. PersistentVolumes on it may be lost.
	Replace string `json:"replace,omitempty"`
	// Node of that Machine; empty where it has none.
	Node string `json:"-"`
	// Observed identifies the Machine to replace as it was when that was decided.
	Observed client.Preconditions `json:"-"`
	// MayPass says that waiting resolves it in some cases.
	MayPass bool `json:"mayPass,omitempty"`
}

// fatal are the conditions that do not become true without a user, and the remedy.
var fatal = []struct{ condition, reason, remedy string }{
	{infrav1.PreflightPassedCondition, infrav1.PreflightFailedReason, "fix the reported problems on the engine's host"},
	{infrav1.NetworkReadyCondition, infrav1.NetworkUnusableReason, "fix what the message names; to use another --network, delete the cluster first"},
	{infrav1.NetworkReadyCondition, infrav1.ContainerNotOwnedReason, "remove the resource, or use another cluster name"},
	{infrav1.LoadBalancerReadyCondition, infrav1.LoadBalancerImagePullFailedReason, imageRemedy + " --load-balancer-image"},
	{infrav1.LoadBalancerReadyCondition, infrav1.HostPortInUseReason, "stop the process or container that uses the port, or change the port mapping; the port of the API servers cannot change: kubeconfigs contain it"},
	{infrav1.LoadBalancerReadyCondition, infrav1.AddressInUseReason, "remove the container"},
	{infrav1.LoadBalancerReadyCondition, infrav1.SubnetExhaustedReason, subnetRemedy},
	{infrav1.LoadBalancerReadyCondition, infrav1.ContainerNotOwnedReason, "remove the container"},
	{infrav1.LoadBalancerReadyCondition, infrav1.LoadBalancerPausedReason, "unpause the container of the load balancer"},
	{infrav1.StoppedCondition, infrav1.StopFailedReason, "see why the processes of the containers do not end with capcon logs; the stop is retried"},
	{infrav1.StoppedCondition, infrav1.StartFailedReason, "fix what the message names; containers that ended are started again by themselves"},
	{infrav1.ContainerReadyCondition, infrav1.ImagePullFailedReason, imageRemedy + " --image"},
	{infrav1.ContainerReadyCondition, infrav1.VersionUnsupportedReason, "use a node image of that version with --image"},
	{infrav1.ContainerReadyCondition, infrav1.ContainerFailedReason, "fix the cause in the engine's error; to use another --image, delete the cluster first"},
	{infrav1.ContainerReadyCondition, infrav1.HostPortInUseReason, "stop the process or container that uses the port, or use another hostPort"},
	{infrav1.ContainerReadyCondition, infrav1.SubnetExhaustedReason, subnetRemedy},
	{infrav1.ContainerReadyCondition, infrav1.ContainerNotOwnedReason, "remove the container"},
	{infrav1.ContainerReadyCondition, infrav1.ContainerCrashLoopReason, "see why it exits with capcon logs; an --image that is not a node image exits immediately"},
	{infrav1.ContainerReadyCondition, infrav1.ContainerPausedReason, "unpause the container"},
	{infrav1.ContainerReadyCondition, infrav1.ContainerDisconnectedReason, "connect the container to the network with its address"},
	{infrav1.ContainerReadyCondition, infrav1.ContainerNotFoundReason, deleteRemedy},
	{infrav1.ResourcesConfiguredCondition, infrav1.ResourcesUnavailableReason, "set a smaller limit with --cpus or --memory"},
	{infrav1.ResourcesConfiguredCondition, infrav1.MemoryInUseReason, "delete Pods of the node, or set a larger limit with --memory"},
	{infrav1.BootstrapCompletedCondition, infrav1.BootstrapFailedReason, bootstrapRemedy},
	{infrav1.BootstrapCompletedCondition, infrav1.BootstrapTimeoutReason, "see the log of the bootstrap with capcon logs"},
	{infrav1.BootstrapCompletedCondition, infrav1.BootstrapInterruptedReason, deleteRemedy},
	{infrav1.BootstrapCompletedCondition, infrav1.BootstrapDataInvalidReason, "fix the kubeadm configuration"},
	{infrav1.BootstrapCompletedCondition, infrav1.ProviderIDMismatchReason, "remove --provider-id from the kubelet's arguments"},
}

// replacing are the remedies that end the only control plane.
var replacing = []string{deleteRemedy, bootstrapRemedy}

const (
	deleteRemedy    = "delete the Machine; its controller replaces it"
	bootstrapRemedy = "fix the cause where the KubeadmConfig comes from (runcmd is preKubeadmCommands, kubeadm and postKubeadmCommands), " +
		"then " + deleteRemedy
	imageRemedy  = "build it (make images), load it (capcon images load FILE), or use an existing image with"
	subnetRemedy = "delete machines, or create the cluster on a network with a larger subnet (--network)"
)

func troubles(o Observed) []Trouble {
	var found []Trouble
	if trouble, exists := pausedTrouble(o); exists {
		found = append(found, trouble)
	}
	if o.Infrastructure != nil {
		found = append(found, troublesOf("cluster "+o.Infrastructure.Name, o.Infrastructure.Status.Conditions)...)
		if trouble, exists := workloadTrouble(o.Infrastructure); exists {
			found = append(found, trouble)
		}
	}
	ofCluster := len(found)
	for i := range o.Containers {
		container := &o.Containers[i]
		machine := machineOf(o, container)
		// A machine that is being deleted may be in any state; its container is
		// deleted last.
		leaving := !container.DeletionTimestamp.IsZero() || machine != nil && !machine.DeletionTimestamp.IsZero()
		if !leaving {
			found = append(found, troublesOfMachine(o, container, machine)...)
		}
	}
	for i := range found[:ofCluster] {
		// What failed is a machine that says so itself, and that may be replaced.
		found[i].MayPass = found[i].MayPass || found[i].Reason == infrav1.StartFailedReason && len(found) > ofCluster
	}
	return found
}

// pausedTrouble: its user has paused the Cluster. One that is stopped is paused by the provider.
func pausedTrouble(o Observed) (Trouble, bool) {
	if o.Cluster == nil || !o.Cluster.DeletionTimestamp.IsZero() || !ptr.Deref(o.Cluster.Spec.Paused, false) || PowerOf(o.Cluster, o.Infrastructure) != PowerOn {
		return Trouble{}, false
	}
	return Trouble{
		Object: "cluster " + o.Cluster.Name, Reason: clusterv1.PausedReason, Message: "it is paused (spec.paused): nothing of it is changed or repaired",
		Remedy: fmt.Sprintf("unpause it in the management plane (capcon kubeconfig --management): "+
			"kubectl patch cluster %s --type merge --patch '{\"spec\":{\"paused\":null}}'", o.Cluster.Name),
	}, true
}

// machineOf returns the Machine of a container; nil where it has none.
func machineOf(o Observed, container *infrav1.ContainerMachine) *clusterv1.Machine {
	for i := range o.Machines {
		if o.Machines[i].Spec.InfrastructureRef.Name == container.Name {
			return &o.Machines[i]
		}
	}
	return nil
}

func troublesOfMachine(o Observed, container *infrav1.ContainerMachine, machine *clusterv1.Machine) []Trouble {
	found := troublesOf("machine "+container.Name, container.Status.Conditions)
	for i := range found {
		switch {
		case machine == nil:
		case replaceable(o, machine, found[i].Reason):
			found[i].Replace, found[i].Node = machine.Name, machine.Status.NodeRef.Name
			found[i].Observed = client.Preconditions{UID: &machine.UID, ResourceVersion: &machine.ResourceVersion}
			found[i].Remedy = fmt.Sprintf("\"capcon up %s\" replaces the Machine", o.Cluster.Name)
		case !slices.Contains(replacing, found[i].Remedy) || !isOnlyControlPlane(o, machine):
		case found[i].Reason == infrav1.ContainerNotFoundReason:
			found[i].Remedy = fmt.Sprintf("the cluster is lost with its only control plane; delete it with \"capcon down %s\"", o.Cluster.Name)
		default:
			found[i].Remedy = fmt.Sprintf("no other control plane can replace it: create the cluster again, with \"capcon down %[1]s\" and \"capcon up %[1]s\"", o.Cluster.Name)
		}
	}
	if silent, found := kubeletSilent(container, machine); found {
		return []Trouble{silent}
	}
	if pressure, exists := nodePressure(container, machine); exists {
		found = append(found, pressure)
	}
	return append(found, retried(container)...)
}

// retried is what is wrong with a node that runs, and may end by itself.
func retried(container *infrav1.ContainerMachine) []Trouble {
	var found []Trouble
	for _, entry := range []struct{ condition, reason, remedy string }{
		// Cluster API waits for it.
		{infrav1.UpdatingCondition, infrav1.UpdateFailedReason, "it is retried; if it persists, fix the cause in the node, or delete the Machine to have it replaced"},
		// The node keeps the configuration that it has.
		{infrav1.RegistriesConfiguredCondition, infrav1.RegistryCredentialsInvalidReason, "create or correct the Secret that the message names"},
	} {
		condition := meta.FindStatusCondition(container.Status.Conditions, entry.condition)
		if condition != nil && condition.Reason == entry.reason {
			found = append(found, Trouble{
				Object: "machine " + container.Name, Reason: condition.Reason, Message: condition.Message, MayPass: true, Remedy: entry.remedy,
			})
		}
	}
	return found
}

// workloadTrouble: storage or load balancers of Services cannot be provided or removed, which
// is retried.
func workloadTrouble(cluster *infrav1.ContainerCluster) (Trouble, bool) {
	condition := meta.FindStatusCondition(cluster.Status.Conditions, infrav1.WorkloadControllersReadyCondition)
	if condition == nil || condition.Status == metav1.ConditionTrue || condition.Reason == infrav1.WorkloadControllersConnectingReason {
		return Trouble{}, false
	}
	return Trouble{
		Object: "cluster " + cluster.Name, Reason: condition.Reason, Message: condition.Message, MayPass: true,
		Remedy: "it is retried; if it persists, fix the cause in the message, or the log of the provider's manager",
	}, true
}

// nodePressure: the kubelet evicts Pods, although the Node is Ready: it lacks disk, memory or
// process IDs, which the message of Cluster API's condition names.
func nodePressure(container *infrav1.ContainerMachine, machine *clusterv1.Machine) (Trouble, bool) {
	if machine == nil || !conditions.IsTrue(machine, clusterv1.MachineNodeReadyCondition) {
		return Trouble{}, false
	}
	healthy := conditions.Get(machine, clusterv1.MachineNodeHealthyCondition)
	if healthy == nil || healthy.Status != metav1.ConditionFalse {
		return Trouble{}, false
	}
	return Trouble{
		Object: "machine " + container.Name, Reason: healthy.Reason, Message: healthy.Message, MayPass: true,
		Remedy: "free what the message names: all nodes share disk and process IDs of the engine's host (capcon doctor); " +
			"memory is that of the host or the machine's limit (capcon up --memory)",
	}, true
}

// isOnlyControlPlane reports whether the state of the cluster is nowhere else.
func isOnlyControlPlane(o Observed, machine *clusterv1.Machine) bool {
	controlPlanes := 0
	for i := range o.Machines {
		if util.IsControlPlaneMachine(&o.Machines[i]) {
			controlPlanes++
		}
	}
	return util.IsControlPlaneMachine(machine) && hasState(o, machine) && controlPlanes == 1
}

// kubeletSilent: the container runs, and its kubelet has reported nothing for 40 s. It does
// again after a pause of the host, for example.
func kubeletSilent(container *infrav1.ContainerMachine, machine *clusterv1.Machine) (Trouble, bool) {
	bootstrapped := meta.IsStatusConditionTrue(container.Status.Conditions, infrav1.ContainerReadyCondition) &&
		meta.IsStatusConditionTrue(container.Status.Conditions, infrav1.BootstrapCompletedCondition)
	if !bootstrapped || machine == nil || !machine.Status.NodeRef.IsDefined() {
		return Trouble{}, false
	}
	ready := conditions.Get(machine, clusterv1.MachineNodeReadyCondition)
	if ready == nil || ready.Reason != clusterv1.MachineNodeReadyUnknownReason {
		return Trouble{}, false
	}
	name, _ := identity.ParseProviderID(container.Spec.ProviderID) // A machine that has a Node has it.
	return Trouble{
		Object: "machine " + container.Name, Reason: ready.Reason, Message: ready.Message, MayPass: true,
		Remedy: fmt.Sprintf("its container runs; see what its kubelet does with capcon logs, or restart it: docker exec %s systemctl restart kubelet (with Podman, podman exec)", name),
	}, true
}

func troublesOf(object string, present []metav1.Condition) []Trouble {
	var found []Trouble
	for _, entry := range fatal {
		condition := meta.FindStatusCondition(present, entry.condition)
		if condition != nil && condition.Reason == entry.reason && condition.Status != metav1.ConditionTrue {
			found = append(found, Trouble{
				Object: object, Reason: condition.Reason, Message: condition.Message, Remedy: entry.remedy,
			})
		}
	}
	return found
}

// replaceable reports whether a machine's replacement resolves a trouble of its
// container: what it had is gone already, or it was made from a template that has been
// corrected. Where a control plane may have state, another one must be ready: the new one
// joins it, and it removes the old one's member from etcd.
func replaceable(o Observed, machine *clusterv1.Machine, reason string) bool {
	isControlPlane := util.IsControlPlaneMachine(machine)
	lost := slices.Contains([]string{infrav1.ContainerNotFoundReason, infrav1.BootstrapInterruptedReason}, reason)
	if !lost && (!isControlPlane || !isOutdated(machine)) {
		return false
	}
	return !isControlPlane || !hasState(o, machine) || slices.ContainsFunc(o.Machines, func(other clusterv1.Machine) bool {
		return other.Name != machine.Name && util.IsControlPlaneMachine(&other) && machineReady(&other)
	})
}

// isOutdated: it failed before it became a Node, and its template has been corrected since. Its
// control plane provider replaces no Machine before the cluster is initialized.
func isOutdated(machine *clusterv1.Machine) bool {
	condition := conditions.Get(machine, clusterv1.MachineUpToDateCondition)
	return !machine.Status.NodeRef.IsDefined() && condition != nil && condition.Reason == clusterv1.MachineNotUpToDateReason
}

// hasState reports whether a control plane may hold the state of the cluster.
func hasState(o Observed, machine *clusterv1.Machine) bool {
	return machine.Status.NodeRef.IsDefined() || o.Cluster != nil && ptr.Deref(o.Cluster.Status.Initialization.ControlPlaneInitialized, false)
}

// Replace deletes the Machine of a trouble, whose owner makes another. A Machine that is
// absent, or has changed since it was observed, is no error: the next observation decides.
func Replace(ctx context.Context, c client.Client, namespace string, trouble Trouble) error {
	machine := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: trouble.Replace}}
	err := c.Delete(ctx, machine, trouble.Observed)
	if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return fmt.Errorf("delete Machine %q: %w", trouble.Replace, err)
}
