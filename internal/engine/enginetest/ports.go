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

func portChecks() checks {
	return checks{
		// Ports as published now; a port is free again after a stop.
		"pinned": publishesPinnedPort,
		// HostPort 0 = the engine chooses a free one.
		"chosen by the engine": func(t *testing.T, c *fixture) {
			spec := c.spec("a")
			spec.Ports = []engine.PortBinding{{HostAddress: localhost, ContainerPort: 80}}
			c.run(t, spec)
			got := c.inspect(t, spec.Name).Ports
			if len(got) != 1 || got[0].HostPort == 0 || got[0].HostAddress != localhost {
				t.Errorf("ports %v, want one with a host port of 127.0.0.1", got)
			}
		},
		// Host port taken: a ConflictError of ResourceHostPort; the container is still there, not
		// running, and can start when the port is free.
		"taken by a container": func(t *testing.T, c *fixture) {
			c.wantPortTaken(t, c.holdPort(t), localhost)
			c.stop(t, c.named("holder"))
			c.start(t, c.named("second"))
			if found := c.wantStatus(t, "port free again", c.named("second"), engine.StatusRunning); found.Error != "" {
				t.Errorf("error %q of a container that runs, want none", found.Error)
			}
		},
		// All addresses include the one that is taken.
		"taken on another address": func(t *testing.T, c *fixture) { c.wantPortTaken(t, c.holdPort(t), netip.Addr{}) },
		// Host port taken: a ConflictError of ResourceHostPort.
		"taken by a process of the host": func(t *testing.T, c *fixture) { c.wantPortTaken(t, c.OccupyPort(t), localhost) },
	}
}

func publishesPinnedPort(t *testing.T, c *fixture) {
	spec := c.spec("a")
	port := c.FreePort(t)
	spec.Ports = []engine.PortBinding{
		{HostAddress: localhost, HostPort: port, ContainerPort: 80},
		{HostAddress: localhost, HostPort: port, ContainerPort: 80, Protocol: engine.ProtocolUDP},
	}
	wantPorts := func(when string, want []engine.PortBinding) {
		if diff := cmp.Diff(want, c.inspect(t, spec.Name).Ports, addressComparer()); diff != "" {
			t.Errorf("ports %s (-want +got):\n%s", when, diff)
		}
	}
	c.run(t, spec)
	wantPorts("after start", spec.Ports)
	c.stop(t, spec.Name)
	wantPorts("after stop", nil)
	c.start(t, spec.Name)
	wantPorts("after stop and start", spec.Ports)
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
	wantTaken(t, "start with a taken port", err,
		engine.ConflictError{Resource: engine.ResourceHostPort, Value: strconv.Itoa(int(port))})
	t.Logf("the error: %v", err)
	c.wantNotStarted(t, spec.Name)
}
