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

package podman

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path"
	"strings"
	"testing"

	"github.com/containers/podman/v5/libpod/define"
	"github.com/google/go-cmp/cmp"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

func TestFollowPull(t *testing.T) {
	t.Parallel()
	const begin = `{"stream":"Trying to pull r.example/a:1...\n"}`
	cases := map[string]struct {
		reason, stream string
		want           []engine.PullProgress
		kind           error
	}{
		"two layers": {
			reason: "each layer is reported once; they are done when the configuration comes",
			stream: begin + `{"stream":"Getting image source signatures\n"}{"stream":"Copying blob sha256:a\n"}` +
				`{"stream":"Copying blob sha256:a skipped: already exists\nCopying blob sha256:b\n"}` +
				`{"stream":"Copying config sha256:c\n"}{"images":["c"],"id":"c"}`,
			want: []engine.PullProgress{
				{LayersTotal: 1, WithoutBytes: true}, {LayersTotal: 1, WithoutBytes: true}, {LayersTotal: 2, WithoutBytes: true},
				{LayersTotal: 2, LayersDone: 2, WithoutBytes: true},
			},
		},
		"refused": {
			reason: "the status is 200, the error is in the text",
			stream: begin + `{"error":"initializing source docker://r.example/a:1: unable to retrieve auth token: invalid username/password: unauthorized"}`,
			kind:   engine.ErrUnauthorized,
		},
		"absent": {
			reason: "a code of the registry protocol",
			stream: begin + `{"error":"initializing source docker://r.example/a:1: reading manifest 1 in r.example/a: manifest unknown"}`,
			kind:   engine.ErrNotFound,
		},
		"unreachable": {
			reason: "it did not get as far as the registry's answer",
			stream: begin + `{"error":"initializing source docker://127.0.0.1:1/a:1: pinging container registry 127.0.0.1:1: Get \"https://127.0.0.1:1/v2/\": dial tcp 127.0.0.1:1: connect: connection refused"}`,
			kind:   engine.ErrUnavailable,
		},
		"broken off": {
			reason: "the service went away",
			stream: begin + `{"stream":"Copying`,
			kind:   engine.ErrUnavailable,
		},
	}
	for name, c := range cases {
		var got []engine.PullProgress
		err := follow(strings.NewReader(c.stream), func(p engine.PullProgress) { got = append(got, p) })
		if !errors.Is(err, c.kind) {
			t.Errorf("%s: %s: %v, want %v", name, c.reason, err, c.kind)
		}
		if diff := cmp.Diff(c.want, got, comparers()); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", name, c.reason, diff)
		}
	}
}

// service answers as much of Podman's API as images need, and records what it
// is asked. It has the images of local.
type service struct {
	local []string

	// pulled and created are the references that it was asked for.
	pulled, created string
	header          http.Header
}

func (s *service) serve(w http.ResponseWriter, request *http.Request) {
	_, call, _ := strings.Cut(request.URL.EscapedPath(), "/libpod")
	switch {
	case call == "/images/pull":
		s.pulled, s.header = request.URL.Query().Get("reference"), request.Header
		_, _ = io.WriteString(w, `{"images":["c"],"id":"c"}`)
	case call == "/containers/create":
		var body containerBody
		_ = json.NewDecoder(request.Body).Decode(&body)
		s.created = body.Image
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, `{"Id":"c"}`)
	case strings.HasPrefix(call, "/images/"):
		name, _ := url.PathUnescape(path.Base(strings.TrimSuffix(call, "/json")))
		for _, have := range s.local {
			if name == have {
				_ = json.NewEncoder(w).Encode(imageAnswer{ID: have})
				return
			}
		}
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"cause":"image not known","message":"no such image","response":404}`)
	}
}

// serving is an engine whose requests a service of Podman 4.3.1 answers.
func serving(t *testing.T, serve http.HandlerFunc) *Engine {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Libpod-API-Version", "4.3.1")
		serve(w, request)
	}))
	t.Cleanup(server.Close)
	e := must.Get(New(Options{URI: "tcp" + strings.TrimPrefix(server.URL, "http")}))(t)
	t.Cleanup(func() { _ = e.Close() })
	return e
}

// Where a name has no registry, Podman would ask those of its configuration,
// one after the other, and show each the credentials.
func TestPullAsksTheRegistryOfTheCredentials(t *testing.T) {
	t.Parallel()
	const digest = "@sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	cases := map[string]struct {
		reason, name, want, registry string
	}{
		"short":     {"docker.io, as in Docker", "haproxy:3.2", "docker.io/library/haproxy:3.2", "docker.io"},
		"with user": {"docker.io, as in Docker", "kindest/node:v1.36.3", "docker.io/kindest/node:v1.36.3", "docker.io"},
		"in full":   {"nothing to add", "127.0.0.1:5000/a:1", "127.0.0.1:5000/a:1", "127.0.0.1:5000"},
		"pinned":    {"Podman 4 refuses a tag next to a digest", "r.example/a:1" + digest, "r.example/a" + digest, "r.example"},
	}
	for name, tc := range cases {
		s := &service{}
		must.Succeed(t, serving(t, s.serve).PullImage(t.Context(), tc.name, &engine.Credentials{Username: "user", Password: "secret"}, nil))
		if s.pulled != tc.want {
			t.Errorf("%s: %s: pulled %q, want %q", name, tc.reason, s.pulled, tc.want)
		}
		// A map from registries is kept to, credentials without a key are not.
		text := must.Get(base64.URLEncoding.DecodeString(s.header.Get("X-Registry-Config")))(t)
		got := map[string]map[string]string{}
		must.Succeed(t, json.Unmarshal(text, &got))
		want := map[string]map[string]string{tc.registry: {"username": "user", "password": "secret"}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s: credentials (-want +got):\n%s", name, tc.reason, diff)
		}
		if single := s.header.Get("X-Registry-Auth"); single != "" {
			t.Error("credentials are sent for any registry as well")
		}
	}
}

// Inspection and creation find the same image, and none that only its registry
// makes another.
func TestLocalImageOfShortName(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason, name string
		local        []string
		// want is what is found; empty = nothing.
		want string
	}{
		"pulled":            {"the name in full", "kindest/node:v1", []string{"docker.io/kindest/node:v1"}, "docker.io/kindest/node:v1"},
		"loaded":            {"Podman loads a short name below localhost/", "kindest/node:v1", []string{"localhost/kindest/node:v1"}, "localhost/kindest/node:v1"},
		"both":              {"Podman's own order", "a:1", []string{"docker.io/library/a:1", "localhost/a:1"}, "localhost/a:1"},
		"another registry":  {"it is another image", "kindest/node:v1", []string{"quay.io/kindest/node:v1"}, ""},
		"in full, loaded":   {"the registry was named", "docker.io/kindest/node:v1", []string{"localhost/kindest/node:v1"}, ""},
		"ID":                {"an ID is no name", "sha256:" + strings.Repeat("ab", 32), []string{"sha256:" + strings.Repeat("ab", 32)}, "sha256:" + strings.Repeat("ab", 32)},
		"built by this one": {"the name in full", "localhost/capcon/node:v1", []string{"localhost/capcon/node:v1"}, "localhost/capcon/node:v1"},
	}
	for name, tc := range cases {
		s := &service{local: tc.local}
		e := serving(t, s.serve)
		found, err := e.InspectImage(t.Context(), tc.name)
		if tc.want == "" {
			if !errors.Is(err, engine.ErrNotFound) {
				t.Errorf("%s: %s: found %q, %v, want ErrNotFound", name, tc.reason, found.ID, err)
			}
			continue
		}
		if err != nil || found.ID != imageID(tc.want) {
			t.Errorf("%s: %s: found %q, %v, want %q", name, tc.reason, found.ID, err, tc.want)
		}
		if _, err := e.CreateContainer(t.Context(), engine.Spec{Name: "a", Image: tc.name}); err != nil || s.created != tc.want {
			t.Errorf("%s: %s: created from %q, %v, want %q", name, tc.reason, s.created, err, tc.want)
		}
	}
}

func TestPostNetwork(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason   string
		cause    error
		failures int
		// requests is how many there are, fails whether the last one does.
		requests int
		fails    bool
	}{
		"Created":          {"One request is enough.", errNoSuchInterface, 0, 1, false},
		"InterfaceAppears": {"Nothing was created: another request is the remedy.", errNoSuchInterface, 3, 4, false},
		"NeverWorks":       {"A host whose interfaces Podman cannot read is reported.", errNoSuchInterface, 100, interfaceAttempts, true},
		"Exists":           {"Any other cause stays one.", define.ErrNetworkExists, 1, 1, true},
	}
	for name, tc := range cases {
		requests := 0
		e := serving(t, func(w http.ResponseWriter, request *http.Request) {
			if !strings.HasSuffix(request.URL.Path, "/networks/create") {
				return
			}
			requests++
			if requests > tc.failures {
				_ = json.NewEncoder(w).Encode(networkBody{Name: "capcon"})
				return
			}
			w.WriteHeader(http.StatusInternalServerError)
			_ = json.NewEncoder(w).Encode(map[string]any{
				"cause": tc.cause.Error(), "message": "route ip+net: " + tc.cause.Error(), "response": http.StatusInternalServerError,
			})
		})
		var created networkBody
		err := e.postNetwork(t.Context(), networkBody{Name: "capcon"}, &created)
		if requests != tc.requests || (err != nil) != tc.fails || err == nil && created.Name != "capcon" {
			t.Errorf("%s: %s Want %d requests, and an error: %t; got %d, %v, %+v", name, tc.reason, tc.requests, tc.fails, requests, err, created)
		}
	}
}

// interrupted is Podman's service for one container on networks a and b, whose
// database and state disagree after a disconnection that netavark did not complete.
type interrupted struct {
	failures              int
	attached, halfwayDone bool
	calls                 []string
}

func (s *interrupted) serve(w http.ResponseWriter, request *http.Request) {
	fail := func(cause string) {
		w.WriteHeader(http.StatusInternalServerError)
		_ = json.NewEncoder(w).Encode(map[string]any{"cause": cause, "message": cause, "response": http.StatusInternalServerError})
	}
	switch call := path.Base(request.URL.Path); {
	case strings.HasSuffix(request.URL.Path, "/networks/b/json"):
		_ = json.NewEncoder(w).Encode(networkBody{Name: "b"})
	case call == "connect":
		s.calls = append(s.calls, call)
		s.attached, s.halfwayDone = true, false
	case call == "disconnect":
		s.calls = append(s.calls, call)
		s.attached = false
		if s.failures--; s.failures >= 0 {
			s.halfwayDone = true
			fail("aardvark pid not found")
		}
	case call != "json":
	case s.halfwayDone:
		fail(define.ErrInternal.Error())
	case s.attached:
		_, _ = io.WriteString(w, `{"Id":"c","State":{"Status":"running"},"NetworkSettings":{"Networks":{"b":{"IPAddress":"10.0.0.5"}}}}`)
	default:
		_, _ = io.WriteString(w, `{"Id":"c","State":{"Status":"running"},"NetworkSettings":{"Networks":{}}}`)
	}
}

// A container is never left in a state in which Podman cannot inspect it.
func TestDisconnectNetworkCompletes(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		service interrupted
		calls   []string
		fails   bool
	}{
		"Once":              {interrupted{attached: true}, []string{"disconnect"}, false},
		"NotAttached":       {interrupted{}, nil, false},
		"Halfway":           {interrupted{attached: true, failures: 1}, []string{"disconnect", "connect", "disconnect"}, false},
		"InterruptedBefore": {interrupted{halfwayDone: true}, []string{"connect", "disconnect"}, false},
		"NeverWorks":        {interrupted{attached: true, failures: 9}, []string{"disconnect", "connect", "disconnect"}, true},
	}
	for name, tc := range cases {
		err := serving(t, tc.service.serve).DisconnectNetwork(t.Context(), "b", "c")
		if (err != nil) != tc.fails {
			t.Errorf("%s: %v, want an error: %t", name, err, tc.fails)
		}
		if diff := cmp.Diff(tc.calls, tc.service.calls); diff != "" {
			t.Errorf("%s: calls (-want +got):\n%s", name, diff)
		}
	}
}
