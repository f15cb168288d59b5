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

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/cluster-api/util/conditions"

	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/objects"
	"github.com/capi-samples/cluster-api-provider-container/internal/inplace"
	"github.com/capi-samples/cluster-api-provider-container/internal/nodefiles"
)

// Rollout of a role whose Machines can be updated in place, except some that Cluster API deletes, because it has created
// others first.
type Rollout struct {
	// Owner of the Machines.
	Owner string `json:"owner"`
	// Machines of which Cluster API chooses those that it replaces.
	Machines []Machine `json:"machines"`
	// Replaced is how many are.
	Replaced int `json:"replaced"`
	// Fields whose change is the reason.
	Fields []string `json:"fields"`
}

// Variables of the ClusterClass whose changes the Runtime Extension can carry out.
const (
	filesVariable      = "files"
	containerdVariable = "containerdConfigPatches"
)

// updatesInPlace reports whether Cluster API asks the Runtime Extension of this provider, and no other, before it replaces
// Machines. The variables of other classes may mean anything.
func (c *computation) updatesInPlace() bool {
	class := c.topology.ClassRef.Name
	isOurs := class == objects.NamedClass || strings.HasPrefix(class, objects.NamedClass+"-")
	return isOurs && slices.Equal(c.Extensions, []string{infrav1.InPlaceUpdatesExtension})
}

// updateInPlace the Machines of each role that the extension can update. Some are replaced nevertheless.
func (c *computation) updateInPlace() {
	if len(c.Extensions) > 1 && len(c.replaced) > 0 {
		c.warnOnce(fmt.Sprintf("Cluster API replaces and updates no Machine while the ExtensionConfigs %s are for the same namespace: restrict their namespaceSelector",
			strings.Join(c.Extensions, ", ")))
	}
	if !c.updatesInPlace() {
		return
	}
	for _, owner := range c.roles() {
		c.updateRole(owner)
	}
}

func (c *computation) updateRole(owner role) {
	isShrunk := slices.ContainsFunc(c.shrunk, func(s scaled) bool { return s.owner.name == owner.name })
	// The reason for a rollout in progress may be one that the extension cannot carry out.
	isRolledOut := slices.ContainsFunc(owner.machines, func(machine *clusterv1.Machine) bool {
		return conditions.IsFalse(machine, clusterv1.MachineUpToDateCondition)
	})
	machines := machinesOf(owner.machines)
	if isShrunk || isRolledOut || len(machines) <= owner.surge || owner.isPool {
		return
	}
	fields := c.replaced[machines[0]]
	for _, machine := range machines {
		if !slices.Equal(c.replaced[machine], fields) {
			return
		}
	}
	for _, field := range fields {
		if !c.updatable[rolled{owner.name, field}] {
			return
		}
	}
	if len(fields) == 0 {
		return
	}
	for _, machine := range machines {
		delete(c.replaced, machine)
		if owner.surge == 0 {
			c.inPlace[machine] = append(c.inPlace[machine], fields...)
		}
	}
	if owner.surge > 0 {
		c.plan.Rollouts = append(c.plan.Rollouts, Rollout{Owner: owner.name, Machines: machines, Replaced: owner.surge, Fields: fields})
	}
}

// rolled is a field that rolls the Machines of a role.
type rolled struct{ owner, field string }

// allow an update of a role in place, if the extension can carry out the change of the variable.
func (c *computation) allow(owner role, field, variable string, old, fresh json.RawMessage) {
	var mounts bootstrapv1.ClusterConfiguration
	if owner.name == controlPlaneName {
		mounts = c.mounts()
	}
	c.updatable[rolled{owner.name, field}] = canUpdate(variable, old, fresh, mounts)
}

// mounts of the components of control planes, whose files are read when these start.
func (c *computation) mounts() (configuration bootstrapv1.ClusterConfiguration) {
	var volumes struct {
		ExtraVolumes []bootstrapv1.HostPathMount `json:"extraVolumes"`
	}
	for _, component := range []string{"apiServer", "controllerManager", "scheduler"} {
		if json.Unmarshal(orNull(c.variable(component)), &volumes) == nil {
			configuration.APIServer.ExtraVolumes = append(configuration.APIServer.ExtraVolumes, volumes.ExtraVolumes...)
		}
		volumes.ExtraVolumes = nil
	}
	return configuration
}

// allowAll roles that have no value of their own.
func (c *computation) allowAll(field, variable string, old, fresh json.RawMessage) {
	for _, owner := range c.roles() {
		c.allow(owner, field, variable, old, fresh)
	}
}

// canUpdate reports whether running nodes can get a change of a variable, by the same rules as the extension.
func canUpdate(variable string, old, fresh json.RawMessage, mounts bootstrapv1.ClusterConfiguration) bool {
	old, fresh = orNull(old), orNull(fresh)
	before, after := bootstrapv1.KubeadmConfigSpec{ClusterConfiguration: mounts}, bootstrapv1.KubeadmConfigSpec{ClusterConfiguration: mounts}
	switch variable {
	case objects.ResourcesVariable:
		var has, wants infrav1.ContainerMachineCommonSpec
		if json.Unmarshal(old, &has.Resources) != nil || json.Unmarshal(fresh, &wants.Resources) != nil {
			return false
		}
		inplace.Accept(&has, &wants)
		return equality.Semantic.DeepEqual(has, wants)
	case filesVariable:
		return json.Unmarshal(old, &before.Files) == nil && json.Unmarshal(fresh, &after.Files) == nil && nodefiles.CanChange(&before, &after)
	case containerdVariable:
		return containerdFiles(old, &before) && containerdFiles(fresh, &after) && nodefiles.CanChange(&before, &after)
	}
	return false
}

// keyed is an object with one key; null without a value.
func keyed(key string, value json.RawMessage) json.RawMessage {
	if value == nil {
		return nil
	}
	object, _ := json.Marshal(map[string]json.RawMessage{key: value}) // It consists of JSON.
	return object
}

func orNull(value json.RawMessage) json.RawMessage {
	return json.RawMessage(cmp.Or(string(value), "null"))
}

// containerdFiles adds those of the ClusterClass, and reports whether the value is a list of them.
func containerdFiles(value json.RawMessage, to *bootstrapv1.KubeadmConfigSpec) bool {
	var patches []string
	if json.Unmarshal(value, &patches) != nil {
		return false
	}
	for i, patch := range patches {
		to.Files = append(to.Files, bootstrapv1.File{
			Path: fmt.Sprintf("/etc/containerd/conf.d/class-%02d.toml", i), Owner: "root:root", Permissions: "0600", Content: patch,
		})
	}
	return true
}

// surgeOf a MachineDeployment is how many Machines Cluster API creates to update the others in place, and deletes then: one, unless
// Machines may be unavailable meanwhile.
func surgeOf(deployment *clusterv1.MachineDeploymentTopology) int {
	unavailable := ptr.Deref(deployment.Rollout.Strategy.RollingUpdate.MaxUnavailable, intstr.FromInt32(0))
	count, err := intstr.GetScaledValueFromIntOrPercent(&unavailable, int(ptr.Deref(deployment.Replicas, 1)), false)
	if err == nil && count > 0 {
		return 0
	}
	return 1
}
