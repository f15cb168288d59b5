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
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/connect"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/podman"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
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
			reason:  "the requested engine is taken",
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
			reason: "also where Docker is requested", engine: connect.Docker,
			variables: map[string]string{"DOCKER_HOST": byHost},
			version:   "5.1.0", chosenBy: "DOCKER_HOST, which Podman serves",
		},
	}
	for name, c := range cases {
		c.options.Engine = c.engine
		if c.options.Sockets == nil {
			c.options.Sockets = []string{dockerSocket}
		}
		if c.options.PodmanSockets == nil {
			c.options.PodmanSockets = []string{podmanSocket}
		}
		info, err := infoOf(t, c.options, c.variables)
		if err != nil || info.Version != c.version || info.ChosenBy != c.chosenBy {
			t.Errorf("%s: %s: version %q, chosen by %q, %v; want %q, %q", name, c.reason, info.Version, info.ChosenBy, err, c.version, c.chosenBy)
		}
		// The Docker API of the fake has version 1.41 and that of Docker 1.44.
		if info.Name == "podman" && info.APIVersion != c.version {
			t.Errorf("%s: API %s, want Podman's own", name, info.APIVersion)
		}
	}
}

// TestSystemConnections is not parallel: the library of containers reads the
// process' own variables.
func TestSystemConnections(t *testing.T) {
	byFile := `{"Connection":{"Default":"one","Connections":{"one":{"URI":"unix://` + serve(t, fakePodman{"5.1.0"}) + `"}}}}`
	byConf := "[engine.service_destinations.two]\nuri = \"unix://" + serve(t, fakePodman{"5.2.0"}) + "\"\n"
	const active = "[engine]\nactive_service = \"two\"\n"
	cases := map[string]struct {
		reason            string
		connections, conf string
		variables         map[string]string
		want              string
	}{
		"podman-connections.json": {"what podman system connection add writes", byFile, "", nil, "5.1.0"},
		"containers.conf":         {"what podman 4 wrote, and what administrators write", "", active + byConf, nil, "5.2.0"},
		"both":                    {"the default of podman-connections.json goes first", byFile, active + byConf, nil, "5.1.0"},
		"named": {
			"CONTAINER_CONNECTION finds those of both files", byFile, byConf, map[string]string{"CONTAINER_CONNECTION": "two"}, "5.2.0",
		},
		"broken": {"the file is named", "", "[engine", nil, ""},
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
			if c.want == "" {
				if !errors.Is(err, engine.ErrInvalid) || !strings.Contains(err.Error(), directory) {
					t.Errorf("%s: %v", c.reason, err)
				}
				return
			}
			must.Succeed(t, err)
			t.Cleanup(func() { _ = eng.Close() })
			info, err := eng.Info(t.Context())
			if err != nil || info.Version != c.want {
				t.Errorf("%s: version %q, %v, want %q", c.reason, info.Version, err, c.want)
			}
		})
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	if diff := cmp.Diff([]string{"auto", "docker", "podman"}, connect.Names()); diff != "" {
		t.Errorf("engines, which docs/how-to/engine.md lists too (-want +got):\n%s", diff)
	}
	if got := connect.ReservedNetworks(); !slices.Contains(got, "bridge") || !slices.Contains(got, "podman") {
		t.Errorf("reserved networks %v, want those of both engines", got)
	}
	want := "container engine: auto, docker or podman; auto uses the first one that responds, in this order"
	if diff := cmp.Diff(want, connect.Help()); diff != "" {
		t.Errorf("help (-want +got):\n%s", diff)
	}
}
