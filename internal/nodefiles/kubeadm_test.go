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

package nodefiles

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	"sigs.k8s.io/cluster-api/bootstrap/kubeadm/pkg/cloudinit"

	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/script"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

func config(files ...bootstrapv1.File) *bootstrapv1.KubeadmConfigSpec {
	return &bootstrapv1.KubeadmConfigSpec{Files: files}
}

// firstBoot is the data that Cluster API makes of a configuration.
func firstBoot(t *testing.T, config *bootstrapv1.KubeadmConfigSpec) []byte {
	t.Helper()
	return must.Get(cloudinit.NewNode(&cloudinit.NodeInput{BaseUserData: cloudinit.BaseUserData{
		AdditionalFiles: config.Files, WriteFiles: []bootstrapv1.File{{Path: "/etc/kubernetes/pki/ca.crt", Content: "ca"}},
	}, JoinConfiguration: "kind: JoinConfiguration"}))(t)
}

func TestOf(t *testing.T) {
	t.Parallel()
	dropIn, content := script.ContainerdDropIn()
	secret := bootstrapv1.FileSource{Secret: bootstrapv1.SecretFileSource{Name: "a", Key: "b"}}
	cases := map[string]struct {
		reason string
		files  []bootstrapv1.File
		want   Spec
	}{
		"defaults": {"As the first boot writes it: owner, mode, and one line break at the end.", []bootstrapv1.File{{Path: "/a", Content: "x"}},
			Spec{Files: []File{{"/a", "root:root", 0o644, []byte("x\n")}}}},
		"all": {"As it is.", []bootstrapv1.File{{Path: "/a", Owner: "daemon", Permissions: "0600", Encoding: bootstrapv1.Base64, Content: "eyUg"}},
			Spec{Files: []File{{"/a", "daemon", 0o600, []byte("{% ")}}}},
		"last":      {"The last entry of a path counts.", []bootstrapv1.File{{Path: "/a", Content: "x"}, {Path: "/a", Content: "y"}}, Spec{Files: []File{{"/a", "root:root", 0o644, []byte("y\n")}}}},
		"append":    {"What it was appended to is not known.", []bootstrapv1.File{{Path: "/a", Content: "x"}, {Path: "/a", Content: "y", Append: ptr.To(true)}}, Spec{Kept: []string{"/a"}}},
		"secret":    {"Its content is not in the specification.", []bootstrapv1.File{{Path: "/a", ContentFrom: secret}}, Spec{Kept: []string{"/a"}}},
		"template":  {"Cluster API renders it.", []bootstrapv1.File{{Path: "/a", Content: "x", ContentFormat: bootstrapv1.FileContentFormatTemplate}}, Spec{Kept: []string{"/a"}}},
		"instance":  {"The first boot renders it.", []bootstrapv1.File{{Path: "/a", Content: "{{ ds.meta_data.local_hostname }}"}}, Spec{Kept: []string{"/a"}}},
		"reserved":  {"Another writes it.", []bootstrapv1.File{{Path: "/etc/default/kubelet", Content: "x"}, {Path: "/var/lib/kubelet/config.yaml", Content: "x"}}, Spec{Kept: []string{"/etc/default/kubelet", "/var/lib/kubelet/config.yaml"}}},
		"invalid":   {"No first boot would write it.", []bootstrapv1.File{{Path: "/a", Content: "x", Permissions: "rwx"}, {Path: "/b", Content: "?", Encoding: bootstrapv1.Base64}}, Spec{Kept: []string{"/a", "/b"}}},
		"injection": {"A value is no part of the document.", []bootstrapv1.File{{Path: "/a", Owner: "root\n    append: true", Content: "x"}}, Spec{Kept: []string{"/a"}}},
		"containerd": {"containerd merges it with every node image.", []bootstrapv1.File{{Path: "/etc/containerd/conf.d/a.toml", Content: "x"}},
			Spec{Files: []File{{"/etc/containerd/conf.d/a.toml", "root:root", 0o644, []byte("x\n")}, {dropIn, "root:root", 0o644, []byte(content)}}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, must.Get(Of(config(tc.files...), nil))(t)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestOfKnown(t *testing.T) {
	t.Parallel()
	before := config(bootstrapv1.File{Path: "/a", Content: "x"}, bootstrapv1.File{Path: "/discovery", Content: "x"},
		bootstrapv1.File{Path: "/b", Content: "x", Append: ptr.To(true)}, bootstrapv1.File{Path: "/etc/default/kubelet", Content: "x"})
	after := config()
	after.JoinConfiguration.Discovery.File.KubeConfigPath = "/discovery"
	got := must.Get(Of(after, firstBoot(t, before)))(t)
	if diff := cmp.Diff([]string{"/a"}, got.Known); diff != "" {
		t.Errorf("Cluster API's own files, and those that others write, are not removed (-want +got):\n%s", diff)
	}
	if _, err := Of(after, []byte("nonsense")); err == nil {
		t.Error("data that cannot be read is not refused")
	}
}

// audited is a control plane whose API server mounts a file.
func audited(policy string) *bootstrapv1.KubeadmConfigSpec {
	spec := config(bootstrapv1.File{Path: "/etc/kubernetes/audit/policy.yaml", Content: policy})
	spec.ClusterConfiguration.APIServer.ExtraVolumes = []bootstrapv1.HostPathMount{{Name: "audit", HostPath: "/etc/kubernetes/audit", MountPath: "/audit"}}
	return spec
}

func TestCanChange(t *testing.T) {
	t.Parallel()
	a, a2 := bootstrapv1.File{Path: "/a", Content: "x"}, bootstrapv1.File{Path: "/a", Content: "y", Permissions: "0600", Owner: "daemon"}
	appended := bootstrapv1.File{Path: "/b", Content: "x", Append: ptr.To(true)}
	other := appended
	other.Content = "y"
	ignition := config(a2)
	ignition.Format = bootstrapv1.Ignition
	cases := map[string]struct {
		reason        string
		before, after *bootstrapv1.KubeadmConfigSpec
		want          bool
	}{
		"content":   {"Content, owner and mode can change.", config(a, appended), config(a2, appended), true},
		"added":     {"A file can be added.", config(), config(a), true},
		"removed":   {"A file can be removed.", config(a), config(), true},
		"appended":  {"What was appended stays.", config(appended), config(other), false},
		"gone":      {"What was appended is not taken out.", config(a, appended), config(a), false},
		"overwrite": {"A file that was appended to is not written.", config(appended), config(bootstrapv1.File{Path: "/b", Content: "x"}), false},
		"template":  {"What becomes a template is rendered by the first boot.", config(a), config(bootstrapv1.File{Path: "/a", Content: "{{ v1.region }}"}), false},
		"engine":    {"It cannot be removed.", config(bootstrapv1.File{Path: "/etc/hosts", Content: "x"}), config(), false},
		"reserved":  {"The node has other contents.", config(), config(bootstrapv1.File{Path: "/etc/default/kubelet", Content: "x"}), false},
		"ignition":  {"Only files of cloud-config are known.", ignition, ignition, false},
		"mounted":   {"The API server reads it when it starts.", audited("x"), audited("y"), false},
		"patches":   {"kubeadm reads them when the node joins.", config(), config(bootstrapv1.File{Path: "/etc/kubernetes/patches/kubeletconfiguration+merge.json", Content: "{}"}), false},
		"false":     {"Not to append is to write.", config(bootstrapv1.File{Path: "/a", Content: "x", Append: ptr.To(false)}), config(a), true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := CanChange(tc.before, tc.after); got != tc.want {
				t.Errorf("%s got %v, want %v", tc.reason, got, tc.want)
			}
		})
	}
}
