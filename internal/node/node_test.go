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

package node_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/distribution/reference"
	"github.com/google/go-cmp/cmp"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/node"
)

func TestSpecMounts(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		host   node.Host
		user   []node.Mount
		want   []string
	}{
		"plain host": {
			reason: "systemd needs /run and /tmp in memory, containerd a volume below /var, and nothing else is needed",
			want:   []string{"tmpfs:/run", "tmpfs:/tmp", "volume:/var"},
		},
		"kernel modules": {
			reason: "modprobe must find what the host's kernel has, and must not change it",
			host:   node.Host{KernelModules: true},
			want:   []string{"tmpfs:/run", "tmpfs:/tmp", "volume:/var", "bind:/lib/modules:ro"},
		},
		"btrfs": {
			reason: "on btrfs the kubelet looks for the devices of the file system",
			host:   node.Host{StorageDriver: "btrfs"},
			want:   []string{"tmpfs:/run", "tmpfs:/tmp", "volume:/var", "bind:/dev/mapper"},
		},
		"user mounts": {
			reason: "what the user mounts comes last and as asked for",
			user:   []node.Mount{{HostPath: "/srv", ContainerPath: "/data", ReadOnly: true}, {HostPath: "/opt", ContainerPath: "/opt"}},
			want:   []string{"tmpfs:/run", "tmpfs:/tmp", "volume:/var", "bind:/data:ro", "bind:/opt"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec := node.Spec(node.Machine{Container: "c", Mounts: tc.user}, tc.host)
			got := make([]string, 0, len(spec.Mounts))
			for _, mount := range spec.Mounts {
				text := string(mount.Type) + ":" + mount.Target
				if mount.ReadOnly {
					text += ":ro"
				}
				got = append(got, text)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want, +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestSpecSurvivesRestarts(t *testing.T) {
	t.Parallel()
	spec := node.Spec(node.Machine{Container: "c", Hostname: "h", Image: "i"}, node.Host{})
	if spec.Restart != engine.RestartUnlessStopped {
		t.Errorf("restart policy %q: a node must come back with its engine", spec.Restart)
	}
	if spec.StopSignal != "SIGRTMIN+3" {
		t.Errorf("stop signal %q: systemd powers off on SIGRTMIN+3 only", spec.StopSignal)
	}
}

func TestAdaptation(t *testing.T) {
	t.Parallel()
	const (
		cgroups  = "--fail-cgroupv1=false"
		userland = "--feature-gates=KubeletInUserNamespace=true"
	)
	cases := map[string]struct {
		reason string
		host   node.Host
		minor  int
		flags  []string
		dropIn bool
	}{
		"cgroup v2, all capabilities": {
			reason: "a host that holds nothing back needs no adaptation",
			host:   node.Host{CgroupVersion: "2"}, minor: 36,
		},
		"cgroup v1": {
			reason: "kubelet 1.35 and newer refuse cgroup v1 by default",
			host:   node.Host{CgroupVersion: "1"}, minor: 36, flags: []string{cgroups},
		},
		"cgroup v1, kubelet 1.34": {
			reason: "kubelet 1.34 does not know the flag's default, and must not be given what it does not need",
			host:   node.Host{CgroupVersion: "1"}, minor: 34,
		},
		"cgroup v1, unknown version": {
			reason: "an unknown version is taken as a current one",
			host:   node.Host{CgroupVersion: "1"}, flags: []string{cgroups},
		},
		"no CAP_SYS_RESOURCE": {
			reason: "no process may lower an oom_score_adj, neither kubelet nor containerd",
			host:   node.Host{CgroupVersion: "2", CannotRaiseLimits: true}, minor: 36, flags: []string{userland}, dropIn: true,
		},
		"user namespace": {
			reason: "rootless engines need the same as hosts that hold capabilities back",
			host:   node.Host{CgroupVersion: "2", UserNamespace: true}, minor: 36, flags: []string{userland}, dropIn: true,
		},
		"cgroup v1, no CAP_SYS_RESOURCE": {
			reason: "adaptations add up",
			host:   node.Host{CgroupVersion: "1", CannotRaiseLimits: true}, minor: 36, flags: []string{cgroups, userland}, dropIn: true,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			flags := node.KubeletFlags(node.Kubelet{ProviderID: "container:///c", KubernetesMinor: tc.minor}, tc.host)
			got := slices.DeleteFunc(slices.Clone(flags), func(flag string) bool { return flag != cgroups && flag != userland })
			if diff := cmp.Diff(tc.flags, got, cmp.Transformer("nil", func(s []string) []string { return append([]string{}, s...) })); diff != "" {
				t.Errorf("%s: flags (-want, +got):\n%s", tc.reason, diff)
			}
			// Whatever the host: a node that boots again waits for its Pod network, and forwards.
			const directory = "etc/systemd/system/containerd.service.d/"
			files := []string{directory + "20-pod-network.conf", directory + "30-forwarding.conf"}
			if tc.dropIn {
				files = []string{directory + "10-restricted-host.conf", directory + "20-pod-network.conf", directory + "30-forwarding.conf"}
			}
			if got := node.ContainerdPatch(tc.host) != ""; got != tc.dropIn {
				t.Errorf("%s: patched containerd's configuration: %t, want %t", tc.reason, got, tc.dropIn)
			}
			if diff := cmp.Diff(files, slices.Sorted(maps.Keys(node.Files(tc.host)))); diff != "" {
				t.Errorf("%s: files (-want, +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestKubeletFlagsIdentify(t *testing.T) {
	t.Parallel()
	flags := node.KubeletFlags(node.Kubelet{ProviderID: "container:///c", Zone: "a", KubernetesMinor: 36}, node.Host{CgroupVersion: "2"})
	for _, want := range []string{"--provider-id=container:///c", "--node-labels=topology.kubernetes.io/zone=a"} {
		if !slices.Contains(flags, want) {
			t.Errorf("flags %q lack %q: the Node must be right from its first registration", flags, want)
		}
	}
	for _, flag := range node.KubeletFlags(node.Kubelet{ProviderID: "container:///c"}, node.Host{CgroupVersion: "2"}) {
		if strings.HasPrefix(flag, "--node-labels") {
			t.Errorf("flag %q without a zone", flag)
		}
	}
}

func TestImage(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason, version, image, problem string
	}{
		"built": {reason: "a version that images are built for has one by name", version: "v1.36.3", image: "localhost/capcon/node:v1.36.3"},
		"published": {reason: "one that kind has published has it by digest", version: "v1.36.4",
			image: "docker.io/kindest/node@sha256:099e049362a1526b2db71494e1947aae99bd16290d7c895f2b7ea312e3cbfaed"},
		"old":       {reason: "an old version is refused by name of the oldest", version: "v1.33.1", problem: "is older than v1.34, the oldest supported version"},
		"new":       {reason: "a version from the future is refused", version: "v1.38.0", problem: "is newer than v1.37, the newest supported version"},
		"unknown":   {reason: "a patch version without an image asks for one", version: "v1.36.99", problem: "has no default node image"},
		"no prefix": {reason: "Machine versions begin with v", version: "1.36.3", problem: "is not of the form v1.2.3"},
		"empty":     {reason: "no version has no image", version: "", problem: "is not of the form v1.2.3"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			image, err := node.Image(tc.version)
			if image != tc.image {
				t.Errorf("%s: image %q, want %q", tc.reason, image, tc.image)
			}
			var version *node.VersionError
			if errors.As(err, &version) != (tc.problem != "") {
				t.Fatalf("%s: error %v", tc.reason, err)
			}
			if version != nil && version.Problem != tc.problem {
				t.Errorf("%s: problem %q, want %q", tc.reason, version.Problem, tc.problem)
			}
		})
	}
}

// Who names a version that is not known reads which are.
func TestVersionErrorNamesKnownVersions(t *testing.T) {
	t.Parallel()
	_, err := node.Image("v1.36.99")
	const want = `Kubernetes version "v1.36.99" has no default node image; ` +
		"known versions: v1.37.2, v1.36.4, v1.36.3, v1.35.8, v1.35.4, v1.34.11, v1.34.4"
	if err == nil || err.Error() != want {
		t.Errorf("the error is %v, want %s", err, want)
	}
}

func TestKnownImages(t *testing.T) {
	t.Parallel()
	for _, version := range node.KnownVersions() {
		image, err := node.Image(version)
		if err != nil {
			t.Errorf("image of %s: %v", version, err)
			continue
		}
		named, err := reference.ParseNormalizedNamed(image)
		if err != nil {
			t.Errorf("image of %s: %v", version, err)
			continue
		}
		_, hasDigest := named.(reference.Digested)
		if tagged, hasTag := named.(reference.Tagged); hasTag == hasDigest || hasTag && tagged.Tag() != version {
			t.Errorf("image of %s is %s, want it by digest alone or by that tag", version, image)
		}
	}
	if _, err := node.Image(node.DefaultVersion); err != nil {
		t.Errorf("the default version: %v", err)
	}
}
