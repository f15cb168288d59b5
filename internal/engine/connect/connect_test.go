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
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
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
	writeContext(t, home, digestOfOne, "one", "unix://"+serve(t, docker("one")))
	writeContext(t, home, digestOfTwo, "two", "unix://"+serve(t, docker("two")))
	writeFile(t, filepath.Join(home, ".docker", "config.json"), `{"currentContext":"one"}`)
	writeFile(t, filepath.Join(other, "config.json"), `{"currentContext":"default"}`)

	cases := map[string]struct {
		reason    string
		variables map[string]string
		want      string
	}{
		"nothing named": {
			reason:    "the default socket is what is left",
			variables: map[string]string{"HOME": other}, want: "default",
		},
		"DOCKER_HOST": {
			reason:    "it goes before every context",
			variables: map[string]string{"HOME": home, "DOCKER_HOST": "unix://" + environmentSocket, "DOCKER_CONTEXT": "two"}, want: "environment",
		},
		"DOCKER_CONTEXT": {
			reason:    "it goes before the current context",
			variables: map[string]string{"HOME": home, "DOCKER_CONTEXT": "two"}, want: "two",
		},
		"DOCKER_CONTEXT default": {
			reason:    "it overrides the current context",
			variables: map[string]string{"HOME": home, "DOCKER_CONTEXT": "default"}, want: "default",
		},
		"current context": {
			reason:    "it goes before the default sockets",
			variables: map[string]string{"HOME": home}, want: "one",
		},
		"DOCKER_CONFIG": {
			reason:    "it replaces the configuration of the home directory",
			variables: map[string]string{"HOME": home, "DOCKER_CONFIG": other}, want: "default",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eng, err := connect.Connect(t.Context(), isolated(connect.Options{
				Getenv: environment(c.variables), Sockets: []string{"/absent/docker.sock", defaultSocket},
			}))
			if err != nil {
				t.Fatalf("%s: %v", c.reason, err)
			}
			t.Cleanup(func() { _ = eng.Close() })
			info, err := eng.Info(t.Context())
			if err != nil || info.Version != c.want {
				t.Errorf("%s: connected to %q, %v, want %q", c.reason, info.Version, err, c.want)
			}
		})
	}
}

func TestInfoOfWhoAnswers(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ component, want string }{
		"Docker":                        {"Engine", "docker"},
		"Podman behind a Docker socket": {"Podman Engine", "podman"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			socket := serve(t, fake{api: "1.41", component: c.component, name: "4.3.1"})
			eng := must.Get(connect.Connect(t.Context(), isolated(connect.Options{
				Getenv: environment(map[string]string{"HOME": t.TempDir()}), Sockets: []string{socket},
			})))(t)
			t.Cleanup(func() { _ = eng.Close() })
			info := must.Get(eng.Info(t.Context()))(t)
			if info.Name != c.want || info.APIVersion != "1.41" || info.Architecture != "amd64" {
				t.Errorf("info %+v, want %s with API 1.41 on amd64", info, c.want)
			}
			if !info.Rootless || !info.UserNamespaceRemap || info.CgroupVersion != "2" {
				t.Errorf("info %+v, want what the security options say", info)
			}
		})
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
			reason:    "the authority in DOCKER_CERT_PATH has signed the server's certificate",
			variables: map[string]string{"DOCKER_TLS_VERIFY": "1", "DOCKER_CERT_PATH": certificates},
		},
		"not verified": {
			reason:    "DOCKER_TLS asks for no check",
			variables: map[string]string{"DOCKER_TLS": "1"},
		},
		"unknown authority": {
			reason:    "DOCKER_TLS_VERIFY without the authority cannot trust the server",
			variables: map[string]string{"DOCKER_TLS_VERIFY": "1"}, want: engine.ErrUnavailable,
		},
		"no certificates": {
			reason:    "DOCKER_CERT_PATH names a directory without them",
			variables: map[string]string{"DOCKER_TLS_VERIFY": "1", "DOCKER_CERT_PATH": t.TempDir()}, want: engine.ErrInvalid,
		},
		"plain": {
			reason: "a server that speaks TLS is not spoken to without",
			want:   engine.ErrUnavailable,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			variables := map[string]string{"HOME": t.TempDir(), "DOCKER_HOST": host}
			for key, value := range c.variables {
				variables[key] = value
			}
			eng, err := connect.Connect(t.Context(), connect.Options{Engine: connect.Docker, Getenv: environment(variables)})
			if !errors.Is(err, c.want) {
				t.Fatalf("%s: %v, want %v", c.reason, err, c.want)
			}
			if err == nil {
				_ = eng.Close()
			} else {
				t.Log(err)
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
	eng := must.Get(connect.Connect(t.Context(), connect.Options{
		Getenv: environment(map[string]string{"HOME": t.TempDir(), "DOCKER_HOST": host}),
	}))(t)
	t.Cleanup(func() { _ = eng.Close() })
	info, err := eng.Info(t.Context())
	if err != nil || info.Version != "through ssh" || info.Endpoint != host {
		t.Errorf("info %+v, %v, want the engine behind ssh at %s", info, err, host)
	}
}

func TestSocketWithoutPermission(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("playing another user needs root")
	}
	socket := serve(t, docker("not for strangers"))
	for path, mode := range map[string]os.FileMode{
		filepath.Dir(filepath.Dir(socket)): 0o755, filepath.Dir(socket): 0o755, socket: 0o600,
	} {
		must.Succeed(t, os.Chmod(path, mode))
	}
	// The test binary lies where only root may go.
	binary := must.Get(os.Executable())(t)
	program := must.Get(os.ReadFile(binary))(t)
	copied := filepath.Join(filepath.Dir(socket), "stranger")
	must.Succeed(t, os.WriteFile(copied, program, 0o755))
	command := exec.CommandContext(t.Context(), copied)
	command.Env = []string{strangerSocket + "=" + socket}
	command.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	output, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("play another user: %v, %s", err, output)
	}
	for _, text := range []string{"true ", socket, "permission denied", "docker group", "sudo"} {
		if !strings.Contains(string(output), text) {
			t.Errorf("%q is not in %q", text, output)
		}
	}
}

func TestNothingReachable(t *testing.T) {
	t.Parallel()
	silent := make(chan struct{})
	t.Cleanup(func() { close(silent) })
	broken := t.TempDir()
	writeFile(t, filepath.Join(broken, ".docker", "config.json"), "{")
	cases := map[string]struct {
		reason  string
		options connect.Options
		want    error
		text    []string
	}{
		"no socket": {
			reason:  "each endpoint tried is named, with its reason and the remedy",
			options: connect.Options{Sockets: []string{"/absent/one.sock", "/absent/two.sock"}},
			want:    engine.ErrUnavailable,
			text:    []string{"/absent/one.sock", "/absent/two.sock", "no such file", "start it"},
		},
		"connection refused": {
			reason:  "an engine that DOCKER_HOST names is not replaced by another",
			options: connect.Options{Getenv: environment(map[string]string{"DOCKER_HOST": "tcp://127.0.0.1:1"})},
			want:    engine.ErrUnavailable,
			text:    []string{"tcp://127.0.0.1:1", "connection refused", "DOCKER_HOST"},
		},
		"too old": {
			reason:  "the version found and the one needed are reported",
			options: connect.Options{Sockets: []string{serve(t, fake{api: "1.40", component: "Engine", name: "19.03"})}},
			want:    engine.ErrUnavailable,
			text:    []string{"requires Docker Engine 20.10 (API 1.41) or later, found API 1.40"},
		},
		"silent": {
			reason: "an engine that accepts and says nothing is given up",
			options: connect.Options{Timeout: 200 * time.Millisecond, Sockets: []string{
				serve(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-silent })),
			}},
			want: engine.ErrUnavailable,
			text: []string{"no response within 200ms"},
		},
		"absent context": {
			reason:  "the context is named, and how to see those there are",
			options: connect.Options{Getenv: environment(map[string]string{"HOME": t.TempDir(), "DOCKER_CONTEXT": "absent"})},
			want:    engine.ErrInvalid,
			text:    []string{`"absent"`, "DOCKER_CONTEXT", "docker context ls"},
		},
		"broken configuration": {
			reason:  "the directory is named",
			options: connect.Options{Getenv: environment(map[string]string{"HOME": broken})},
			want:    engine.ErrInvalid,
			text:    []string{broken},
		},
		"broken endpoint": {
			reason:  "the endpoint is named",
			options: connect.Options{Getenv: environment(map[string]string{"DOCKER_HOST": "nonsense"})},
			want:    engine.ErrInvalid,
			text:    []string{"nonsense"},
		},
		"unknown engine": {
			reason:  "the known ones are named",
			options: connect.Options{Engine: "rkt"},
			want:    engine.ErrInvalid,
			text:    []string{`"rkt"`, "docker"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.options.Getenv == nil {
				c.options.Getenv = environment(map[string]string{"HOME": t.TempDir()})
			}
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
		})
	}
}
