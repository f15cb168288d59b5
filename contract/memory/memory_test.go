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

package memory_test

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/yaml"

	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/core/reconcilers/machine/drain"
	"sigs.k8s.io/cluster-api/util/secret"

	"github.com/capi-samples/cluster-api-provider-container/contract/memory"
)

const (
	cluster = "default/one"
	host    = "127.0.0.1"
)

// cloudConfig as the kubeadm bootstrap provider writes it: files, and kubeadm's configuration.
func cloudConfig(t *testing.T, kind string, files ...bootstrapv1.File) []byte {
	t.Helper()
	files = append(files, bootstrapv1.File{Path: "/run/kubeadm/kubeadm.yaml", Content: fmt.Sprintf(`---
apiVersion: kubeadm.k8s.io/v1beta4
kind: ClusterConfiguration
kubernetesVersion: v1.36.0

---
apiVersion: kubeadm.k8s.io/v1beta4
kind: %s
nodeRegistration:
  kubeletExtraArgs:
  - name: provider-id
    value: sample://%s/{{ ds.meta_data.local_hostname
      }}
`, kind, cluster)})
	content, err := yaml.Marshal(map[string]any{"write_files": files})
	if err != nil {
		t.Fatal(err)
	}
	return append([]byte("## template: jinja\n#cloud-config\n\n"), content...)
}

func TestServersBecomeNodes(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	authorities := secret.NewCertificatesForInitialControlPlane(&bootstrapv1.ClusterConfiguration{})
	if err := authorities.Generate(); err != nil {
		t.Fatal(err)
	}
	clusters, err := memory.New(ctx, host)
	if err != nil {
		t.Fatal(err)
	}
	port, err := clusters.Create(ctx, cluster, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{
		"server":        []byte("#cloud-config\n"),
		"worker":        cloudConfig(t, "JoinConfiguration"),
		"control-plane": cloudConfig(t, "InitConfiguration", authorities.AsFiles()...),
	} {
		for range 2 {
			if _, err := clusters.Create(ctx, cluster+"/"+name, data); err != nil {
				t.Fatalf("boot %s: %v", name, err)
			}
		}
	}

	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), clusterv1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	// The client verifies the certificate of the endpoint.
	api, err := client.New(&rest.Config{
		Host:            "https://" + net.JoinHostPort(host, fmt.Sprint(port)),
		TLSClientConfig: rest.TLSClientConfig{CAData: authorities.GetByPurpose(secret.ClusterCA).KeyPair.Cert},
	}, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	nodes, pods := &corev1.NodeList{}, &corev1.PodList{}
	if err := api.List(ctx, nodes); err != nil {
		t.Fatal(err)
	}
	if err := api.List(ctx, pods, client.InNamespace("kube-system"), client.MatchingLabels{"tier": "control-plane"}); err != nil {
		t.Fatal(err)
	}
	ids := map[string]string{}
	for _, node := range nodes.Items {
		ids[node.Name] = node.Spec.ProviderID
	}
	if len(ids) != 2 || ids["worker"] != "sample://default/one/worker" || ids["control-plane"] != "sample://default/one/control-plane" || len(pods.Items) != 4 {
		t.Errorf("Nodes %v, %d Pods", ids, len(pods.Items))
	}

	// What Cluster API does before it deletes a Machine.
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "control-plane"}}
	drainer := &drain.Helper{Client: fake.NewClientBuilder().WithScheme(scheme).Build(), RemoteClient: api}
	machine := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: node.Name}}
	if err := api.List(ctx, &storagev1.VolumeAttachmentList{}); err != nil {
		t.Errorf("list attached volumes: %v", err)
	}
	found, err := drainer.GetPodsForEviction(ctx, &clusterv1.Cluster{}, machine, node.Name)
	if err != nil {
		t.Fatalf("drain Node: %v", err)
	}
	if result := drainer.EvictPods(ctx, found); !result.DrainCompleted() {
		t.Errorf("drain Node: %s", result.ConditionMessage(metav1.Now()))
	}

	for _, name := range []string{"server", "worker", "control-plane", "control-plane"} {
		if err := clusters.Delete(ctx, cluster+"/"+name); err != nil {
			t.Fatalf("remove %s: %v", name, err)
		}
	}
	if err := api.List(ctx, nodes); err == nil {
		t.Error("An API server answers that no server runs")
	}
	for range 2 {
		if err := clusters.Delete(ctx, cluster); err != nil {
			t.Fatal(err)
		}
	}
}

func TestCreateRefuses(t *testing.T) {
	t.Parallel()
	clusters, err := memory.New(t.Context(), host)
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		data []byte
		want string
	}{
		"no YAML": {[]byte("\t"), "read cloud-config"},
		"no certificate": {
			cloudConfig(t, "InitConfiguration", bootstrapv1.File{Path: "/etc/kubernetes/pki/ca.key", Content: "x"}), "read /etc/kubernetes/pki/ca.crt",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := clusters.Create(t.Context(), cluster+"/a", test.data)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("want %q, got: %v", test.want, err)
			}
		})
	}
}
