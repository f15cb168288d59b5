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

package udprelay

import (
	"hash/fnv"
	"net/netip"
	"slices"

	"github.com/capi-samples/cluster-api-provider-container/internal/haproxy"
)

// usable are the servers that take the datagrams of a port, by their addresses: those that pass
// their check, or were not checked yet. While none does, all do, unless the port is strict.
func usable(port haproxy.RelayPort, servers []haproxy.Server) []string {
	var all, up []string
	for _, server := range servers {
		if server.Frontend != port.Name || server.Weight == 0 {
			continue
		}
		all = append(all, server.Address)
		if server.Status.Up() || server.Status == haproxy.StatusUnknown {
			up = append(up, server.Address)
		}
	}
	if len(up) == 0 && !port.Strict {
		return all
	}
	return up
}

// admits reports whether a client may send.
func admits(sources []netip.Prefix, client netip.AddrPort) bool {
	address := client.Addr().Unmap().WithZone("")
	return len(sources) == 0 || slices.ContainsFunc(sources, func(source netip.Prefix) bool { return source.Contains(address) })
}

// choose a server for a client; empty where there is none. A server that comes or goes moves the
// clients of no other server.
func (p *port) choose(client netip.Addr) string {
	if len(p.servers) == 0 {
		return ""
	}
	if !p.Sticky {
		p.next++
		return p.servers[p.next%len(p.servers)]
	}
	score := func(server string) uint64 {
		hash := fnv.New64a()
		_, _ = hash.Write([]byte(server))
		_, _ = hash.Write(client.Unmap().AsSlice())
		return mix(hash.Sum64())
	}
	return slices.MaxFunc(p.servers, func(a, b string) int {
		if score(a) < score(b) {
			return -1
		}
		return 1
	})
}

// mix spreads what FNV leaves in the low bits: clients differ in their last byte.
func mix(hash uint64) uint64 {
	hash ^= hash >> 33
	hash *= 0xff51afd7ed558ccd
	return hash ^ hash>>33
}
