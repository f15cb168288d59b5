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
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/record"
	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/userdata"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// initConfig is kubeadm's configuration in the tests.
const initConfig = "apiVersion: kubeadm.k8s.io/v1beta4\nkind: InitConfiguration\n"

func TestCompletion(t *testing.T) {
	t.Parallel()
	const started = "preflight,certs,kubeconfig,etcd,control-plane,kubelet-start,wait-control-plane"
	for name, tc := range map[string]struct {
		reason, command, config string
		// want is the command that completes it; empty = none.
		want string
	}{
		"ClusterAPI": {
			reason:  "as the kubeadm bootstrap provider writes it",
			command: "kubeadm init --config /run/kubeadm/kubeadm.yaml --v 5" + writesSentinel,
			want:    `mkdir -p /run/cluster-api && kubeadm init --config "$CLUSTER_API_BOOTSTRAP/init/config" --skip-phases=` + started + " --v 5" + writesSentinel,
		},
		"UploadCerts": {
			reason:  "certificates are uploaded where they were to be",
			command: "kubeadm init --upload-certs --config=/run/kubeadm/kubeadm.yaml",
			want:    `kubeadm init --config "$CLUSTER_API_BOOTSTRAP/init/config" --skip-phases=` + started + " --upload-certs",
		},
		"SkipPhases": {
			reason:  "what the user skips stays skipped",
			command: "kubeadm init --config /run/kubeadm/kubeadm.yaml", config: initConfig + "skipPhases: [addon/kube-proxy]\n",
			want: `kubeadm init --config "$CLUSTER_API_BOOTSTRAP/init/config" --skip-phases=` + started + ",addon/kube-proxy",
		},
		"NoConfig":  {reason: "flags are not kept", command: "kubeadm init"},
		"Relative":  {reason: "the directory is not known", command: "kubeadm init --config kubeadm.yaml"},
		"OtherFlag": {reason: "what a flag means for a phase is not known", command: "kubeadm init --config /run/kubeadm/kubeadm.yaml --skip-phases=addon"},
		"Pipe":      {reason: "a user's own shell is not understood", command: "kubeadm init --config /run/kubeadm/kubeadm.yaml | tee /log"},
		"Variable":  {reason: "its value is not known", command: "kubeadm init --config $CONFIG"},
		"Join":      {reason: "a join has no such phases", command: "kubeadm join --config /run/kubeadm/kubeadm.yaml"},
		"Injection": {
			reason: "the name of a phase is data", command: "kubeadm init --config /run/kubeadm/kubeadm.yaml", config: initConfig + "skipPhases: ['a;b']\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := userdata.Config{
				Files:    []userdata.File{{Path: "/run/kubeadm/kubeadm.yaml", Content: []byte(tc.config)}},
				Commands: shellCommands("true", tc.command),
			}
			got := completion(config, "steps")
			command, _, _ := strings.Cut(strings.TrimPrefix(got.run, before("runcmd[1]")), "\n")
			if diff := cmp.Diff(tc.want, command); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// initNode is a node whose commands before and after kubeadm init write /order. kubeadm hangs while there is the file
// /hang, the API server responds while there is /api, and has kubeadm's ConfigMap while there is /configmap.
func initNode(t *testing.T) *node {
	t.Helper()
	n := newNode(t, Input{Config: userdata.Config{
		Files: []userdata.File{
			{Path: "/run/kubeadm/kubeadm.yaml", Content: []byte(initConfig)},
			{Path: "/run/user", Content: []byte("1")}, {Path: "/run/user", Content: []byte("2\n"), Append: true},
			{Path: "/etc/kept", Content: []byte("kept\n")},
		},
		Commands: shellCommands(
			`echo before >>"$ROOT/order"; echo "# changed" >>"$ROOT/run/kubeadm/kubeadm.yaml"`,
			`kubeadm init --config /run/kubeadm/kubeadm.yaml`,
			`cat "$ROOT/run/user" >>"$ROOT/order"`,
			`[ ! -e "$ROOT/hang-after" ] || { echo $$ >"$ROOT/hanging"; exec sleep 600; }`,
		),
	}})
	n.stub(map[string]string{
		"kubeadm": `echo "kubeadm $*" | sed "s|$CLUSTER_API_BOOTSTRAP|base|" >>"$ROOT/order"
			[ ! -e "$ROOT/hang" ] || { echo $$ >"$ROOT/hanging"; exec sleep 600; }
			[ ! -e "$CLUSTER_API_BOOTSTRAP/init/config" ] || cp "$CLUSTER_API_BOOTSTRAP/init/config" "$ROOT/used"
			[ ! -e "$ROOT/fails" ]`,
		"kubectl": `echo "kubectl $*" >>"$ROOT/asked"
			[ -e "$ROOT/api" ] || exit 1
			case "$*" in *configmap*) [ ! -e "$ROOT/configmap" ] || echo configmap/kubeadm-config ;; esac`,
		// Time passes only here, a minute each time.
		"sleep": `case $1 in 1) echo >>"$ROOT/slept"; [ ! -e "$ROOT/late" ] || touch "$ROOT/api" ;; *) exec /bin/sleep "$1" ;; esac`,
		"date":  `slept=0; [ ! -e "$ROOT/slept" ] || slept=$(wc -l <"$ROOT/slept"); echo $((1000 + 60 * slept))`,
	})
	return n
}

// reboot empties the tmpfs and boots.
func (n *node) reboot() int {
	n.t.Helper()
	must.Succeed(n.t, os.RemoveAll(n.path("run")))
	return n.boot()
}

// manifests are what kubeadm writes before the kubelet starts the control plane.
func (n *node) manifests() {
	n.t.Helper()
	for _, name := range []string{"etc/kubernetes/admin.conf", "etc/kubernetes/manifests/kube-apiserver.yaml", "var/lib/kubelet/config.yaml"} {
		n.write(name, "")
	}
}

func TestScriptCompletesInit(t *testing.T) {
	t.Parallel()
	const completed = "kubeadm init --config base/init/config --skip-phases=preflight,certs,kubeconfig,etcd,control-plane,kubelet-start,wait-control-plane\n"
	const began = "before\nkubeadm init --config /run/kubeadm/kubeadm.yaml\n"
	for name, tc := range map[string]struct {
		reason string
		// files that are there at the boot after the interruption.
		files []string
		// without kubeadm's files; again = interrupted once more.
		without, again bool
		want           record.State
		order          string
		exit           int
	}{
		"ConfigMap": {
			reason: "the cluster is there: only what is left of kubeadm runs, with its configuration as it was", files: []string{"api", "configmap"},
			want: record.Done, order: began + completed + "12\n",
		},
		"Late": {
			reason: "the API server takes its time after a boot", files: []string{"late", "configmap"},
			want: record.Done, order: began + completed + "12\n",
		},
		"Again": {
			reason: "what is left may run any number of times", files: []string{"api", "configmap"}, again: true,
			want: record.Done, order: began + completed + completed + "12\n",
		},
		"Fails": {
			reason: "a completion that fails is a failure of its step", files: []string{"api", "configmap", "fails"},
			want: record.Failed, order: began + completed, exit: 1,
		},
		"NoConfigMap":    {reason: "nothing is lost if it is repeated", files: []string{"api"}, want: record.Interrupted, order: began, exit: 1},
		"NoAPIServer":    {reason: "waiting has an end", files: []string{"configmap"}, want: record.Interrupted, order: began, exit: 1},
		"NoControlPlane": {reason: "there is nothing to wait for", files: []string{"api", "configmap"}, without: true, want: record.Interrupted, order: began, exit: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := initNode(t)
			n.write("hang", "")
			stopAt(t, n, "hanging")
			if !tc.without {
				n.manifests()
			}
			for _, file := range tc.files {
				n.write(file, "")
			}
			if tc.again {
				must.Succeed(t, os.Remove(n.path("hanging")))
				must.Succeed(t, os.RemoveAll(n.path("run")))
				stopAt(t, n, "hanging")
			}
			must.Succeed(t, os.Remove(n.path("hang")))
			if code := n.reboot(); code != tc.exit {
				t.Errorf("%s: exit code %d, want %d:\n%s", tc.reason, code, tc.exit, n.journal)
			}
			if diff := cmp.Diff(tc.order, n.read("order")); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if got := n.result(); got.State != tc.want || tc.want != record.Done && got.Step != "runcmd[1]" {
				t.Errorf("%s: %+v", tc.reason, got)
			}
			if tc.want == record.Done && n.read("used") != initConfig+"# changed\n" {
				t.Errorf("kubeadm was completed with another configuration:\n%s", n.read("used"))
			}
			if tc.without && n.exists("asked") {
				t.Error("it waited for an API server that is not there")
			}
			n.expectCleanedUp()
		})
	}
}

// TestScriptLeavesCommands: only kubeadm init itself is completed. What a command of the user's did is not known.
func TestScriptLeavesCommands(t *testing.T) {
	t.Parallel()
	n := initNode(t)
	n.write("hang-after", "")
	stopAt(t, n, "hanging")
	n.manifests()
	n.write("api", "")
	n.write("configmap", "")
	if code := n.reboot(); code != 1 {
		t.Errorf("exit code %d, want 1:\n%s", code, n.journal)
	}
	if got := n.result(); got.State != record.Interrupted || got.Step != "runcmd[3]" || n.exists("asked") {
		t.Errorf("a command after kubeadm init: %+v", got)
	}
	n.expectCleanedUp()
}
