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

package adapter

import (
	"cmp"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

// Binding leaves the host address zero for all addresses, which engines report twice: for
// IPv4 and for IPv6.
func Binding(hostAddress netip.Addr, hostPort, containerPort uint16, protocol engine.Protocol) engine.PortBinding {
	out := engine.PortBinding{HostPort: hostPort, ContainerPort: containerPort, Protocol: protocol}
	if !hostAddress.IsUnspecified() {
		out.HostAddress = hostAddress
	}
	return out
}

// Distinct orders bindings, and leaves out duplicates.
func Distinct(ports []engine.PortBinding) []engine.PortBinding {
	slices.SortFunc(ports, func(a, b engine.PortBinding) int {
		return cmp.Or(cmp.Compare(a.ContainerPort, b.ContainerPort), cmp.Compare(a.Protocol, b.Protocol),
			cmp.Compare(a.HostPort, b.HostPort), a.HostAddress.Compare(b.HostAddress))
	})
	return slices.Compact(ports)
}

// PortClaim is what a container that did not start requested of the host.
type PortClaim struct {
	// ID of the container.
	ID    string
	Ports []engine.PortBinding
	// Cause is the engine's error, and Says whether its words name the port as taken.
	Cause error
	Says  func(cause error, port uint16) bool
}

// Conflict says which of the host ports is taken, or nil: by another container, which is
// observed, or by a process of the engine's host, which only the text of the error shows.
func (c PortClaim) Conflict(containers []engine.Container) error {
	for _, port := range c.Ports {
		for _, other := range containers {
			if other.ID != c.ID && slices.ContainsFunc(other.Ports, func(p engine.PortBinding) bool { return Collide(p, port) }) {
				return portConflict(port, other.Name, c.Cause)
			}
		}
	}
	for _, port := range c.Ports {
		if c.Says(c.Cause, port.HostPort) {
			return portConflict(port, "", c.Cause)
		}
	}
	return nil
}

func portConflict(port engine.PortBinding, holder string, cause error) error {
	return &engine.ConflictError{Resource: engine.ResourceHostPort, Value: strconv.Itoa(int(port.HostPort)), Holder: holder, Err: cause}
}

// Collide reports whether two bindings cannot both be listened on. The zero
// address means all.
func Collide(a, b engine.PortBinding) bool {
	return a.HostPort == b.HostPort && a.Protocol == b.Protocol &&
		(a.HostAddress == b.HostAddress || !a.HostAddress.IsValid() || !b.HostAddress.IsValid())
}

// Says reports whether one of the phrases is in an engine's words.
func Says(text string, phrases ...string) bool {
	return slices.ContainsFunc(phrases, func(phrase string) bool { return strings.Contains(text, phrase) })
}

// NamesPort reports whether a text names a port, as ":6443" does.
func NamesPort(text string, port uint16) bool {
	number := ":" + strconv.Itoa(int(port))
	_, rest, ok := strings.Cut(text, number)
	for ok && rest != "" && rest[0] >= '0' && rest[0] <= '9' {
		// The beginning of a longer number.
		_, rest, ok = strings.Cut(rest, number)
	}
	return ok
}
