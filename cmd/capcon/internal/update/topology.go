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
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/input"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/objects"
)

// role of Machines in a topology.
type role struct {
	name string
	// overrides of the topology's variables.
	overrides []clusterv1.ClusterVariable
	machines  []*clusterv1.Machine
	// surge is how many Machines are replaced where all could be updated in place.
	surge int
	// isPool says that they are those of a MachinePool, which are never updated in place.
	isPool bool
}

const controlPlaneName = "control plane"

func (c *computation) controlPlane() role {
	return role{
		name: controlPlaneName, overrides: c.topology.ControlPlane.Variables.Overrides, surge: 1,
		machines: c.machines(util.IsControlPlaneMachine),
	}
}

func (c *computation) deployment(topology *clusterv1.MachineDeploymentTopology) role {
	return role{
		name: "MachineDeployment " + topology.Name, overrides: topology.Variables.Overrides, surge: surgeOf(c.desired(topology)),
		machines: c.machines(func(machine *clusterv1.Machine) bool {
			return machine.Labels[clusterv1.ClusterTopologyMachineDeploymentNameLabel] == topology.Name
		}),
	}
}

func (c *computation) roles() []role {
	roles := []role{c.controlPlane()}
	for i := range c.topology.Workers.MachineDeployments {
		roles = append(roles, c.deployment(&c.topology.Workers.MachineDeployments[i]))
	}
	for _, pool := range c.topology.Workers.MachinePools {
		roles = append(roles, c.pool(&pool))
	}
	return roles
}

func (c *computation) pool(topology *clusterv1.MachinePoolTopology) role {
	return role{
		name: "MachinePool " + topology.Name, overrides: topology.Variables.Overrides, isPool: true,
		machines: c.machines(func(machine *clusterv1.Machine) bool {
			return machine.Labels[clusterv1.ClusterTopologyMachinePoolNameLabel] == topology.Name
		}),
	}
}

// desired state of a MachineDeployment: Cluster API rolls it out by the strategy that it is to have.
func (c *computation) desired(present *clusterv1.MachineDeploymentTopology) *clusterv1.MachineDeploymentTopology {
	if c.request.Topology != nil {
		if fresh := find(c.request.Topology.Workers.MachineDeployments, present.Name, nameOfDeployment); fresh != nil {
			return fresh
		}
	}
	return present
}

// machines that are not being deleted already.
func (c *computation) machines(ofRole func(*clusterv1.Machine) bool) []*clusterv1.Machine {
	var found []*clusterv1.Machine
	for i := range c.Machines {
		if machine := &c.Machines[i]; machine.DeletionTimestamp.IsZero() && ofRole(machine) {
			found = append(found, machine)
		}
	}
	slices.SortFunc(found, func(a, b *clusterv1.Machine) int { return cmp.Compare(a.Name, b.Name) })
	return found
}

func machineOf(machine *clusterv1.Machine) Machine {
	return Machine{Name: machine.Name, Node: machine.Status.NodeRef.Name}
}

func machinesOf(objects []*clusterv1.Machine) []Machine {
	var machines []Machine
	for _, object := range objects {
		machines = append(machines, machineOf(object))
	}
	return machines
}

// replaceMachines because of a field, those of roles that have their own value of its
// variable excepted.
func (c *computation) replaceMachines(field, variable string) {
	for _, role := range c.roles() {
		if variable != "" && value(role.overrides, variable) != nil {
			c.plan.Warnings = append(c.plan.Warnings, fmt.Sprintf("the %s overrides the variable %s and keeps its own", role.name, variable))
			continue
		}
		for _, machine := range machinesOf(role.machines) {
			if !slices.Contains(c.replaced[machine], field) {
				c.replaced[machine] = append(c.replaced[machine], field)
			}
		}
	}
}

// edit of one key of a variable whose value is an object.
type edit struct {
	variable, key string
	// value is nil where the key is removed.
	value json.RawMessage
}

// variables of the class that the request names.
func (c *computation) variables() {
	version := cmp.Or(c.request.KubernetesVersion, c.topology.Version)
	if image := c.chosen.NodeImage; image != "" {
		flag := c.imageFlag("--image", c.request.Image)
		// A version alone needs no variable: the class may know its images.
		if flag.Field != "" || c.takes(objects.NodeImagesVariable, version) {
			c.edit(flag, edit{objects.NodeImagesVariable, version, text(image)})
		}
	}
	if image := c.chosen.LoadBalancerImage; image != "" {
		c.edit(c.imageFlag("--load-balancer-image", c.request.LoadBalancerImage), edit{objects.LoadBalancerVariable, "image", text(image)})
	}
	c.resources()
	slices.SortStableFunc(c.edits, func(a, b edit) int {
		return cmp.Or(cmp.Compare(a.variable, b.variable), cmp.Compare(a.key, b.key))
	})
	for _, edit := range c.edits {
		field := fmt.Sprintf("spec.topology.variables[%s].value[%s]", edit.variable, edit.key)
		c.change(field, "", c.keys(edit.variable)[edit.key], edit.value)
		if edit.variable == objects.RoleResourcesVariable {
			c.resize(field, edit.key, c.keys(edit.variable)[edit.key], edit.value)
			continue
		}
		c.replaceBy(field, edit.variable)
		c.allowAll(field, edit.variable, keyed(edit.key, c.keys(edit.variable)[edit.key]), keyed(edit.key, edit.value))
	}
	c.patchVariables()
}

func (c *computation) warnOnce(warning string) {
	if !slices.Contains(c.plan.Warnings, warning) {
		c.plan.Warnings = append(c.plan.Warnings, warning)
	}
}

// imageFlag is the flag that names an image: its own, or --registry; empty where it is neither.
func (c *computation) imageFlag(flag, image string) input.Problem {
	switch {
	case image != "":
		return input.Problem{Field: flag, Value: image}
	case c.request.Registry != "":
		return input.Problem{Field: "--registry", Value: c.request.Registry}
	}
	return input.Problem{}
}

// edit a variable, or refuse the flag that the class has no such variable for.
func (c *computation) edit(flag input.Problem, desired edit) {
	present := c.keys(desired.variable)
	switch {
	case !c.takes(desired.variable, desired.key):
		c.refuse(flag.Field, flag.Value,
			fmt.Sprintf("the ClusterClass %q has no variable %s with the field %q", c.topology.ClassRef.Name, desired.variable, desired.key),
			fmt.Sprintf("change the variables that it has with kubectl edit cluster %s%s", c.Cluster.Name, kubectl))
	case c.variable(desired.variable) != nil && present == nil:
		c.refuse(flag.Field, flag.Value, fmt.Sprintf("the variable %s of the Cluster is not an object", desired.variable),
			fmt.Sprintf("change it with kubectl edit cluster %s%s", c.Cluster.Name, kubectl))
	case !equal(present[desired.key], desired.value):
		c.edits = append(c.edits, desired)
	}
}

// takes reports whether the class has a variable, which is an object with the key, if there
// is one.
func (c *computation) takes(variable, key string) bool {
	if c.Class == nil {
		return false
	}
	for i := range c.Class.Spec.Variables {
		if c.Class.Spec.Variables[i].Name != variable {
			continue
		}
		schema := c.Class.Spec.Variables[i].Schema.OpenAPIV3Schema
		_, known := schema.Properties[key]
		return key == "" || schema.Type == "object" && (known || schema.AdditionalProperties != nil)
	}
	return false
}

// variable of the Cluster; nil where it is not set.
func (c *computation) variable(name string) json.RawMessage { return value(c.topology.Variables, name) }

func value(variables []clusterv1.ClusterVariable, name string) json.RawMessage {
	for i := range variables {
		if variables[i].Name == name {
			return variables[i].Value.Raw
		}
	}
	return nil
}

// keys of a variable whose value is an object; nil where it is none.
func (c *computation) keys(variable string) map[string]json.RawMessage {
	var keys map[string]json.RawMessage
	if json.Unmarshal(c.variable(variable), &keys) != nil {
		return nil
	}
	return keys
}

// equal compares two values, of which quantities have several spellings.
func equal(a, b json.RawMessage) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	if string(a) == string(b) {
		return true
	}
	first, err := resource.ParseQuantity(strings.Trim(string(a), `"`))
	if err != nil {
		return false
	}
	second, err := resource.ParseQuantity(strings.Trim(string(b), `"`))
	return err == nil && first.Cmp(second) == 0
}

// patchVariables writes the edits as operations: only the edited keys of a variable that is
// set, so that everything else stays as it is. Removals come last: they move what follows.
func (c *computation) patchVariables() {
	const list = "/spec/topology/variables"
	var added, removed []operation
	left := len(c.topology.Variables)
	for _, name := range distinct(c.edits) {
		at := slices.IndexFunc(c.topology.Variables, func(v clusterv1.ClusterVariable) bool { return v.Name == name })
		keys, operations := c.edited(name, fmt.Sprintf("%s/%d/value/", list, at))
		switch {
		case at < 0:
			value, _ := json.Marshal(objectVariable{Name: name, Value: keys}) // It consists of JSON.
			added = append(added, operation{Op: "add", Path: list + "/-", Value: value})
			left++
		case len(keys) == 0:
			removed = append(removed, operation{Op: "remove", Path: fmt.Sprintf("%s/%d", list, at)})
			left--
		default:
			c.plan.operations = append(c.plan.operations, operations...)
		}
	}
	switch {
	case left == 0 && len(removed) > 0:
		removed = []operation{{Op: "remove", Path: list}}
	case len(added) > 0 && len(c.topology.Variables) == 0:
		added = append([]operation{{Op: "add", Path: list, Value: json.RawMessage("[]")}}, added...)
	}
	// The new ones are behind all others: of those that are removed there is at most one,
	// because only limits can be removed.
	c.plan.operations = append(append(c.plan.operations, added...), removed...)
}

// edited returns the keys of a variable after its edits, and the operations of these on its
// value at the path.
func (c *computation) edited(variable, path string) (keys map[string]json.RawMessage, operations []operation) {
	if keys = c.keys(variable); keys == nil {
		keys = map[string]json.RawMessage{}
	}
	for _, edit := range c.edits {
		at := path + pointer(edit.key)
		switch {
		case edit.variable != variable:
		case edit.value == nil:
			delete(keys, edit.key)
			operations = append(operations, operation{Op: "remove", Path: at})
		default:
			keys[edit.key] = edit.value
			operations = append(operations, operation{Op: "add", Path: at, Value: edit.value})
		}
	}
	return keys, operations
}

// objectVariable is a ClusterVariable whose value is an object.
type objectVariable struct {
	Name  string                     `json:"name"`
	Value map[string]json.RawMessage `json:"value"`
}

// distinct variables of edits.
func distinct(edits []edit) []string {
	var names []string
	for _, edit := range edits {
		if !slices.Contains(names, edit.variable) {
			names = append(names, edit.variable)
		}
	}
	return names
}

// pointer is a token of a JSON pointer (RFC 6901).
func pointer(token string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(token) }
