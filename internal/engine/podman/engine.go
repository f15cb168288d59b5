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
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/blang/semver/v4"
	"github.com/containers/podman/v5/pkg/bindings"
	"golang.org/x/sync/singleflight"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/adapter"
)

// MinimumVersion is the oldest Podman that this package speaks to: the one in
// Debian 12. Older ones are not tested.
const MinimumVersion = "4.3.0"

// connectTimeout bounds making a connection: the bindings cannot be interrupted
// while they speak ssh, and allow 40 seconds for its first step.
const connectTimeout = 45 * time.Second

// Options say where Podman's service is and how to get there.
type Options struct {
	// URI is unix:///path, tcp://host:port or ssh://user@host[:port]/path.
	URI string
	// Identity is a file with an ssh key; empty = the agent's keys, or those of
	// the ssh configuration.
	Identity string
	// Machine: the service is in a virtual machine that podman machine made,
	// whose host key is not known.
	Machine bool
	// TLSCertFile, TLSKeyFile and TLSCAFile turn TLS on for tcp.
	TLSCertFile, TLSKeyFile, TLSCAFile string
	// Dial makes the connections, in place of all of the above; the URI is what messages show.
	Dial func(ctx context.Context) (net.Conn, error)
}

// Engine is a connection to a Podman service.
type Engine struct {
	options Options

	closed     atomic.Bool
	link       atomic.Pointer[link]
	connecting singleflight.Group
}

var _ engine.Engine = (*Engine)(nil)

// link is a connection that has answered.
type link struct {
	*bindings.Connection
	// base is what the paths of requests are below.
	base string
}

// New returns an engine. It does not connect: Info does, and returns what is
// wrong.
func New(options Options) (*Engine, error) {
	parsed, err := url.Parse(options.URI)
	if err != nil {
		return nil, fmt.Errorf("parse Podman endpoint: invalid URL: %w", engine.ErrInvalid)
	}
	switch parsed.Scheme {
	case "unix", "tcp", "ssh":
	default:
		return nil, engine.WithKind(fmt.Errorf("parse Podman endpoint %s: unsupported scheme; use unix://, tcp:// or ssh://", parsed.Redacted()), engine.ErrInvalid)
	}
	return &Engine{options: options}, nil
}

// Close implements engine.Host.
func (e *Engine) Close() error {
	e.closed.Store(true)
	if link := e.link.Load(); link != nil {
		link.Client.CloseIdleConnections()
	}
	return nil
}

// Ping connects. It is much cheaper than Info, for which Podman runs other programs.
func (e *Engine) Ping(ctx context.Context) error {
	_, err := e.open(ctx)
	return err
}

// open returns the connection, which is made with the first call. It is made
// once for all concurrent callers, and continues when the first of them
// gives up.
func (e *Engine) open(ctx context.Context) (*link, error) {
	if e.closed.Load() {
		return nil, engine.WithKind(fmt.Errorf("connection to %s is closed", e.safeEndpoint()), engine.ErrUnavailable)
	}
	connected := e.link.Load()
	if connected != nil {
		return connected, nil
	}
	dialed := e.connecting.DoChan("", func() (any, error) {
		if made := e.link.Load(); made != nil {
			return made, nil
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), connectTimeout)
		defer cancel()
		made, err := e.dial(ctx)
		e.link.Store(made)
		return made, err
	})
	var err error
	select {
	case result := <-dialed:
		connected, _ = result.Val.(*link)
		err = result.Err
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		return nil, fmt.Errorf("connect to the Podman engine at %s: %w", e.safeEndpoint(), err)
	}
	return connected, nil
}

func (e *Engine) dial(ctx context.Context) (*link, error) {
	if e.options.Dial != nil {
		return e.dialed(ctx)
	}
	if path, ok := strings.CutPrefix(e.options.URI, "unix://"); ok {
		// The bindings try a socket three times before they say what is wrong.
		connection, err := (&net.Dialer{}).DialContext(ctx, "unix", path)
		if err != nil {
			return nil, explainConnection(err)
		}
		connection.Close()
	}
	connected, err := bindings.NewConnectionWithOptions(ctx, bindings.Options{
		URI: e.options.URI, Identity: e.options.Identity, Machine: e.options.Machine,
		TLSCertFile: e.options.TLSCertFile, TLSKeyFile: e.options.TLSKeyFile, TLSCAFile: e.options.TLSCAFile,
	})
	if err != nil {
		return nil, explainConnection(err)
	}
	connection, err := bindings.GetClient(connected)
	if err != nil {
		return nil, err
	}
	if transport, ok := connection.Client.Transport.(*http.Transport); ok && connection.URI.Scheme == "ssh" {
		transport.DialContext = limited(channelTimeout, transport.DialContext)
	}
	if err := checkVersion(*bindings.ServiceVersion(connected)); err != nil {
		return nil, err
	}
	return &link{Connection: connection, base: e.base(connection.URI)}, nil
}

// idleTimeout ends connections that are not used, so that none outlives its credentials for long.
const idleTimeout = 90 * time.Second

// dialed returns a connection over what Options.Dial makes: the bindings only dial by themselves.
func (e *Engine) dialed(ctx context.Context) (*link, error) {
	transport := &http.Transport{
		DialContext:        func(ctx context.Context, _, _ string) (net.Conn, error) { return e.options.Dial(ctx) },
		DisableCompression: true, IdleConnTimeout: idleTimeout,
	}
	const base = "http://d"
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/_ping", http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("create request: %w", err)
	}
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return nil, explainConnection(err)
	}
	defer response.Body.Close()
	version, err := semver.ParseTolerant(response.Header.Get("Libpod-API-Version"))
	if response.StatusCode != http.StatusOK || err != nil {
		version = semver.Version{}
	}
	if err := checkVersion(version); err != nil {
		return nil, err
	}
	return &link{Connection: &bindings.Connection{URI: &url.URL{Scheme: "unix"}, Client: &http.Client{Transport: transport}}, base: base}, nil
}

func checkVersion(version semver.Version) error {
	if version.EQ(semver.Version{}) {
		return fmt.Errorf("response is not from a Podman engine: %w", engine.ErrUnavailable)
	}
	if version.LT(semver.MustParse(MinimumVersion)) {
		return fmt.Errorf("unsupported version: requires Podman %s or later, found %s; upgrade it: %w",
			MinimumVersion, version, engine.ErrUnavailable)
	}
	return nil
}

// base of requests: the host is a made-up one but for tcp.
func (e *Engine) base(uri *url.URL) string {
	switch {
	case uri.Scheme != "tcp":
		return "http://d"
	case e.options.TLSCAFile != "" || e.options.TLSCertFile != "" || e.options.TLSKeyFile != "":
		return "https://" + uri.Host + uri.Path
	default:
		return "http://" + uri.Host + uri.Path
	}
}

// forget gives a connection up that goes through ssh: once that has ended, the
// bindings do not make it again. The others are made for each request.
func (e *Engine) forget(broken *link) {
	if broken.URI.Scheme == "ssh" {
		e.link.CompareAndSwap(broken, nil)
	}
}

// safeEndpoint is the endpoint without the password it may carry.
func (e *Engine) safeEndpoint() string { return adapter.Redacted(e.options.URI) }

// explainConnection adds the remedy.
func explainConnection(err error) error {
	const another = "or select another engine with CONTAINER_HOST or podman system connection"
	// Of other errors, such as an ssh key that is absent, the text is enough.
	var dialing *net.OpError
	isDialing := errors.As(err, &dialing)
	switch {
	case errors.Is(err, engine.ErrUnauthorized), errors.Is(err, engine.ErrUnavailable):
		return err // it says what to do
	case isDialing && errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w; use sudo, or the rootless service of your user (systemctl --user start podman.socket), %s: %w",
			err, another, engine.ErrUnauthorized)
	case isDialing && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED)):
		return fmt.Errorf("%w; start it (systemctl start podman.socket, with --user where it is rootless), %s: %w",
			err, another, engine.ErrUnavailable)
	default:
		return fmt.Errorf("%w: %w", err, cmp.Or(kindOf(err), engine.ErrUnavailable))
	}
}

// channelTimeout bounds opening a channel of an ssh connection, which takes one round trip.
const channelTimeout = 10 * time.Second

type dialer func(ctx context.Context, network, address string) (net.Conn, error)

// limited ends a dial with a timeout error after the limit. golang.org/x/crypto/ssh waits
// forever for a channel that is opened at the moment the connection breaks.
func limited(limit time.Duration, dial dialer) dialer {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		type result struct {
			conn net.Conn
			err  error
		}
		dialed := make(chan result)
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		go func() {
			conn, err := dial(ctx, network, address)
			select {
			case dialed <- result{conn, err}:
			case <-ctx.Done():
				if err == nil {
					_ = conn.Close()
				}
			}
		}()
		select {
		case r := <-dialed:
			return r.conn, r.err
		case <-ctx.Done():
			return nil, &net.OpError{Op: "dial", Net: network, Err: os.ErrDeadlineExceeded}
		}
	}
}
