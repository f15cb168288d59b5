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

package docker_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/docker"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/enginetest"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// TestIntegrationConformance runs on the engine of DOCKER_HOST, by default
// that of /var/run/docker.sock, which may have other users: it removes all it
// makes but the test image.
func TestIntegrationConformance(t *testing.T) {
	skipIfShort(t)
	t.Parallel()
	enginetest.Conformance(t, harness(t, client.DefaultDockerHost))
}

func skipIfShort(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: no container engine")
	}
}

// harness reaches the engine of the default endpoint or DOCKER_HOST through a
// proxy, whose connections can be broken.
func harness(t *testing.T, endpoint string) enginetest.Harness {
	t.Helper()
	if fromEnvironment := os.Getenv(client.EnvOverrideHost); fromEnvironment != "" && endpoint == client.DefaultDockerHost {
		endpoint = fromEnvironment
	}
	raw := must.Get(client.New(client.WithHost(endpoint)))(t)
	t.Cleanup(func() { _ = raw.Close() })
	if _, err := raw.Ping(t.Context(), client.PingOptions{}); err != nil {
		t.Fatalf("no Docker engine answers at %s (%v); start one with lab/engine/docker.sh, or leave such tests out with -short", endpoint, err)
	}
	out := enginetest.LocalHarness(t, endpoint, func(uri string) (engine.Engine, error) { return docker.New("", client.WithHost(uri)) })
	out.VolumesOf = func(t *testing.T, container string) []string {
		t.Helper()
		found := must.Get(raw.ContainerInspect(t.Context(), container, client.ContainerInspectOptions{}))(t)
		var out []string
		for _, mount := range found.Container.Mounts {
			if mount.Name != "" {
				out = append(out, mount.Name)
			}
		}
		return out
	}
	out.RemoveImage = func(t *testing.T, reference string) {
		t.Helper()
		_, err := raw.ImageRemove(context.WithoutCancel(t.Context()), reference, client.ImageRemoveOptions{})
		if err != nil && !errdefs.IsNotFound(err) && !errdefs.IsConflict(err) {
			t.Errorf("remove image %q: %v", reference, err)
		}
	}
	return out
}

// TestIntegrationRestart restarts an engine, so it starts one of its own.
func TestIntegrationRestart(t *testing.T) {
	skipIfShort(t)
	t.Parallel()
	daemon := startDaemon(t)
	tested := harness(t, daemon.endpoint())
	tested.RestartEngine = daemon.Restart
	enginetest.RestartConformance(t, tested)
}

// daemon is a dockerd alongside the one that others use, in a network namespace
// of its own: the two would share bridges and iptables. Switching those off is
// no way, because dockerd then removes the bridge of the other.
type daemon struct {
	enginetest.Daemon

	directory string
}

func startDaemon(t *testing.T) *daemon {
	t.Helper()
	for _, program := range []string{"dockerd", "unshare", "ip"} {
		if _, err := exec.LookPath(program); err != nil || os.Getuid() != 0 {
			t.Skipf("an engine to restart needs root and the program %s", program)
		}
	}
	d := &daemon{directory: t.TempDir()}
	d.writeConfig(t)
	raw := must.Get(client.New(client.WithHost(d.endpoint())))(t)
	t.Cleanup(func() { _ = raw.Close() })
	d.Daemon = enginetest.Daemon{
		Name: "dockerd", Log: filepath.Join(d.directory, "log"), Command: d.command,
		Ping: func(ctx context.Context) error {
			_, err := raw.Ping(ctx, client.PingOptions{})
			return err
		},
	}
	d.Start(t)
	t.Cleanup(func() { d.Stop(t) })
	return d
}

func (d *daemon) endpoint() string { return "unix://" + filepath.Join(d.directory, "docker.sock") }

// writeConfig takes over which runtime the host's own engine uses: a
// restricted host needs a special one.
func (d *daemon) writeConfig(t *testing.T) {
	t.Helper()
	config := map[string]any{}
	content, err := os.ReadFile("/etc/docker/daemon.json")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	if err == nil {
		must.Succeed(t, json.Unmarshal(content, &config))
	}
	kept := map[string]any{}
	for _, key := range []string{"runtimes", "default-runtime", "features"} {
		if value, ok := config[key]; ok {
			kept[key] = value
		}
	}
	if content, err = json.Marshal(kept); err != nil {
		t.Fatal(err)
	}
	must.Succeed(t, os.WriteFile(filepath.Join(d.directory, "daemon.json"), content, 0o600))
}

func (d *daemon) command() *exec.Cmd {
	return exec.Command("unshare", "--net", "sh", "-c", `ip link set lo up && exec dockerd "$@"`, "dockerd",
		"--config-file", filepath.Join(d.directory, "daemon.json"),
		"--host", d.endpoint(),
		"--data-root", filepath.Join(d.directory, "data"),
		"--exec-root", filepath.Join(d.directory, "exec"),
		"--pidfile", filepath.Join(d.directory, "pid"),
	)
}
