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

package clusters_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	"github.com/capi-samples/cluster-api-provider-container/e2e/capcon/capcontest"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/test/integration"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// TestExamples creates the cluster of each file of examples/clusters, and looks into the nodes of it.
func TestExamples(t *testing.T) {
	eng := integration.Engine(t)
	program := capcontest.Build(t, "")
	looks := map[string]func(e example, t *testing.T){
		"ports": example.publishesPorts, "mounts": example.hasMounts, "registries": example.hasRegistries,
		"labels-and-taints": example.hasLabelsAndTaints, "flags": example.hasFlags, "audit": example.audits,
		"oidc": example.knowsIssuer, "pod-security": example.rejectsPods,
	}
	files := must.Get(filepath.Glob(filepath.Join(capcontest.Root, "examples", "clusters", "*.yaml")))(t)
	if len(files) != len(looks) {
		t.Errorf("%d examples, and tests of %d", len(files), len(looks))
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		t.Run(name, func(t *testing.T) {
			e := example{eng: eng, program: program.At(t).About(name)}
			e.program.DownBeforeAndAfter()
			e.program.MustRun("up", "-f", file)
			e.cluster = e.program.ConnectCluster()
			looks[name](e, t)
		})
	}
}

type example struct {
	eng     engine.Engine
	program *capcontest.Program
	cluster kubernetes.Interface
}

// inNode returns what a command prints in each node.
func (e example) inNode(t *testing.T, args ...string) []string {
	t.Helper()
	var outputs []string
	for _, container := range capcontest.NodeContainers(t, e.eng, e.program.Cluster) {
		output, err := e.eng.Exec(t.Context(), container.Name, engine.Command{Args: args})
		if err != nil {
			t.Fatalf("%s: %v: %v: %s", container.Name, args, err, output.Stderr)
		}
		outputs = append(outputs, string(output.Stdout))
	}
	return outputs
}

// shows requires texts in the output of a command in each node.
func (e example) shows(t *testing.T, command []string, texts ...string) {
	t.Helper()
	for _, output := range e.inNode(t, command...) {
		for _, text := range texts {
			if !strings.Contains(output, text) {
				t.Errorf("%s does not show %q:\n%s", strings.Join(command, " "), text, output)
			}
		}
	}
}

func readsManifest() []string {
	return []string{"cat", "/etc/kubernetes/manifests/kube-apiserver.yaml"}
}

func (e example) publishesPorts(t *testing.T) {
	capcontest.Eventually(t, "an answer of kube-proxy", func(ctx context.Context) (string, error) {
		_, err := capcontest.Get(ctx, capcontest.NewClient(), "http://127.0.0.1:10256/healthz")
		return "", err
	})
}

func (e example) hasMounts(t *testing.T) {
	const inNode = "/mnt/host"
	file := must.Get(os.CreateTemp("/tmp", "capcon-example"))(t)
	must.Succeed(t, file.Close())
	t.Cleanup(func() { _ = os.Remove(file.Name()) })
	e.inNode(t, "test", "-e", filepath.Join(inNode, filepath.Base(file.Name())))
	e.inNode(t, "sh", "-c", "! touch "+inNode+"/written 2>/dev/null")
}

func (e example) hasRegistries(t *testing.T) {
	e.shows(t, []string{"cat", "/etc/containerd/certs.d/docker.io/hosts.toml"}, `[host."https://mirror.example.com"]`)
	e.shows(t, []string{"cat", "/etc/containerd/certs.d/registry.example.com:5000/hosts.toml"}, `[host."http://registry.example.com:5000"]`)
}

func (e example) hasLabelsAndTaints(t *testing.T) {
	nodes := must.Get(e.cluster.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{}))(t)
	for _, node := range nodes.Items {
		if node.Labels["example.com/team"] != "blue" {
			t.Errorf("Node %s has the labels %v", node.Name, node.Labels)
		}
		_, isControlPlane := node.Labels["node-role.kubernetes.io/control-plane"]
		want := corev1.Taint{Key: "example.com/dedicated", Value: "batch", Effect: corev1.TaintEffectNoSchedule}
		if isControlPlane {
			want = corev1.Taint{Key: "node-role.kubernetes.io/control-plane", Effect: corev1.TaintEffectNoSchedule}
		}
		if !slices.Contains(node.Spec.Taints, want) || isControlPlane && len(node.Spec.Taints) != 1 {
			t.Errorf("Node %s has the taints %v, want %v", node.Name, node.Spec.Taints, want)
		}
	}
}

func (e example) hasFlags(t *testing.T) {
	e.shows(t, readsManifest(), "--event-ttl=2h")
	e.shows(t, []string{"openssl", "x509", "-noout", "-text", "-in", "/etc/kubernetes/pki/apiserver.crt"}, "DNS:api.example.com")
	// What runs, not what the files say.
	e.shows(t, []string{"crictl", "info"}, `"maxContainerLogLineSize": 32768`, `"SystemdCgroup": true`)
	for _, node := range must.Get(e.cluster.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{}))(t).Items {
		text := must.Get(e.cluster.CoreV1().RESTClient().Get().AbsPath("/api/v1/nodes", node.Name, "proxy/configz").DoRaw(t.Context()))(t)
		var configz struct {
			Kubelet struct {
				MaxPods        int               `json:"maxPods"`
				CgroupRoot     string            `json:"cgroupRoot"`
				SystemReserved map[string]string `json:"systemReserved"`
				Logging        struct {
					Verbosity int `json:"verbosity"`
				} `json:"logging"`
			} `json:"kubeletconfig"`
		}
		must.Succeed(t, json.Unmarshal(text, &configz))
		if got := configz.Kubelet; got.MaxPods != 42 || got.SystemReserved["memory"] != "128Mi" || got.CgroupRoot != "/kubelet" || got.Logging.Verbosity != 3 {
			t.Errorf("the kubelet of %s has %+v", node.Name, got)
		}
	}
	proxy := must.Get(e.cluster.CoreV1().ConfigMaps(metav1.NamespaceSystem).Get(t.Context(), "kube-proxy", metav1.GetOptions{}))(t)
	for _, text := range []string{"mode: nftables", "maxPerCore: 0"} {
		if !strings.Contains(proxy.Data["config.conf"], text) {
			t.Errorf("kube-proxy has no %s:\n%s", text, proxy.Data["config.conf"])
		}
	}
}

func (e example) audits(t *testing.T) {
	e.shows(t, []string{"head", "-n", "1", "/var/log/kubernetes/audit/audit.log"}, `"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata"`)
}

func (e example) knowsIssuer(t *testing.T) {
	e.shows(t, readsManifest(), "--oidc-issuer-url=https://issuer.example.com", "--oidc-client-id=kubernetes")
	must.Get(e.cluster.CoreV1().RESTClient().Get().AbsPath("/readyz").DoRaw(t.Context()))(t)
}

func (e example) rejectsPods(t *testing.T) {
	_, err := e.cluster.CoreV1().Pods(metav1.NamespaceDefault).Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "privileged"},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "a", Image: capcontest.WebtoolImage, SecurityContext: &corev1.SecurityContext{Privileged: ptr.To(true)},
		}}},
	}, metav1.CreateOptions{})
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "baseline") {
		t.Errorf("A privileged Pod breaks the standard baseline; its creation ended with %v", err)
	}
}
