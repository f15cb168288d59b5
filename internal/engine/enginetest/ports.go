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

package enginetest

import (
	"net/netip"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

// localhost is where test ports are published: never beyond this host.
var localhost = netip.AddrFrom4([4]byte{127, 0, 0, 1})

func addressComparer() cmp.Option {
	return cmp.Comparer(func(a, b netip.Addr) bool { return a == b })
}

func portChecks() map[string]check {
	return map[string]check{
		"pinned": {
			contract: "Ports as published now; a port is free again after a stop",
			run:      publishesPinnedPort,
		},
		"chosen by the engine": {
			contract: "HostPort 0 = the engine chooses a free one",
			run: func(t *testing.T, c *fixture) {
				spec := c.spec("a")
				spec.Ports = []engine.PortBinding{{HostAddress: localhost, ContainerPort: 80}}
				c.run(t, spec)
				got := c.inspect(t, spec.Name).Ports
				if len(got) != 1 || got[0].HostPort == 0 || got[0].HostAddress != localhost {
					t.Errorf("ports %v, want one with a host port of 127.0.0.1", got)
				}
			},
		},
		"taken by a container": {
			contract: "host port taken: a ConflictError of ResourceHostPort; the container is still there, and not running",
			run: func(t *testing.T, c *fixture) {
				c.wantPortTaken(t, c.holdPort(t), localhost)
			},
		},
		"taken on another address": {
			contract: "all addresses include the one that is taken",
			run: func(t *testing.T, c *fixture) {
				c.wantPortTaken(t, c.holdPort(t), netip.Addr{})
			},
		},
		"taken by a process of the host": {
			contract: "host port taken: a ConflictError of ResourceHostPort",
			run: func(t *testing.T, c *fixture) {
				c.wantPortTaken(t, c.OccupyPort(t), localhost)
			},
		},
		"free again": {
			contract: "a container that could not start can when the port is free",
			run: func(t *testing.T, c *fixture) {
				port := c.holdPort(t)
				c.wantPortTaken(t, port, localhost)
				c.stop(t, c.named("holder"))
				c.start(t, c.named("second"))
				found := c.wantStatus(t, "port free again", c.named("second"), engine.StatusRunning)
				if found.Error != "" {
					t.Errorf("error %q of a container that runs, want none", found.Error)
				}
			},
		},
	}
}

func publishesPinnedPort(t *testing.T, c *fixture) {
	spec := c.spec("a")
	port := c.FreePort(t)
	spec.Ports = []engine.PortBinding{
		{HostAddress: localhost, HostPort: port, ContainerPort: 80},
		{HostAddress: localhost, HostPort: port, ContainerPort: 80, Protocol: engine.ProtocolUDP},
	}
	c.run(t, spec)
	if diff := cmp.Diff(spec.Ports, c.inspect(t, spec.Name).Ports, addressComparer()); diff != "" {
		t.Errorf("ports (-want +got):\n%s", diff)
	}
	c.stop(t, spec.Name)
	if got := c.inspect(t, spec.Name).Ports; len(got) != 0 {
		t.Errorf("ports %v of a stopped container, want none", got)
	}
	c.start(t, spec.Name)
	if diff := cmp.Diff(spec.Ports, c.inspect(t, spec.Name).Ports, addressComparer()); diff != "" {
		t.Errorf("ports after stop and start (-want +got):\n%s", diff)
	}
}

// holdPort runs a container that has a port of 127.0.0.1.
func (c *fixture) holdPort(t *testing.T) uint16 {
	t.Helper()
	spec := c.spec("holder")
	spec.Ports = []engine.PortBinding{{HostAddress: localhost, HostPort: c.FreePort(t), ContainerPort: 80}}
	c.run(t, spec)
	return spec.Ports[0].HostPort
}

func (c *fixture) wantPortTaken(t *testing.T, port uint16, on netip.Addr) {
	t.Helper()
	spec := c.spec("second")
	spec.Ports = []engine.PortBinding{{HostAddress: on, HostPort: port, ContainerPort: 80}}
	c.create(t, spec)
	err := c.StartContainer(t.Context(), spec.Name)
	wantTaken(t, "start with a taken port", err, engine.ResourceHostPort, strconv.Itoa(int(port)))
	t.Logf("the error: %v", err)
	c.wantNotStarted(t, spec.Name)
}
