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

package script

import (
	"errors"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/userdata"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// TestKubeletFlagsOfUser: what the user gives the kubelet through kubeadm is not overridden, and nothing else is left out.
func TestKubeletFlagsOfUser(t *testing.T) {
	t.Parallel()
	const (
		cpu, memory, swap = "--system-reserved=cpu=2500m", "--system-reserved=memory=2147483648", "--fail-swap-on=false"
		eviction          = "--eviction-hard=nodefs.available<0%,imagefs.available<0%"

		registration = "apiVersion: kubeadm.k8s.io/v1beta4\nkind: JoinConfiguration\nnodeRegistration:\n  kubeletExtraArgs:\n"
	)
	cases := map[string]struct {
		reason, arguments string
		// without are the flags that are left out.
		without []string
	}{
		"nothing": {reason: "the user set nothing"},
		"second pair": {reason: "a user reserves memory, and the limit of the CPU is kept",
			arguments: "  - {name: system-reserved, value: 'ephemeral-storage=1Gi, memory=3Gi'}\n", without: []string{memory}},
		"equal names": {reason: "each counts", without: []string{cpu, memory},
			arguments: "  - {name: system-reserved, value: memory=3Gi}\n  - {name: system-reserved, value: cpu=1}\n"},
		"underscores": {reason: "the kubelet takes them for dashes", arguments: "    fail_swap_on: 'true'\n", without: []string{swap}},
		"thresholds":  {reason: "a flag replaces all of them", arguments: "    eviction-hard: memory.available<500Mi\n", without: []string{eviction}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			flags := []string{cpu, memory, swap, eviction}
			config := userdata.Config{Files: []userdata.File{{Path: "/run/kubeadm/kubeadm.yaml", Content: []byte(registration + tc.arguments)}}}
			got := must.Get(Input{Config: config, KubeletFlags: flags}.kubeletFlags())(t)
			want := slices.DeleteFunc(flags, func(flag string) bool { return slices.Contains(tc.without, flag) })
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestScriptKubeletSettings: what the kubelet's configuration in a node sets, by any way, is not overridden by our
// flags, and nothing else is left out.
func TestScriptKubeletSettings(t *testing.T) {
	t.Parallel()
	const (
		cpu, memory = "--system-reserved=cpu=2500m", "--system-reserved=memory=2147483648"
		swap, gate  = "--fail-swap-on=false", "--feature-gates=KubeletInUserNamespace=true"
		eviction    = "--eviction-hard=nodefs.available<0%,imagefs.available<0%"
		label       = "--node-labels=topology.kubernetes.io/zone=a"

		config = "/var/lib/kubelet/config.yaml"
		dropIn = "/etc/kubelet.d/20/10.conf"

		reservedLater = "/var/lib/cluster-api-bootstrap/kubelet-reserved"
	)
	cases := map[string]struct {
		reason string
		// files of the node, and the arguments that are not ours.
		files     map[string]string
		kubeadm   string
		arguments string
		without   []string
		// with are flags that a file of the node adds.
		with []string
	}{
		"no configuration": {reason: "the kubelet reports that it is missing"},
		"nothing": {reason: "what kubeadm writes by itself sets nothing of ours",
			files: map[string]string{config: "apiVersion: kubelet.config.k8s.io/v1beta1\ncgroupDriver: systemd\nevictionPressureTransitionPeriod: 0s\nfeatureGates: {}\nkind: KubeletConfiguration\n"}},
		"fields": {reason: "kubeadm downloaded them from the cluster",
			files:   map[string]string{config: "failSwapOn: true\nevictionHard:\n  memory.available: 500Mi\n"},
			without: []string{swap, eviction}},
		"map": {reason: "a flag would replace all of it, so that the user's pair was lost",
			files: map[string]string{config: "systemReserved:\n  memory: 3Gi\n"}, without: []string{cpu, memory}},
		"gate": {reason: "feature gates are merged by name",
			files: map[string]string{config: "featureGates:\n  KubeletInUserNamespace: false\n"}, without: []string{gate}},
		"other gate": {reason: "the kubelet merges it with ours", files: map[string]string{config: "featureGates:\n  Other: true\n  NotKubeletInUserNamespace: true\n"}},
		"JSON":       {reason: "JSON is YAML", files: map[string]string{config: `{"kind": "KubeletConfiguration", "failSwapOn" : true}`}, without: []string{swap}},
		"comment":    {reason: "it sets nothing", files: map[string]string{config: "# failSwapOn: true\nport: 1 # failSwapOn: true\n"}},
		"drop-in": {reason: "the kubelet merges it into its configuration", kubeadm: "--config-dir=/etc/kubelet.d",
			files: map[string]string{config: "{}", dropIn: "failSwapOn: true\n", "/etc/kubelet.d/README": "evictionHard: {}\n"}, without: []string{swap}},
		"drop-in elsewhere": {reason: "the kubelet does not read it", files: map[string]string{dropIn: "failSwapOn: true\n"}},
		"file of the user": {reason: "the last of equal flags counts", kubeadm: "--config=/etc/a.yaml", arguments: "--config=/etc/b.yaml",
			files: map[string]string{config: "failSwapOn: true\n", "/etc/a.yaml": "evictionHard: {}\n", "/etc/b.yaml": "systemReserved: {}\n"}, without: []string{cpu, memory}},
		"reserved later": {reason: "the limits of the node were changed", without: []string{cpu, memory}, with: []string{"--system-reserved=memory=1024"},
			files: map[string]string{reservedLater: "--system-reserved=memory=1024\n"}},
		"reserved later, by the user": {reason: "the user's flag and configuration win", kubeadm: "--system-reserved=ephemeral-storage=1Gi,memory=3Gi",
			without: []string{cpu, memory}, with: []string{"--system-reserved=cpu=1m"},
			files: map[string]string{reservedLater: "--system-reserved=memory=1024\n--system-reserved=cpu=1m\n"}},
		"reserved later, by the configuration": {reason: "a flag would replace all of it", without: []string{cpu, memory},
			files: map[string]string{reservedLater: "--system-reserved=memory=1024\n", config: "systemReserved:\n  memory: 3Gi\n"}},
		"quotes": {reason: "what the user wrote stays as it is", arguments: `--a='b  c' --d="$e\f" --g=` + "`*`",
			files: map[string]string{config: "failSwapOn: true\n"}, without: []string{swap}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			flags := []string{cpu, memory, swap, gate, eviction, label}
			n := newNode(t, Input{Config: userdata.Config{Commands: shellCommands("true")}, KubeletFlags: flags})
			n.bootDone()
			for file, content := range tc.files {
				n.write(file, content)
			}
			n.write("run/.keep", "")
			arguments := strings.Join(append([]string{tc.arguments}, flags...), " ")
			got := n.startKubelet(map[string]string{
				"KUBELET_CONFIG_ARGS": "--config=" + config, "KUBELET_KUBEADM_ARGS": tc.kubeadm, "KUBELET_EXTRA_ARGS": arguments,
			})
			_, isLater := tc.files[reservedLater]
			for _, flag := range tc.without {
				if isLater {
					break
				}
				if line := "left out " + flag + ": the configuration of the kubelet sets "; !regexp.MustCompile(regexp.QuoteMeta(line) + "[A-Za-z]+\n").MatchString(n.journal) {
					t.Errorf("the journal lacks the line %q:\n%s", line, n.journal)
				}
			}
			kept := slices.DeleteFunc(flags, func(flag string) bool { return slices.Contains(tc.without, flag) })
			want := strings.Join(slices.Concat([]string{tc.arguments}, kept, tc.with), " ")
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// startKubelet runs what the kubelet's unit runs before the kubelet, and returns the arguments that the kubelet gets.
func (n *node) startKubelet(environment map[string]string) string {
	n.t.Helper()
	script := exec.CommandContext(n.t.Context(), "/bin/sh", n.path("var/lib/cluster-api-bootstrap/kubelet"))
	script.Env = append(os.Environ(), "CLUSTER_API_BOOTSTRAP_ROOT="+n.root)
	for name, value := range environment {
		script.Env = append(script.Env, name+"="+value)
	}
	out, err := script.CombinedOutput()
	if err != nil {
		n.t.Fatalf("run the kubelet's script: %v\n%s", err, out)
	}
	n.journal = string(out)
	file, err := os.ReadFile(n.path("run/cluster-api-bootstrap-kubelet"))
	if errors.Is(err, os.ErrNotExist) {
		return environment["KUBELET_EXTRA_ARGS"]
	}
	must.Succeed(n.t, err)
	// In double quotes systemd takes a backslash before these away.
	value := strings.TrimSuffix(strings.TrimPrefix(string(file), `KUBELET_EXTRA_ARGS="`), "\"\n")
	value = strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\$`, `$`, "\\`", "`").Replace(value)
	return strings.TrimSuffix(strings.TrimPrefix(value, " "), " ")
}
