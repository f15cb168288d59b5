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

package clusterfile

import (
	"strings"
	"testing"
)

func TestConvertRefuses(t *testing.T) {
	t.Parallel()
	patch := func(lines ...string) string {
		return "kubeadmConfigPatches:\n- |\n  " + strings.Join(lines, "\n  ") + "\n"
	}
	for name, tc := range map[string]struct{ reason, file, want string }{
		"field":        {"It is a typing error.", "nodes:\n- roll: worker\n", `kind.yaml:4 "roll": kind has no such field in Node`},
		"value":        {"It is no number.", "networking: {apiServerPort: many}\n", `kind.yaml:3: networking.apiServerPort "many": must be a number`},
		"protocol":     {"The kernel has none.", "nodes:\n- extraPortMappings:\n  - {containerPort: 80, protocol: http}\n", `kind.yaml:5: nodes[0].extraPortMappings[0].protocol "http": is unknown; use TCP or UDP`},
		"list":         {"It is a number.", "nodes: 3\n", `kind.yaml:3: nodes "3": must be a list`},
		"mapping":      {"It is a list.", "networking: [a]\n", "kind.yaml:3: networking: must be a mapping"},
		"text":         {"It is a list.", "nodes:\n- role: [worker]\n", "kind.yaml:4: nodes[0].role: must be a text"},
		"truth":        {"It is a text.", "networking: {disableDefaultCNI: sure}\n", `kind.yaml:3: networking.disableDefaultCNI "sure": must be true or false`},
		"twice":        {"One of them would be dropped.", "name: a\nname: b\n", `kind.yaml:4: mapping key "name" already defined at line 3`},
		"documents":    {"One of them would be dropped.", "---\nkind: Cluster\n", "kind.yaml:3: a second document begins; use a file for each cluster"},
		"YAML":         {"It cannot be read.", "nodes: [\n", "kind.yaml: yaml: line"},
		"role":         {"Kubernetes has none.", "nodes:\n- role: master\n", `kind.yaml:4: nodes[0].role "master"`},
		"no control":   {"There would be no API server.", "nodes:\n- role: worker\n", "there is no control plane"},
		"family":       {"A typing error.", "networking:\n  ipFamily: ipv5\n", `kind.yaml:4: networking.ipFamily "ipv5"`},
		"proxy mode":   {"kube-proxy has none.", "networking:\n  kubeProxyMode: fast\n", `kind.yaml:4: networking.kubeProxyMode "fast"`},
		"subnet":       {"It is no range.", "networking:\n  podSubnet: 'fd00::'\n", `kind.yaml:4: networking.podSubnet "fd00::"`},
		"SELinux":      {"It would label the host.", "nodes:\n- extraMounts:\n  - {hostPath: /a, containerPath: /b, selinuxRelabel: true}\n", "kind.yaml:5: nodes[0].extraMounts[0].selinuxRelabel"},
		"propagation":  {"It is the kernel's word.", "nodes:\n- extraMounts:\n  - {hostPath: /a, containerPath: /b, propagation: rslave}\n", `kind.yaml:5: nodes[0].extraMounts[0].propagation "rslave": is unknown; use None, HostToContainer or Bidirectional`},
		"no host path": {"Nothing can be mounted.", "nodes:\n- extraMounts:\n  - {containerPath: /b}\n", "nodes[0].extraMounts[0].hostPath: is needed"},
		"UDP of a control plane": {
			"The load balancer is TCP only.", "nodes:\n- extraPortMappings:\n  - {containerPort: 53, hostPort: 5300, protocol: UDP}\n",
			`kind.yaml:5: nodes[0].extraPortMappings[0].protocol "UDP": ports of control planes are ports of the cluster's load balancer`,
		},
		"SCTP": {
			"Docker may have none.", "nodes:\n- role: control-plane\n- role: worker\n  extraPortMappings:\n  - {containerPort: 53, protocol: SCTP}\n",
			`kind.yaml:7: nodes[1].extraPortMappings[0].protocol "SCTP"`,
		},
		"host port twice": {
			"One of them waits forever.", "nodes:\n- role: control-plane\n- role: worker\n  extraPortMappings: [{containerPort: 1, hostPort: 80}]\n- role: worker\n  extraPortMappings:\n  - containerPort: 2\n    hostPort: 80\n",
			`kind.yaml:10: nodes[2].extraPortMappings[0].hostPort "80": is that of nodes[1].extraPortMappings[0].hostPort too`,
		},
		"host port of the API": {
			"One of them waits forever.", "networking: {apiServerPort: 6444}\nnodes:\n- extraPortMappings:\n  - {containerPort: 1, hostPort: 6444}\n",
			"is that of networking.apiServerPort too",
		},
		"images": {
			"Cluster API upgrades in order.", "nodes:\n- {role: control-plane, image: \"kindest/node:v1.36.3\"}\n- {role: worker, image: \"kindest/node:v1.35.4\"}\n",
			`kind.yaml:5: nodes[1].image "kindest/node:v1.35.4": is another image than kindest/node:v1.36.3`,
		},
		"control planes": {"One is replaced by another.", "nodes:\n- role: control-plane\n- role: control-plane\n  labels: {a: b}\n", "kind.yaml:5: nodes[1]: control planes differ"},
		"no home":        {"It would be dropped.", patch("kind: ClusterConfiguration", "dns: {imageTag: x}"), "kind.yaml:6: kubeadmConfigPatches[0]: ClusterConfiguration.dns: the ClusterClass has no variable"},
		"version":        {"The image decides it.", patch("kind: ClusterConfiguration", "kubernetesVersion: v1.36.3"), "kind.yaml:6: kubeadmConfigPatches[0]: ClusterConfiguration.kubernetesVersion: the version of the node image decides it"},
		"null":           {"What it removes is not known here.", patch("kind: KubeletConfiguration", "a:", "  b: null"), "kind.yaml:7: kubeadmConfigPatches[0]: KubeletConfiguration.a.b"},
		"no kind":        {"kubeadm has none.", patch("kind: Node"), `kind.yaml:5: kubeadmConfigPatches[0] "Node": kubeadm has no such kind`},
		"missing kind":   {"The patch belongs nowhere.", patch("maxPods: 10"), "kind.yaml:5: kubeadmConfigPatches[0]: has no kind"},
		"old version":    {"It has other fields.", patch("kind: InitConfiguration", "apiVersion: kubeadm.k8s.io/v1beta1"), `"kubeadm.k8s.io/v1beta1": is not a version that is converted`},
		"number":         {"kubeadm would refuse it.", patch("kind: ClusterConfiguration", "apiServer: {extraArgs: {v: 4}}"), "argument v of extraArgs is 4, which is no text: quote it"},
		"phase":          {"Nodes would not come up.", patch("kind: InitConfiguration", "skipPhases: [etcd]"), `InitConfiguration.skipPhases "etcd"`},
		"patch of YAML":  {"It cannot be read.", patch("kind: ["), "does not apply"},
		"cluster-wide patch of a node": {
			"There is one for all.", "nodes:\n- kubeadmConfigPatches:\n  - |\n    kind: ClusterConfiguration\n",
			`nodes[0].kubeadmConfigPatches[0] "ClusterConfiguration": the whole cluster has one`,
		},
		"JSON without home": {
			"It would be dropped.", "kubeadmConfigPatchesJSON6902:\n- kind: ClusterConfiguration\n  patch: |\n    - op: add\n      path: /dns/imageTag\n      value: x\n",
			`kind.yaml:6: kubeadmConfigPatchesJSON6902[0]: ClusterConfiguration.dns.imageTag "/dns/imageTag"`,
		},
		"JSON does not apply": {
			"There is no such entry.", "kubeadmConfigPatchesJSON6902:\n- kind: ClusterConfiguration\n  patch: '[{\"op\": \"remove\", \"path\": \"/apiServer/extraArgs/none\"}]'\n",
			"kind.yaml:5: kubeadmConfigPatchesJSON6902[0]: does not apply",
		},
		"TOML": {"It cannot be read.", "containerdConfigPatches:\n- |\n  a = 1\n  b =\n", "kind.yaml:6: containerdConfigPatches: does not apply"},
		"list of containerd": {
			"A merge replaces lists.", "containerdConfigPatchesJSON6902: ['[{\"op\": \"add\", \"path\": \"/disabled_plugins/-\", \"value\": 1}]']\n",
			"an entry of a list cannot be merged into TOML",
		},
		"remove of containerd": {
			"A merge cannot.", "containerdConfigPatchesJSON6902: ['[{\"op\": \"remove\", \"path\": \"/plugins\"}]']\n",
			`"remove": only add and replace can be merged into TOML`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, _, err := convert(header + tc.file)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s Want %q, got: %v", tc.reason, tc.want, err)
			}
		})
	}
}
