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

package cluster_test

import (
	"strconv"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1alpha1"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/world"
)

// The kubeconfig for the host follows the one of the cluster.
func TestKubeconfigForTheHost(t *testing.T) {
	t.Parallel()
	w := world.New(t, builders.New())
	w.SettleCluster()
	if _, there := world.Get(w, "c1-kubeconfig-host", &corev1.Secret{}); there {
		t.Error("Without a kubeconfig nothing can be derived.")
	}
	must(t, w.Client.Create(t.Context(), kubeconfigSecret(t, "first")))
	w.SettleCluster()
	checkHostKubeconfig(t, w, "first")
	w.CheckCluster(world.ByNewManager)

	rotated := kubeconfigSecret(t, "second")
	world.Edit(w, rotated.Name, &corev1.Secret{}, func(s *corev1.Secret) { s.Data = rotated.Data })
	w.SettleCluster()
	checkHostKubeconfig(t, w, "second")

	// Somebody's meddling is undone.
	for _, meddle := range []func(s *corev1.Secret){
		func(s *corev1.Secret) { s.Data = nil },
		func(s *corev1.Secret) { s.Labels = nil },
		func(s *corev1.Secret) { s.OwnerReferences = nil },
	} {
		world.Edit(w, "c1-kubeconfig-host", &corev1.Secret{}, meddle)
		w.SettleCluster()
		checkHostKubeconfig(t, w, "second")
	}
}

// A Secret of that name that is somebody else's is left alone, and told.
func TestForeignKubeconfigIsKept(t *testing.T) {
	t.Parallel()
	w := world.New(t, builders.New())
	foreign := kubeconfigSecret(t, "foreign")
	foreign.Name, foreign.Labels = "c1-kubeconfig-host", nil
	must(t, w.Client.Create(t.Context(), foreign))
	must(t, w.Client.Create(t.Context(), kubeconfigSecret(t, "first")))
	outcome := w.SettleCluster()
	if outcome.Err != nil || outcome.Result.RequeueAfter != lookAgain {
		t.Errorf("it ends with %v, %v", outcome.Result, outcome.Err)
	}
	event("Secret c1-kubeconfig-host exists and does not belong to this cluster")(t, w)
	kept, _ := world.Get(w, foreign.Name, &corev1.Secret{})
	if diff := gocmp.Diff(foreign, kept); diff != "" {
		t.Errorf("it was changed (-want +got):\n%s", diff)
	}
	if state, _ := world.State(get(w), infrav1.ClusterReadyCondition); state != usable {
		t.Errorf("network and load balancer work, and Ready is %s", state)
	}
	w.CheckCluster(world.ByNewManager)

	world.Delete(w, foreign.Name, &corev1.Secret{})
	w.SettleCluster()
	checkHostKubeconfig(t, w, "first")
}

func checkHostKubeconfig(t *testing.T, w *world.World, token string) {
	t.Helper()
	secret, there := world.Get(w, "c1-kubeconfig-host", &corev1.Secret{})
	if !there {
		t.Fatal("there is no kubeconfig for the host")
	}
	config, err := clientcmd.Load(secret.Data["value"])
	must(t, err)
	object := get(w)
	reached := config.Clusters["c1"]
	got := []string{reached.Server, reached.TLSServerName, config.AuthInfos["c1-admin"].Token, string(secret.Type), secret.Labels[clusterv1.ClusterNameLabel]}
	want := []string{
		"https://127.0.0.1:" + portText(object.Spec.LoadBalancer.HostPort), object.Spec.ControlPlaneEndpoint.Host, token, "cluster.x-k8s.io/secret", "c1",
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("server, TLS server name, token, type, label (-want +got):\n%s", diff)
	}
	if len(secret.OwnerReferences) != 1 || secret.OwnerReferences[0].Kind != "ContainerCluster" || secret.OwnerReferences[0].UID != object.UID {
		t.Errorf("owners are %v", secret.OwnerReferences)
	}
}

func TestBrokenKubeconfigIsNotQuoted(t *testing.T) {
	t.Parallel()
	w := world.New(t, builders.New())
	broken := kubeconfigSecret(t, "first")
	broken.Data["value"] = []byte("apiVersion: v1\nkind: Config\nusers: " + builders.SecretWord + "\n")
	must(t, w.Client.Create(t.Context(), broken))
	outcome := w.SettleCluster()
	if outcome.Err == nil || strings.Contains(outcome.Err.Error(), builders.SecretWord) {
		t.Errorf("a broken kubeconfig gives the error %v", outcome.Err)
	}
	if state, _ := world.State(get(w), infrav1.ClusterReadyCondition); state != usable {
		t.Errorf("network and load balancer work, and Ready is %s", state)
	}
	w.CheckCluster(world.ByNewManager)
}

func kubeconfigSecret(t *testing.T, token string) *corev1.Secret {
	t.Helper()
	data, err := clientcmd.Write(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{"c1": {Server: "https://172.18.0.9:6443", CertificateAuthorityData: []byte("CA")}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{"c1-admin": {Token: token}},
		Contexts:       map[string]*clientcmdapi.Context{"c1": {Cluster: "c1", AuthInfo: "c1-admin"}},
		CurrentContext: "c1",
	})
	must(t, err)
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: builders.Namespace, Name: "c1-kubeconfig", Labels: map[string]string{clusterv1.ClusterNameLabel: "c1"},
		},
		Type: clusterv1.ClusterSecretType,
		Data: map[string][]byte{"value": data},
	}
}

func portText(port int32) string { return strconv.Itoa(int(port)) }
