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

package loadbalancer_test

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/capi-samples/cluster-api-provider-container/internal/haproxy"
	"github.com/capi-samples/cluster-api-provider-container/internal/loadbalancer"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// serveProxied answers each connection with the address of the client in its PROXY header of version 2.
func (h *harness) serveProxied(t *testing.T) haproxy.Backend {
	t.Helper()
	listener := h.listen(t)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = connection.Close() }()
				// A signature, the version, the family, the length of the addresses, and those.
				header := make([]byte, 16)
				if _, err := io.ReadFull(connection, header); err != nil {
					return
				}
				addresses := make([]byte, binary.BigEndian.Uint16(header[14:]))
				if _, err := io.ReadFull(connection, addresses); err != nil {
					return
				}
				length := 4
				if header[13] == 0x21 {
					length = 16
				}
				source, _ := netip.AddrFromSlice(addresses[:length])
				fmt.Fprintf(connection, "%#x %s", header[12], netip.AddrPortFrom(source.Unmap(), binary.BigEndian.Uint16(addresses[2*length:])))
			}()
		}
	}()
	address := must.Get(netip.ParseAddrPort(listener.Addr().String()))(t)
	return haproxy.Backend{Name: "node", Address: address.Addr(), Port: address.Port(), Weight: haproxy.FullWeight}
}

// TestIntegrationProxyProtocol: the backend has the address of its client, and health checks of another port no header.
func TestIntegrationProxyProtocol(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.spec.Service = loadbalancer.Service{Namespace: "default", Name: "web", UID: h.owner.ID}
	h.spec.HostPorts = map[uint16]uint16{80: 0}
	h.spec.Config = haproxy.Config{Frontends: []haproxy.Frontend{{Name: "port-80", Port: 80}}}
	state := h.ensure(t)
	frontend := haproxy.Frontend{Name: "port-80", Port: 80, ProxyProtocol: true, Backends: []haproxy.Backend{h.serveProxied(t)}}
	checks := h.listen(t)
	t.Cleanup(func() { _ = checks.Close() })
	frontend.Check.Port = must.Get(netip.ParseAddrPort(checks.Addr().String()))(t).Port()
	h.apply(t, state.Name, haproxy.Config{Frontends: []haproxy.Frontend{frontend}})
	h.await(t, state.Name, "a backend that is up", func(s loadbalancer.State) bool {
		return len(s.Backends) == 1 && s.Backends[0].Status.Up() && s.Backends[0].Check != ""
	})
	client := must.Get(net.DialTimeout("tcp", netip.AddrPortFrom(state.Address(), 80).String(), patience))(t)
	defer func() { _ = client.Close() }()
	must.Succeed(t, client.SetReadDeadline(time.Now().Add(patience)))
	got := string(must.Get(io.ReadAll(client))(t))
	if want := "0x21 " + client.LocalAddr().String(); got != want {
		t.Errorf("the backend takes %q as the client, want %q", got, want)
	}
}
