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
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/connect"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// sshTarget makes this test binary play the program ssh: it joins its standard
// streams to the socket that the variable names.
const sshTarget = "CONNECT_TEST_SSH_TARGET"

func TestMain(m *testing.M) {
	if target := os.Getenv(sshTarget); target != "" {
		playSSH(target)
		return
	}
	os.Exit(runAtHome(m))
}

// runAtHome gives the tests a home directory of their own, for good: the library
// of containers looks for it once.
func runAtHome(m *testing.M) int {
	home, err := os.MkdirTemp("", "connect")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(home) }()
	for name, value := range map[string]string{"HOME": home, "XDG_CONFIG_HOME": "", "SSH_AUTH_SOCK": ""} {
		if err := os.Setenv(name, value); err != nil {
			panic(err)
		}
	}
	return m.Run()
}

func playSSH(target string) {
	if !strings.Contains(strings.Join(os.Args, " "), "dial-stdio") {
		os.Exit(2)
	}
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: target, Net: "unix"})
	if err != nil {
		os.Exit(1)
	}
	go func() {
		_, _ = io.Copy(conn, os.Stdin)
		_ = conn.CloseWrite()
	}()
	_, _ = io.Copy(os.Stdout, conn)
}

// fake answers as much of Docker's API as Info asks.
type fake struct {
	api, component, name string
}

func (f fake) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	w.Header().Set("Api-Version", f.api)
	w.Header().Set("Content-Type", "application/json")
	var answer any
	switch {
	case strings.HasSuffix(request.URL.Path, "/_ping"):
		answer = "OK"
	case strings.HasSuffix(request.URL.Path, "/version"):
		answer = map[string]any{
			"Version": f.name, "ApiVersion": f.api, "Arch": "amd64",
			"Components": []map[string]string{{"Name": f.component}},
		}
	case strings.HasSuffix(request.URL.Path, "/info"):
		answer = map[string]any{
			"SystemTime": "2026-01-01T00:00:00Z", "Driver": "overlay2", "CgroupVersion": "2", "CgroupDriver": "systemd", "NCPU": 4, "MemTotal": 1024,
			"SecurityOptions": []string{"name=seccomp,profile=default", "name=rootless", "name=userns"},
		}
	case strings.HasSuffix(request.URL.Path, "/networks/none"):
		answer = map[string]string{"Name": "none", "Id": "0f"}
	default:
		w.WriteHeader(http.StatusNotFound)
		answer = map[string]string{"message": "page not found"}
	}
	_ = json.NewEncoder(w).Encode(answer)
}

// fakePodman answers as much of Podman's own API as Info asks, and of Docker's.
type fakePodman struct {
	version string
}

func (f fakePodman) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	w.Header().Set("Libpod-Api-Version", f.version)
	switch {
	case strings.HasSuffix(request.URL.Path, "/libpod/_ping"):
		_, _ = io.WriteString(w, "OK")
	case strings.HasSuffix(request.URL.Path, "/libpod/info"):
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{
			"host":    map[string]any{"arch": "amd64", "cgroupVersion": "v2", "cgroupManager": "systemd"},
			"store":   map[string]any{"graphDriverName": "overlay"},
			"version": map[string]any{"Version": f.version, "APIVersion": f.version},
		})
	default:
		fake{api: "1.41", component: "Podman Engine", name: f.version}.ServeHTTP(w, request)
	}
}

func docker(name string) fake { return fake{api: "1.44", component: "Engine", name: name} }

// serve answers on a Unix socket and returns its path.
func serve(t *testing.T, handler http.Handler) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "docker.sock")
	listener := must.Get(net.Listen("unix", path))(t)
	server := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	return path
}

// isolated keeps a test from the Podman of the host it runs on.
func isolated(options connect.Options) connect.Options {
	if options.PodmanSockets == nil {
		options.PodmanSockets = []string{}
	}
	if options.Connections == nil {
		options.Connections = func() ([]connect.Connection, error) { return nil, nil }
	}
	return options
}

// infoOf connects, with a home that has no configuration unless a variable names another.
func infoOf(t *testing.T, options connect.Options, variables map[string]string) (engine.Info, error) {
	t.Helper()
	all := map[string]string{"HOME": t.TempDir()}
	maps.Copy(all, variables)
	options.Getenv = environment(all)
	eng, err := connect.Connect(t.Context(), isolated(options))
	if err != nil {
		return engine.Info{}, err
	}
	t.Cleanup(func() { _ = eng.Close() })
	return eng.Info(t.Context())
}

// environment reads variables from a map, never from the process.
func environment(variables map[string]string) func(string) string {
	return func(name string) string { return variables[name] }
}

func writeFile(t *testing.T, path, content string) {
	t.Helper()
	must.Succeed(t, os.MkdirAll(filepath.Dir(path), 0o700))
	must.Succeed(t, os.WriteFile(path, []byte(content), 0o600))
}

// writeContext makes a context as docker context create does.
func writeContext(t *testing.T, home, name, host string) {
	t.Helper()
	directory := fmt.Sprintf("%x", sha256.Sum256([]byte(name)))
	writeFile(t, filepath.Join(home, ".docker", "contexts", "meta", directory, "meta.json"),
		`{"Name":"`+name+`","Metadata":{},"Endpoints":{"docker":{"Host":"`+host+`","SkipTLSVerify":false}}}`)
}
