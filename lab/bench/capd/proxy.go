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

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"regexp"
	"sort"
	"strings"
	"sync"
)

// proxy stands between a manager and the engine and counts the requests, the
// same way for every provider.
type proxy struct {
	socket string
	server *http.Server

	mu     sync.Mutex
	counts map[string]int
}

// newProxy listens at a socket and hands everything on to the engine's.
func newProxy(socket, engine string) (*proxy, error) {
	if err := os.Remove(socket); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("remove an old socket: %w", err)
	}
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return nil, fmt.Errorf("listen for engine calls: %w", err)
	}
	p := &proxy{socket: socket, counts: map[string]int{}}
	handler := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: "http", Host: "engine"})
			r.Out.Host = r.In.Host
		},
		Transport: &http.Transport{
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				return (&net.Dialer{}).DialContext(ctx, "unix", engine)
			},
			MaxIdleConnsPerHost: 100,
			DisableCompression:  true,
		},
		// Streams of events must not wait for a full buffer.
		FlushInterval: -1,
		// An engine that does not answer looks like one, and is no error of ours.
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
		ErrorLog:     log.New(io.Discard, "", 0),
	}
	p.server = &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.count(r)
		handler.ServeHTTP(w, r)
	})}
	go func() { _ = p.server.Serve(listener) }() // ends with close
	return p, nil
}

func (p *proxy) close() error { return p.server.Close() }

func (p *proxy) count(r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counts[r.Method+" "+callName(r.URL.Path)]++
}

// calls returns how often what was called.
func (p *proxy) calls() map[string]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.counts)
}

// callName leaves the version and names out of a path.
func callName(path string) string {
	path = regexp.MustCompile(`^/v[0-9.]+`).ReplaceAllString(path, "")
	parts := strings.Split(strings.Trim(path, "/"), "/")
	switch {
	case parts[0] == "images" && len(parts) > 2:
		return "/images/{name}/" + parts[len(parts)-1]
	case len(parts) > 2:
		return "/" + parts[0] + "/{name}/" + strings.Join(parts[2:], "/")
	case len(parts) == 2 && !strings.Contains("json create prune", parts[1]):
		return "/" + parts[0] + "/{name}"
	default:
		return "/" + strings.Join(parts, "/")
	}
}

// difference is what was called between two readings.
func difference(before, after map[string]int) map[string]int {
	between := map[string]int{}
	for name, count := range after {
		if more := count - before[name]; more > 0 {
			between[name] = more
		}
	}
	return between
}

func total(calls map[string]int) int {
	sum := 0
	for _, count := range calls {
		sum += count
	}
	return sum
}

// breakdown lists calls, the most frequent first.
func breakdown(calls map[string]int) string {
	names := make([]string, 0, len(calls))
	for name := range calls {
		names = append(names, name)
	}
	sort.Slice(names, func(i, j int) bool {
		if calls[names[i]] != calls[names[j]] {
			return calls[names[i]] > calls[names[j]]
		}
		return names[i] < names[j]
	})
	lines := make([]string, 0, len(names))
	for _, name := range names {
		lines = append(lines, fmt.Sprintf("%d %s", calls[name], name))
	}
	return strings.Join(lines, ", ")
}
