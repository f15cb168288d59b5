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

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
)

// Observed are the objects of a cluster as they were read. Any may be nil.
type Observed struct {
	Cluster        *clusterv1.Cluster
	Infrastructure *infrav1.ContainerCluster
	ControlPlane   *controlplanev1.KubeadmControlPlane
	Workers        []clusterv1.MachineDeployment
	Machines       []clusterv1.Machine
	Containers     []infrav1.ContainerMachine
	// HasKubeconfig says that the host's kubeconfig is there; false where the Cluster is
	// being deleted.
	HasKubeconfig bool
}

// Orphaned reports whether no object is left that containers could belong to.
func (o Observed) Orphaned() bool {
	return o.Cluster == nil && o.Infrastructure == nil && len(o.Containers) == 0
}

// Snapshot says how far a cluster has come.
type Snapshot struct {
	// Exists is false once the Cluster is gone.
	Exists bool
	// Deleting says that it is being deleted.
	Deleting bool
	// Power is PowerOn unless the cluster is stopped, or is being stopped or started. What
	// a stopped cluster says else is of before.
	Power Power
	// Stages in the order they come to pass.
	Stages []Stage
	// Machines, control planes first.
	Machines []Machine
	// Troubles are not expected to be resolved by waiting.
	Troubles []Trouble
	// Available is what Cluster API makes of the whole, and false without a ready control
	// plane and for a cluster that is being deleted. It follows the Nodes by up to 20 s: the control plane's provider looks at
	// intervals.
	Available bool
	// Initialized says that the cluster has had an API server.
	Initialized bool
	// Unavailable is the message of Cluster API for why it is not available.
	Unavailable string
	// PodNetworkPending says that the user installs the Pod network, and that nothing else keeps
	// Nodes from being ready. Stages and machines count such Nodes as ready.
	PodNetworkPending bool
	// ReadyControlPlanes are the control planes whose Nodes are ready, and ReadyWorkers the
	// workers.
	ReadyControlPlanes, ReadyWorkers int32
}

// The stages that count Nodes.
const (
	controlPlaneStageName = "control plane"
	workersStageName      = "workers"
	nodesStageName        = "nodes"
)

// Stage is one part of a cluster's way.
type Stage struct {
	Name string
	Done bool
	// Detail says what the stage waits for, or what it has reached.
	Detail string
}

// Machine is one machine's state.
type Machine struct {
	Name  string
	Ready bool
	// Detail says what the machine waits for.
	Detail string
}

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

// Ready reports whether every stage is done.
func (s Snapshot) Ready() bool {
	return s.Exists && !s.Deleting && s.Power == PowerOn && !slices.ContainsFunc(s.Stages, func(stage Stage) bool { return !stage.Done })
}

// State in a few words: what it waits for, where it does.
func (s Snapshot) State() string {
	word := "not available"
	switch {
	case s.Deleting:
		return "deleting"
	case s.Power != PowerOn:
		return string(s.Power)
	case s.PodNetworkPending:
		return "waiting for the Pod network, which --cni none leaves to you"
	case s.Available:
		return "available"
	// What has never been there, and what Cluster API has not noticed yet.
	case !s.Initialized, s.Ready():
		word = "starting"
	}
	if reason := cmp.Or(append(s.Missing(), s.Unavailable)...); reason != "" {
		return word + ": " + reason
	}
	return word
}

// Missing names the stages and machines that are not done.
func (s Snapshot) Missing() []string {
	var missing []string
	for _, stage := range s.Stages {
		if !stage.Done {
			missing = append(missing, stage.Name+": "+stage.Detail)
		}
	}
	for _, machine := range s.Machines {
		if !machine.Ready {
			missing = append(missing, machine.Name+": "+machine.Detail)
		}
	}
	return missing
}

// Summarize says how far the observed cluster has come.
func Summarize(o Observed) Snapshot {
	if o.Cluster == nil {
		return Snapshot{}
	}
	machines, controlPlanes := summarizeMachines(o), *o.count(util.IsControlPlaneMachine, machineReady)
	deleting, power := !o.Cluster.DeletionTimestamp.IsZero(), PowerOf(o.Cluster, o.Infrastructure)
	available := !deleting && power == PowerOn && conditions.IsTrue(o.Cluster, clusterv1.ClusterAvailableCondition)
	snapshot := Snapshot{
		Exists:             true,
		Deleting:           deleting,
		Power:              power,
		Stages:             slices.Concat(topologyStage(o), []Stage{infrastructureStage(o), controlPlaneStage(o)}, workersStage(o), []Stage{nodesStage(o, machines)}),
		Machines:           machines,
		Troubles:           troubles(o),
		Available:          available && (o.ControlPlane == nil || controlPlanes > 0),
		Initialized:        ptr.Deref(o.Cluster.Status.Initialization.ControlPlaneInitialized, false),
		Unavailable:        OneLine(conditions.GetMessage(o.Cluster, clusterv1.ClusterAvailableCondition)),
		ReadyControlPlanes: controlPlanes,
		ReadyWorkers:       *o.count(isWorker, machineReady),
	}
	return o.withPodNetworkPending(snapshot)
}

// topologyStage: until Cluster API has carried the Cluster's topology into the
// other objects, these are complete by what was asked for before.
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
		if o.Infrastructure != nil && o.Infrastructure.Spec.LoadBalancer.HostPort != 0 {
			stage.Detail = fmt.Sprintf("API server at 127.0.0.1:%d", o.Infrastructure.Spec.LoadBalancer.HostPort)
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
		wanted: o.ControlPlane.Spec.Replicas, present: status.Replicas,
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
	wanted := len(o.Cluster.Spec.Topology.Workers.MachineDeployments)
	switch {
	case len(o.Workers) < wanted:
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
			wanted: workers.Spec.Replicas, present: workers.Status.Replicas,
			ready: o.count(belongs, o.machineComplete), upToDate: workers.Status.UpToDateReplicas,
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

// nodesStage guards against counts that have not caught up with a change: machines on their way
// out are not counted anywhere else, and those that are not there yet are missing.
func nodesStage(o Observed, machines []Machine) Stage {
	wanted := int32(0)
	if o.ControlPlane != nil {
		wanted += ptr.Deref(o.ControlPlane.Spec.Replicas, 1)
	}
	for _, workers := range o.Workers {
		wanted += ptr.Deref(workers.Spec.Replicas, 1)
	}
	ready := 0
	for _, machine := range machines {
		if machine.Ready {
			ready++
		}
	}
	total := max(len(machines), int(wanted))
	return Stage{
		Name:   nodesStageName,
		Done:   total > 0 && ready == total,
		Detail: fmt.Sprintf("%d of %d ready", ready, total),
	}
}

// replicas are the counts of a scalable object. A count that is not
// reported yet is not complete.
type replicas struct {
	wanted, present, ready, upToDate *int32
}

func (r replicas) complete() bool {
	wanted := ptr.To(ptr.Deref(r.wanted, 1))
	return ptr.Equal(r.present, wanted) && ptr.Equal(r.ready, wanted) && ptr.Equal(r.upToDate, wanted)
}

func (r replicas) String() string {
	wanted, ready := ptr.Deref(r.wanted, 1), ptr.Deref(r.ready, 0)
	// A surge, or machines that are deleted yet, are not counted: "4 of 3" reads like an error.
	text := fmt.Sprintf("%d of %d available", min(ready, wanted), wanted)
	if upToDate := ptr.Deref(r.upToDate, 0); ready >= wanted && upToDate < wanted {
		text += fmt.Sprintf(", %d up to date", upToDate)
	}
	if present := ptr.Deref(r.present, 0); present > wanted {
		text += fmt.Sprintf(", %d to be deleted", present-wanted)
	}
	return text
}

// firstNotTrue returns the text of the first condition of the types, in their
// order, that is there and not True.
func firstNotTrue(present []metav1.Condition, types ...string) string {
	for _, conditionType := range types {
		if condition := meta.FindStatusCondition(present, conditionType); condition != nil && condition.Status != metav1.ConditionTrue {
			return describe(*condition)
		}
	}
	return ""
}

func describe(condition metav1.Condition) string {
	if message := OneLine(condition.Message); message != "" {
		return condition.Reason + ": " + message
	}
	return condition.Reason
}

// OneLine joins the lines of a message, which Cluster API writes as lists of
// lists: a line that ends in a colon is followed by what it announces.
func OneLine(message string) string {
	var joined strings.Builder
	for line := range strings.Lines(message) {
		part := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "* "))
		if part == "" {
			continue
		}
		switch so := joined.String(); {
		case so == "":
		case strings.HasSuffix(so, ":"):
			joined.WriteString(" ")
		default:
			joined.WriteString("; ")
		}
		joined.WriteString(part)
	}
	return joined.String()
}
