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

package connect_test

import (
	"errors"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/connect"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/podman"
)

// at is a list of connections, the first of which is the default.
func at(connections ...connect.Connection) func() ([]connect.Connection, error) {
	return func() ([]connect.Connection, error) { return connections, nil }
}

func connection(name, uri string) connect.Connection {
	return connect.Connection{Name: name, Default: name == "default", Options: podman.Options{URI: uri}}
}

func TestChoice(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	unix := func(handler http.Handler) string { return "unix://" + serve(t, handler) }
	dockerSocket, podmanSocket := serve(t, docker("29.0")), serve(t, fakePodman{"5.0.0"})
	byHost, byConnection, byDefault := unix(fakePodman{"5.1.0"}), unix(fakePodman{"5.2.0"}), unix(fakePodman{"5.3.0"})
	cases := map[string]struct {
		reason    string
		engine    string
		variables map[string]string
		options   connect.Options
		version   string
		chosenBy  string
	}{
		"auto, both answer": {
			reason:  "a Docker that answers is preferred",
			version: "29.0", chosenBy: "default socket of Docker",
		},
		"auto, no Docker": {
			reason:  "Podman is next, and the endpoints that were skipped are reported",
			options: connect.Options{Sockets: []string{"/absent/docker.sock"}},
			version: "5.0.0", chosenBy: "default socket of Podman; no engine found at unix:///absent/docker.sock",
		},
		"podman, both answer": {
			reason:  "the engine that is asked for is taken",
			engine:  connect.Podman,
			version: "5.0.0", chosenBy: "default socket of Podman",
		},
		"second default socket": {
			reason: "the rootless one is tried after the rootful one", engine: connect.Podman,
			options: connect.Options{PodmanSockets: []string{"/absent/podman.sock", podmanSocket}},
			version: "5.0.0", chosenBy: "default socket of Podman; no engine found at unix:///absent/podman.sock",
		},
		"default connection": {
			reason: "it goes before the default sockets", engine: connect.Podman,
			options: connect.Options{Connections: at(connection("other", byConnection), connection("default", byDefault))},
			version: "5.3.0", chosenBy: `default connection "default" of Podman`,
		},
		"no default connection": {
			reason: "the others are not taken unasked", engine: connect.Podman,
			options: connect.Options{Connections: at(connection("other", byConnection))},
			version: "5.0.0", chosenBy: "default socket of Podman",
		},
		"CONTAINER_HOST": {
			reason: "it goes before the default connection", engine: connect.Podman,
			variables: map[string]string{"CONTAINER_HOST": byHost},
			options:   connect.Options{Connections: at(connection("default", byDefault))},
			version:   "5.1.0", chosenBy: "CONTAINER_HOST",
		},
		"CONTAINER_CONNECTION": {
			reason: "it goes before CONTAINER_HOST, as with the podman command", engine: connect.Podman,
			variables: map[string]string{"CONTAINER_HOST": byHost, "CONTAINER_CONNECTION": "other"},
			options:   connect.Options{Connections: at(connection("other", byConnection), connection("default", byDefault))},
			version:   "5.2.0", chosenBy: `connection "other" (CONTAINER_CONNECTION)`,
		},
		"auto with CONTAINER_HOST": {
			reason:    "what a variable names is not replaced by a Docker that none names",
			variables: map[string]string{"CONTAINER_HOST": byHost},
			version:   "5.1.0", chosenBy: "CONTAINER_HOST",
		},
		"auto with both variables": {
			reason:    "Docker is preferred among those that are named",
			variables: map[string]string{"CONTAINER_HOST": byHost, "DOCKER_HOST": "unix://" + dockerSocket},
			version:   "29.0", chosenBy: "DOCKER_HOST",
		},
		"auto with both variables, no Docker": {
			reason:    "Podman is next among those that are named",
			variables: map[string]string{"CONTAINER_HOST": byHost, "DOCKER_HOST": "unix:///absent/docker.sock"},
			version:   "5.1.0", chosenBy: "CONTAINER_HOST; no engine found at unix:///absent/docker.sock",
		},
		"Podman serves Docker's socket": {
			reason:  "it is spoken to in its own language",
			options: connect.Options{Sockets: []string{podmanSocket}, PodmanSockets: []string{}},
			version: "5.0.0", chosenBy: "default socket of Docker, which Podman serves",
		},
		"Podman serves DOCKER_HOST": {
			reason: "also where Docker is asked for", engine: connect.Docker,
			variables: map[string]string{"DOCKER_HOST": byHost},
			version:   "5.1.0", chosenBy: "DOCKER_HOST, which Podman serves",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.options.Engine = c.engine
			variables := map[string]string{"HOME": home}
			for key, value := range c.variables {
				variables[key] = value
			}
			c.options.Getenv = environment(variables)
			if c.options.Sockets == nil {
				c.options.Sockets = []string{dockerSocket}
			}
			if c.options.PodmanSockets == nil {
				c.options.PodmanSockets = []string{podmanSocket}
			}
			eng, err := connect.Connect(t.Context(), isolated(c.options))
			if err != nil {
				t.Fatalf("%s: %v", c.reason, err)
			}
			t.Cleanup(func() { _ = eng.Close() })
			info, err := eng.Info(t.Context())
			if err != nil || info.Version != c.version || info.ChosenBy != c.chosenBy {
				t.Errorf("%s: version %q, chosen by %q, %v; want %q, %q", c.reason, info.Version, info.ChosenBy, err, c.version, c.chosenBy)
			}
			// The Docker API of the fake has version 1.41 and that of Docker 1.44.
			if info.Name == "podman" && info.APIVersion != c.version {
				t.Errorf("%s: API %s, want Podman's own", c.reason, info.APIVersion)
			}
		})
	}
}

func TestNoPodmanReachable(t *testing.T) {
	t.Parallel()
	silent := make(chan struct{})
	t.Cleanup(func() { close(silent) })
	cases := map[string]struct {
		reason    string
		variables map[string]string
		options   connect.Options
		want      error
		text      []string
	}{
		"no socket": {
			reason:  "each endpoint tried is named, with its reason and the remedy",
			options: connect.Options{Engine: connect.Podman, PodmanSockets: []string{"/absent/one.sock", "/absent/two.sock"}},
			want:    engine.ErrUnavailable,
			text:    []string{"/absent/one.sock", "/absent/two.sock", "no such file", "systemctl start podman.socket", "CONTAINER_HOST"},
		},
		"neither engine": {
			reason:  "auto reports both",
			options: connect.Options{Sockets: []string{"/absent/docker.sock"}, PodmanSockets: []string{"/absent/podman.sock"}},
			want:    engine.ErrUnavailable,
			text:    []string{"Docker engine at unix:///absent/docker.sock", "Podman engine at unix:///absent/podman.sock", "DOCKER_HOST", "CONTAINER_HOST"},
		},
		"connection refused": {
			reason:    "an engine that CONTAINER_HOST names is not replaced by another",
			variables: map[string]string{"CONTAINER_HOST": "tcp://127.0.0.1:1"},
			want:      engine.ErrUnavailable,
			text:      []string{"tcp://127.0.0.1:1", "connection refused", "CONTAINER_HOST"},
		},
		"too old": {
			reason:  "the version found and the one needed are reported",
			options: connect.Options{Engine: connect.Podman, PodmanSockets: []string{serve(t, fakePodman{"4.2.1"})}},
			want:    engine.ErrUnavailable,
			text:    []string{"requires Podman 4.3.0 or later, found 4.2.1"},
		},
		"silent": {
			reason: "a service that accepts and says nothing is given up",
			options: connect.Options{Engine: connect.Podman, Timeout: 200 * time.Millisecond, PodmanSockets: []string{
				serve(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-silent })),
			}},
			want: engine.ErrUnavailable,
			text: []string{"no response within 200ms"},
		},
		"Docker, not Podman": {
			reason:  "a Docker at Podman's socket is none",
			options: connect.Options{Engine: connect.Podman, PodmanSockets: []string{serve(t, docker("29.0"))}},
			want:    engine.ErrUnavailable,
			text:    []string{"default socket of Podman", "response is not from a Podman engine"},
		},
		"absent connection": {
			reason:    "those there are, and how to see them",
			variables: map[string]string{"CONTAINER_CONNECTION": "absent"},
			options:   connect.Options{Connections: at(connection("one", "unix:///one"), connection("two", "unix:///two"))},
			want:      engine.ErrInvalid,
			text:      []string{`"absent"`, "CONTAINER_CONNECTION", "one, two", "podman system connection list"},
		},
		"unreadable configuration": {
			reason: "the error is the caller's to see",
			options: connect.Options{Engine: connect.Podman, Connections: func() ([]connect.Connection, error) {
				return nil, engine.ErrInvalid
			}},
			want: engine.ErrInvalid,
		},
		"broken endpoint": {
			reason:    "the endpoint is named, without its password",
			variables: map[string]string{"CONTAINER_HOST": "http://user:secret@host"},
			want:      engine.ErrInvalid,
			text:      []string{"http://user:xxxxx@host", "unix://, tcp:// or ssh://"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			variables := map[string]string{"HOME": t.TempDir()}
			for key, value := range c.variables {
				variables[key] = value
			}
			c.options.Getenv = environment(variables)
			eng, err := connect.Connect(t.Context(), isolated(c.options))
			if !errors.Is(err, c.want) {
				t.Fatalf("%s: %v, %v, want %v", c.reason, eng, err, c.want)
			}
			t.Log(err)
			for _, text := range c.text {
				if !strings.Contains(err.Error(), text) {
					t.Errorf("%s: %q is not in %q", c.reason, text, err)
				}
			}
			if strings.Contains(err.Error(), "secret") {
				t.Errorf("%s: the password is in the error: %v", c.reason, err)
			}
		})
	}
}

// TestSystemConnections is not parallel: the library of containers reads the
// process' own variables.
func TestSystemConnections(t *testing.T) {
	byFile, byConf := "unix://"+serve(t, fakePodman{"5.1.0"}), "unix://"+serve(t, fakePodman{"5.2.0"})
	cases := map[string]struct {
		reason            string
		connections, conf string
		variables         map[string]string
		want              string
	}{
		"podman-connections.json": {
			reason:      "what podman system connection add writes",
			connections: `{"Connection":{"Default":"one","Connections":{"one":{"URI":"` + byFile + `"}}}}`,
			want:        "5.1.0",
		},
		"containers.conf": {
			reason: "what podman 4 wrote, and what administrators write",
			conf:   "[engine]\nactive_service = \"two\"\n[engine.service_destinations.two]\nuri = \"" + byConf + "\"\n",
			want:   "5.2.0",
		},
		"both": {
			reason:      "the default of podman-connections.json goes first",
			connections: `{"Connection":{"Default":"one","Connections":{"one":{"URI":"` + byFile + `"}}}}`,
			conf:        "[engine]\nactive_service = \"two\"\n[engine.service_destinations.two]\nuri = \"" + byConf + "\"\n",
			want:        "5.1.0",
		},
		"named": {
			reason:      "CONTAINER_CONNECTION finds those of both files",
			connections: `{"Connection":{"Default":"one","Connections":{"one":{"URI":"` + byFile + `"}}}}`,
			conf:        "[engine.service_destinations.two]\nuri = \"" + byConf + "\"\n",
			variables:   map[string]string{"CONTAINER_CONNECTION": "two"},
			want:        "5.2.0",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			directory := t.TempDir()
			for variable, file := range map[string]string{
				"CONTAINERS_CONF": "containers.conf", "PODMAN_CONNECTIONS_CONF": "podman-connections.json",
			} {
				t.Setenv(variable, filepath.Join(directory, file))
			}
			t.Setenv("CONTAINERS_CONF_OVERRIDE", "")
			writeFile(t, filepath.Join(directory, "containers.conf"), c.conf)
			if c.connections != "" {
				writeFile(t, filepath.Join(directory, "podman-connections.json"), c.connections)
			}
			eng, err := connect.Connect(t.Context(), connect.Options{
				Engine: connect.Podman, Getenv: environment(c.variables), PodmanSockets: []string{},
			})
			if err != nil {
				t.Fatalf("%s: %v", c.reason, err)
			}
			t.Cleanup(func() { _ = eng.Close() })
			info, err := eng.Info(t.Context())
			if err != nil || info.Version != c.want {
				t.Errorf("%s: version %q, %v, want %q", c.reason, info.Version, err, c.want)
			}
		})
	}
	t.Run("broken", func(t *testing.T) {
		directory := t.TempDir()
		t.Setenv("CONTAINERS_CONF", filepath.Join(directory, "containers.conf"))
		writeFile(t, filepath.Join(directory, "containers.conf"), "[engine")
		_, err := connect.Connect(t.Context(), connect.Options{Engine: connect.Podman, Getenv: environment(nil)})
		if !errors.Is(err, engine.ErrInvalid) || !strings.Contains(err.Error(), directory) {
			t.Errorf("%v, want the file named", err)
		}
	})
}

func TestNames(t *testing.T) {
	t.Parallel()
	if diff := cmp.Diff([]string{"auto", "docker", "podman"}, connect.Names()); diff != "" {
		t.Errorf("engines (-want +got):\n%s", diff)
	}
	want := "container engine: auto, docker or podman; auto uses the first one that responds, in this order"
	if diff := cmp.Diff(want, connect.Help()); diff != "" {
		t.Errorf("help (-want +got):\n%s", diff)
	}
}
