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

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/input"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/objects"
)

// Roles that limits are set for.
const controlPlaneRole, workersRole = "controlPlane", "workers"

// resources of all nodes: those of their roles, which running nodes get. Limits that the machines themselves
// have take precedence, and are changed where they are.
func (c *computation) resources() {
	own := c.keys(objects.ResourcesVariable)
	changed := map[string]input.Problem{}
	for key, flag := range map[string]input.Problem{
		"cpu": {Field: "--cpus", Value: c.request.CPUs}, "memory": {Field: "--memory", Value: c.request.Memory},
	} {
		switch {
		case flag.Value == "":
		case own[key] != nil || !c.takes(objects.RoleResourcesVariable, workersRole):
			c.edit(flag, edit{objects.ResourcesVariable, key, limit(flag)})
		default:
			changed[key] = flag
		}
	}
	for _, role := range []string{controlPlaneRole, workersRole} {
		c.limits(role, changed)
	}
}

// limits of a role that flags change.
func (c *computation) limits(role string, flags map[string]input.Problem) {
	limits := map[string]json.RawMessage{}
	var present map[string]json.RawMessage
	// What is no object has no limits.
	_ = json.Unmarshal(c.keys(objects.RoleResourcesVariable)[role], &present)
	maps.Copy(limits, present)
	var changed input.Problem
	for key, flag := range flags {
		if equal(limits[key], limit(flag)) {
			continue
		}
		changed, limits[key] = flag, limit(flag)
		if limits[key] == nil {
			delete(limits, key)
			c.warnOnce("running nodes keep their limits until they are replaced: " + flag.Field + " none applies to new ones")
		}
	}
	if changed.Field == "" {
		return
	}
	var desired json.RawMessage
	if len(limits) > 0 {
		desired, _ = json.Marshal(limits) // It consists of JSON.
	}
	c.edit(changed, edit{objects.RoleResourcesVariable, role, desired})
}

// limit that a flag sets; nil = none.
func limit(flag input.Problem) json.RawMessage {
	if flag.Value == input.None {
		return nil
	}
	return text(flag.Value)
}

// resize the Machines of a role in place. Limits that Machines have of their own take precedence, each by itself.
func (c *computation) resize(field, role string, old, fresh json.RawMessage) {
	var before, after map[string]json.RawMessage
	_, _ = json.Unmarshal(orNull(old), &before), json.Unmarshal(orNull(fresh), &after)
	for _, one := range c.roles() {
		if (one.name == controlPlaneName) != (role == controlPlaneRole) {
			continue
		}
		own := c.ownLimits(one)
		isChanged := false
		for _, key := range []string{"cpu", "memory", "pids"} {
			switch {
			case equal(before[key], after[key]):
			case own[key] != nil:
				c.warnOnce(fmt.Sprintf("the Machines of %s have %s of their own, and keep it", one.name, key))
			default:
				isChanged = true
			}
		}
		if !isChanged {
			continue
		}
		for _, machine := range machinesOf(one.machines) {
			c.inPlace[machine] = append(c.inPlace[machine], field)
		}
	}
}

// ownLimits of the Machines of a role, in their template.
func (c *computation) ownLimits(of role) (own map[string]json.RawMessage) {
	raw := value(of.overrides, objects.ResourcesVariable)
	if raw == nil {
		raw = c.variable(objects.ResourcesVariable)
	}
	_ = json.Unmarshal(orNull(raw), &own)
	return own
}
