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
	"path"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/capi-samples/cluster-api-provider-container/internal/node"
)

func TestCheckMounts(t *testing.T) {
	t.Parallel()
	const own = "use another path, such as /mnt/data"
	at := func(paths ...string) []node.Mount {
		var mounts []node.Mount
		for _, containerPath := range paths {
			mounts = append(mounts, node.Mount{HostPath: "/srv", ContainerPath: containerPath})
		}
		return mounts
	}
	cases := map[string]struct {
		reason string
		mounts []node.Mount
		want   []string
	}{
		"Usual":      {"A directory next to the system's is what mounts are for.", at("/data", "/mnt/images", "/opt/charts"), nil},
		"Socket":     {"A management cluster in a node needs the engine's socket.", at("/var/run/docker.sock"), nil},
		"KindUsers":  {"What kind's documentation shows works here.", at("/var/lib/kubelet/config.json", "/etc/containerd/certs.d", "/etc/kubernetes/policies"), nil},
		"State":      {"A disk of its own for etcd or containerd is the user's decision.", at("/var/lib/etcd", "/var/lib/containerd"), nil},
		"Tracing":    {"The kernel's other file systems are looked at by many tools.", at("/sys/kernel/debug", "/sys/fs/bpf", "/dev/kvm"), nil},
		"SameSource": {"One path of the host may be seen at two places.", at("/a", "/b"), nil},
		"SameBegin":  {"A common beginning is no nesting.", at("/data", "/data2", "/variable", "/runtime"), nil},
		"Relative": {"Engines refuse it, or take it for a volume.", []node.Mount{{HostPath: "srv", ContainerPath: "data"}}, []string{
			`mount 0: path "srv" is not absolute; use a path that begins with a slash`,
			`mount 0: path "data" is not absolute; use a path that begins with a slash`,
		}},
		"Unclean": {"Engines clean it in ways of their own.", []node.Mount{{HostPath: "/srv/../etc", ContainerPath: "/data/"}}, []string{
			`mount 0: path "/srv/../etc" is not a clean path; use /etc`,
			`mount 0: path "/data/" is not a clean path; use /data`,
		}},
		"Keys": {"kubeadm would write them to the host.", at("/etc/kubernetes"), []string{
			`mount 0: path "/etc/kubernetes" is used by the node: kubeadm writes keys and manifests there; ` + own,
		}},
		"Dots":    {"It is /var in other words.", at("/data/../var"), []string{`mount 0: path "/data/../var" is not a clean path; use /var`}},
		"Control": {"It is not visible.", at("/da\nta"), []string{`mount 0: path "/da\nta" contains a control character; remove it`}},
		"Twice":   {"One would hide the other.", at("/a", "/b", "/a"), []string{`mount 2: path "/a" is also the path of mount 0; use another path for one of them`}},
		"Within": {"What comes first is the engine's to decide.", at("/a/b", "/a"), []string{
			`mount 1: path "/a" overlaps /a/b of mount 0; use paths that do not contain each other`,
		}},
		"Root": {"It would hide everything.", at("/"), []string{`mount 0: path "/" would hide /run, which the node uses: it is a tmpfs, empty after each start; ` + own}},
		"Volume": {"The engine would refuse a second mount there.", at("/var"), []string{
			`mount 0: path "/var" is used by the node: it is a volume of the node; ` + own,
		}},
		"Above": {"What is below would be hidden.", at("/etc"), []string{
			`mount 0: path "/etc" would hide /etc/hosts, which the node uses: the node image's entrypoint writes it; ` + own,
		}},
		"Below": {"Nothing can be made below a read-only mount.", at("/lib/modules/extra"), []string{
			`mount 0: path "/lib/modules/extra" is below /lib/modules, which the node uses: the provider mounts that of the host; ` + own,
		}},
		"All": {"Each is reported, not only the first.", at("/proc", "/data", "/tmp"), []string{
			`mount 0: path "/proc" is used by the node: it is a kernel file system; ` + own,
			`mount 2: path "/tmp" is used by the node: it is a tmpfs, empty after each start; ` + own,
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, err := range node.CheckMounts(tc.mounts, nil) {
				got = append(got, err.Error())
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want, +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestCheckMountsOfBootstrap(t *testing.T) {
	t.Parallel()
	for containerPath, refused := range map[string]bool{"/srv/mine": true, "/srv": true, "/srv/mine/x": true, "/srv/yours": false} {
		errs := node.CheckMounts([]node.Mount{{HostPath: "/a", ContainerPath: containerPath}}, []string{"/srv/mine"})
		if (len(errs) > 0) != refused {
			t.Errorf("CheckMounts(%s) = %v", containerPath, errs)
		}
	}
}

// What this package itself puts into a node is reserved.
func TestCheckMountsKnowsSpecAndAdaptation(t *testing.T) {
	t.Parallel()
	var needed []string
	for _, host := range []node.Host{{}, {KernelModules: true, StorageDriver: "zfs", CannotRaiseLimits: true}} {
		for _, mount := range node.Spec(node.Machine{}, host).Mounts {
			needed = append(needed, mount.Target)
		}
		for name := range node.Files(host) {
			needed = append(needed, "/"+path.Dir(name))
		}
	}
	if len(needed) < 6 {
		t.Fatalf("the specs have only %q", needed)
	}
	for _, target := range needed {
		if len(node.CheckMounts([]node.Mount{{HostPath: "/a", ContainerPath: target}}, nil)) == 0 {
			t.Errorf("a user may mount at %s, which the provider needs", target)
		}
	}
}
