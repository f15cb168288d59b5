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
	"bytes"
	"io"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// Proxy forwards a socket of its own to an engine's, and can break what goes
// through it.
type Proxy struct {
	// Path of the socket.
	Path   string
	target string

	listener net.Listener

	mu    sync.Mutex
	conns map[net.Conn]struct{}
	// down closes what connects.
	down bool
	// requests that went through it.
	requests atomic.Int64
}

// Requests is how many HTTP requests went through the proxy.
func (p *Proxy) Requests() int64 { return p.requests.Load() }

// requestCounter counts the ends of request lines in what is written to it.
type requestCounter struct {
	requests *atomic.Int64
	// rest of the last write, which may begin such an end.
	rest []byte
}

// Write implements io.Writer.
func (c *requestCounter) Write(written []byte) (int, error) {
	end := []byte(" HTTP/1.1\r\n")
	c.rest = append(c.rest, written...)
	c.requests.Add(int64(bytes.Count(c.rest, end)))
	c.rest = bytes.Clone(c.rest[max(0, len(c.rest)-len(end)+1):])
	return len(written), nil
}

// NewProxy forwards to an endpoint that begins with unix:// until the test ends.
func NewProxy(t *testing.T, endpoint string) *Proxy {
	t.Helper()
	target, ok := strings.CutPrefix(endpoint, "unix://")
	if !ok {
		t.Fatalf("these tests need an engine behind a Unix socket, not %s", endpoint)
	}
	p := &Proxy{Path: filepath.Join(t.TempDir(), "engine.sock"), target: target, conns: map[net.Conn]struct{}{}}
	p.listen(t)
	t.Cleanup(func() {
		_ = p.listener.Close()
		p.Interrupt()
	})
	return p
}

// Replace removes the socket and serves a new one at its path, as an engine does that
// starts.
func (p *Proxy) Replace(t *testing.T) {
	t.Helper()
	_ = p.listener.Close()
	p.Interrupt()
	p.listen(t)
}

func (p *Proxy) listen(t *testing.T) {
	t.Helper()
	listener, err := net.Listen("unix", p.Path)
	succeed(t, "listen", err)
	p.listener = listener
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go p.forward(conn)
		}
	}()
}

func (p *Proxy) forward(conn net.Conn) {
	engineConn, err := net.Dial("unix", p.target)
	if err != nil {
		_ = conn.Close()
		return
	}
	p.mu.Lock()
	p.conns[conn], p.conns[engineConn] = struct{}{}, struct{}{}
	if p.down {
		_ = conn.Close()
		_ = engineConn.Close()
	}
	p.mu.Unlock()
	var group sync.WaitGroup
	group.Go(func() { copyHalf(engineConn, io.TeeReader(conn, &requestCounter{requests: &p.requests})) })
	group.Go(func() { copyHalf(conn, engineConn) })
	group.Wait()
	_ = conn.Close()
	_ = engineConn.Close()
	p.mu.Lock()
	delete(p.conns, conn)
	delete(p.conns, engineConn)
	p.mu.Unlock()
}

// copyHalf hands the end of one direction on and leaves the other open.
func copyHalf(to net.Conn, from io.Reader) {
	_, _ = io.Copy(to, from)
	if half, ok := to.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
}

// Interrupt breaks all connections.
func (p *Proxy) Interrupt() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for conn := range p.conns {
		_ = conn.Close()
	}
}

// Outage breaks all connections, and refuses new ones until it is ended.
func (p *Proxy) Outage(*testing.T) (end func()) {
	p.setDown(true)
	p.Interrupt()
	return func() { p.setDown(false) }
}

func (p *Proxy) setDown(down bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down = down
}
