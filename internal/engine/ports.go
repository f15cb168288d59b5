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

package engine

import "net/netip"

// Protocol of a published port.
type Protocol string

// The protocols that can be published.
const (
	// ProtocolTCP is the zero value.
	ProtocolTCP Protocol = ""
	ProtocolUDP Protocol = "udp"
)

// PortBinding publishes a port.
type PortBinding struct {
	// HostAddress to listen on; the zero value means all addresses.
	HostAddress netip.Addr
	// HostPort to listen on; 0 = the engine chooses a free one: Docker at
	// each start, Podman when it creates the container.
	HostPort uint16
	// ContainerPort to forward to.
	ContainerPort uint16
	// Protocol of both ports.
	Protocol Protocol `json:",omitzero"`
}

// Name of the protocol as engines have it.
func (p Protocol) Name() string {
	if p == ProtocolUDP {
		return "udp"
	}
	return "tcp"
}

// ParseProtocol reads such a name. Another one, such as sctp, is none of ours.
func ParseProtocol(name string) (_ Protocol, isOurs bool) {
	switch name {
	case "tcp":
		return ProtocolTCP, true
	case "udp":
		return ProtocolUDP, true
	}
	return "", false
}
