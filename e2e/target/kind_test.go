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

package target

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	kindv1 "sigs.k8s.io/kind/pkg/apis/config/v1alpha4"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/docker"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/podman"
	"github.com/capi-samples/cluster-api-provider-container/internal/node"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

func TestNewKindCluster(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason  string
		options KindOptions
		want    KindOptions
		err     string
	}{
		"Default": {
			reason:  "The network of clusters, and the node image that is built from source.",
			options: KindOptions{Name: "e2e"},
			want:    KindOptions{Name: "e2e", Network: "capcon", NodeImage: node.BuiltImage(node.DefaultVersion)},
		},
		"Given": {
			reason:  "What is given is used.",
			options: KindOptions{Name: "e2e", Network: "other", NodeImage: "registry/node:v1", KubernetesVersion: "v1.35.0"},
			want:    KindOptions{Name: "e2e", Network: "other", NodeImage: "registry/node:v1", KubernetesVersion: "v1.35.0"},
		},
		"NoName":       {reason: "kind's own default would be shared.", err: "no name"},
		"NoKnownImage": {reason: "Which images there are.", options: KindOptions{Name: "e2e", KubernetesVersion: "v1.36.99"}, err: "known versions"},
		"TooOld":       {reason: "The kubelet's flags are not known.", options: KindOptions{Name: "e2e", NodeImage: "i", KubernetesVersion: "v1.30.0"}, err: "older than"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cluster, err := NewKindCluster(tc.options)
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Errorf("%s Got the error %v, want one with %q", tc.reason, err, tc.err)
				}
				return
			}
			must.Succeed(t, err)
			if diff := cmp.Diff(tc.want, cluster.options); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestKindConfig(t *testing.T) {
	t.Parallel()
	const conntrack = "conntrack:\n  maxPerCore: 0\nkind: KubeProxyConfiguration\n"
	for name, tc := range map[string]struct {
		reason     string
		host       node.Host
		minor      int
		kubelet    string
		containerd []string
	}{
		"Ordinary": {
			reason: "kind's own nodes run on it.",
			host:   node.Host{CgroupVersion: "2"}, minor: 36, kubelet: "kind: KubeletConfiguration\n",
		},
		"CgroupV1": {
			reason: "A kubelet since 1.35 refuses it.",
			host:   node.Host{CgroupVersion: "1"}, minor: 36, kubelet: "failCgroupV1: false\nkind: KubeletConfiguration\n",
		},
		"CgroupV1Older": {
			reason: "An older one does not know the field.",
			host:   node.Host{CgroupVersion: "1"}, minor: 34, kubelet: "kind: KubeletConfiguration\n",
		},
		"Restricted": {
			reason: "Neither kubelet nor containerd may lower an oom_score_adj.",
			host:   node.Host{CgroupVersion: "2", CannotRaiseLimits: true}, minor: 36,
			kubelet:    "featureGates:\n  KubeletInUserNamespace: true\nkind: KubeletConfiguration\n",
			containerd: []string{"[plugins.\"io.containerd.cri.v1.runtime\"]\nrestrict_oom_score_adj = true\n"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config, err := kindConfig(tc.host, tc.minor, Socket{HostPath: "/host.sock", ContainerPath: "/node.sock"}, nil)
			must.Succeed(t, err)
			if diff := cmp.Diff([]string{ownerPermissions, tc.kubelet, conntrack}, config.KubeadmConfigPatches); diff != "" {
				t.Errorf("%s Patches of kubeadm's configuration (-want +got):\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.containerd, config.ContainerdConfigPatches); diff != "" {
				t.Errorf("%s Patches of containerd's configuration (-want +got):\n%s", tc.reason, diff)
			}
			if len(config.Nodes) != 1 {
				t.Fatalf("Got %d nodes, want 1", len(config.Nodes))
			}
			mounts := []kindv1.Mount{{HostPath: "/host.sock", ContainerPath: "/node.sock"}}
			if diff := cmp.Diff(mounts, config.Nodes[0].ExtraMounts); diff != "" {
				t.Errorf("Mounts (-want +got):\n%s", diff)
			}
		})
	}
}

// A flag that nodes get and kind's do not is not forgotten.
func TestUnknownKubeletFlagIsAnError(t *testing.T) {
	t.Parallel()
	if _, err := kubeletConfiguration([]string{"--new=true"}); err == nil || !strings.Contains(err.Error(), "--new") {
		t.Errorf("Got %v, want an error that names the flag", err)
	}
}

// The socket is where the overlay of the engine expects it.
func TestSocketIsWhereTheOverlayExpectsIt(t *testing.T) {
	t.Parallel()
	for overlay, tc := range map[string]struct {
		info engine.Info
		want Socket
	}{
		"docker-socket": {
			engine.Info{Name: "docker", Traits: docker.Traits(), Endpoint: "tcp://127.0.0.1:2375"}, Socket{"/var/run/docker.sock", "/var/run/docker.sock"},
		},
		"podman-socket": {
			engine.Info{Name: "podman", Traits: podman.Traits(), Endpoint: "tcp://127.0.0.1:2375"}, Socket{"/run/podman", "/run/podman"},
		},
	} {
		got := socketOf(tc.info)
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", overlay, diff)
		}
		patch, err := os.ReadFile(filepath.Join("..", "..", "config", overlay, "socket_patch.yaml"))
		must.Succeed(t, err)
		if !strings.Contains(string(patch), "path: "+got.ContainerPath+"\n") {
			t.Errorf("config/%s does not mount %s", overlay, got.ContainerPath)
		}
	}
}
