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

// Package tunnel reaches what an engine on another host has published on 127.0.0.1 there,
// or what its containers reach: ports of this host lead through the engine's API into a
// container of a management plane, which connects.
package tunnel

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"sync"
	"syscall"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

// program in the management plane's container that connects its standard input and
// output to an address.
const program = "/usr/local/bin/capcon-plane"

// Tunnels are ports of 127.0.0.1 that lead to addresses. They are safe for concurrent use.
type Tunnels struct {
	// lifetime of the ports and their connections.
	lifetime context.Context //nolint:containedctx // Callers of Open have shorter ones.
	engine   engine.Executor

	mutex  sync.Mutex
	opened map[uint16]tunnel
}

// tunnel from a port to an address.
type tunnel struct {
	net.Listener
	address netip.AddrPort
}

// New returns Tunnels through an engine until ctx ends. None is open.
func New(ctx context.Context, eng engine.Executor) *Tunnels {
	return &Tunnels{lifetime: ctx, engine: eng, opened: map[uint16]tunnel{}}
}

// Open makes sure that the port leads to the address, as a container of a management plane
// reaches it. It reports whether it changed that.
//
// A port that another process listens on is left to it: it is the engine's where that runs
// in a virtual machine of this host, or another process's tunnel. TLS shows with the first
// connection if it is neither.
func (t *Tunnels) Open(container string, port uint16, address netip.AddrPort) (bool, error) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if before, found := t.opened[port]; found {
		if before.address == address {
			return false, nil
		}
		// The cluster that had the port was deleted.
		_ = before.Close()
		delete(t.opened, port)
	}
	listener, err := (&net.ListenConfig{}).Listen(t.lifetime, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(int(port))))
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("listen on port %d of 127.0.0.1: %w", port, err)
	}
	t.opened[port] = tunnel{listener, address}
	context.AfterFunc(t.lifetime, func() { _ = listener.Close() })
	go t.accept(listener, container, address)
	return true, nil
}

// Opened reports whether the port is one that Open listens on, and not another process.
func (t *Tunnels) Opened(port uint16) bool {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	_, opened := t.opened[port]
	return opened
}

// accept connections until the listener is closed.
func (t *Tunnels) accept(listener net.Listener, container string, address netip.AddrPort) {
	for {
		connection, err := listener.Accept()
		if err != nil {
			return
		}
		go t.connect(connection, container, address)
	}
}

// connect a connection to the address. An error ends it, which its client reports.
func (t *Tunnels) connect(connection net.Conn, container string, address netip.AddrPort) {
	defer connection.Close()
	_, _ = t.engine.Exec(t.lifetime, container, engine.Command{
		Args: []string{program, "relay", address.String()}, Stdin: connection, Stdout: connection,
	})
}
