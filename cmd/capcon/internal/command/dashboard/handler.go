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

package dashboard

import (
	"crypto/subtle"
	"embed"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"slices"
	"time"
)

//go:embed page
var page embed.FS

const (
	// keepAlive is the most time between two writes to a page: one that hears nothing for longer knows that
	// the connection is dead.
	keepAlive = 15 * time.Second
	// writeTimeout ends a connection whose page does not read.
	writeTimeout = 10 * time.Second
	// policy allows the page what it comes with, and no text to become code.
	policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; " +
		"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)

// handler serves the page to all processes of this host, and the events to those that have the token.
type handler struct {
	hosts []string
	token string
	feed  *feed
	files http.Handler
}

func newHandler(address, token string, feed *feed) http.Handler {
	_, port, _ := net.SplitHostPort(address)
	root, _ := fs.Sub(page, "page") // It is embedded.
	return &handler{hosts: []string{address, net.JoinHostPort("localhost", port)}, token: token, feed: feed, files: http.FileServerFS(root)}
}

// ServeHTTP implements http.Handler.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Content-Security-Policy", policy)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("Cache-Control", "no-store")
	switch {
	case !slices.Contains(h.hosts, r.Host):
		// A page of another site whose name was made to resolve to 127.0.0.1 has its own name here.
		http.Error(w, "The host of this page is "+h.hosts[0]+".", http.StatusMisdirectedRequest)
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		header.Set("Allow", "GET, HEAD")
		http.Error(w, "This page only reads.", http.StatusMethodNotAllowed)
	case r.URL.Path != "/events":
		h.files.ServeHTTP(w, r)
	case subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), []byte("Bearer "+h.token)) != 1:
		header.Set("WWW-Authenticate", "Bearer")
		http.Error(w, "Use the link that capcon dashboard printed.", http.StatusUnauthorized)
	case r.Method == http.MethodGet:
		header.Set("Content-Type", "text/event-stream")
		h.stream(w, r)
	}
}

// stream sends what the feed has, and then each change, until the page or the command ends.
func (h *handler) stream(w http.ResponseWriter, r *http.Request) {
	connection := http.NewResponseController(w)
	alive := time.NewTicker(keepAlive)
	defer alive.Stop()
	for event, sent := ":\n\n", 0; ; { // a comment
		if event != "" {
			// All connections of an http.Server have deadlines.
			_ = connection.SetWriteDeadline(time.Now().Add(writeTimeout))
			if _, err := fmt.Fprint(w, event); err != nil || connection.Flush() != nil {
				return
			}
		}
		text, version, changed := h.feed.current()
		if event = ""; version != sent {
			event, sent = "data: "+text+"\n\n", version
			continue
		}
		select {
		case <-r.Context().Done():
			return
		case <-h.feed.wanted:
		case <-changed:
		case <-alive.C:
			event = ":\n\n"
		}
	}
}
