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

package connect

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/moby/sys/mountinfo"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/docker"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// simulatedEndpoint is where the third engine is.
type simulatedEndpoint struct{}

func (simulatedEndpoint) host() string { return "simulated://" }
func (simulatedEndpoint) by() string   { return "SIMULATED_HOST" }
func (simulatedEndpoint) open(context.Context, time.Duration) (engine.Engine, error) {
	return simulated.New(), nil
}

// TestRegisterEngine registers a third engine, which takes one entry.
// Its conformance suite is in its own package.
func TestRegisterEngine(t *testing.T) {
	t.Parallel()
	traits := simulated.Traits()
	registered := append(kinds(), kind{
		name: "simulated", traits: traits, variables: []string{traits.SocketVariable},
		candidates: func(Options) ([]candidate, error) { return []candidate{simulatedEndpoint{}}, nil },
	})
	environment := map[string]string{"SIMULATED_HOST": "simulated://"}
	for name, options := range map[string]Options{
		"ByName":     {Engine: "simulated", Getenv: func(string) string { return "" }},
		"ByVariable": {Getenv: func(variable string) string { return environment[variable] }},
	} {
		options.kinds = registered
		eng := must.Get(Connect(t.Context(), options))(t)
		info := must.Get(eng.Info(t.Context()))(t)
		want := engine.Info{Name: "simulated", ChosenBy: "SIMULATED_HOST", Traits: traits}
		got := engine.Info{Name: info.Name, ChosenBy: info.ChosenBy, Traits: info.Traits}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: Info (-want, +got):\n%s", name, diff)
		}
	}
}

// TestRegisterOtherName refuses an engine that is registered under another name than its
// own, and would have no traits.
func TestRegisterOtherName(t *testing.T) {
	t.Parallel()
	eng := must.Get(Connect(t.Context(), Options{Engine: "other", Getenv: func(string) string { return "" }, kinds: []kind{{
		name: "other", candidates: func(Options) ([]candidate, error) { return []candidate{simulatedEndpoint{}}, nil },
	}}}))(t)
	if _, err := eng.Info(t.Context()); !errors.Is(err, engine.ErrInvalid) || !strings.Contains(err.Error(), `"simulated"`) {
		t.Errorf("%v, want %v with the engine's name", err, engine.ErrInvalid)
	}
}

// The user of the manager's Pod has no home, and so no connections of Podman.
func TestUserWithoutHome(t *testing.T) {
	t.Parallel()
	got, err := connectionsOf(func() (string, error) { return "", &fs.PathError{Op: "stat", Path: "/.config", Err: fs.ErrNotExist} })
	if err != nil || len(got) != 0 {
		t.Errorf("got %v, %v, want no connections", got, err)
	}
}

func TestHome(t *testing.T) {
	t.Parallel()
	// Git's shell for Windows sets HOME too, and need not be used.
	environment := map[string]string{"HOME": "/h", "USERPROFILE": `C:\Users\u`}
	getenv := func(key string) string { return environment[key] }
	for system, want := range map[string]string{"linux": "/h", "darwin": "/h", "windows": `C:\Users\u`} {
		if got := home(system, getenv); got != want {
			t.Errorf("%s: want %s, got %s", system, want, got)
		}
	}
}

func TestDefaultHosts(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason  string
		runtime string
		sockets []string
		want    []string
	}{
		"System":   {"That of the client's system, a named pipe on Windows.", "", nil, []string{docker.DefaultHost}},
		"Rootless": {"A user may have an engine too.", "/run/user/1", nil, []string{docker.DefaultHost, "unix:///run/user/1/docker.sock"}},
		"Given":    {"Nothing else is looked at.", "/run/user/1", []string{"/a.sock"}, []string{"unix:///a.sock"}},
	}
	for name, tc := range cases {
		var got []string
		for _, candidate := range defaults(Options{Sockets: tc.sockets, Getenv: func(string) string { return tc.runtime }}) {
			got = append(got, candidate.host())
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: %s (-want, +got):\n%s", name, tc.reason, diff)
		}
	}
}

func TestCheckSocket(t *testing.T) {
	t.Parallel()
	must.Succeed(t, CheckSocket())
	socket := filepath.Join(t.TempDir(), "engine.sock")
	listener := must.Get(net.Listen("unix", socket))(t)
	defer func() { _ = listener.Close() }()
	for root, want := range map[string]error{"/run/engine.sock": nil, "/run/engine.sock//deleted": ErrSocketReplaced} {
		if err := replacedSocket([]*mountinfo.Info{{Root: root, Mountpoint: socket}}); !errors.Is(err, want) {
			t.Errorf("a mount of %s: %v, want %v", root, err, want)
		}
	}
	if err := replacedSocket([]*mountinfo.Info{{Root: "/a//deleted", Mountpoint: t.TempDir()}}); err != nil {
		t.Errorf("a directory: %v, want success", err)
	}
}
