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
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/adapter"
)

type imageAnswer struct {
	ID           string `json:"Id"`
	RepoTags     []string
	RepoDigests  []string
	Size         int64
	Architecture string
	Labels       map[string]string
}

// InspectImage implements engine.Images.
func (e *Engine) InspectImage(ctx context.Context, reference string) (engine.Image, error) {
	_, raw, err := e.localImage(ctx, reference)
	if err != nil {
		return engine.Image{}, fmt.Errorf("inspect image %q: %w", reference, err)
	}
	return engine.Image{
		ID: imageID(raw.ID), Tags: raw.RepoTags, Digests: raw.RepoDigests, SizeBytes: raw.Size, Architecture: raw.Architecture, Labels: raw.Labels,
	}, nil
}

// localImage finds an image and the name that Podman has it by.
func (e *Engine) localImage(ctx context.Context, reference string) (string, imageAnswer, error) {
	if reference == "" {
		return "", imageAnswer{}, fmt.Errorf("no reference: %w", engine.ErrInvalid)
	}
	var raw imageAnswer
	var err error
	for _, name := range localNames(reference) {
		err = e.call(ctx, get("/images/"+url.PathEscape(name)+"/json"), &raw)
		if !errors.Is(err, engine.ErrNotFound) {
			return name, raw, err
		}
	}
	return "", raw, err
}

// localNames are the names that a reference may have an image by, the first
// that there is counts. Podman itself would try the registries of its
// configuration, and whatever ends alike. It puts localhost/ before a name
// without a registry when it loads an archive.
func localNames(reference string) []string {
	parsed, err := adapter.ParseReference(reference)
	switch {
	case err != nil:
		return []string{reference} // an ID, or what Podman refuses
	case parsed.Short:
		return []string{"localhost/" + reference, parsed.Name}
	}
	return []string{parsed.Name}
}

// LoadImage implements engine.Images.
func (e *Engine) LoadImage(ctx context.Context, archive io.Reader) error {
	source := &adapter.Source{Reader: archive}
	load := post("/images/load")
	load.body = source
	if err := source.Or(e.call(ctx, load, nil)); err != nil {
		return fmt.Errorf("load image: %w", err)
	}
	return nil
}

// SaveImage implements engine.Images.
func (e *Engine) SaveImage(ctx context.Context, reference string) (io.ReadCloser, error) {
	fail := func(err error) (io.ReadCloser, error) { return nil, fmt.Errorf("save image %q: %w", reference, err) }
	name, _, err := e.localImage(ctx, reference)
	if err != nil {
		return fail(err)
	}
	stream, err := e.stream(ctx, get("/images/"+url.PathEscape(name)+"/get").with("format", "docker-archive"))
	if err != nil {
		return fail(err)
	}
	return stream, nil
}

// pullMessage is an element of the stream that a pull answers with.
type pullMessage struct {
	Stream string `json:"stream"`
	Error  string `json:"error"`
}

type authBody struct {
	Username string `json:"username"`
	Password string `json:"password"`
}

// PullImage implements engine.Images.
func (e *Engine) PullImage(ctx context.Context, name string, credentials *engine.Credentials, progress func(engine.PullProgress)) error {
	fail := func(err error) error { return fmt.Errorf("pull image %q: %w", name, err) }
	parsed, err := adapter.ParseReference(name)
	if err != nil {
		return fail(errors.Join(engine.ErrInvalid, err))
	}
	pull := post("/images/pull").with("reference", parsed.Name)
	if isLoopback(parsed.Registry) {
		// As Docker has it: what never leaves the host needs no TLS.
		pull = pull.with("tlsVerify", "false")
	}
	if credentials != nil {
		pull.header, err = authHeader(parsed.Registry, *credentials)
		if err != nil {
			return fail(fmt.Errorf("encode credentials: %w", err))
		}
	}
	stream, err := e.stream(ctx, pull)
	if err != nil {
		return fail(err)
	}
	defer stream.Close()
	if progress == nil {
		progress = func(engine.PullProgress) {}
	}
	if err := follow(stream, progress); err != nil {
		return fail(err)
	}
	return nil
}

// authHeader is a map from registries: Podman shows credentials that have no key
// to every registry that it asks, a mirror for instance.
func authHeader(registry string, credentials engine.Credentials) (http.Header, error) {
	encoded, err := json.Marshal(map[string]authBody{registry: {Username: credentials.Username, Password: credentials.Password}})
	if err != nil {
		return nil, err
	}
	return http.Header{"X-Registry-Config": {base64.URLEncoding.EncodeToString(encoded)}}, nil
}

// isLoopback reports whether a registry is on the engine's own host.
func isLoopback(domain string) bool {
	host := domain
	if at := strings.LastIndexByte(domain, ':'); at > 0 {
		host = domain[:at]
	}
	address, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return host == "localhost" || err == nil && address.IsLoopback()
}

// follow reads the stream of a pull to its end. Podman reports each layer once,
// when it begins to copy it, and no bytes: the layers are done when it comes to
// the image's configuration.
func follow(stream io.Reader, progress func(engine.PullProgress)) error {
	layers := map[string]bool{}
	err := engine.Messages(stream, func(message pullMessage) error {
		if message.Error != "" {
			return explainPull(message.Error)
		}
		for line := range strings.Lines(message.Stream) {
			digest, isLayer := strings.CutPrefix(line, "Copying blob ")
			if isLayer {
				digest, _, _ = strings.Cut(strings.TrimSpace(digest), " ")
				layers[digest] = true
				progress(engine.PullProgress{LayersTotal: len(layers), WithoutBytes: true})
			} else if strings.HasPrefix(line, "Copying config ") {
				progress(engine.PullProgress{LayersTotal: len(layers), LayersDone: len(layers), WithoutBytes: true})
			}
		}
		return nil
	})
	return typed(err)
}

// refusals, absences and obstacles are words about registries. Podman reports
// what went wrong with a pull within a stream whose status is 200, in words
// alone; these are the error codes of the registry protocol as its client prints
// them, and what that client was doing when it did not get to the registry.
// Should they change, a pull still fails with its cause, only without the kind;
// the conformance suite would notice.
var (
	refusals = []string{
		"unauthorized", "authentication required", "invalid username/password", "access to the resource is denied",
		"denied: ", "no basic auth credentials",
	}
	absences  = []string{"manifest unknown", "name unknown", "repository name not known", "not found"}
	obstacles = []string{"pinging container registry", "connection refused", "no such host", "i/o timeout", "TLS handshake"}
)

func explainPull(text string) error {
	switch err := errors.New(text); {
	case adapter.Says(text, refusals...):
		return engine.WithKind(err, engine.ErrUnauthorized)
	case adapter.Says(text, absences...):
		return engine.WithKind(err, engine.ErrNotFound)
	case adapter.Says(text, obstacles...):
		return engine.WithKind(err, engine.ErrUnavailable)
	default:
		return err
	}
}
