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
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

func registryChecks() checks {
	return checks{
		// Fetches an image and calls progress as it goes.
		"pull": pulls,
		// Digests are the registry digests it is known by.
		"pull by digest": pullsByDigest,
		// No such image: ErrNotFound.
		"pull what is absent": func(t *testing.T, c *fixture) {
			reference := c.registry(t, nil).host + "/absent:v1"
			wantKind(t, "pull", c.PullImage(t.Context(), reference, nil, nil), engine.ErrNotFound)
		},
		// An error within the stream is an error of the call.
		"pull a broken layer": reportsBrokenLayer,
		// Credentials refused: ErrUnauthorized.
		"pull with credentials": pullsWithCredentials,
	}
}

// testRegistry is a registry on this host with one image in it.
type testRegistry struct {
	host, reference string
	digest          v1.Hash
	broken          atomic.Bool
}

// registry serves the image "pulled:v1", with a layer of random content, so
// that no engine has it already. With credentials it asks for them.
func (c *fixture) registry(t *testing.T, credentials *engine.Credentials) *testRegistry {
	t.Helper()
	out := &testRegistry{}
	server := httptest.NewServer(out.handler(credentials, registry.New(registry.Logger(log.New(io.Discard, "", 0)))))
	t.Cleanup(server.Close)
	out.host = strings.TrimPrefix(server.URL, "http://")
	out.reference = out.host + "/pulled:v1"

	layer, err := random.Layer(mebibyte, "application/vnd.docker.image.rootfs.diff.tar.gzip")
	succeed(t, "make layer", err)
	img, err := mutate.AppendLayers(c.image, layer)
	succeed(t, "append layer", err)
	reference, err := name.ParseReference(out.reference)
	succeed(t, "parse reference", err)
	auth := authn.Anonymous
	if credentials != nil {
		auth = &authn.Basic{Username: credentials.Username, Password: credentials.Password}
	}
	succeed(t, "push the test image", remote.Write(reference, img, remote.WithAuth(auth)))
	out.digest, err = img.Digest()
	succeed(t, "read digest", err)
	t.Cleanup(func() {
		if c.RemoveImage != nil {
			c.RemoveImage(t, out.reference)
			c.RemoveImage(t, out.byDigest())
		}
	})
	return out
}

func (r *testRegistry) byDigest() string { return r.host + "/pulled@" + r.digest.String() }

func (r *testRegistry) handler(credentials *engine.Credentials, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		if credentials != nil {
			user, password, ok := request.BasicAuth()
			if !ok || user != credentials.Username || password != credentials.Password {
				w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(http.StatusUnauthorized)
				_, _ = io.WriteString(w, `{"errors":[{"code":"UNAUTHORIZED","message":"authentication required"}]}`)
				return
			}
		}
		if r.broken.Load() && request.Method == http.MethodGet && strings.Contains(request.URL.Path, "/blobs/") {
			recorder := httptest.NewRecorder()
			next.ServeHTTP(recorder, request)
			content := recorder.Body.Bytes()
			if len(content) > mebibyte {
				content[mebibyte/2] ^= 0xff
			}
			w.WriteHeader(recorder.Code)
			_, _ = w.Write(content)
			return
		}
		next.ServeHTTP(&jsonErrors{ResponseWriter: w}, request)
	})
}

// jsonErrors says that errors are JSON, as every real registry does.
type jsonErrors struct{ http.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (w *jsonErrors) WriteHeader(status int) {
	if status >= http.StatusBadRequest {
		w.Header().Set("Content-Type", "application/json")
	}
	w.ResponseWriter.WriteHeader(status)
}

func pulls(t *testing.T, c *fixture) {
	registry := c.registry(t, nil)
	var last engine.PullProgress
	calls := 0
	err := c.PullImage(t.Context(), registry.reference, nil, func(progress engine.PullProgress) {
		calls++
		last = progress
	})
	succeed(t, "pull", err)
	t.Logf("%d calls of progress, the last %+v", calls, last)
	// The image store of containerd may report only some of the layers.
	if calls == 0 || last.LayersTotal == 0 || last.LayersDone != last.LayersTotal || last.CurrentBytes != last.TotalBytes {
		t.Errorf("last progress %+v of %d, want all layers done", last, calls)
	}
	wantNoError(t, "inspect after the pull", failure(c.InspectImage(t.Context(), registry.reference)))
	wantNoError(t, "pull again, without progress", c.PullImage(t.Context(), registry.reference, nil, nil))
}

func pullsByDigest(t *testing.T, c *fixture) {
	registry := c.registry(t, nil)
	reference := registry.byDigest()
	succeed(t, "pull", c.PullImage(t.Context(), reference, nil, nil))
	found, err := c.InspectImage(t.Context(), reference)
	succeed(t, "after the pull", err)
	if len(found.Digests) != 1 || found.Digests[0] != reference {
		t.Errorf("digests %v, want %s", found.Digests, reference)
	}
}

func reportsBrokenLayer(t *testing.T, c *fixture) {
	registry := c.registry(t, nil)
	registry.broken.Store(true)
	err := c.PullImage(t.Context(), registry.reference, nil, nil)
	t.Logf("the error: %v", err)
	if err == nil {
		t.Error("pull of a broken layer: success, want the error of the stream")
	}
	wantKind(t, "inspect what could not be pulled", failure(c.InspectImage(t.Context(), registry.reference)), engine.ErrNotFound)
}

func pullsWithCredentials(t *testing.T, c *fixture) {
	right := &engine.Credentials{Username: "user", Password: "right-password"}
	registry := c.registry(t, right)
	ctx := t.Context()
	wrong := &engine.Credentials{Username: "user", Password: "wrong-password"}
	err := c.PullImage(ctx, registry.reference, wrong, nil)
	wantKind(t, "wrong password", err, engine.ErrUnauthorized)
	if err != nil && strings.Contains(err.Error(), wrong.Password) {
		t.Errorf("the error contains the password: %v", err)
	}
	wantKind(t, "no credentials", c.PullImage(ctx, registry.reference, nil, nil), engine.ErrUnauthorized)
	wantNoError(t, "right password", c.PullImage(ctx, registry.reference, right, nil))
}
