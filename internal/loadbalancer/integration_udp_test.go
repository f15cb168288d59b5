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
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/haproxy"
	"github.com/capi-samples/cluster-api-provider-container/internal/loadbalancer"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// nameServer answers each question with its address, over UDP, and over TCP what is too long.
type nameServer struct {
	backend haproxy.Backend
	// tcp is what the health check connects to.
	tcp   net.Listener
	mutex sync.Mutex
	// sources of datagrams.
	sources map[netip.AddrPort]bool
}

const (
	dnsPort    = 5353
	streamPort = 8443
)

// answer a question with addresses; with none it is truncated.
func answer(question []byte, addresses ...[4]byte) []byte {
	var message dnsmessage.Message
	if err := message.Unpack(question); err != nil || len(message.Questions) != 1 {
		return nil
	}
	message.Response, message.Truncated, message.Additionals = true, len(addresses) == 0, nil
	asked := message.Questions[0]
	if asked.Type == dnsmessage.TypeA {
		for _, address := range addresses {
			message.Answers = append(message.Answers, dnsmessage.Resource{
				Header: dnsmessage.ResourceHeader{Name: asked.Name, Type: dnsmessage.TypeA, Class: dnsmessage.ClassINET, TTL: 1},
				Body:   &dnsmessage.AResource{A: address},
			})
		}
	}
	packed, err := message.Pack()
	if err != nil {
		return nil
	}
	return packed
}

// serveNames on the network's gateway, on a port of TCP and UDP.
func (h *harness) serveNames(t *testing.T, number byte) *nameServer {
	t.Helper()
	own, tcp := [4]byte{192, 0, 2, number}, h.listen(t)
	s := &nameServer{tcp: tcp, sources: map[netip.AddrPort]bool{}}
	address := must.Get(netip.ParseAddrPort(tcp.Addr().String()))(t)
	udp := must.Get(net.ListenUDP("udp", net.UDPAddrFromAddrPort(address)))(t)
	t.Cleanup(func() { _, _ = tcp.Close(), udp.Close() })
	s.backend = haproxy.Backend{Name: fmt.Sprintf("node-%d", number), Address: address.Addr(), Port: address.Port(), Weight: haproxy.FullWeight}
	go func() {
		buffer := make([]byte, 64<<10)
		for {
			n, client, err := udp.ReadFromUDPAddrPort(buffer)
			if errors.Is(err, net.ErrClosed) {
				return
			}
			s.mutex.Lock()
			s.sources[client] = true
			s.mutex.Unlock()
			reply := buffer[:n]
			switch {
			case n >= 512: // It goes back as it is.
			case bytes.Contains(reply, []byte("large")):
				reply = answer(reply)
			default:
				reply = answer(reply, own)
			}
			_, _ = udp.WriteToUDPAddrPort(reply, client)
		}
	}()
	go func() {
		for {
			connection, err := tcp.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = connection.Close() }()
				buffer := make([]byte, 4<<10)
				n, err := connection.Read(buffer)
				if err != nil || n < 2 {
					return
				}
				reply := answer(buffer[2:n], own)
				_, _ = connection.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(reply))), reply...))
			}()
		}
	}()
	return s
}

// resolver asks the server at an address.
func resolver(address netip.AddrPort) *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		var dialer net.Dialer
		return dialer.DialContext(ctx, network, address.String())
	}}
}

// lookUp returns the number of the server that answers.
func lookUp(ctx context.Context, address netip.AddrPort, name string) (string, error) {
	return lookUpWithin(ctx, 10*time.Second, address, name)
}

func lookUpWithin(ctx context.Context, limit time.Duration, address netip.AddrPort, name string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	found, err := resolver(address).LookupNetIP(ctx, "ip4", name)
	if err != nil {
		return "", err
	}
	return strings.TrimPrefix(found[0].String(), "192.0.2."), nil
}

// udpHarness has a load balancer of a Service with DNS and another port of UDP, and two servers.
func udpHarness(t *testing.T, family haproxy.Family, families ...network.Family) (h *harness, state loadbalancer.State, servers []*nameServer, config haproxy.Config) {
	t.Helper()
	h = newHarness(t, families...)
	image := must.Get(h.engine.InspectImage(t.Context(), h.spec.Image))(t)
	if image.Labels[loadbalancer.RelayLabel] == "" {
		t.Skipf("image %s has no relay", h.spec.Image)
	}
	h.spec.Service = loadbalancer.Service{Namespace: "default", Name: "dns", UID: h.owner.ID}
	h.spec.HostPorts = map[uint16]uint16{dnsPort: 0, streamPort: 0}
	frontends := []haproxy.Frontend{
		{Name: "port-5353", Port: dnsPort},
		{Name: "port-5353-udp", Port: dnsPort, UDP: true},
		{Name: "port-8443-udp", Port: streamPort, UDP: true, Sticky: true},
	}
	h.spec.Config = haproxy.Config{Family: family, Frontends: frontends}
	state = h.ensure(t)
	// Podman has the address of the network once a container runs.
	servers = []*nameServer{h.serveNames(t, 1), h.serveNames(t, 2)}
	for i := range frontends {
		for _, s := range servers {
			frontends[i].Backends = append(frontends[i].Backends, s.backend)
		}
	}
	config = haproxy.Config{Family: family, Frontends: frontends}
	h.spec.Config = config
	h.apply(t, state.Name, config)
	return h, state, servers, config
}

// apply a configuration. Where the processes need longer than one Sync waits, another is the remedy.
func (h *harness) apply(t *testing.T, name string, config haproxy.Config) loadbalancer.State {
	t.Helper()
	var state loadbalancer.State
	must.Eventually(t, patience, "the load balancer and its relay have the configuration", func(ctx context.Context) (err error) {
		state, err = synchronize(ctx, h.engine, name, config)
		return err
	})
	return state
}

// TestIntegrationUDP: DNS and TCP on one port, a stream of large datagrams, and the same place after restarts.
func TestIntegrationUDP(t *testing.T) {
	t.Parallel()
	h, state, servers, config := udpHarness(t, haproxy.FamilyIPv4)
	host := netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), state.HostPorts[dnsPort])
	container := netip.AddrPortFrom(state.Address(), dnsPort)
	output := must.Get(h.engine.Exec(t.Context(), state.Name, engine.Command{Args: []string{"cat", "/proc/1/status"}}))(t)
	for _, want := range []string{"Name:\tcapcon-relay\n", "CapBnd:\t0000000000000400\n", "NoNewPrivs:\t1\n", "Uid:\t99\t99\t99\t99\n"} {
		if !strings.Contains(string(output.Stdout), want) {
			t.Errorf("/proc/1/status has no %q:\n%s", want, output.Stdout)
		}
	}
	answersAt := func(what string, addresses ...netip.AddrPort) {
		t.Helper()
		for _, address := range addresses {
			for _, name := range []string{"small.test.", "large.test."} {
				must.Eventually(t, patience, what+": an answer from "+address.String(), func(ctx context.Context) error {
					_, err := lookUp(ctx, address, name)
					return err
				})
			}
		}
	}
	answersAt("at the beginning", host, container)

	// Twenty questions from sources of their own.
	seen := map[string]int{}
	for range 20 {
		seen[must.Get(lookUp(t.Context(), container, "small.test."))(t)]++
	}
	if len(seen) != 2 {
		t.Errorf("answered by %v, want both servers", seen)
	}

	// A node that is gone from the configuration receives nothing.
	one := config
	one.Frontends = slices.Clone(config.Frontends)
	for i := range one.Frontends {
		one.Frontends[i].Backends = one.Frontends[i].Backends[:1]
	}
	h.apply(t, state.Name, one)
	servers[1].forget()
	for range 10 {
		if number := must.Get(lookUp(t.Context(), container, "small.test."))(t); number != "1" {
			t.Errorf("answered by %s, want the server that is left", number)
		}
	}
	if left := servers[1].count(); left > 0 {
		t.Errorf("%d sources reached a server that is no backend", left)
	}
	h.apply(t, state.Name, config)
	// Nor does one that fails its check.
	_ = servers[0].tcp.Close()
	h.await(t, state.Name, "the first server down", func(s loadbalancer.State) bool {
		return slices.ContainsFunc(s.Backends, func(b haproxy.Server) bool {
			return b.Frontend == "port-5353-udp" && b.Name == servers[0].backend.Name && b.Status == haproxy.StatusDown
		})
	})
	must.Eventually(t, patience, "the relay knows that the first server is down", func(ctx context.Context) error {
		servers[0].forget()
		for range 4 {
			if number, err := lookUp(ctx, container, "small.test."); err != nil || number != "2" {
				return fmt.Errorf("answered by %q, %w", number, err)
			}
		}
		return nil
	})
	if left := servers[0].count(); left > 0 {
		t.Errorf("%d sources reached a server that is down", left)
	}

	began := time.Now()
	lost := h.stream(t, netip.AddrPortFrom(state.Address(), streamPort), netip.AddrPortFrom(host.Addr(), state.HostPorts[streamPort]))
	t.Logf("%d streams of %d datagrams of 1200 bytes each way in %s, lost %d", 6, streamLength, time.Since(began), lost)
	memory := must.Get(h.engine.Exec(t.Context(), state.Name, engine.Command{Args: []string{"bash", "-c",
		`for p in /proc/[0-9]*; do read -r name < $p/comm; while read -r key value; do [[ $key != Pss: && $key != VmRSS: ]] || echo $name $key $value; done < <(cat $p/smaps_rollup $p/status 2>/dev/null); done`}}))(t)
	t.Logf("memory:\n%s", memory.Stdout)

	// The process ends, and the engine starts it again; then the container is started by hand.
	_, err := h.engine.Exec(t.Context(), state.Name, engine.Command{Args: []string{"bash", "-c", "kill -TERM 1"}})
	var exit *engine.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	answersAt("after the end of its process", host, container)
	must.Succeed(t, h.engine.StopContainer(t.Context(), state.Name, patience))
	h.spec.HostPorts = state.HostPorts
	again := h.ensure(t)
	h.apply(t, state.Name, config)
	if again.Address() != state.Address() || again.HostPorts[dnsPort] != state.HostPorts[dnsPort] {
		t.Errorf("state %+v, want what was before: %+v", again, state)
	}
	answersAt("after a start", host, container)
}

func (s *nameServer) forget() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	clear(s.sources)
}

func (s *nameServer) count() int {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return len(s.sources)
}

const streamLength = 2000

// stream sends datagrams of QUIC's size from six sources at the same time, and gets each back: from
// each address three. It returns how many were sent again.
func (h *harness) stream(t *testing.T, addresses ...netip.AddrPort) int64 {
	t.Helper()
	const size, resend = 1200, time.Second
	var lost atomic.Int64
	var clients sync.WaitGroup
	for i := range 6 {
		client := must.Get(net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(addresses[i%len(addresses)])))(t)
		t.Cleanup(func() { _ = client.Close() })
		clients.Go(func() {
			sent, received := bytes.Repeat([]byte{byte('a' + i)}, size), make([]byte, 64<<10)
			for n := range streamLength {
				binary.BigEndian.PutUint32(sent, uint32(n))
				for deadline := time.Now().Add(patience); ; {
					_, _ = client.Write(sent)
					_ = client.SetReadDeadline(time.Now().Add(resend))
					length, err := client.Read(received)
					if err == nil && bytes.Equal(received[:length], sent) {
						break
					}
					if err == nil && received[4] != sent[4] {
						t.Errorf("stream %d got a datagram of another one", i)
						return
					}
					if time.Now().After(deadline) {
						t.Errorf("stream %d: datagram %d does not come back: %v", i, n, err)
						return
					}
					lost.Add(1)
				}
			}
		})
	}
	clients.Wait()
	return lost.Load()
}

// TestIntegrationUDPFamilies: clients of both families, and sources of each.
func TestIntegrationUDPFamilies(t *testing.T) {
	t.Parallel()
	h, state, servers, config := udpHarness(t, haproxy.FamilyDual, network.IPv4, network.IPv6)
	var addresses []netip.AddrPort
	for _, address := range state.Addresses {
		addresses = append(addresses, netip.AddrPortFrom(address, dnsPort))
	}
	if len(addresses) != 2 {
		t.Fatalf("addresses %v, want one of each family", addresses)
	}
	for _, sources := range [][]netip.Prefix{
		nil,
		{h.network.Subnets[0].Prefix, h.network.Subnets[1].Prefix},
		{netip.MustParsePrefix("198.51.100.0/24"), netip.MustParsePrefix("fd00::/8")},
		{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("2001:db8::/32")},
	} {
		limited := config
		limited.Frontends = slices.Clone(config.Frontends)
		for i := range limited.Frontends {
			limited.Frontends[i].Sources = sources
		}
		h.apply(t, state.Name, limited)
		for _, address := range addresses {
			limit := time.Second
			admitted := len(sources) == 0 || slices.ContainsFunc(sources, func(source netip.Prefix) bool { return source.Contains(address.Addr()) })
			for _, name := range []string{"small.test.", "large.test."} {
				if admitted {
					limit = patience
				} else {
					servers[0].forget()
					servers[1].forget()
				}
				_, err := lookUpWithin(t.Context(), limit, address, name)
				if (err == nil) != admitted {
					t.Errorf("sources %v: question for %s to %s: %v, want it admitted: %t", sources, name, address, err, admitted)
				}
				if reached := servers[0].count() + servers[1].count(); !admitted && reached > 0 {
					t.Errorf("sources %v: %d sources reached a server", sources, reached)
				}
			}
		}
	}
}
