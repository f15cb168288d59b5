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

// Package udprelay forwards datagrams to the backends of a haproxy, which has no UDP itself. It
// runs in the container of a Service's load balancer, next to haproxy.
//
// A session is the datagrams of one address and port of a client. They go to one backend, from a
// socket of their own, so that the backend's replies find back. A session ends when it is idle,
// and when its backend is not to be used any more; the next datagram begins another.
package udprelay

import (
	"cmp"
	"container/list"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/capi-samples/cluster-api-provider-container/internal/haproxy"
)

const (
	// maxSessions at a time; another one ends the one that is idle for longest. Each takes a
	// descriptor of haproxy.OpenFiles and some 10 kB.
	// +limit
	maxSessions = 4000
	// shortIdle ends a session of one request and its reply, longIdle one of which the client has
	// sent something after a reply. Both are those of the kernel's connection tracking.
	shortIdle = 30 * time.Second
	longIdle  = 120 * time.Second
	// maxDatagram is the largest there is.
	maxDatagram = 64 << 10
	// socketBuffer of a listener, for bursts; the kernel grants what net.core.rmem_max admits.
	socketBuffer = 4 << 20
)

// Relay forwards datagrams. The zero value listens on no port; Close ends it.
type Relay struct {
	// Limit of sessions at a time; 0 = maxSessions.
	Limit int

	mutex    sync.Mutex
	ports    map[string]*port
	sessions map[key]*session
	// recent are the sessions in order of their last datagram, the newest first.
	recent list.List
	// goroutines of listeners and sessions.
	goroutines sync.WaitGroup
	// buffers of maxDatagram bytes, for what sessions read.
	buffers sync.Pool
}

// port that is listened on.
type port struct {
	haproxy.RelayPort
	connection *net.UDPConn
	// servers take new sessions.
	servers []string
	// next is a counter of sessions, to take the servers in turn.
	next int
}

// key of a session.
type key struct {
	port   string
	client netip.AddrPort
}

// session is guarded by the mutex of its relay, apart from what is fixed.
type session struct {
	key        key
	listener   *net.UDPConn
	server     string
	connection *net.UDPConn
	element    *list.Element
	last       time.Time
	// isReplied and isLong: the server has sent something, and the client has afterwards.
	isReplied, isLong bool
}

// Apply makes the relay listen on these ports, and forward to these servers. Ports that do not
// change keep their sessions. An error leaves the ports that it does not name as they should be.
func (r *Relay) Apply(ports []haproxy.RelayPort, servers []haproxy.Server) error {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	desired := make(map[string]haproxy.RelayPort, len(ports))
	for _, p := range ports {
		desired[p.Name] = p
	}
	for name, existing := range r.ports {
		if p, found := desired[name]; !found || p.Network != existing.Network || p.Port != existing.Port {
			_ = existing.connection.Close()
			delete(r.ports, name)
		}
	}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(desired)) {
		p := desired[name]
		if r.ports[name] == nil {
			if err := r.listen(p); err != nil {
				errs = append(errs, err)
				continue
			}
		}
		r.ports[name].RelayPort, r.ports[name].servers = p, usable(p, servers)
	}
	for _, s := range r.sessions {
		p := r.ports[s.key.port]
		if p == nil || p.connection != s.listener || !admits(p.Sources, s.key.client) || !slices.Contains(p.servers, s.server) {
			r.end(s)
		}
	}
	return errors.Join(errs...)
}

// Close ends all ports and sessions.
func (r *Relay) Close() {
	_ = r.Apply(nil, nil)
	r.goroutines.Wait()
}

func (r *Relay) listen(p haproxy.RelayPort) error {
	connection, err := net.ListenUDP(p.Network, &net.UDPAddr{Port: int(p.Port)})
	if err != nil {
		return fmt.Errorf("listen on UDP port %d: %w", p.Port, err)
	}
	// Less is what the kernel grants.
	_ = connection.SetReadBuffer(socketBuffer)
	if r.ports == nil {
		r.ports, r.sessions = map[string]*port{}, map[key]*session{}
	}
	r.ports[p.Name] = &port{RelayPort: p, connection: connection}
	r.goroutines.Go(func() { r.requests(p.Name, connection) })
	return nil
}

// requests forwards the datagrams of clients until the listener is closed.
func (r *Relay) requests(name string, listener *net.UDPConn) {
	buffer := make([]byte, maxDatagram)
	for {
		n, client, err := listener.ReadFromUDPAddrPort(buffer)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue
		}
		// What cannot be sent is lost, as datagrams are.
		if server := r.route(key{port: name, client: client}, listener, time.Now()); server != nil {
			_, _ = server.Write(buffer[:n])
		}
	}
}

// route returns the connection to the server of a client's session, which may begin; nil where
// the datagram is to be dropped.
func (r *Relay) route(k key, listener *net.UDPConn, now time.Time) *net.UDPConn {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if s := r.sessions[k]; s != nil {
		s.isLong = s.isLong || s.isReplied
		r.touch(s, now)
		return s.connection
	}
	p := r.ports[k.port]
	if p == nil || p.connection != listener || !admits(p.Sources, k.client) {
		return nil
	}
	server := p.choose(k.client.Addr())
	if server == "" {
		return nil
	}
	address, err := netip.ParseAddrPort(server)
	if err != nil {
		return nil
	}
	if len(r.sessions) >= cmp.Or(r.Limit, maxSessions) {
		if oldest, ok := r.recent.Back().Value.(*session); ok {
			r.end(oldest)
		}
	}
	connection, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(address))
	if err != nil {
		return nil
	}
	s := &session{key: k, listener: listener, server: server, connection: connection, last: now}
	s.element = r.recent.PushFront(s)
	r.sessions[k] = s
	r.goroutines.Go(func() { r.replies(s) })
	return connection
}

// replies forwards the datagrams of a session's server until the session ends, or the server's host
// reports that nothing listens there.
func (r *Relay) replies(s *session) {
	defer func() {
		r.mutex.Lock()
		defer r.mutex.Unlock()
		r.end(s)
	}()
	raw, err := s.connection.SyscallConn()
	if err != nil {
		return
	}
	for {
		// A session that waits has no buffer: there may be thousands.
		var buffer *[]byte
		var n int
		var readErr error
		err := raw.Read(func(descriptor uintptr) bool {
			buffer = r.buffer()
			n, readErr = syscall.Read(int(descriptor), *buffer)
			if errors.Is(readErr, syscall.EAGAIN) {
				r.buffers.Put(buffer)
				return false
			}
			return true
		})
		if err != nil {
			return
		}
		if readErr == nil {
			_, _ = s.listener.WriteToUDPAddrPort((*buffer)[:n], s.key.client)
		}
		r.buffers.Put(buffer)
		if readErr != nil && !errors.Is(readErr, syscall.EINTR) {
			return
		}
		r.replied(s, time.Now())
	}
}

// buffer of maxDatagram bytes, to be put back.
func (r *Relay) buffer() *[]byte {
	if buffer, isOne := r.buffers.Get().(*[]byte); isOne {
		return buffer
	}
	buffer := make([]byte, maxDatagram)
	return &buffer
}

func (r *Relay) replied(s *session, now time.Time) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	s.isReplied = true
	r.touch(s, now)
}

func (r *Relay) touch(s *session, now time.Time) {
	s.last = now
	if s.element != nil {
		r.recent.MoveToFront(s.element)
	}
}

// end a session, unless it has ended.
func (r *Relay) end(s *session) {
	if s.element == nil {
		return
	}
	r.recent.Remove(s.element)
	s.element = nil
	delete(r.sessions, s.key)
	_ = s.connection.Close()
}

// Expire ends the sessions that are idle.
func (r *Relay) Expire(now time.Time) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	for element := r.recent.Back(); element != nil; {
		s, ok := element.Value.(*session)
		if !ok || now.Sub(s.last) < shortIdle {
			return
		}
		element = element.Prev()
		if !s.isLong || now.Sub(s.last) >= longIdle {
			r.end(s)
		}
	}
}

// Sessions is how many there are.
func (r *Relay) Sessions() int {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return len(r.sessions)
}
