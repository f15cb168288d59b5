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
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/cluster-api/util/conditions"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// Snapshot says how far a cluster has come.
type Snapshot struct {
	// Exists is false once the Cluster is gone.
	Exists bool
	// Deleting says that it is being deleted.
	Deleting bool
	// Power is PowerOn unless the cluster is stopped, or is being stopped or started. The
	// other fields of a stopped cluster are stale.
	Power Power
	// Stages in chronological order.
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
	case s.Available && s.Ready():
		return "available"
	case s.Available:
		word = "available, not complete"
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
		Stages:             slices.Concat(topologyStage(o), []Stage{infrastructureStage(o), controlPlaneStage(o)}, workersStage(o), []Stage{nodesStage(o, machines)}, resourcesStage(o)),
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
