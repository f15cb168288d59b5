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
	"net/netip"

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
// up. Until then one that is up, or whose health is not known, goes on: the
// last usable backend is never drained.
func Backends(machines []Machine, observed State) []haproxy.Backend { return nil }
