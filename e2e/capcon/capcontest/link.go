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

package capcontest

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// linkPort is where the engine of a host is reached through a Link.
const linkPort = "2377"

// Link is another port of the engine of a host, whose responses can be delayed.
type Link struct {
	// Endpoint that others reach.
	Endpoint string

	engine string
	mutex  sync.Mutex
	delay  time.Duration
	// changed is closed when the delay changes.
	changed chan struct{}
}

// OpenLink to the engine of the host. It ends with the test.
func (h *Host) OpenLink(t *testing.T) *Link {
	t.Helper()
	address := net.JoinHostPort(h.Address, linkPort)
	l := newLink(h.Listen(t, address), net.JoinHostPort(h.Address, apiPort))
	l.Endpoint = "tcp://" + address
	return l
}

func newLink(listener net.Listener, engine string) *Link {
	l := &Link{engine: engine, changed: make(chan struct{})}
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go l.forward(client)
		}
	}()
	return l
}

// Delay all responses by this time from now on, also those that have not arrived yet. Connections are made without a delay, as
// an engine that has too much to do still accepts them.
func (l *Link) Delay(delay time.Duration) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.delay = delay
	close(l.changed)
	l.changed = make(chan struct{})
}

// wait until what was sent at a time has arrived.
func (l *Link) wait(sent time.Time) {
	for {
		l.mutex.Lock()
		remaining, changed := l.delay-time.Since(sent), l.changed
		l.mutex.Unlock()
		if remaining <= 0 {
			return
		}
		timer := time.NewTimer(remaining)
		select {
		case <-timer.C:
		case <-changed:
			timer.Stop()
		}
	}
}

// forward a connection. Each direction ends on its own, as the streams of an exec do.
func (l *Link) forward(client net.Conn) {
	defer client.Close()
	server, err := net.DialTimeout("tcp", l.engine, time.Minute)
	if err != nil {
		return
	}
	defer server.Close()
	var isConnected atomic.Bool
	go func() {
		defer closeWrite(server)
		// The first record of TLS is the client's greeting. What it sends after that, it sends once it has the server's.
		header := make([]byte, 5)
		if _, err := io.ReadFull(client, header); err != nil {
			return
		}
		greeting := io.MultiReader(bytes.NewReader(header), io.LimitReader(client, int64(binary.BigEndian.Uint16(header[3:]))))
		if _, err := io.Copy(server, greeting); err != nil {
			return
		}
		next := make([]byte, 1)
		if _, err := io.ReadFull(client, next); err != nil {
			return
		}
		isConnected.Store(true)
		if _, err := server.Write(next); err == nil {
			_, _ = io.Copy(server, client)
		}
	}()
	l.respond(client, server, &isConnected)
	closeWrite(client)
}

// response is a part of what the engine sends.
type response struct {
	data        []byte
	sent        time.Time
	isConnected bool
}

func (l *Link) respond(client io.Writer, server io.Reader, isConnected *atomic.Bool) {
	const pieces, size = 256, 32 << 10
	responses := make(chan response, pieces)
	go func() {
		defer close(responses)
		for {
			data := make([]byte, size)
			n, err := server.Read(data)
			if n > 0 {
				responses <- response{data[:n], time.Now(), isConnected.Load()}
			}
			if err != nil {
				return
			}
		}
	}()
	for each := range responses {
		if each.isConnected {
			l.wait(each.sent)
		}
		_, _ = client.Write(each.data) // Where the client is gone, the server ends too.
	}
}

func closeWrite(connection net.Conn) {
	if half, isHalf := connection.(interface{ CloseWrite() error }); isHalf {
		_ = half.CloseWrite()
	}
}
