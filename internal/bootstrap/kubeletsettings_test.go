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

package bootstrap

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// TestKubeletFlagsOfUser: what the user sets by any of kubeadm's ways is not overridden, and nothing else is left out.
func TestKubeletFlagsOfUser(t *testing.T) {
	t.Parallel()
	const (
		cpu, memory = "--system-reserved=cpu=2500m", "--system-reserved=memory=2147483648"
		swap, gate  = "--fail-swap-on=false", "--feature-gates=KubeletInUserNamespace=true"
		eviction    = "--eviction-hard=nodefs.available<0%,imagefs.available<0%"

		registration  = "nodeRegistration:\n  kubeletExtraArgs:\n"
		patches       = "patches:\n  directory: /etc/kubernetes/patches/\n"
		configuration = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
	)
	patched := func(name, content string) []File {
		return []File{kubeadmFile(joinDocument + patches), {Path: "/etc/kubernetes/patches/" + name, Content: []byte(content)}}
	}
	cases := map[string]struct {
		reason string
		files  []File
		// without are the flags that are left out.
		without []string
	}{
		"nothing": {reason: "the user set nothing", files: []File{kubeadmFile(initDocument)}},
		"second pair": {reason: "a user reserves memory, and the limit of the CPU is kept",
			files: []File{kubeadmFile(joinDocument + registration + "  - {name: system-reserved, value: 'ephemeral-storage=1Gi, memory=3Gi'}\n")}, without: []string{memory}},
		"equal names": {reason: "each counts",
			files: []File{kubeadmFile(joinDocument + registration +
				"  - {name: system-reserved, value: memory=3Gi}\n  - {name: system-reserved, value: cpu=1}\n")}, without: []string{cpu, memory}},
		"underscores": {reason: "the kubelet takes them for dashes",
			files: []File{kubeadmFile(joinDocument + registration + "    fail_swap_on: 'true'\n")}, without: []string{swap}},
		"thresholds": {reason: "a flag replaces all of them",
			files: []File{kubeadmFile(joinDocument + registration + "    eviction-hard: memory.available<500Mi\n")}, without: []string{eviction}},
		"document": {reason: "kubeadm reads it from its file",
			files:   []File{kubeadmFile(initDocument + "\n---\n" + configuration + "failSwapOn: true\nfeatureGates: {Other: true}\nevictionHard: null\n")},
			without: []string{swap}},
		"map of a document": {reason: "a flag would replace all of it, so that the user's pair was lost",
			files: []File{kubeadmFile(initDocument + "\n---\n" + configuration + "systemReserved: {memory: 3Gi}\n")}, without: []string{cpu, memory}},
		"gate of a document": {reason: "feature gates are merged by name",
			files: []File{kubeadmFile(initDocument + "\n---\n" + configuration + "featureGates: {KubeletInUserNamespace: false}\n")}, without: []string{gate}},
		"drop-in": {reason: "the kubelet merges it into its configuration",
			files: []File{kubeadmFile(joinDocument), {Path: "/etc/kubernetes/kubelet.conf.d/10.conf", Content: []byte(configuration + "failSwapOn: true\n")}}, without: []string{swap}},
		"patch": {reason: "kubeadm merges it",
			files: patched("kubeletconfiguration0+merge.yaml", "evictionHard:\n  nodefs.available: 10%\n"), without: []string{eviction}},
		"patch in JSON": {reason: "the type is strategic by default",
			files: patched("kubeletconfiguration.json", `{"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration", "failSwapOn": true}`), without: []string{swap}},
		"JSON patch": {reason: "its operations name the fields",
			files: patched("kubeletconfiguration1+json.yaml",
				"- {op: add, path: /failSwapOn, value: true}\n- {op: add, path: /featureGates/KubeletInUserNamespace, value: false}\n- {op: remove, path: /evictionHard}\n- odd\n"),
			without: []string{swap, gate}},
		"patch of another component": {reason: "it is not the kubelet's", files: patched("kube-apiserver0+merge.yaml", "failSwapOn: true\n")},
		"patch elsewhere": {reason: "kubeadm does not read it",
			files: []File{kubeadmFile(joinDocument + patches), {Path: "/tmp/kubeletconfiguration.yaml", Content: []byte("failSwapOn: true\n")}}},
		"broken patch": {reason: "kubeadm reports it", files: patched("kubeletconfiguration.yaml", "failSwapOn: [")},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			flags := []string{cpu, memory, swap, gate, eviction}
			got := must.Get(Input{Config: Config{Files: tc.files}, KubeletFlags: flags}.kubeletFlags())(t)
			want := slices.DeleteFunc(flags, func(flag string) bool { return slices.Contains(tc.without, flag) })
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
