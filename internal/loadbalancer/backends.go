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

package loadbalancer

import (
	"cmp"
	"net/netip"
	"slices"

	"github.com/capi-samples/cluster-api-provider-container/internal/haproxy"
)

// Machine is a control-plane machine as the load balancer sees it.
type Machine struct {
	// Container is the name of its container, and of its backend.
	Container string
	// Address of its API server; the zero value leaves the machine out.
	Address netip.Addr
	// Port of its API server.
	Port uint16
	// Deleting says that the machine is going away.
	Deleting bool
}

// Backends decides which machines take new connections: those that stay. One
// that is deleted takes none as soon as a machine that stays is known to be
// up. Until then the last usable one keeps its weight: of those deleted that are up,
// one, or all whose health is not known where none is known to be up.
func Backends(machines []Machine, observed State) []haproxy.Backend {
	machines = slices.Clone(machines)
	slices.SortFunc(machines, func(a, b Machine) int { return cmp.Compare(a.Container, b.Container) })
	last := lastUsable(machines, observed)
	backends := make([]haproxy.Backend, 0, len(machines))
	for _, machine := range machines {
		if !machine.Address.IsValid() {
			continue
		}
		weight := haproxy.FullWeight
		if machine.Deleting && !last[machine.Container] {
			weight = 0
		}
		backends = append(backends, haproxy.Backend{
			Name: machine.Container, Address: machine.Address, Port: machine.Port, Weight: weight,
		})
	}
	return backends
}

// lastUsable are the machines that keep their weight although they are deleted.
func lastUsable(machines []Machine, observed State) map[string]bool {
	unknown := map[string]bool{}
	up := ""
	for _, machine := range machines {
		if !machine.Address.IsValid() {
			continue
		}
		server, _ := observed.Backend(machine.Container)
		switch {
		case server.Status.Up() && !machine.Deleting:
			return nil
		case server.Status.Up() && up == "":
			up = machine.Container
		case server.Status == haproxy.StatusUnknown && machine.Deleting:
			unknown[machine.Container] = true
		}
	}
	if up != "" {
		return map[string]bool{up: true}
	}
	return unknown
}
