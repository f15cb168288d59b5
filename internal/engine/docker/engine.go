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

package docker

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"
	"github.com/moby/moby/client/pkg/versions"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/adapter"
)

// MinimumAPIVersion is the oldest API that this package speaks: Docker 20.10,
// the first with cgroup namespaces.
const MinimumAPIVersion = "1.41"

// DefaultHost is where Docker listens unless it is configured otherwise: a socket, on
// Windows a named pipe.
const DefaultHost = client.DefaultDockerHost

// Engine is a connection to a Docker Engine.
type Engine struct {
	client   *client.Client
	endpoint string
	closed   atomic.Bool

	negotiating sync.Mutex
	negotiated  atomic.Bool
}

var _ engine.Engine = (*Engine)(nil)

// New returns an engine for the client options, which say where to connect
// and how. The endpoint is what messages show of it; empty = the
// options' host, which through ssh is a made-up one. New does not connect:
// Info does, and returns what is wrong. The API version is negotiated with the
// first call.
func New(endpoint string, options ...client.Opt) (*Engine, error) {
	c, err := client.New(append(slices.Clone(options), client.WithResponseHook(repairGateways))...)
	if err != nil {
		return nil, fmt.Errorf("create Docker client: %w", err)
	}
	return &Engine{client: c, endpoint: cmp.Or(endpoint, c.DaemonHost())}, nil
}

// NewOver returns an engine whose connections dial makes. The endpoint is what messages show of it.
func NewOver(endpoint string, dial func(ctx context.Context) (net.Conn, error)) (*Engine, error) {
	return New(endpoint, client.WithHost("http://engine"),
		client.WithDialContext(func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) }))
}

// Close implements engine.Host.
func (e *Engine) Close() error {
	if e.closed.Swap(true) {
		return nil
	}
	return e.client.Close()
}

// open makes sure that the API version is negotiated. The client would do so by
// itself, but reads the version in some calls while others negotiate.
func (e *Engine) open(ctx context.Context) error {
	if e.closed.Load() {
		return engine.WithKind(fmt.Errorf("connection to %s is closed", e.safeEndpoint()), engine.ErrUnavailable)
	}
	if e.negotiated.Load() {
		return nil
	}
	e.negotiating.Lock()
	defer e.negotiating.Unlock()
	if e.negotiated.Load() {
		return nil
	}
	if err := e.negotiate(ctx); err != nil {
		return fmt.Errorf("connect to the Docker engine at %s: %w", e.safeEndpoint(), err)
	}
	e.negotiated.Store(true)
	return nil
}

func (e *Engine) negotiate(ctx context.Context) error {
	answer, err := e.client.Ping(ctx, client.PingOptions{})
	if err != nil && !client.IsErrConnectionFailed(err) && ctx.Err() == nil && !isKind(err, engine.ErrUnauthorized) {
		return engine.WithKind(
			fmt.Errorf("response is not from a Docker engine (to use TLS, set DOCKER_TLS_VERIFY): %w", err), engine.ErrUnavailable)
	}
	if err != nil {
		return e.explainConnection(ctx, err)
	}
	if versions.LessThan(answer.APIVersion, MinimumAPIVersion) {
		return fmt.Errorf("unsupported version: requires Docker Engine 20.10 (API %s) or later, found API %s; upgrade it: %w",
			MinimumAPIVersion, cmp.Or(answer.APIVersion, "without a version"), engine.ErrUnavailable)
	}
	// Negotiated only now: the client would settle on its newest version where the
	// answer has none.
	_, err = e.client.Ping(ctx, client.PingOptions{NegotiateAPIVersion: true})
	return e.explainConnection(ctx, err)
}

// container returns what to call a container by in a request. Docker takes a
// name that no container has for the beginning of an ID, so a call could reach
// another container: a name that could be one is looked up first.
func (e *Engine) container(ctx context.Context, name string) (string, error) {
	if err := e.open(ctx); err != nil {
		return "", err
	}
	if name == "" {
		return "", fmt.Errorf("container without a name: %w", engine.ErrInvalid)
	}
	if !adapter.CouldBeID(name) {
		return name, nil
	}
	existing, err := e.inspect(ctx, name)
	if err != nil {
		return "", err
	}
	return existing.ID, nil
}

// typed gives an error of the client its kind, by the status the engine
// answered with or by how the connection went wrong.
func typed(err error) error {
	return engine.WithKind(err, kindOf(err))
}

func kindOf(err error) error {
	var network net.Error
	switch {
	case err == nil, errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return nil
	case errors.Is(err, fs.ErrPermission), errors.Is(err, engine.ErrUnauthorized):
		return engine.ErrUnauthorized
	case client.IsErrConnectionFailed(err), errdefs.IsUnavailable(err), errors.As(err, &network):
		return engine.ErrUnavailable
	case errdefs.IsNotFound(err):
		return engine.ErrNotFound
	case errdefs.IsConflict(err):
		return engine.ErrConflict
	case errdefs.IsInvalidArgument(err):
		return engine.ErrInvalid
	case errdefs.IsUnauthorized(err):
		return engine.ErrUnauthorized
	case errors.Is(err, io.ErrUnexpectedEOF):
		// The engine went away in the middle of its answer.
		return engine.ErrUnavailable
	}
	return nil
}

func isKind(err, kind error) bool { return errors.Is(typed(err), kind) }

// repairGateways lets the client read networks of an older Docker, such as 20.10. It
// reports the gateway of an IPv6 subnet that it chose with a prefix length, and one such
// network of any user makes the client fail to decode a list of all networks.
func repairGateways(response *http.Response) {
	if request := response.Request; request != nil && request.Method == http.MethodGet && strings.Contains(request.URL.Path, "/networks") {
		response.Body = &repairedBody{raw: response.Body}
	}
}

// repairedBody reads the raw body at the first Read: a hook of the client must not.
type repairedBody struct {
	raw      io.ReadCloser
	repaired *bytes.Reader
}

func (b *repairedBody) Read(p []byte) (int, error) {
	if b.repaired == nil {
		content, err := io.ReadAll(b.raw)
		if err != nil {
			return 0, err
		}
		pattern := regexp.MustCompile(`("Gateway":\s*"[^"/]+)/\d+"`)
		b.repaired = bytes.NewReader(pattern.ReplaceAll(content, []byte(`$1"`)))
	}
	return b.repaired.Read(p)
}

func (b *repairedBody) Close() error { return b.raw.Close() }
