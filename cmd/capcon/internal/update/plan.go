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

package update

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// Plan is what an update changes in a cluster, and what is lost by it.
type Plan struct {
	// Cluster that is updated.
	Cluster string `json:"cluster"`
	// Create says that there is no such cluster yet.
	Create bool `json:"create,omitempty"`
	// Changes of fields, which are all that is written.
	Changes []Change `json:"changes"`
	// Replaced are the Machines that Cluster API replaces because of the changes.
	Replaced []MachineChange `json:"replaced,omitempty"`
	// Rollouts update Machines in place, and replace some that Cluster API chooses.
	Rollouts []Rollout `json:"rollouts,omitempty"`
	// InPlace are the Machines that change and are not replaced.
	InPlace []MachineChange `json:"inPlace,omitempty"`
	// Deleted are the Machines that are deleted because of the changes.
	Deleted []Deletion `json:"deleted,omitempty"`
	// Volumes that are lost with these Machines.
	Volumes []Volume `json:"volumes,omitempty"`
	// VolumesUnknown says why the volumes on these Machines are not known; empty = they are.
	VolumesUnknown string `json:"volumesUnknown,omitempty"`
	// Warnings for the user.
	Warnings []string `json:"warnings,omitempty"`
	// NeedsConsent says that something is deleted or lost, or may be.
	NeedsConsent bool `json:"needsConsent"`
	// ResourceVersion of the Cluster that the plan was computed from.
	ResourceVersion string `json:"resourceVersion,omitempty"`

	operations []operation
}

// Change of one field. The values are JSON; null is a field that is not set.
type Change struct {
	Object string          `json:"object"`
	Field  string          `json:"field"`
	Old    json.RawMessage `json:"old"`
	New    json.RawMessage `json:"new"`
}

// Machine and its Node, which is empty until it has one.
type Machine struct {
	Name string `json:"name"`
	Node string `json:"node,omitempty"`
}

// MachineChange is a Machine that changes.
type MachineChange struct {
	Machine
	// Fields whose change is the reason.
	Fields []string `json:"fields"`
}

// Deletion of Machines.
type Deletion struct {
	// Owner that is scaled down.
	Owner string `json:"owner"`
	// Count of Machines that are deleted.
	Count int `json:"count"`
	// Machines that are deleted. If there are more than Count, Cluster API chooses among them.
	Machines []Machine `json:"machines"`

	// candidates for the rest of Count, in the order of their deletion where no volume is lost.
	candidates []Machine
}

// IsExact reports whether the Machines are known. They have to be annotated for their deletion.
func (d Deletion) IsExact() bool { return len(d.Machines) == d.Count }

// Volume is a PersistentVolume that is lost.
type Volume struct {
	Name string `json:"name"`
	// Claim is NAMESPACE/NAME; empty = it has none.
	Claim string `json:"claim,omitempty"`
	// Machine that has its data; empty = unknown.
	Machine string `json:"machine,omitempty"`
}

// operation of a JSON patch (RFC 6902).
type operation struct {
	Op    string          `json:"op"`
	Path  string          `json:"path"`
	Value json.RawMessage `json:"value,omitempty"`
}

// IsEmpty reports whether nothing is to be written.
func (p Plan) IsEmpty() bool { return len(p.Changes) == 0 && !p.Create }

// Patch of the Cluster, which the API server refuses if it is not the one that the plan was
// computed from; nil where it does not change.
func (p Plan) Patch() ([]byte, error) {
	if len(p.operations) == 0 {
		return nil, nil
	}
	lock := operation{Op: "replace", Path: "/metadata/resourceVersion", Value: text(p.ResourceVersion)}
	patch, err := json.Marshal(append([]operation{lock}, p.operations...))
	if err != nil {
		return nil, fmt.Errorf("write patch of Cluster %q: %w", p.Cluster, err)
	}
	return patch, nil
}

// Same reports whether another plan does the same, whatever it was computed from.
func (p Plan) Same(other Plan) bool {
	p.ResourceVersion, p.operations = other.ResourceVersion, other.operations
	if p.VolumesUnknown != "" && other.VolumesUnknown != "" {
		p.VolumesUnknown = other.VolumesUnknown // errors differ each time
	}
	return reflect.DeepEqual(p, other)
}

// Machines that are or may be replaced or deleted, by the names of their Nodes.
func (p Plan) machinesByNode() map[string]string {
	byNode := map[string]string{}
	for _, replaced := range p.Replaced {
		byNode[replaced.Node] = replaced.Name
	}
	for _, rollout := range p.Rollouts {
		for _, machine := range rollout.Machines {
			byNode[machine.Node] = machine.Name
		}
	}
	for _, deleted := range p.Deleted {
		for _, machine := range deleted.Machines {
			byNode[machine.Node] = machine.Name
		}
	}
	delete(byNode, "")
	return byNode
}

// Creation of a cluster.
func Creation(cluster *clusterv1.Cluster) Plan {
	plan := Plan{Cluster: cluster.Name, Create: true}
	add := func(field string, value any) {
		encoded, _ := json.Marshal(value) // Fields of an object can always be encoded.
		plan.Changes = append(plan.Changes, Change{Object: "Cluster " + cluster.Name, Field: field, New: encoded})
	}
	topology := cluster.Spec.Topology
	add("spec.clusterNetwork.pods.cidrBlocks", cluster.Spec.ClusterNetwork.Pods.CIDRBlocks)
	add("spec.clusterNetwork.services.cidrBlocks", cluster.Spec.ClusterNetwork.Services.CIDRBlocks)
	add("spec.topology.version", topology.Version)
	add("spec.topology.controlPlane.replicas", topology.ControlPlane.Replicas)
	overrides := func(where string, variables []clusterv1.ClusterVariable) {
		for _, variable := range variables {
			add(fmt.Sprintf("%s.variables.overrides[%s].value", where, variable.Name), variable.Value)
		}
	}
	overrides("spec.topology.controlPlane", topology.ControlPlane.Variables.Overrides)
	for i := range topology.Workers.MachineDeployments {
		deployment := &topology.Workers.MachineDeployments[i]
		add(deploymentField(deployment)+".replicas", deployment.Replicas)
		overrides(deploymentField(deployment), deployment.Variables.Overrides)
	}
	for _, variable := range topology.Variables {
		add(fmt.Sprintf("spec.topology.variables[%s].value", variable.Name), variable.Value)
	}
	return plan
}

// EndsMachines reports whether a Machine is replaced or deleted.
func (p Plan) EndsMachines() bool { return len(p.Replaced)+len(p.Rollouts)+len(p.Deleted) > 0 }

// String is for users, one line for each entry.
func (p Plan) String() string {
	lines := []string{fmt.Sprintf("Plan for cluster %s:", p.Cluster)}
	add := func(verb, format string, values ...any) {
		lines = append(lines, fmt.Sprintf("  %-8s", verb)+fmt.Sprintf(format, values...))
	}
	verb := map[bool]string{false: "change", true: "create"}[p.Create]
	for _, change := range p.Changes {
		if p.Create {
			add(verb, "%s, %s: %s", change.Object, change.Field, shown(change.New))
			continue
		}
		add(verb, "%s, %s: %s -> %s", change.Object, change.Field, shown(change.Old), shown(change.New))
	}
	for _, replaced := range p.Replaced {
		add("replace", "Machine %s (%s)", replaced.Name, strings.Join(replaced.Fields, ", "))
	}
	for _, rollout := range p.Rollouts {
		add("replace", "%d of the Machines %s of %s, and update the others in place (%s)",
			rollout.Replaced, strings.Join(names(rollout.Machines), ", "), rollout.Owner, strings.Join(rollout.Fields, ", "))
	}
	for _, changed := range p.InPlace {
		add("update", "Machine %s in place (%s)", changed.Name, strings.Join(changed.Fields, ", "))
	}
	for _, deleted := range p.Deleted {
		if !deleted.IsExact() {
			add("delete", "%d of the Machines %s of %s", deleted.Count, strings.Join(names(deleted.Machines), ", "), deleted.Owner)
			continue
		}
		for _, machine := range deleted.Machines {
			add("delete", "Machine %s of %s", machine.Name, deleted.Owner)
		}
	}
	for _, volume := range p.Volumes {
		add("lose", "%s", volume)
	}
	if p.VolumesUnknown != "" {
		add("lose", "PersistentVolumes on these Machines, if there are any: %s", p.VolumesUnknown)
	}
	for _, warning := range p.Warnings {
		add("warning", "%s", warning)
	}
	if p.IsEmpty() {
		add("change", "nothing")
	}
	return strings.Join(lines, "\n")
}

// String is for users.
func (v Volume) String() string {
	text := "PersistentVolume " + v.Name
	if v.Claim != "" {
		text += " (claim " + v.Claim + ")"
	}
	if v.Machine != "" {
		return text + " on Machine " + v.Machine
	}
	return text + ", whose node is not known"
}

func shown(value json.RawMessage) string {
	if value == nil {
		return "not set"
	}
	return string(value)
}

func names(machines []Machine) []string {
	var names []string
	for _, machine := range machines {
		names = append(names, machine.Name)
	}
	return names
}

// text is a string as JSON.
func text(value string) json.RawMessage {
	encoded, _ := json.Marshal(value) // A string can always be encoded.
	return encoded
}

// number is an integer as JSON.
func number(value int32) json.RawMessage { return fmt.Appendf(nil, "%d", value) }

// merged are the fields of the replacements of each Machine.
func merged(fields map[Machine][]string) []MachineChange {
	var replaced []MachineChange
	for _, machine := range slices.SortedFunc(maps.Keys(fields), func(a, b Machine) int { return strings.Compare(a.Name, b.Name) }) {
		replaced = append(replaced, MachineChange{Machine: machine, Fields: fields[machine]})
	}
	return replaced
}
