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
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/capi-samples/cluster-api-provider-container/e2e/capcon/capcontest"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/test/integration"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

const kindCluster = "kindconfig-test"

// kindExample is a configuration of kind, and what is seen of it in nodes and objects.
type kindExample struct {
	file  string
	nodes int
	look  func(*kindRun)
}

// kindRun is one example that is ready.
type kindRun struct {
	*testing.T
	program *capcontest.Program
	engine  engine.Engine
	cluster kubernetes.Interface
	file    string
	dir     string
}

// healthPort of kube-proxy stands for an ingress controller with hostPort: it listens on all
// nodes.
const healthPort = 10256

// kindExamples are those of kind's documentation, several in one cluster where they do not
// touch each other.
func kindExamples(dir string) map[string]kindExample {
	return map[string]kindExample{
		"Workers": { // multi-node, node labels, extra mounts, credentials of a registry, port mappings
			nodes: 3, look: (*kindRun).workers,
			file: fmt.Sprintf(`
nodes:
- role: control-plane
- role: worker
  labels: {tier: frontend}
  extraMounts:
  - {hostPath: %[1]q, containerPath: /files, readOnly: true}
  - {hostPath: %[2]q, containerPath: /var/lib/kubelet/config.json}
  extraPortMappings: [{containerPort: %[3]d, hostPort: 18082, listenAddress: 127.0.0.1, protocol: TCP}]
- role: worker
  labels: {tier: backend}
`, dir, filepath.Join(dir, "config.json"), healthPort),
		},
		"Ingress": { // ports of the control plane, API server port; then an upgrade
			nodes: 1, look: (*kindRun).ingress,
			file: fmt.Sprintf(`
networking: {apiServerPort: 16443, apiServerAddress: 127.0.0.1}
nodes:
- role: control-plane
  image: %[1]s
  kubeadmConfigPatches:
  - |
    kind: InitConfiguration
    nodeRegistration:
      kubeletExtraArgs:
        node-labels: "ingress-ready=true"
  extraPortMappings:
  - {containerPort: %[2]d, hostPort: 18080, listenAddress: 127.0.0.1}
`, nodeImage(previousVersion), healthPort),
		},
		"Kubeadm": { // auditing, feature gates, runtime configuration, subnets, nftables, registries
			nodes: 1, look: (*kindRun).kubeadm,
			file: fmt.Sprintf(`
featureGates: {AllAlpha: false}
runtimeConfig: {"api/alpha": "false"}
networking: {podSubnet: 10.212.0.0/16, serviceSubnet: 10.213.0.0/16, kubeProxyMode: nftables, dnsSearch: [corp.example.com]}
containerdConfigPatches:
- |-
  [debug]
    level = "warn"
- |-
  [plugins."io.containerd.cri.v1.images".registry]
    config_path = "/etc/containerd/certs.d"
kubeadmConfigPatches:
- |
  kind: KubeletConfiguration
  maxPods: 77
- |
  kind: ClusterConfiguration
  apiServer:
    extraArgs:
      audit-log-path: /var/log/kubernetes/audit.log
      audit-policy-file: /etc/kubernetes/policies/policy.yaml
    extraVolumes:
    - {name: policies, hostPath: /etc/kubernetes/policies, mountPath: /etc/kubernetes/policies, readOnly: true, pathType: DirectoryOrCreate}
    - {name: audit, hostPath: /var/log/kubernetes, mountPath: /var/log/kubernetes, readOnly: false, pathType: DirectoryOrCreate}
nodes:
- role: control-plane
  extraMounts: [{hostPath: %q, containerPath: /etc/kubernetes/policies/policy.yaml, readOnly: true}]
`, filepath.Join(dir, "policy.yaml")),
		},
		"NoPodNetwork": { // disableDefaultCNI
			nodes: 0, look: (*kindRun).noPodNetwork,
			file: "\nnetworking: {disableDefaultCNI: true}\n",
		},
		"HighAvailability": { // three control planes
			nodes: 3, look: func(*kindRun) {},
			file: "\nnodes: [{role: control-plane}, {role: control-plane}, {role: control-plane}]\n",
		},
	}
}

// TestKindConfig creates clusters from configurations of kind, and looks into nodes and objects.
//
// Environment:
//
//	EXAMPLES  regular expression of the examples to run; default: all
func TestKindConfig(t *testing.T) {
	eng, program := integration.Engine(t), capcontest.Build(t, kindCluster)
	program.DownBeforeAndAfter()
	dir := t.TempDir()
	must.Succeed(t, os.WriteFile(filepath.Join(dir, "file"), []byte("of the host"), 0o600))
	must.Succeed(t, os.WriteFile(filepath.Join(dir, "config.json"), []byte(`{"auths": {}}`), 0o600))
	must.Succeed(t, os.WriteFile(filepath.Join(dir, "policy.yaml"), []byte("apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata}]\n"), 0o600))
	chosen := regexp.MustCompile(os.Getenv("EXAMPLES"))
	for name, example := range kindExamples(dir) {
		if !chosen.MatchString(name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			here := program.At(t)
			run := &kindRun{T: t, program: here, engine: eng, dir: t.TempDir()}
			run.up(example.file)
			defer here.MustRun("down", kindCluster)
			run.cluster = here.ConnectCluster()
			if example.nodes > 0 {
				capcontest.NodesReady(t, run.cluster, example.nodes)
			}
			example.look(run)
			if t.Failed() {
				return
			}
			// The same file again changes nothing, nor does what is printed.
			printed := filepath.Join(run.dir, "printed.yaml")
			must.Succeed(t, os.WriteFile(printed, []byte(here.MustOutput("get", "config", kindCluster)), 0o600))
			for _, path := range []string{run.file, printed} {
				if plan := here.MustOutput("up", "-f", path, "--dry-run"); !strings.Contains(plan, "change  nothing") {
					t.Errorf("%s applied again: %s", filepath.Base(path), plan)
				}
			}
		})
	}
}

// nodeImage that is built for a version of Kubernetes.
func nodeImage(version string) string { return "localhost/capcon/node:" + version }

// up with a configuration.
func (r *kindRun) up(text string) {
	r.Helper()
	r.file = filepath.Join(r.dir, "kind.yaml")
	must.Succeed(r.T, os.WriteFile(r.file, []byte("kind: Cluster\napiVersion: kind.x-k8s.io/v1alpha4\nname: "+kindCluster+text), 0o600))
	r.program.MustRun("up", "-f", r.file, "--yes")
}

// in a node whose name has a part, the output of a command.
func (r *kindRun) in(node string, command ...string) string {
	r.Helper()
	nodes := capcontest.NodeContainers(r.T, r.engine, kindCluster)
	at := slices.IndexFunc(nodes, func(c engine.Container) bool { return strings.Contains(c.Name, node) })
	if at < 0 {
		r.Fatalf("no node %s among %v", node, nodes)
	}
	output, err := r.engine.Exec(r.Context(), nodes[at].Name, engine.Command{Args: command})
	if err != nil {
		r.Errorf("%s in %s: %v, %s", command, nodes[at].Name, err, output.Stderr)
	}
	return string(output.Stdout)
}

// want that a text has all parts.
func (r *kindRun) want(what, text string, parts ...string) {
	r.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			r.Errorf("%s has no %q: %s", what, part, text)
		}
	}
}

// answers on a port of the host.
func (r *kindRun) answers(port int) {
	r.Helper()
	url := fmt.Sprintf("http://127.0.0.1:%d/healthz", port)
	capcontest.EventuallyWithin(r.T, time.Minute, url, func(ctx context.Context) (string, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
		if err != nil {
			return "", err
		}
		response, err := capcontest.NewClient().Do(request)
		if err != nil {
			return err.Error(), nil
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err != nil || response.StatusCode != http.StatusOK {
			return fmt.Sprintf("%d %s %v", response.StatusCode, body, err), nil
		}
		return "", nil
	})
}

func (r *kindRun) workers() {
	for _, tier := range []string{"frontend", "backend"} {
		nodes := must.Get(r.cluster.CoreV1().Nodes().List(r.Context(), metav1.ListOptions{LabelSelector: "tier=" + tier}))(r.T)
		if len(nodes.Items) != 1 {
			r.Errorf("%d nodes have the label tier=%s", len(nodes.Items), tier)
		}
	}
	frontend := must.Get(r.cluster.CoreV1().Nodes().List(r.Context(), metav1.ListOptions{LabelSelector: "tier=frontend"}))(r.T)
	mounted := frontend.Items[0].Name
	r.want("the mount", r.in(mounted, "cat", "/files/file"), "of the host")
	r.want("the mount", r.in(mounted, "sh", "-c", "touch /files/other 2>&1 || true"), "Read-only")
	r.want("the kubelet", r.in(mounted, "cat", "/var/lib/kubelet/config.json"), "auths")
	r.answers(18082)
	r.change("labels: {tier: frontend}", "labels: {tier: frontend, release: two}")
	r.answers(18082) // its successor has the port
}

// change the file, and apply it.
func (r *kindRun) change(old, fresh string) {
	r.Helper()
	text := string(must.Get(os.ReadFile(r.file))(r.T))
	_, fields, _ := strings.Cut(text, kindCluster)
	r.up(strings.Replace(fields, old, fresh, 1))
}

func (r *kindRun) ingress() {
	r.answers(18080)
	r.want("the kubeconfig", string(r.program.Kubeconfig(kindCluster)), "https://127.0.0.1:16443")
	before := capcontest.IDs(capcontest.NodeContainers(r.T, r.engine, kindCluster))
	r.change(nodeImage(previousVersion), nodeImage(currentVersion))
	for _, id := range capcontest.IDs(capcontest.NodeContainers(r.T, r.engine, kindCluster)) {
		if slices.Contains(before, id) {
			r.Errorf("container %s was not replaced", id)
		}
	}
	r.answers(18080)
	if version := must.Get(r.cluster.Discovery().ServerVersion())(r.T); version.GitVersion != currentVersion {
		r.Errorf("the API server has version %s after the upgrade to %s", version, currentVersion)
	}
	nodes := must.Get(r.cluster.CoreV1().Nodes().List(r.Context(), metav1.ListOptions{LabelSelector: "ingress-ready=true"}))(r.T)
	if len(nodes.Items) != 1 {
		r.Errorf("%d nodes have the label after the upgrade", len(nodes.Items))
	}
}

func (r *kindRun) kubeadm() {
	const node = "control-plane"
	r.want("the API server", r.in(node, "cat", "/etc/kubernetes/manifests/kube-apiserver.yaml"),
		"--feature-gates=AllAlpha=false", "--runtime-config=api/alpha=false", "--service-cluster-ip-range=10.213.0.0/16")
	r.want("the controller manager", r.in(node, "cat", "/etc/kubernetes/manifests/kube-controller-manager.yaml"), "--cluster-cidr=10.212.0.0/16")
	r.want("the audit log", r.in(node, "head", "-n", "1", "/var/log/kubernetes/audit.log"), "audit.k8s.io/v1")
	r.want("the resolver", r.in(node, "cat", "/etc/resolv.conf"), "search corp.example.com")
	r.want("containerd", r.in(node, "containerd", "config", "dump"), "level = 'warn'", "'/etc/containerd/certs.d'")
	proxy := must.Get(r.cluster.CoreV1().ConfigMaps("kube-system").Get(r.Context(), "kube-proxy", metav1.GetOptions{}))(r.T)
	r.want("kube-proxy", proxy.Data["config.conf"], "mode: nftables", "AllAlpha: false")
	nodes := must.Get(r.cluster.CoreV1().Nodes().List(r.Context(), metav1.ListOptions{}))(r.T)
	configuration := must.Get(r.cluster.CoreV1().RESTClient().Get().Resource("nodes").Name(nodes.Items[0].Name).SubResource("proxy").Suffix("configz").DoRaw(r.Context()))(r.T)
	r.want("the kubelet", string(configuration), `"maxPods":77`, `"AllAlpha":false`)
}

func (r *kindRun) noPodNetwork() {
	sets := must.Get(r.cluster.AppsV1().DaemonSets("").List(r.Context(), metav1.ListOptions{}))(r.T)
	for _, set := range sets.Items {
		if set.Name != "kube-proxy" {
			r.Errorf("DaemonSet %s/%s", set.Namespace, set.Name)
		}
	}
}
