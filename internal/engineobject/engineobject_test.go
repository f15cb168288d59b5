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

package engineobject_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/capi-samples/cluster-api-provider-container/internal/endpoint"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/connect"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/remote"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/internal/engineobject"
	"github.com/capi-samples/cluster-api-provider-container/test/engineobjects"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// TestCredentialsOf: each key of a Secret is used, others change nothing.
func TestCredentialsOf(t *testing.T) {
	t.Parallel()
	data := map[string][]byte{}
	last := must.Get(engineobject.Digest(engineobject.CredentialsOf(data)))(t)
	for _, key := range []string{"ca.crt", "tls.crt", "tls.key", "ssh-privatekey", "known_hosts"} {
		data[key] = []byte(key)
		digest := must.Get(engineobject.Digest(engineobject.CredentialsOf(data)))(t)
		if digest == last {
			t.Errorf("The digest does not change with %s", key)
		}
		last = digest
	}
	data["other"] = []byte("x")
	if got := must.Get(engineobject.Digest(engineobject.CredentialsOf(data)))(t); got != last {
		t.Error("The digest changes with another key")
	}
	want := remote.Credentials{
		CA: []byte("ca.crt"), Certificate: []byte("tls.crt"), Key: []byte("tls.key"), SSHKey: []byte("ssh-privatekey"), KnownHosts: []byte("known_hosts"),
	}
	if diff := cmp.Diff(want, engineobject.CredentialsOf(data)); diff != "" {
		t.Errorf("Credentials (-want +got):\n%s", diff)
	}
}

// TestClient: a client that is closed makes no connections.
func TestClient(t *testing.T) {
	t.Parallel()
	at := must.Get(endpoint.Parse("ssh://me@build.example.org"))(t)
	key, known := engineobjects.Key(t)
	var opened string
	var dial connect.Dial
	open := func(endpoint string, dialed connect.Dial) engine.Engine {
		opened, dial = endpoint, dialed
		return simulated.New()
	}
	client := must.Get(engineobject.NewClient(at, engineobject.CredentialsOf(map[string][]byte{"ssh-privatekey": key, "known_hosts": known}), open))(t)
	if opened != at.String() {
		t.Errorf("opened %q, want %q", opened, at)
	}
	must.Succeed(t, client.Close())
	if _, err := dial(context.WithoutCancel(t.Context())); !errors.Is(err, engine.ErrUnavailable) {
		t.Errorf("A closed client dials: %v", err)
	}
	var invalid *remote.CredentialsError
	if _, err := engineobject.NewClient(at, remote.Credentials{}, open); !errors.As(err, &invalid) {
		t.Errorf("Without credentials: %v", err)
	}
}
