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

package udprelay_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/capi-samples/cluster-api-provider-container/internal/haproxy"
	"github.com/capi-samples/cluster-api-provider-container/internal/udprelay"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// backend answers each datagram with its name and the datagram.
func backend(t *testing.T, name string) haproxy.Server {
	t.Helper()
	connection := must.Get(net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)}))(t)
	t.Cleanup(func() { _ = connection.Close() })
	go func() {
		buffer := make([]byte, 64<<10)
		for {
			n, client, err := connection.ReadFromUDPAddrPort(buffer)
			if errors.Is(err, net.ErrClosed) {
				return
			}
			_, _ = connection.WriteToUDPAddrPort(append([]byte(name+" "), buffer[:n]...), client)
		}
	}()
	return haproxy.Server{Frontend: "dns", Name: name, Address: connection.LocalAddr().String(), Status: haproxy.StatusUp, Weight: haproxy.FullWeight}
}

// freePort of UDP.
func freePort(t *testing.T) uint16 {
	t.Helper()
	connection := must.Get(net.ListenUDP("udp4", nil))(t)
	defer func() { _ = connection.Close() }()
	return must.Get(netip.ParseAddrPort(connection.LocalAddr().String()))(t).Port()
}

func listenOn(t *testing.T) haproxy.RelayPort {
	t.Helper()
	return haproxy.RelayPort{Name: "dns", Network: "udp4", Port: freePort(t)}
}

func newRelay(t *testing.T) *udprelay.Relay {
	t.Helper()
	relay := &udprelay.Relay{}
	t.Cleanup(relay.Close)
	return relay
}

func dial(t *testing.T, address string, port uint16) net.Conn {
	t.Helper()
	connection := must.Get(net.Dial("udp", net.JoinHostPort(address, strconv.Itoa(int(port)))))(t)
	t.Cleanup(func() { _ = connection.Close() })
	return connection
}

// exchange sends a datagram and returns the response; empty where none comes in time.
func exchange(t *testing.T, connection net.Conn, text string, limit time.Duration) string {
	t.Helper()
	_, err := connection.Write([]byte(text))
	must.Succeed(t, err)
	must.Succeed(t, connection.SetReadDeadline(time.Now().Add(limit)))
	buffer := make([]byte, 64<<10)
	n, err := connection.Read(buffer)
	if err != nil {
		return ""
	}
	return string(buffer[:n])
}

const (
	answered = 5 * time.Second
	silent   = 200 * time.Millisecond
)

func TestSessions(t *testing.T) {
	t.Parallel()
	relay, port := newRelay(t), listenOn(t)
	one, two := backend(t, "one"), backend(t, "two")
	must.Succeed(t, relay.Apply([]haproxy.RelayPort{port}, []haproxy.Server{one, two}))
	seen := map[string]bool{}
	for i := range 4 {
		client := dial(t, "127.0.0.1", port.Port)
		var server string
		for j := range 3 {
			text := fmt.Sprintf("client %d datagram %d", i, j)
			name, rest, _ := strings.Cut(exchange(t, client, text, answered), " ")
			if rest != text || server != "" && name != server {
				t.Errorf("response of %q: %q, want %q of %q", name, rest, text, server)
			}
			server = name
		}
		seen[server] = true
	}
	if len(seen) != 2 || relay.Sessions() != 4 {
		t.Errorf("%d sessions on %v, want four on both servers", relay.Sessions(), seen)
	}
}

// TestStream: datagrams of QUIC's size, both ways and of several clients at the same time.
func TestStream(t *testing.T) {
	t.Parallel()
	relay, port := newRelay(t), listenOn(t)
	must.Succeed(t, relay.Apply([]haproxy.RelayPort{port}, []haproxy.Server{backend(t, "one"), backend(t, "two")}))
	const count, size = 200, 1200
	var clients sync.WaitGroup
	for i := range 5 {
		client := dial(t, "127.0.0.1", port.Port)
		clients.Go(func() {
			datagram := bytes.Repeat([]byte{byte('a' + i)}, size)
			for n := range count {
				binary.BigEndian.PutUint32(datagram, uint32(n))
				if got := exchange(t, client, string(datagram), answered); got[min(len(got), len("one ")):] != string(datagram) {
					t.Errorf("client %d, datagram %d: %d bytes came back, want its own", i, n, len(got))
					return
				}
			}
		})
	}
	clients.Wait()
}

func TestServers(t *testing.T) {
	t.Parallel()
	one, two := backend(t, "one"), backend(t, "two")
	down, drained := two, two
	down.Status, drained.Weight = haproxy.StatusDown, 0
	unknown := two
	unknown.Status = haproxy.StatusUnknown
	bothDown := one
	bothDown.Status = haproxy.StatusDown
	cases := map[string]struct {
		servers []haproxy.Server
		strict  bool
		want    string
	}{
		"both":                {[]haproxy.Server{one, two}, false, "one two"},
		"one is down":         {[]haproxy.Server{one, down}, false, "one"},
		"one is drained":      {[]haproxy.Server{one, drained}, false, "one"},
		"one was not checked": {[]haproxy.Server{one, unknown}, false, "one two"},
		"all are down":        {[]haproxy.Server{bothDown, down}, false, "one two"},
		"all down, strictly":  {[]haproxy.Server{bothDown, down}, true, ""},
		"none":                {nil, false, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			relay, port := newRelay(t), listenOn(t)
			// A session on each server, which is not to be used any more.
			must.Succeed(t, relay.Apply([]haproxy.RelayPort{port}, []haproxy.Server{one, two}))
			clients := []net.Conn{dial(t, "127.0.0.1", port.Port), dial(t, "127.0.0.1", port.Port)}
			for _, client := range clients {
				exchange(t, client, "?", answered)
			}
			port.Strict = tc.strict
			must.Succeed(t, relay.Apply([]haproxy.RelayPort{port}, tc.servers))
			limit := answered
			if tc.want == "" {
				limit = silent
			}
			seen := map[string]bool{}
			for _, client := range append(clients, dial(t, "127.0.0.1", port.Port), dial(t, "127.0.0.1", port.Port)) {
				if server, _, found := strings.Cut(exchange(t, client, "?", limit), " "); found {
					seen[server] = true
				}
			}
			got := ""
			for _, server := range []string{"one", "two"} {
				if seen[server] {
					got = strings.TrimSpace(got + " " + server)
				}
			}
			if got != tc.want {
				t.Errorf("answered by %q, want %q", got, tc.want)
			}
		})
	}
}

// TestBothFamilies on one socket: sources hold for each, and a client's address decides for all its ports.
func TestBothFamilies(t *testing.T) {
	t.Parallel()
	relay, port := newRelay(t), listenOn(t)
	port.Network, port.Sticky = "udp", true
	servers := []haproxy.Server{backend(t, "one"), backend(t, "two"), backend(t, "three")}
	must.Succeed(t, relay.Apply([]haproxy.RelayPort{port}, servers))
	addresses := []string{"127.0.0.1", "::1"}
	clients := map[string]net.Conn{}
	for _, address := range addresses {
		clients[address] = dial(t, address, port.Port)
		first, _, _ := strings.Cut(exchange(t, clients[address], "?", answered), " ")
		for range 5 {
			if again, _, _ := strings.Cut(exchange(t, dial(t, address, port.Port), "?", answered), " "); again != first || again == "" {
				t.Errorf("%s: answered by %q, then by %q", address, first, again)
			}
		}
	}
	for _, admitted := range addresses {
		port.Sources = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.PrefixFrom(netip.MustParseAddr(admitted), 8)}
		must.Succeed(t, relay.Apply([]haproxy.RelayPort{port}, servers))
		for _, address := range addresses {
			limit := silent
			if address == admitted {
				limit = answered
			}
			// A session from before must end too.
			if response := exchange(t, clients[address], "?", limit); (response != "") != (address == admitted) {
				t.Errorf("only %s may send; response to %s: %q", admitted, address, response)
			}
		}
	}
}

func TestIdleSessionsEnd(t *testing.T) {
	t.Parallel()
	relay, port := newRelay(t), listenOn(t)
	must.Succeed(t, relay.Apply([]haproxy.RelayPort{port}, []haproxy.Server{backend(t, "one")}))
	exchange(t, dial(t, "127.0.0.1", port.Port), "a request", answered)
	stream := dial(t, "127.0.0.1", port.Port)
	for range 2 {
		exchange(t, stream, "one of many", answered)
	}
	now := time.Now()
	for _, step := range []struct {
		after time.Duration
		want  int
	}{{25 * time.Second, 2}, {40 * time.Second, 1}, {110 * time.Second, 1}, {130 * time.Second, 0}} {
		relay.Expire(now.Add(step.after))
		if got := relay.Sessions(); got != step.want {
			t.Errorf("%d sessions after %s, want %d", got, step.after, step.want)
		}
	}
	if exchange(t, stream, "again", answered) == "" {
		t.Error("a client that was silent for long gets no response any more")
	}
}

// TestManySessions: the one that is idle for longest makes room.
func TestManySessions(t *testing.T) {
	t.Parallel()
	relay, port := newRelay(t), listenOn(t)
	relay.Limit = 3
	must.Succeed(t, relay.Apply([]haproxy.RelayPort{port}, []haproxy.Server{backend(t, "one")}))
	kept := dial(t, "127.0.0.1", port.Port)
	for i := range 10 {
		for _, client := range []net.Conn{kept, dial(t, "127.0.0.1", port.Port)} {
			if exchange(t, client, "?", answered) == "" {
				t.Fatalf("no response after %d clients", i)
			}
		}
	}
	if got := relay.Sessions(); got != relay.Limit {
		t.Errorf("%d sessions, want the limit", got)
	}
}

// TestTakenPort: the others are served, and it is when it is free.
func TestTakenPort(t *testing.T) {
	t.Parallel()
	relay, port := newRelay(t), listenOn(t)
	other := listenOn(t)
	other.Name = "other"
	taken := must.Get(net.ListenUDP("udp4", &net.UDPAddr{Port: int(other.Port)}))(t)
	one := backend(t, "one")
	ports := []haproxy.RelayPort{other, port}
	if err := relay.Apply(ports, []haproxy.Server{one}); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("UDP port %d", other.Port)) {
		t.Errorf("Apply: %v, want the port that is taken", err)
	}
	if exchange(t, dial(t, "127.0.0.1", port.Port), "?", answered) == "" {
		t.Error("the other port is not served")
	}
	must.Succeed(t, taken.Close())
	must.Succeed(t, relay.Apply(ports, []haproxy.Server{one}))
	must.Succeed(t, relay.Apply([]haproxy.RelayPort{other}, nil))
	if got := relay.Sessions(); got != 0 {
		t.Errorf("%d sessions of a port that is removed", got)
	}
}

// TestFollower reports the generation that haproxy and the relay have in common.
func TestFollower(t *testing.T) {
	t.Parallel()
	server := backend(t, "one")
	address := must.Get(netip.ParseAddrPort(server.Address))(t)
	port := freePort(t)
	render := func(name string) string {
		return must.Get(haproxy.Render(haproxy.Config{Frontends: []haproxy.Frontend{{
			Name: "dns", UDP: true, Port: port,
			Backends: []haproxy.Backend{{Name: name, Address: netip.MustParseAddr("10.0.0.1"), Port: address.Port(), Weight: haproxy.FullWeight}},
		}}}))(t)
	}
	first, second := render("one"), render("other")
	path := filepath.Join(t.TempDir(), "haproxy.cfg")
	must.Succeed(t, os.WriteFile(path, []byte(first), 0o600))
	var mutex sync.Mutex
	running := first
	run := func(text string) {
		mutex.Lock()
		defer mutex.Unlock()
		running = text
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+haproxy.GenerationPath, func(w http.ResponseWriter, _ *http.Request) {
		mutex.Lock()
		defer mutex.Unlock()
		fmt.Fprint(w, haproxy.Generation(running))
	})
	mux.HandleFunc("GET "+haproxy.StatisticsPath, func(w http.ResponseWriter, _ *http.Request) {
		text := fmt.Sprintf("# pxname,svname,type,status,weight,check_status,addr,\ndns,one,2,UP,100,L7OK,%s,\n", address)
		connection, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		// haproxy sends chunks, whatever the version of the request.
		fmt.Fprintf(connection, "HTTP/1.1 200 OK\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n%x\r\n%s\r\n%x\r\n%s\r\n0\r\n\r\n",
			20, text[:20], len(text)-20, text[20:])
		_ = connection.Close()
	})
	status := httptest.NewServer(mux)
	t.Cleanup(status.Close)
	follower := &udprelay.Follower{ConfigPath: path, StatusAddress: status.Listener.Addr().String(), Log: func(message string) { t.Log(message) }}
	reload := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- follower.Run(ctx, reload) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	client := must.Get(net.Dial("udp", follower.StatusAddress))(t)
	t.Cleanup(func() { _ = client.Close() })
	reports := func(what, want string) {
		t.Helper()
		must.Eventually(t, 10*time.Second, what, func(context.Context) error {
			if got := strings.TrimSpace(exchange(t, client, "", silent)); got != want {
				return fmt.Errorf("it reports %q, want %q", got, want)
			}
			return nil
		})
	}
	reports("the first generation", haproxy.Generation(first))
	if exchange(t, dial(t, "127.0.0.1", port), "?", answered) == "" {
		t.Error("the port is not served")
	}
	must.Succeed(t, os.WriteFile(path, []byte(second), 0o600))
	reload <- struct{}{}
	reports("none while haproxy has the first one", "")
	run(second)
	reports("the second generation", haproxy.Generation(second))
	must.Succeed(t, os.WriteFile(path, []byte(second+"#relay drop all\n"), 0o600))
	reload <- struct{}{}
	reports("the second generation: the third is not valid", haproxy.Generation(second))
}
