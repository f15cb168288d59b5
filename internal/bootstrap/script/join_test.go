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
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/userdata"
)

// TestScriptRestartsKubelet: the API server alongside responds at the third request.
func TestScriptRestartsKubelet(t *testing.T) {
	t.Parallel()
	const joinWorker = "apiVersion: kubeadm.k8s.io/v1beta4\nkind: JoinConfiguration\n"
	const joinControlPlane = joinWorker + "controlPlane: {}\n"
	const untilRestart = `while [ ! -e "$ROOT/systemctl" ]; do :; done`
	const third = "get --raw=/readyz\nget --raw=/readyz\nget --raw=/readyz\n"
	for name, tc := range map[string]struct {
		reason, config, command, certificate string
		asked, systemctl                     string
	}{
		"ControlPlane": {
			reason: "its kubelet waits for the API server alongside", config: joinControlPlane, command: untilRestart,
			asked: third, systemctl: "restart kubelet\n",
		},
		"HasCertificate": {reason: "its kubelet has what it waits for", config: joinControlPlane, command: "true", certificate: "PEM"},
		"Worker":         {reason: "there is no API server alongside", config: joinWorker, command: "true"},
		"Init":           {reason: "kubeadm waits for the API server itself", config: initConfig, command: "true"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newNode(t, Input{Config: userdata.Config{
				Files:    []userdata.File{{Path: "/run/kubeadm/kubeadm-join-config.yaml", Content: []byte(tc.config)}},
				Commands: shellCommands(tc.command),
			}})
			n.stub(map[string]string{
				"kubectl":   `for last; do :; done; echo "get $last" >>"$ROOT/asked"; [ "$(wc -l <"$ROOT/asked")" -ge 3 ]`,
				"systemctl": `echo "$*" >"$ROOT/.systemctl" && mv "$ROOT/.systemctl" "$ROOT/systemctl"`,
				"sleep":     "exit 0",
			})
			if tc.certificate != "" {
				n.write("var/lib/kubelet/pki/kubelet-client-current.pem", tc.certificate)
			}
			n.bootDone()
			n.expectCleanedUp()
			if diff := cmp.Diff(tc.asked, n.readOptional("asked")); diff != "" {
				t.Errorf("%s: requests (-want +got):\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.systemctl, n.readOptional("systemctl")); diff != "" {
				t.Errorf("%s: systemctl (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
