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

package repository

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	coreadmission "sigs.k8s.io/cluster-api/core/webhooks/admission"

	"github.com/capi-samples/cluster-api-provider-container/test/clusterctl"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

const (
	kubeadmControlPlane = "KubeadmControlPlaneTemplate container-control-plane"
	kubeadmWorker       = "KubeadmConfigTemplate container-worker"
	kubeadmPool         = "KubeadmConfigTemplate container-pool"
)

// nodeFile is a file of the class, as JSON.
func nodeFile(path, content string) string {
	return fmt.Sprintf(`{"path":%q,"owner":"root:root","permissions":"0600","content":%s}`, path, quoted(content))
}

func quoted(text string) string {
	encoded, _ := json.Marshal(text) //nolint:errchkjson // a text
	return string(encoded)
}

// What control planes have without a variable. A change of it replaces the control planes of
// who changes to the new class.
func TestClusterClassDefaultsOfKubeadm(t *testing.T) {
	t.Parallel()
	class, parts := clusterClass(t)
	got := patched(t, class, parts, values{})
	probe := func(name string) string {
		return nodeFile("/etc/kubernetes/patches/"+name+"+strategic.yaml",
			"spec:\n  containers:\n    - name: "+name+"\n      startupProbe: {initialDelaySeconds: 0, periodSeconds: 1, failureThreshold: 250}\n")
	}
	retry := `{"name":"leader-elect-retry-period","value":"1s"}`
	want := decoded(t, `{
		"clusterConfiguration": {
			"encryptionAlgorithm": "ECDSA-P256",
			"controllerManager": {"extraArgs": [`+retry+`, {"name":"kube-api-qps","value":"100"}, {"name":"kube-api-burst","value":"200"}]},
			"scheduler": {"extraArgs": [`+retry+`]}
		},
		"files": [`+strings.Join([]string{probe("etcd"), probe("kube-apiserver"), probe("kube-controller-manager"), probe("kube-scheduler")}, ",")+`]
	}`)
	spec, _, err := unstructured.NestedMap(got[kubeadmControlPlane], "spec", "template", "spec", "kubeadmConfigSpec")
	must.Succeed(t, err)
	delete(spec, "initConfiguration")
	delete(spec, "joinConfiguration")
	if diff := cmp.Diff(want, any(spec)); diff != "" {
		t.Errorf("kubeadmConfigSpec (-want +got):\n%s", diff)
	}
	for name, part := range parts {
		if name == kubeadmControlPlane {
			continue
		}
		if diff := cmp.Diff(part.Object, got[name]); diff != "" {
			t.Errorf("%s is not used as it is (-template +got):\n%s", name, diff)
		}
	}
}

// Variables that are about kubeadm, containerd and the kubelet.
func TestClusterClassPatchesOfKubeadm(t *testing.T) {
	t.Parallel()
	const (
		component    = "kubeadmConfigSpec.clusterConfiguration."
		registration = "nodeRegistration."
		initial      = "kubeadmConfigSpec.initConfiguration." + registration
		joining      = "kubeadmConfigSpec.joinConfiguration." + registration
		worker       = "joinConfiguration." + registration
		args         = `[{"name":"v","value":"4"},{"name":"feature-gates","value":""}]`
		volumes      = `[{"name":"audit","hostPath":"/a","mountPath":"/b","readOnly":false,"pathType":"DirectoryOrCreate"}]`
		taint        = `{"key":"dedicated","value":"gpu","effect":"NoExecute"}`
		own          = `{"key":"node-role.kubernetes.io/control-plane","effect":"NoSchedule"}`
		commands     = `["echo \"a: b\"","# {c}"]`
		appendProxy  = `"[ ! -e /run/kubeadm/kubeadm.yaml ] || { echo; cat /etc/kubernetes/kube-proxy.yaml; } >>/run/kubeadm/kubeadm.yaml"`
	)
	kubelet := nodeFile("/etc/kubernetes/patches/kubeletconfiguration+merge.json", `{"failSwapOn":false,"maxPods":12345678,"systemReserved":{"memory":"1Gi"}}`)
	proxy := nodeFile("/etc/kubernetes/kube-proxy.yaml",
		"---\n"+`{"apiVersion":"kubeproxy.config.k8s.io/v1alpha1","conntrack":{"min":0},"kind":"KubeProxyConfiguration","mode":"nftables"}`+"\n")
	labels := `[{"name":"max-pods","value":"50"},{"name":"node-labels","value":"a=b,c.example/d=,e=f"}]`
	cases := map[string]struct {
		reason string
		given  values
		want   map[string]values
	}{
		"API server": {
			"It is kubeadm's field.", values{"apiServer": `{"extraArgs":` + args + `,"extraVolumes":` + volumes + `,"certSANs":["a.example"]}`},
			map[string]values{kubeadmControlPlane: {component + "apiServer": `{"extraArgs":` + args + `,"extraVolumes":` + volumes + `,"certSANs":["a.example"]}`}},
		},
		"nothing of an API server": {"An empty field is refused.", values{"apiServer": `{}`}, nil},
		"API server with pod security": {
			"The user's list is behind ours, and a file of his own wins.",
			values{
				"podSecurity": `{"enforce":"baseline","audit":"baseline","warn":"baseline"}`,
				"apiServer":   `{"extraArgs":[{"name":"admission-control-config-file","value":"/mine"}],"extraVolumes":` + volumes + `}`,
				"files":       `[{"path":"/etc/kubernetes/pod-security.yaml","content":"mine"}]`,
			},
			map[string]values{
				kubeadmControlPlane: {
					component + "apiServer": `{"extraArgs":[{"name":"admission-control-config-file","value":"/mine"}],"extraVolumes":[` +
						`{"name":"pod-security","hostPath":"/etc/kubernetes/pod-security.yaml","mountPath":"/etc/kubernetes/pod-security.yaml",` +
						`"readOnly":true,"pathType":"File"},` + strings.TrimPrefix(volumes, "[") + `}`,
					"kubeadmConfigSpec.files.-": `{"path":"/etc/kubernetes/pod-security.yaml","content":"mine"}`,
				},
				kubeadmWorker: {"files": `[{"path":"/etc/kubernetes/pod-security.yaml","content":"mine"}]`},
				kubeadmPool:   {"files": `[{"path":"/etc/kubernetes/pod-security.yaml","content":"mine"}]`},
			},
		},
		"controller manager": {
			"The class' own arguments stay, except one of the same name.",
			values{"controllerManager": `{"extraArgs":[{"name":"kube-api-qps","value":"7"}],"extraVolumes":` + volumes + `}`},
			map[string]values{kubeadmControlPlane: {component + "controllerManager": `{"extraArgs":[{"name":"leader-elect-retry-period","value":"1s"},` +
				`{"name":"kube-api-burst","value":"200"},{"name":"kube-api-qps","value":"7"}],"extraVolumes":` + volumes + `}`}},
		},
		"scheduler": {
			"The class' own argument stays.", values{"scheduler": `{"extraArgs":[{"name":"v","value":"4"}]}`},
			map[string]values{kubeadmControlPlane: {component + "scheduler": `{"extraArgs":[{"name":"leader-elect-retry-period","value":"1s"},{"name":"v","value":"4"}]}`}},
		},
		"etcd": {
			"It is kubeadm's own etcd.", values{"etcd": `{"extraArgs":` + args + `}`},
			map[string]values{kubeadmControlPlane: {component + "etcd": `{"local":{"extraArgs":` + args + `}}`}},
		},
		"kubelet": {
			"kubeadm merges it on each node.", values{"kubelet": `{"maxPods":12345678,"failSwapOn":false,"systemReserved":{"memory":"1Gi"}}`},
			map[string]values{
				kubeadmControlPlane: {"kubeadmConfigSpec.files.-": kubelet},
				kubeadmWorker:       {"files": `[` + kubelet + `]`, "joinConfiguration.patches": `{"directory":"/etc/kubernetes/patches"}`},
				kubeadmPool:         {"files": `[` + kubelet + `]`, "joinConfiguration.patches": `{"directory":"/etc/kubernetes/patches"}`},
			},
		},
		"kube-proxy": {
			"kubeadm init reads it, and a later kubeadm join has no such file.", values{"kubeProxy": `{"mode":"nftables","conntrack":{"min":0}}`},
			map[string]values{kubeadmControlPlane: {"kubeadmConfigSpec.files.-": proxy, "kubeadmConfigSpec.preKubeadmCommands": `[` + appendProxy + `]`}},
		},
		"kube-proxy without a mode": {
			"The mode is Kubernetes' own.", values{"kubeProxy": `{"bindAddress":"::"}`, "preKubeadmCommands": commands},
			map[string]values{
				kubeadmControlPlane: {
					"kubeadmConfigSpec.files.-": nodeFile("/etc/kubernetes/kube-proxy.yaml",
						"---\n"+`{"apiVersion":"kubeproxy.config.k8s.io/v1alpha1","bindAddress":"::","kind":"KubeProxyConfiguration"}`+"\n"),
					"kubeadmConfigSpec.preKubeadmCommands": `[` + appendProxy + `,` + strings.TrimPrefix(commands, "["),
				},
				kubeadmWorker: {"preKubeadmCommands": commands}, kubeadmPool: {"preKubeadmCommands": commands},
			},
		},
		"no kube-proxy": {
			"kubeadm skips it.", values{"kubeProxy": `{"mode":"none"}`},
			map[string]values{kubeadmControlPlane: {"kubeadmConfigSpec.initConfiguration.skipPhases": `["addon/kube-proxy"]`}},
		},
		"containerd": {
			"Each patch is a file, in their order.", values{"containerdConfigPatches": `["a = 1\n"]`},
			map[string]values{
				kubeadmControlPlane: {"kubeadmConfigSpec.files.-": nodeFile("/etc/containerd/conf.d/class-00.toml", "a = 1\n")},
				kubeadmWorker:       {"files": `[` + nodeFile("/etc/containerd/conf.d/class-00.toml", "a = 1\n") + `]`},
				kubeadmPool:         {"files": `[` + nodeFile("/etc/containerd/conf.d/class-00.toml", "a = 1\n") + `]`},
			},
		},
		"commands after kubeadm": {
			"The Pod network is first.", values{"postKubeadmCommands": commands, "cni": `"default"`},
			map[string]values{
				kubeadmControlPlane: {
					"kubeadmConfigSpec.postKubeadmCommands": `["until sed 's|[{][{] *[.]PodSubnet *[}][}]|192.168.0.0/16,fd00:40::/48|' /kind/manifests/default-cni.yaml | ` +
						`kubectl --kubeconfig /etc/kubernetes/admin.conf apply --filename -; do sleep 1; done",` + strings.TrimPrefix(commands, "["),
				},
				kubeadmWorker: {"postKubeadmCommands": commands}, kubeadmPool: {"postKubeadmCommands": commands},
			},
		},
		"labels of Nodes": {
			"There is one argument for all.",
			values{"nodeLabels": `{"c.example/d":"","a":"b"}`, "kubeletExtraArgs": `[{"name":"node-labels","value":"e=f"},{"name":"max-pods","value":"50"}]`},
			map[string]values{
				kubeadmControlPlane: {initial + "kubeletExtraArgs": labels, joining + "kubeletExtraArgs": labels},
				kubeadmWorker:       {worker + "kubeletExtraArgs": labels}, kubeadmPool: {worker + "kubeletExtraArgs": labels},
			},
		},
		"taints": {
			"Control planes have their own too.", values{"nodeTaints": `[` + taint + `]`},
			map[string]values{
				kubeadmControlPlane: {initial + "taints": `[` + own + `,` + taint + `]`, joining + "taints": `[` + own + `,` + taint + `]`},
				kubeadmWorker:       {worker + "taints": `[` + taint + `]`}, kubeadmPool: {worker + "taints": `[` + taint + `]`},
			},
		},
		"the taint of control planes": {
			"There is one of it.", values{"nodeTaints": `[` + own + `]`},
			map[string]values{
				kubeadmControlPlane: {initial + "taints": `[` + own + `]`, joining + "taints": `[` + own + `]`},
				kubeadmWorker:       {worker + "taints": `[` + own + `]`}, kubeadmPool: {worker + "taints": `[` + own + `]`},
			},
		},
		"taints and Pods on control planes": {
			"Only the user's is there.", values{"nodeTaints": `[` + taint + `]`, "allowSchedulingOnControlPlanes": `true`},
			map[string]values{
				kubeadmControlPlane: {initial + "taints": `[` + taint + `]`, joining + "taints": `[` + taint + `]`},
				kubeadmWorker:       {worker + "taints": `[` + taint + `]`}, kubeadmPool: {worker + "taints": `[` + taint + `]`},
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkPatches(t, tc.reason, tc.given, tc.want)
		})
	}
}

// The examples are Clusters that the class accepts, each is documented, and none has a name
// that differs from its file.
func TestExamplesOfClusters(t *testing.T) {
	t.Parallel()
	class, _ := clusterClass(t)
	files, err := filepath.Glob(filepath.Join(root, "examples", "clusters", "*.yaml"))
	if err != nil || len(files) < 8 {
		t.Fatalf("examples: %v, %v", files, err)
	}
	guide := readFile(t, "docs/how-to/cluster-class.md")
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		objects := clusterctl.Decode(t, []byte(readFile(t, "examples/clusters/"+filepath.Base(file))))
		cluster := &clusterv1.Cluster{}
		must.Succeed(t, runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(objects[0].Object, cluster, true))
		if len(objects) != 1 || cluster.Name != name || cluster.Spec.Topology.ClassRef.Name != class.Name {
			t.Errorf("%s has %d objects, the first is %s of the class %s", file, len(objects), cluster.Name, cluster.Spec.Topology.ClassRef.Name)
		}
		if errs := (&coreadmission.Cluster{}).DefaultAndValidateVariables(t.Context(), cluster, nil, class); len(errs) > 0 {
			t.Errorf("%s: %v", file, errs)
		}
		if !strings.Contains(guide, "../../examples/clusters/"+name+".yaml") {
			t.Errorf("docs/how-to/cluster-class.md does not list %s", file)
		}
	}
}
