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
	"reflect"
	"slices"
	"strings"

	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/objects"
)

// kept are the variables that a file without them does not remove, and the keys of others: flags
// and capcon set them.
var kept = map[string][]string{
	objects.NodeImagesVariable: nil, objects.NetworkVariable: nil, objects.EnvironmentVariable: nil, "ownerID": nil, "cni": nil,
	objects.LoadBalancerVariable: {"image", "type"}, objects.StorageVariable: {"type"}, objects.ResourcesVariable: {"cpu", "memory"},
	objects.RoleResourcesVariable: {controlPlaneRole, workersRole},
}

// Machines that a change of a variable replaces: none, those of the control plane, or by default
// all.
var (
	replacesNone = []string{
		objects.LoadBalancerVariable, objects.NetworkVariable, "serviceLoadBalancer", "limits", "registries", "images",
		"ownerID", "failureDomains", "rolloutBefore",
	}
	replacesControlPlane = []string{"apiServer", "controllerManager", "scheduler", "etcd", "kubeProxy", "podSecurity", objects.SchedulingVariable}
)

// file compares the topology of a file, which describes all nodes and variables.
func (c *computation) file() {
	desired := c.request.Topology
	if desired == nil {
		return
	}
	if domain := c.Cluster.Spec.ClusterNetwork.ServiceDomain; c.request.ServiceDomain != domain {
		c.refuse("spec.clusterNetwork.serviceDomain", c.request.ServiceDomain, fmt.Sprintf("immutable, the cluster has %q", domain), "restore it, or create another cluster")
	}
	c.fileVariables(desired.Variables)
	c.fileControlPlane(desired.ControlPlane)
	c.fileWorkers(desired.Workers)
}

// fileVariables replaces the list of variables by what the flags and the file say.
func (c *computation) fileVariables(file []clusterv1.ClusterVariable) { //nolint:gocognit // Steps, one after the other.
	var present []clusterv1.ClusterVariable
	for _, variable := range c.topology.Variables {
		keys, _ := c.edited(variable.Name, "")
		if len(keys) > 0 {
			variable.Value.Raw, _ = json.Marshal(keys) // It consists of JSON.
		}
		present = append(present, variable)
	}
	for _, name := range distinct(c.edits) {
		if keys, _ := c.edited(name, ""); value(present, name) == nil && len(keys) > 0 {
			variable := clusterv1.ClusterVariable{Name: name}
			variable.Value.Raw, _ = json.Marshal(keys) // It consists of JSON.
			present = append(present, variable)
		}
	}
	base := slices.DeleteFunc(slices.Clone(present), func(variable clusterv1.ClusterVariable) bool {
		keys, isKept := kept[variable.Name]
		return !isKept || keys != nil && value(file, variable.Name) == nil && !hasOnly(variable, keys)
	})
	for i, variable := range base {
		if keys := kept[variable.Name]; keys != nil {
			base[i] = only(variable, keys)
		}
	}
	desired := objects.MergeVariables(base, file)
	changed := false
	for _, name := range namesOf(present, desired) {
		old, fresh := value(present, name), value(desired, name)
		if c.same(name, old, fresh) {
			continue
		}
		changed = true
		field := fmt.Sprintf("spec.topology.variables[%s].value", name)
		c.change(field, "", old, fresh)
		if name == objects.LoadBalancerVariable {
			c.checkEndpoint(old, fresh)
		}
		switch name {
		case objects.StorageVariable:
			c.storage(field+".type", old, fresh)
		case objects.RoleResourcesVariable:
			c.resizeRoles(field, old, fresh)
		default:
			c.replaceBy(field, name)
			c.allowAll(field, name, old, fresh)
		}
	}
	if changed {
		encoded, _ := json.Marshal(desired) // It consists of JSON.
		c.plan.operations = append(c.plan.operations, operation{Op: "add", Path: "/spec/topology/variables", Value: encoded})
	}
}

// replaceBy a variable the Machines that have it.
func (c *computation) replaceBy(field, variable string) {
	switch {
	case slices.Contains(replacesNone, variable):
	case slices.Contains(replacesControlPlane, variable):
		c.replaceRole(field, c.controlPlane())
	default:
		c.replaceMachines(field, variable)
	}
}

// checkEndpoint refuses another address of the API servers: kubeconfigs have it.
func (c *computation) checkEndpoint(old, fresh json.RawMessage) {
	var before, after map[string]json.RawMessage
	_, _ = json.Unmarshal(old, &before), json.Unmarshal(fresh, &after)
	for _, key := range []string{"hostPort", "hostAddress"} {
		if string(before[key]) != string(after[key]) {
			c.refuse(fmt.Sprintf("spec.topology.variables[%s].value.%s", objects.LoadBalancerVariable, key), plain(after[key]),
				"immutable, kubeconfigs contain it: the cluster was created with "+cmp.Or(plain(before[key]), "none"),
				"keep that, or create another cluster")
		}
	}
}

// storage type Cluster is one of all nodes, which mount the volume if they are created with it.
func (c *computation) storage(field string, old, fresh json.RawMessage) {
	var before, after infrav1.Storage
	_, _ = json.Unmarshal(old, &before), json.Unmarshal(fresh, &after)
	switch infrav1.StorageCluster {
	case before.Type:
		c.refuse(field, string(after.Type), "immutable, PersistentVolumes of the cluster have their data in its volume", "keep Cluster, or create another cluster")
	case after.Type:
		c.replaceMachines(field, "")
	}
}

// resizeRoles whose limits change.
func (c *computation) resizeRoles(field string, old, fresh json.RawMessage) {
	var before, after map[string]json.RawMessage
	_, _ = json.Unmarshal(old, &before), json.Unmarshal(fresh, &after)
	for _, role := range []string{controlPlaneRole, workersRole} {
		if !reflect.DeepEqual(decode(before[role]), decode(after[role])) {
			c.resize(fmt.Sprintf("%s[%s]", field, role), role)
		}
	}
}

// plain text of a number or a text.
func plain(value json.RawMessage) string { return strings.Trim(string(value), `"`) }

func (c *computation) fileControlPlane(desired clusterv1.ControlPlaneTopology) {
	present := c.topology.ControlPlane
	desired.Replicas = present.Replicas
	if c.request.ControlPlanes != nil {
		desired.Replicas = ptr.To(int32(*c.request.ControlPlanes)) //nolint:gosec // validated to be small
	}
	changed := c.fileOverrides("spec.topology.controlPlane", present.Variables.Overrides, desired.Variables.Overrides, c.controlPlane())
	before, after := present.DeepCopy(), desired.DeepCopy()
	before.Variables, after.Variables, before.Replicas, after.Replicas = desired.Variables, desired.Variables, nil, nil
	if old, fresh := encode(before), encode(after); !reflect.DeepEqual(decode(old), decode(fresh)) {
		c.change("spec.topology.controlPlane", "", old, fresh)
		changed = true
	}
	if changed {
		c.plan.operations = append(c.plan.operations, operation{Op: "add", Path: "/spec/topology/controlPlane", Value: encode(desired)})
	}
}

func (c *computation) fileWorkers(desired clusterv1.WorkersTopology) {
	changed := false
	present := c.topology.Workers.MachineDeployments
	find := func(list []clusterv1.MachineDeploymentTopology, name string) *clusterv1.MachineDeploymentTopology {
		at := slices.IndexFunc(list, func(d clusterv1.MachineDeploymentTopology) bool { return d.Name == name })
		if at < 0 {
			return nil
		}
		return &list[at]
	}
	for i := range present {
		if find(desired.MachineDeployments, present[i].Name) == nil {
			changed = true
			c.change(deploymentField(&present[i]), "", encode(present[i]), nil)
			c.growth -= ptr.Deref(present[i].Replicas, 1)
			if owner := c.deployment(&present[i]); len(owner.machines) > 0 {
				c.shrunk = append(c.shrunk, scaled{owner: owner})
			}
		}
	}
	for i := range desired.MachineDeployments {
		fresh := &desired.MachineDeployments[i]
		before := find(present, fresh.Name)
		if before == nil {
			changed = true
			c.change(deploymentField(fresh), "", nil, encode(fresh))
			c.growth += ptr.Deref(fresh.Replicas, 1)
			continue
		}
		changed = c.fileDeployment(before, fresh) || changed
	}
	if old, fresh := encode(c.topology.Workers.MachinePools), encode(desired.MachinePools); !reflect.DeepEqual(decode(old), decode(fresh)) {
		changed = true
		c.change("spec.topology.workers.machinePools", "", old, fresh)
	}
	if changed {
		c.plan.operations = append(c.plan.operations, operation{Op: "add", Path: "/spec/topology/workers", Value: encode(desired)})
	}
}

// fileDeployment compares a MachineDeployment, and reports whether it changes.
func (c *computation) fileDeployment(present, desired *clusterv1.MachineDeploymentTopology) bool {
	field := deploymentField(present)
	if desired.Replicas == nil {
		desired.Replicas = present.Replicas
	}
	owner, before := c.deployment(present), len(c.plan.Changes)
	c.scale(scaled{owner: owner, present: present.Replicas, desired: ptr.Deref(desired.Replicas, 1), field: field + ".replicas"})
	changed := c.fileOverrides(field, present.Variables.Overrides, desired.Variables.Overrides, owner)
	old, fresh := present.DeepCopy(), desired.DeepCopy()
	old.Variables, old.Replicas = fresh.Variables, fresh.Replicas
	if a, b := encode(old), encode(fresh); !reflect.DeepEqual(decode(a), decode(b)) {
		c.change(field, "", a, b)
	}
	return changed || len(c.plan.Changes) > before
}

// fileOverrides compares variables of a role, and reports whether they change.
func (c *computation) fileOverrides(where string, present, desired []clusterv1.ClusterVariable, owner role) bool {
	changed := false
	for _, name := range namesOf(present, desired) {
		old, fresh := value(present, name), value(desired, name)
		if c.same(name, old, fresh) {
			continue
		}
		changed = true
		field := fmt.Sprintf("%s.variables.overrides[%s].value", where, name)
		c.change(field, "", old, fresh)
		c.replaceRole(field, owner)
		if old == nil {
			old = c.variable(name) // without an own value, it has that of the cluster
		}
		if fresh != nil {
			c.allow(owner, field, name, old, fresh)
		}
	}
	return changed
}

func (c *computation) replaceRole(field string, owner role) {
	for _, machine := range machinesOf(owner.machines) {
		if !slices.Contains(c.replaced[machine], field) {
			c.replaced[machine] = append(c.replaced[machine], field)
		}
	}
}

func deploymentField(deployment *clusterv1.MachineDeploymentTopology) string {
	return fmt.Sprintf("spec.topology.workers.machineDeployments[%s]", deployment.Name)
}

// namesOf the variables, each once.
func namesOf(lists ...[]clusterv1.ClusterVariable) []string {
	var names []string
	for _, variable := range slices.Concat(lists...) {
		if !slices.Contains(names, variable.Name) {
			names = append(names, variable.Name)
		}
	}
	return names
}

// only the keys of a variable.
func only(variable clusterv1.ClusterVariable, keys []string) clusterv1.ClusterVariable {
	var present map[string]json.RawMessage
	_ = json.Unmarshal(variable.Value.Raw, &present)
	for key := range present {
		if !slices.Contains(keys, key) {
			delete(present, key)
		}
	}
	variable.Value.Raw, _ = json.Marshal(present) // It consists of JSON.
	return variable
}

// hasOnly reports whether something is left of a variable with these keys alone.
func hasOnly(variable clusterv1.ClusterVariable, keys []string) bool {
	return string(only(variable, keys).Value.Raw) != "{}"
}

func encode(value any) json.RawMessage {
	encoded, _ := json.Marshal(value) // Fields of an object can always be encoded.
	return encoded
}

func decode(encoded json.RawMessage) (value any) {
	_ = json.Unmarshal(encoded, &value)
	return value
}
