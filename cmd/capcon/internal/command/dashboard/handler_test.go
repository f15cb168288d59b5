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
	"bufio"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/session"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// patience is more than a busy machine needs.
const patience = time.Minute

// words is an observer of one word.
type words struct {
	mutex        sync.Mutex
	word         string
	observations int
	more         chan struct{}
}

func (w *words) observe(context.Context) any {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.observations++
	return w.word
}

func (w *words) changes() <-chan struct{} { return w.more }

func (w *words) say(word string) {
	w.mutex.Lock()
	w.word = word
	w.mutex.Unlock()
	w.more <- struct{}{}
}

// serve a page of words with the token "secret", until the test ends.
func serve(t *testing.T) (string, *words) {
	t.Helper()
	source, feed := &words{word: "first", more: make(chan struct{}, 1)}, newFeed()
	server := httptest.NewUnstartedServer(nil)
	server.Config.Handler = newHandler(server.Listener.Addr().String(), "secret", feed)
	server.Start()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		feed.run(ctx, session.Clock{Now: time.Now, After: time.After}, source)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
		server.CloseClientConnections()
		server.Close()
	})
	return server.URL, source
}

// request returns the status, the header, and the body as far as the caller reads it.
func request(t *testing.T, method, url string, change func(*http.Request)) (status int, header http.Header, body io.Reader) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	r := must.Get(http.NewRequestWithContext(ctx, method, url, http.NoBody))(t)
	change(r)
	response := must.Get(http.DefaultClient.Do(r))(t) //nolint:bodyclose // It is closed when the test ends.
	t.Cleanup(func() { response.Body.Close() })
	return response.StatusCode, response.Header, response.Body
}

func TestRequests(t *testing.T) {
	t.Parallel()
	url, _ := serve(t)
	for name, tc := range map[string]struct {
		reason       string
		method, path string
		host, token  string
		want         int
	}{
		"Page":          {"It has no data.", "GET", "/", "", "", http.StatusOK},
		"Script":        {"So does it.", "GET", "/dashboard.js", "", "", http.StatusOK},
		"Localhost":     {"It is the same host.", "GET", "/", "localhost", "", http.StatusOK},
		"OtherFile":     {"Nothing else is served.", "GET", "/handler.go", "", "", http.StatusNotFound},
		"ForeignHost":   {"DNS rebinding.", "GET", "/", "attacker.example", "", http.StatusMisdirectedRequest},
		"ForeignEvents": {"Also with the token.", "GET", "/events", "attacker.example", "Bearer secret", http.StatusMisdirectedRequest},
		"OtherPort":     {"A name in full.", "GET", "/", "127.0.0.1", "", http.StatusMisdirectedRequest},
		"NoToken":       {"Data needs it.", "GET", "/events", "", "", http.StatusUnauthorized},
		"WrongToken":    {"It is compared in full.", "GET", "/events", "", "Bearer secre", http.StatusUnauthorized},
		"TokenInURL":    {"It would be in logs.", "GET", "/events?token=secret", "", "", http.StatusUnauthorized},
		"Head":          {"Without events.", "HEAD", "/events", "", "Bearer secret", http.StatusOK},
		"Post":          {"The page only reads.", "POST", "/events", "", "Bearer secret", http.StatusMethodNotAllowed},
		"Delete":        {"The page only reads.", "DELETE", "/", "", "Bearer secret", http.StatusMethodNotAllowed},
		"Preflight":     {"Pages of other sites have no access.", "OPTIONS", "/events", "", "", http.StatusMethodNotAllowed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			status, header, _ := request(t, tc.method, url+tc.path, func(r *http.Request) {
				r.Host, _, _ = strings.Cut(tc.host, ":")
				if tc.host == "localhost" {
					r.Host = "localhost" + url[strings.LastIndex(url, ":"):]
				}
				if tc.token != "" {
					r.Header.Set("Authorization", tc.token)
				}
			})
			if status != tc.want {
				t.Errorf("%s status %d, want %d", tc.reason, status, tc.want)
			}
			if got := header.Get("Content-Security-Policy"); !strings.Contains(got, "default-src 'none'") || strings.Contains(got, "unsafe") {
				t.Errorf("Content-Security-Policy is %q", got)
			}
		})
	}
}

func TestEventsArePushed(t *testing.T) {
	t.Parallel()
	url, source := serve(t)
	_, _, body := request(t, http.MethodGet, url+"/events", func(r *http.Request) { r.Header.Set("Authorization", "Bearer secret") })
	lines := bufio.NewScanner(body)
	next := func(want string) {
		t.Helper()
		for lines.Scan() {
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				if data != want {
					t.Errorf("event %s, want %s", data, want)
				}
				return
			}
		}
		t.Fatalf("no event: %v", lines.Err())
	}
	next(`"first"`)
	source.say("second\n\ndata: none of its own")
	next(`"second\n\ndata: none of its own"`)
	source.say("third")
	next(`"third"`)
}

func TestNothingIsObservedWithoutReaders(t *testing.T) {
	t.Parallel()
	url, source := serve(t)
	_, _, body := request(t, http.MethodGet, url+"/", func(*http.Request) {})
	must.Get(io.ReadAll(body))(t)
	source.mutex.Lock()
	defer source.mutex.Unlock()
	if source.observations > 0 {
		t.Errorf("%d observations", source.observations)
	}
}
