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

// Package engineobjects has engines of objects for tests: simulated ones behind endpoints that
// no process dials, which can be made slow.
package engineobjects

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/capi-samples/cluster-api-provider-container/controllers/engines"
	"github.com/capi-samples/cluster-api-provider-container/internal/endpoint"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/connect"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/forward"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/remote"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// Slow is an engine whose calls take some time, or until their context ends.
type Slow struct {
	forward.Engine

	inner engine.Engine
	delay atomic.Int64
	// Inside are how many calls wait now.
	Inside atomic.Int64
}

// NewSlow returns an engine that is not slow yet.
func NewSlow(inner engine.Engine) *Slow {
	s := &Slow{inner: inner}
	s.Engine = forward.New(func(ctx context.Context, _ forward.Call, do func(context.Context, engine.Engine) error) error {
		if delay := time.Duration(s.delay.Load()); delay > 0 {
			s.Inside.Add(1)
			defer s.Inside.Add(-1)
			timer := time.NewTimer(delay)
			defer timer.Stop()
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-timer.C:
			}
		}
		return do(ctx, inner)
	})
	return s
}

// Delay all calls from now on.
func (s *Slow) Delay(delay time.Duration) { s.delay.Store(int64(delay)) }

// Events implements engine.EventSource.
func (s *Slow) Events(ctx context.Context, handle func(engine.Event)) { s.inner.Events(ctx, handle) }

// Close implements engine.Host.
func (s *Slow) Close() error { return s.inner.Close() }

// Open returns a function for engines.Options that opens these engines by their hosts.
func Open(byHost map[string]engine.Engine) func(string, connect.Dial) engine.Engine {
	return func(text string, _ connect.Dial) engine.Engine {
		at, err := endpoint.Parse(text)
		if err != nil || byHost[at.Host] == nil {
			panic(fmt.Sprintf("no engine at %s, %v", text, err))
		}
		return byHost[at.Host]
	}
}

// Key returns a private key for SSH, and a line of known_hosts for each host.
func Key(tb testing.TB) (key, known []byte) {
	tb.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	must.Succeed(tb, err)
	host := must.Get(ssh.NewPublicKey(public))(tb)
	block := must.Get(ssh.MarshalPrivateKey(private, ""))(tb)
	return pem.EncodeToMemory(block), []byte("* " + string(ssh.MarshalAuthorizedKey(host)))
}

// Target is the endpoint of a host, with credentials of their own.
func Target(tb testing.TB, host string) engines.Target {
	tb.Helper()
	key, known := Key(tb)
	return engines.Target{
		At:          must.Get(endpoint.Parse("ssh://me@" + host))(tb),
		Credentials: remote.Credentials{SSHKey: key, KnownHosts: known}, Digest: string(key),
	}
}

// Accept any engine.
func Accept(context.Context, engine.Info, engine.ContainerReader) error { return nil }
