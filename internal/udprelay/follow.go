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

package udprelay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/capi-samples/cluster-api-provider-container/internal/haproxy"
)

const (
	// pollInterval between two requests for haproxy's statistics, and two checks for idle sessions.
	pollInterval = 500 * time.Millisecond
	// requestLimit of each of these requests.
	requestLimit = 5 * time.Second
)

// Follower keeps a relay as the haproxy of the same container is.
type Follower struct {
	// ConfigPath of the configuration that haproxy starts with.
	ConfigPath string
	// StatusAddress of haproxy's status over TCP. Over UDP, the follower answers each datagram
	// there with its Generation.
	StatusAddress string
	// Log is called when an error begins or ends.
	Log func(message string)

	relay      Relay
	ports      []haproxy.RelayPort
	loaded     string
	generation atomic.Pointer[string]
	last       string
}

// Generation of the configuration that haproxy and the relay use; empty while they differ.
func (f *Follower) Generation() string {
	if generation := f.generation.Load(); generation != nil {
		return *generation
	}
	return ""
}

// Run until ctx ends. A value of reload says that the file is to be read again.
func (f *Follower) Run(ctx context.Context, reload <-chan struct{}) error {
	var config net.ListenConfig
	status, err := config.ListenPacket(ctx, "udp", f.StatusAddress)
	if err != nil {
		return fmt.Errorf("listen for requests for the status: %w", err)
	}
	defer f.relay.Close()
	stop := context.AfterFunc(ctx, func() { _ = status.Close() })
	defer stop()
	go f.answer(status)
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	f.read()
	for {
		f.follow(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-reload:
			f.read()
		case now := <-tick.C:
			f.relay.Expire(now)
		}
	}
}

func (f *Follower) answer(status net.PacketConn) {
	request := make([]byte, 64)
	for {
		_, client, err := status.ReadFrom(request)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err == nil {
			_, _ = status.WriteTo([]byte(f.Generation()+"\n"), client)
		}
	}
}

// read the file. Of one that is not valid, nothing is used.
func (f *Follower) read() {
	text, err := os.ReadFile(f.ConfigPath)
	if err != nil {
		f.report(fmt.Errorf("read configuration: %w", err))
		return
	}
	ports, err := haproxy.ParseRelay(string(text))
	if err != nil {
		f.report(err)
		return
	}
	f.ports, f.loaded = ports, haproxy.Generation(string(text))
}

// follow uses what haproxy reports. While it does not respond, nothing changes.
func (f *Follower) follow(ctx context.Context) {
	generation, err := f.request(ctx, haproxy.GenerationPath)
	if err != nil {
		return
	}
	statistics, err := f.request(ctx, haproxy.StatisticsPath)
	if err != nil {
		return
	}
	servers, err := haproxy.ParseStatistics(statistics)
	if err != nil {
		f.report(err)
		return
	}
	err = f.relay.Apply(f.ports, servers)
	applied := f.loaded
	if err != nil || strings.TrimSpace(string(generation)) != f.loaded {
		applied = ""
	}
	f.generation.Store(&applied)
	f.report(err)
}

func (f *Follower) report(err error) {
	message := ""
	if err != nil {
		message = err.Error()
	}
	if message != f.last && message != "" {
		f.Log(message)
	}
	f.last = message
}

var errResponse = errors.New("unexpected response")

// request by the first version of HTTP, in which the end of the connection is that of the response. haproxy
// sends its statistics in chunks nevertheless.
func (f *Follower) request(ctx context.Context, path string) ([]byte, error) {
	dialer := net.Dialer{Timeout: requestLimit}
	connection, err := dialer.DialContext(ctx, "tcp", f.StatusAddress)
	if err != nil {
		return nil, fmt.Errorf("connect to haproxy: %w", err)
	}
	defer func() { _ = connection.Close() }()
	if err := connection.SetDeadline(time.Now().Add(requestLimit)); err != nil {
		return nil, fmt.Errorf("limit request: %w", err)
	}
	if _, err := io.WriteString(connection, "GET "+path+" HTTP/1.0\r\n\r\n"); err != nil {
		return nil, fmt.Errorf("send request: %w", err)
	}
	response, err := io.ReadAll(connection)
	if err != nil {
		return nil, fmt.Errorf("read response: %w", err)
	}
	header, body, found := bytes.Cut(response, []byte("\r\n\r\n"))
	if words := strings.Fields(string(header)); !found || len(words) < 2 || words[1] != "200" {
		return nil, fmt.Errorf("%w to %s: %q", errResponse, path, string(header[:min(len(header), 64)]))
	}
	if strings.Contains(strings.ToLower(string(header)), "transfer-encoding: chunked") {
		return joinChunks(body)
	}
	return body, nil
}

// joinChunks returns the content of a body in chunks (RFC 9112, section 7.1).
func joinChunks(body []byte) ([]byte, error) {
	var content []byte
	for {
		line, rest, found := bytes.Cut(body, []byte("\r\n"))
		size, err := strconv.ParseUint(string(line), 16, 31)
		switch {
		case !found || err != nil || uint64(len(rest)) < size+2:
			return nil, fmt.Errorf("%w: chunk of size %q", errResponse, string(line[:min(len(line), 16)]))
		case size == 0:
			return content, nil
		}
		content, body = append(content, rest[:size]...), rest[size+2:]
	}
}
