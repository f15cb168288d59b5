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
	objects.NodeImagesVariable: nil, objects.NetworkVariable: nil, objects.EnvironmentVariable: nil, objects.EngineVariable: nil, objects.EnginesVariable: nil, "ownerID": nil, "cni": nil,
	objects.LoadBalancerVariable: {"image", "type"}, objects.StorageVariable: {"type"}, objects.ResourcesVariable: {"cpu", "memory"},
	objects.RoleResourcesVariable: {controlPlaneRole, workersRole},
}

// Machines that a change of a variable replaces: none, those of the control plane, or by default
// all.
var (
	replacesNone = []string{
		objects.LoadBalancerVariable, objects.NetworkVariable, objects.EngineVariable, objects.EnginesVariable, "serviceLoadBalancer", "limits", "registries", "images",
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
			c.resize(fmt.Sprintf("%s[%s]", field, role), role, before[role], after[role])
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
	changes := len(c.plan.Changes)
	c.fileOverrides("spec.topology.controlPlane", present.Variables.Overrides, desired.Variables.Overrides, c.controlPlane())
	before, after := present.DeepCopy(), desired.DeepCopy()
	before.Variables, after.Variables, before.Replicas, after.Replicas = desired.Variables, desired.Variables, nil, nil
	c.differ("spec.topology.controlPlane", encode(before), encode(after))
	if !before.Rollout.After.Equal(&after.Rollout.After) {
		c.replaceRole("spec.topology.controlPlane.rollout.after", c.controlPlane())
	}
	if len(c.plan.Changes) > changes {
		c.plan.operations = append(c.plan.operations, operation{Op: "add", Path: "/spec/topology/controlPlane", Value: encode(desired)})
	}
}

func (c *computation) fileWorkers(desired clusterv1.WorkersTopology) {
	before := len(c.plan.Changes)
	present := c.topology.Workers
	for i := range present.MachineDeployments {
		if old := &present.MachineDeployments[i]; find(desired.MachineDeployments, old.Name, nameOfDeployment) == nil {
			c.remove(deploymentField(old), encode(old), c.deployment(old), old.Replicas)
		}
	}
	for i := range present.MachinePools {
		if old := &present.MachinePools[i]; find(desired.MachinePools, old.Name, nameOfPool) == nil {
			c.remove(poolField(old), encode(old), c.pool(old), old.Replicas)
		}
	}
	for i := range desired.MachineDeployments {
		fresh := &desired.MachineDeployments[i]
		if old := find(present.MachineDeployments, fresh.Name, nameOfDeployment); old != nil {
			c.fileDeployment(old, fresh)
		} else {
			c.add(deploymentField(fresh), encode(fresh), fresh.Replicas)
		}
	}
	for i := range desired.MachinePools {
		fresh := &desired.MachinePools[i]
		if old := find(present.MachinePools, fresh.Name, nameOfPool); old != nil {
			c.filePool(old, fresh)
		} else {
			c.add(poolField(fresh), encode(fresh), fresh.Replicas)
		}
	}
	if len(c.plan.Changes) > before {
		c.plan.operations = append(c.plan.operations, operation{Op: "add", Path: "/spec/topology/workers", Value: encode(desired)})
	}
}

func nameOfDeployment(d *clusterv1.MachineDeploymentTopology) string { return d.Name }
func nameOfPool(p *clusterv1.MachinePoolTopology) string             { return p.Name }

// find what has the name; nil if nothing has.
func find[T any](list []T, name string, nameOf func(*T) string) *T {
	for i := range list {
		if nameOf(&list[i]) == name {
			return &list[i]
		}
	}
	return nil
}

// add a role of workers.
func (c *computation) add(field string, fresh json.RawMessage, replicas *int32) {
	c.change(field, "", nil, fresh)
	c.growth += ptr.Deref(replicas, 1)
}

// remove a role of workers, with its Machines.
func (c *computation) remove(field string, old json.RawMessage, owner role, replicas *int32) {
	c.change(field, "", old, nil)
	c.growth -= ptr.Deref(replicas, 1)
	if len(owner.machines) > 0 {
		c.shrunk = append(c.shrunk, scaled{owner: owner})
	}
}

// fileDeployment compares a MachineDeployment.
func (c *computation) fileDeployment(present, desired *clusterv1.MachineDeploymentTopology) {
	field, owner := deploymentField(present), c.deployment(present)
	if desired.Replicas == nil {
		desired.Replicas = present.Replicas
	}
	c.scale(scaled{owner: owner, present: present.Replicas, desired: ptr.Deref(desired.Replicas, 1), field: field + ".replicas"})
	c.fileOverrides(field, present.Variables.Overrides, desired.Variables.Overrides, owner)
	old, fresh := present.DeepCopy(), desired.DeepCopy()
	old.Variables, old.Replicas = fresh.Variables, fresh.Replicas
	c.differ(field, encode(old), encode(fresh))
	if old.Class != fresh.Class {
		c.replaceRole(field+".class", owner)
	}
	if old.FailureDomain != fresh.FailureDomain {
		c.replaceRole(field+".failureDomain", owner)
	}
	if !old.Rollout.After.Equal(&fresh.Rollout.After) {
		c.replaceRole(field+".rollout.after", owner)
	}
}

// filePool compares a MachinePool. Its Machines keep their failure domains.
func (c *computation) filePool(present, desired *clusterv1.MachinePoolTopology) {
	field, owner := poolField(present), c.pool(present)
	if desired.Replicas == nil {
		desired.Replicas = present.Replicas
	}
	c.scale(scaled{owner: owner, present: present.Replicas, desired: ptr.Deref(desired.Replicas, 1), field: field + ".replicas"})
	c.fileOverrides(field, present.Variables.Overrides, desired.Variables.Overrides, owner)
	old, fresh := present.DeepCopy(), desired.DeepCopy()
	old.Variables, old.Replicas = fresh.Variables, fresh.Replicas
	c.differ(field, encode(old), encode(fresh))
	if old.Class != fresh.Class {
		c.replaceRole(field+".class", owner)
	}
}

// differ adds a change of a field, if it is one.
func (c *computation) differ(field string, old, fresh json.RawMessage) {
	if !reflect.DeepEqual(decode(old), decode(fresh)) {
		c.change(field, "", old, fresh)
	}
}

// fileOverrides compares variables of a role.
func (c *computation) fileOverrides(where string, present, desired []clusterv1.ClusterVariable, owner role) {
	for _, name := range namesOf(present, desired) {
		old, fresh := value(present, name), value(desired, name)
		if c.same(name, old, fresh) {
			continue
		}
		field := fmt.Sprintf("%s.variables.overrides[%s].value", where, name)
		c.change(field, "", old, fresh)
		c.replaceRole(field, owner)
		// Without an own value, it has that of the cluster.
		if old == nil {
			old = c.variable(name)
		}
		if fresh == nil {
			fresh = value(c.request.Topology.Variables, name)
		}
		c.allow(owner, field, name, old, fresh)
	}
}

func (c *computation) replaceRole(field string, owner role) {
	for _, machine := range machinesOf(owner.machines) {
		if !slices.Contains(c.replaced[machine], field) {
			c.replaced[machine] = append(c.replaced[machine], field)
		}
	}
}

func poolField(pool *clusterv1.MachinePoolTopology) string {
	return fmt.Sprintf("spec.topology.workers.machinePools[%s]", pool.Name)
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
