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

package plane

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/docker"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/podman"
)

func TestSocketOf(t *testing.T) {
	t.Parallel()
	const own = "6.1.0-48-amd64"
	cases := map[string]struct {
		reason string
		info   engine.Info
		kernel string
		want   string
	}{
		"Docker":         {"The socket we use is the plane's too.", engine.Info{Name: "docker", Traits: docker.Traits(), Kernel: own, Endpoint: "unix:///run/user/1000/docker.sock"}, own, "/run/user/1000/docker.sock"},
		"TCP":            {"Where we have no path, the usual one.", engine.Info{Name: "docker", Traits: docker.Traits(), Kernel: own, Endpoint: "tcp://127.0.0.1:2376"}, own, "/var/run/docker.sock"},
		"DockerDesktop":  {"In WSL the virtual machine has the kernel of the others.", engine.Info{Name: "docker", Traits: docker.Traits(), Kernel: own, Endpoint: "unix:///home/a/.docker/desktop/docker.sock", OperatingSystem: "Docker Desktop"}, own, "/var/run/docker.sock"},
		"Colima":         {"A Mac has no kernel file.", engine.Info{Name: "docker", Traits: docker.Traits(), Kernel: own, Endpoint: "unix:///Users/a/.colima/default/docker.sock", OperatingSystem: "Ubuntu 24.04.2 LTS"}, "", "/var/run/docker.sock"},
		"Lima":           {"A virtual machine has its own kernel.", engine.Info{Name: "docker", Traits: docker.Traits(), Kernel: "6.8.0-64-generic", Endpoint: "unix:///home/a/.lima/docker/sock/docker.sock"}, own, "/var/run/docker.sock"},
		"PodmanSSH":      {"The usual one of a machine.", engine.Info{Name: "podman", Traits: podman.Traits(), Kernel: own, Endpoint: "ssh://core@localhost:1234/run/podman/podman.sock"}, own, "/run/podman/podman.sock"},
		"PodmanMachine":  {"The socket on the Mac is not the machine's.", engine.Info{Name: "podman", Traits: podman.Traits(), Kernel: own, Endpoint: "unix:///var/folders/x/podman/podman-machine-default-api.sock"}, "", "/run/podman/podman.sock"},
		"PodmanRootless": {"A machine that runs Podman without root has a link to the user's.", engine.Info{Name: "podman", Rootless: true, Traits: podman.Traits(), Kernel: own, Endpoint: "unix:///var/folders/x/podman/podman-machine-default-api.sock"}, "", "/var/run/docker.sock"},
		"Podman":         {"The socket we use is the plane's too.", engine.Info{Name: "podman", Traits: podman.Traits(), Kernel: own, Endpoint: "unix:///run/podman/podman.sock"}, own, "/run/podman/podman.sock"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, socketOf(tc.info, tc.kernel)); diff != "" {
				t.Errorf("\n%s\nsocketOf(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestIsRemote(t *testing.T) {
	t.Parallel()
	for endpoint, want := range map[string]struct{ remote, tunnels bool }{
		"unix:///var/run/docker.sock":                       {},
		"npipe:////./pipe/docker_engine":                    {},
		"tcp://127.0.0.1:2375":                              {},
		"tcp://localhost:2375":                              {},
		"tcp://[::1]:2375":                                  {},
		"tcp://:2375":                                       {},
		"simulated://":                                      {},
		"ssh://core@127.0.0.1:52000/run/podman/podman.sock": {tunnels: true},
		"ssh://me@build.example.org":                        {remote: true, tunnels: true},
		"ssh://root@10.0.0.7:22/run/podman/podman.sock":     {remote: true, tunnels: true},
		"tcp://10.0.0.7:2376":                               {remote: true, tunnels: true},
		"tcp://docker:2376":                                 {remote: true, tunnels: true},
		"https://[2001:db8::1]:2376":                        {remote: true, tunnels: true},
	} {
		info := engine.Info{Endpoint: endpoint}
		if remote, tunnels := IsRemote(info), NeedsTunnels(info); remote != want.remote || tunnels != want.tunnels {
			t.Errorf("%s: IsRemote %t, NeedsTunnels %t, want %+v", endpoint, remote, tunnels, want)
		}
	}
}
