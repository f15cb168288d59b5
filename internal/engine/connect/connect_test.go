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
	"encoding/pem"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/connect"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

func TestSelection(t *testing.T) {
	t.Parallel()
	home, other := t.TempDir(), t.TempDir()
	defaultSocket, environmentSocket := serve(t, docker("default")), serve(t, docker("environment"))
	writeContext(t, home, "one", "unix://"+serve(t, docker("one")))
	writeContext(t, home, "two", "unix://"+serve(t, docker("two")))
	writeFile(t, filepath.Join(home, ".docker", "config.json"), `{"currentContext":"one"}`)
	writeFile(t, filepath.Join(other, "config.json"), `{"currentContext":"default"}`)
	for name, c := range map[string]struct {
		reason    string
		variables map[string]string
		want      string
	}{
		"nothing named": {"the default socket is what is left", map[string]string{"HOME": other}, "default"},
		"DOCKER_HOST": {
			"it goes before every context",
			map[string]string{"HOME": home, "DOCKER_HOST": "unix://" + environmentSocket, "DOCKER_CONTEXT": "two"}, "environment",
		},
		"DOCKER_CONTEXT":         {"it goes before the current context", map[string]string{"HOME": home, "DOCKER_CONTEXT": "two"}, "two"},
		"DOCKER_CONTEXT default": {"it overrides the current context", map[string]string{"HOME": home, "DOCKER_CONTEXT": "default"}, "default"},
		"current context":        {"it goes before the default sockets", map[string]string{"HOME": home}, "one"},
		"DOCKER_CONFIG": {
			"it replaces the configuration of the home directory", map[string]string{"HOME": home, "DOCKER_CONFIG": other}, "default",
		},
	} {
		info, err := infoOf(t, connect.Options{Sockets: []string{"/absent/docker.sock", defaultSocket}}, c.variables)
		if err != nil || info.Version != c.want {
			t.Errorf("%s: %s: connected to %q, %v, want %q", name, c.reason, info.Version, err, c.want)
		}
	}
}

func TestInfoOfWhoAnswers(t *testing.T) {
	t.Parallel()
	for component, want := range map[string]string{"Engine": "docker", "Podman Engine": "podman"} {
		socket := serve(t, fake{api: "1.41", component: component, name: "4.3.1"})
		info := must.Get(infoOf(t, connect.Options{Sockets: []string{socket}}, nil))(t)
		if info.Name != want || info.APIVersion != "1.41" || info.Architecture != "amd64" {
			t.Errorf("info %+v, want %s with API 1.41 on amd64", info, want)
		}
		if !info.Rootless || !info.UserNamespaceRemap || info.CgroupVersion != "2" {
			t.Errorf("info %+v, want what the security options say", info)
		}
	}
}

func TestTLS(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(docker("tls"))
	t.Cleanup(server.Close)
	host := "tcp://" + strings.TrimPrefix(server.URL, "https://")
	certificates := t.TempDir()
	writeFile(t, filepath.Join(certificates, "ca.pem"), string(pem.EncodeToMemory(&pem.Block{
		Type: "CERTIFICATE", Bytes: server.Certificate().Raw,
	})))
	cases := map[string]struct {
		reason    string
		variables map[string]string
		want      error
	}{
		"verified": {
			"the authority in DOCKER_CERT_PATH has signed the server's certificate",
			map[string]string{"DOCKER_TLS_VERIFY": "1", "DOCKER_CERT_PATH": certificates}, nil,
		},
		"not verified": {"DOCKER_TLS asks for no check", map[string]string{"DOCKER_TLS": "1"}, nil},
		"unknown authority": {
			"DOCKER_TLS_VERIFY without the authority cannot trust the server",
			map[string]string{"DOCKER_TLS_VERIFY": "1"}, engine.ErrUnavailable,
		},
		"no certificates": {
			"DOCKER_CERT_PATH names a directory without them",
			map[string]string{"DOCKER_TLS_VERIFY": "1", "DOCKER_CERT_PATH": t.TempDir()}, engine.ErrInvalid,
		},
		"plain": {"a server that speaks TLS is not spoken to without", nil, engine.ErrUnavailable},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			variables := map[string]string{"DOCKER_HOST": host}
			maps.Copy(variables, c.variables)
			if _, err := infoOf(t, connect.Options{Engine: connect.Docker}, variables); !errors.Is(err, c.want) {
				t.Errorf("%s: %v, want %v", c.reason, err, c.want)
			}
		})
	}
}

// TestSSH is not parallel: the program ssh is found by the process' PATH.
func TestSSH(t *testing.T) {
	binary := must.Get(os.Executable())(t)
	directory := t.TempDir()
	must.Succeed(t, os.Symlink(binary, filepath.Join(directory, "ssh")))
	t.Setenv("PATH", directory+string(os.PathListSeparator)+os.Getenv("PATH"))
	t.Setenv(sshTarget, serve(t, docker("through ssh")))
	host := "ssh://user@engine.example"
	info, err := infoOf(t, connect.Options{}, map[string]string{"DOCKER_HOST": host})
	if err != nil || info.Version != "through ssh" || info.Endpoint != host {
		t.Errorf("info %+v, %v, want the engine behind ssh at %s", info, err, host)
	}
}

// silent accepts connections and never answers.
func silent(t *testing.T) string {
	t.Helper()
	end := make(chan struct{})
	t.Cleanup(func() { close(end) })
	return serve(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-end }))
}

func TestNothingReachable(t *testing.T) {
	t.Parallel()
	broken := t.TempDir()
	writeFile(t, filepath.Join(broken, ".docker", "config.json"), "{")
	absent := []string{"/absent/one.sock", "/absent/two.sock"}
	const quick = 200 * time.Millisecond
	for name, c := range map[string]struct {
		reason    string
		options   connect.Options
		variables map[string]string
		want      error
		text      []string
	}{
		"no socket": {
			"each endpoint tried is named, with its reason and the remedy", connect.Options{Sockets: absent}, nil,
			engine.ErrUnavailable, append([]string{"no such file", "start it"}, absent...),
		},
		"no socket of Podman": {
			"each endpoint tried is named, with its reason and the remedy",
			connect.Options{Engine: connect.Podman, PodmanSockets: absent}, nil,
			engine.ErrUnavailable, append([]string{"no such file", "systemctl start podman.socket", "CONTAINER_HOST"}, absent...),
		},
		"neither engine": {
			"auto reports both", connect.Options{Sockets: absent[:1], PodmanSockets: absent[1:]}, nil, engine.ErrUnavailable,
			[]string{"Docker engine at unix:///absent/one.sock", "Podman engine at unix:///absent/two.sock", "DOCKER_HOST", "CONTAINER_HOST"},
		},
		"DOCKER_HOST refuses": {
			"an engine that DOCKER_HOST names is not replaced by another",
			connect.Options{}, map[string]string{"DOCKER_HOST": "tcp://127.0.0.1:1"},
			engine.ErrUnavailable, []string{"tcp://127.0.0.1:1", "connection refused", "DOCKER_HOST"},
		},
		"CONTAINER_HOST refuses": {
			"an engine that CONTAINER_HOST names is not replaced by another",
			connect.Options{}, map[string]string{"CONTAINER_HOST": "tcp://127.0.0.1:1"},
			engine.ErrUnavailable, []string{"tcp://127.0.0.1:1", "connection refused", "CONTAINER_HOST"},
		},
		"Docker too old": {
			"the version found and the one needed are reported",
			connect.Options{Sockets: []string{serve(t, fake{api: "1.40", component: "Engine", name: "19.03"})}}, nil,
			engine.ErrUnavailable, []string{"requires Docker Engine 20.10 (API 1.41) or later, found API 1.40"},
		},
		"Podman too old": {
			"the version found and the one needed are reported",
			connect.Options{Engine: connect.Podman, PodmanSockets: []string{serve(t, fakePodman{"4.2.1"})}}, nil,
			engine.ErrUnavailable, []string{"requires Podman 4.3.0 or later, found 4.2.1"},
		},
		"silent": {
			"an engine that accepts and says nothing is given up", connect.Options{Timeout: quick, Sockets: []string{silent(t)}}, nil,
			engine.ErrUnavailable, []string{"no response within 200ms"},
		},
		"silent Podman": {
			"a service that accepts and says nothing is given up",
			connect.Options{Engine: connect.Podman, Timeout: quick, PodmanSockets: []string{silent(t)}}, nil,
			engine.ErrUnavailable, []string{"no response within 200ms"},
		},
		"Docker, not Podman": {
			"a Docker at Podman's socket is none",
			connect.Options{Engine: connect.Podman, PodmanSockets: []string{serve(t, docker("29.0"))}}, nil,
			engine.ErrUnavailable, []string{"default socket of Podman", "response is not from a Podman engine"},
		},
		"absent context": {
			"the context is named, and how to see those there are", connect.Options{}, map[string]string{"DOCKER_CONTEXT": "absent"},
			engine.ErrInvalid, []string{`"absent"`, "DOCKER_CONTEXT", "docker context ls"},
		},
		"absent connection": {
			"those there are, and how to see them",
			connect.Options{Connections: at(connection("one", "unix:///one"), connection("two", "unix:///two"))},
			map[string]string{"CONTAINER_CONNECTION": "absent"},
			engine.ErrInvalid, []string{`"absent"`, "CONTAINER_CONNECTION", "one, two", "podman system connection list"},
		},
		"broken configuration": {
			"the directory is named", connect.Options{}, map[string]string{"HOME": broken}, engine.ErrInvalid, []string{broken},
		},
		"unreadable configuration of Podman": {
			"the error is the caller's to see", connect.Options{
				Engine: connect.Podman, Connections: func() ([]connect.Connection, error) { return nil, engine.ErrInvalid },
			}, nil, engine.ErrInvalid, nil,
		},
		"broken endpoint": {
			"the endpoint is named", connect.Options{}, map[string]string{"DOCKER_HOST": "nonsense"},
			engine.ErrInvalid, []string{"nonsense"},
		},
		"broken endpoint of Podman": {
			"the endpoint is named, without its password", connect.Options{}, map[string]string{"CONTAINER_HOST": "http://user:secret@host"},
			engine.ErrInvalid, []string{"http://user:xxxxx@host", "unix://, tcp:// or ssh://"},
		},
		"unknown engine": {
			"the known ones are named", connect.Options{Engine: "rkt"}, nil, engine.ErrInvalid, []string{`"rkt"`, "docker"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := infoOf(t, c.options, c.variables)
			if !errors.Is(err, c.want) {
				t.Fatalf("%s: %v, want %v", c.reason, err, c.want)
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
