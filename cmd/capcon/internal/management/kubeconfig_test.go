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

package management_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/management"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// The kubeconfig of Cluster API is the only one there is: what works on the
// host follows from it, from the endpoint and from the load balancer's port.
func TestKubeconfig(t *testing.T) {
	t.Parallel()
	meta := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "default", Name: name} }
	// One of each for each case: the fake client writes into what it is given.
	core := func() client.Object {
		return &corev1.Secret{ObjectMeta: meta("demo-kubeconfig"), Data: map[string][]byte{"value": kubeconfig(t)}}
	}
	cluster := func() client.Object {
		return &clusterv1.Cluster{ObjectMeta: meta("demo"), Spec: clusterv1.ClusterSpec{
			// Its name is its own, as with a ClusterClass.
			InfrastructureRef: clusterv1.ContractVersionedObjectReference{
				APIGroup: infrav1.GroupVersion.Group, Kind: "ContainerCluster", Name: "demo-x7k2p",
			},
		}}
	}
	infrastructure := func(balancer infrav1.LoadBalancerType, hostPort int32) client.Object {
		return &infrav1.ContainerCluster{ObjectMeta: meta("demo-x7k2p"), Spec: infrav1.ContainerClusterSpec{
			ControlPlaneEndpoint: infrav1.APIEndpoint{Host: "172.18.0.9", Port: 6443},
			LoadBalancer:         infrav1.LoadBalancer{Type: balancer, HostPort: hostPort},
		}}
	}
	ofEngine := func() client.Object {
		out, _ := infrastructure(infrav1.LoadBalancerHAProxy, 40123).(*infrav1.ContainerCluster)
		out.Spec.EngineName = "build"
		return out
	}
	haproxy, none := infrav1.LoadBalancerHAProxy, infrav1.LoadBalancerNone
	for name, tc := range map[string]struct {
		reason  string
		objects []client.Object
		want    clientcmdapi.Cluster
	}{
		"HostPort": {
			"The host reaches the load balancer at its port there, whose certificate names the endpoint.",
			[]client.Object{cluster(), infrastructure(haproxy, 40123), core()},
			clientcmdapi.Cluster{Server: "https://127.0.0.1:40123", TLSServerName: "172.18.0.9"},
		},
		"HostPortNotYet": {
			"The endpoint may not be reached from the host.",
			[]client.Object{cluster(), infrastructure(haproxy, 0), core()}, clientcmdapi.Cluster{},
		},
		"SecretNotYet": {
			"The control plane has not written it.",
			[]client.Object{cluster(), infrastructure(haproxy, 40123)}, clientcmdapi.Cluster{},
		},
		"External": {
			"No port of the host leads to an endpoint that is served elsewhere.",
			[]client.Object{cluster(), infrastructure(none, 0), core()}, clientcmdapi.Cluster{Server: "https://172.18.0.9:6443"},
		},
		"OtherEngine": {
			"The port is one of that engine's host, whose address is the endpoint.",
			[]client.Object{cluster(), ofEngine(), core()}, clientcmdapi.Cluster{Server: "https://172.18.0.9:6443"},
		},
		"ExternalNotYet":   {"The control plane has not written it.", []client.Object{cluster(), infrastructure(none, 0)}, clientcmdapi.Cluster{}},
		"NoCluster":        {"There is nothing.", nil, clientcmdapi.Cluster{}},
		"NoInfrastructure": {"It does not exist yet.", []client.Object{cluster(), core()}, clientcmdapi.Cluster{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := management.Kubeconfig(t.Context(), apiServer(t, tc.objects...), "default", "demo")
			missing := tc.want.Server == ""
			if errors.Is(err, management.ErrNoKubeconfig) != missing || (err != nil) != missing || (len(got) == 0) != missing {
				t.Fatalf("%s\ngot %q and error %v", tc.reason, got, err)
			}
			if missing {
				return
			}
			config := must.Get(clientcmd.Load(got))(t)
			want := []string{tc.want.Server, tc.want.TLSServerName, "CA", "token"}
			reached := config.Clusters["demo"]
			if diff := cmp.Diff(want, []string{
				reached.Server, reached.TLSServerName, string(reached.CertificateAuthorityData), config.AuthInfos["demo-admin"].Token,
			}); diff != "" {
				t.Errorf("%s\nserver, TLS server name, CA, token (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// A kubeconfig is a credential, also where it is malformed.
func TestMalformedKubeconfigIsNotQuoted(t *testing.T) {
	t.Parallel()
	meta := metav1.ObjectMeta{Namespace: "default", Name: "demo"}
	_, err := management.Kubeconfig(t.Context(), apiServer(t,
		&clusterv1.Cluster{ObjectMeta: meta, Spec: clusterv1.ClusterSpec{
			InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: infrav1.GroupVersion.Group, Kind: "ContainerCluster", Name: "demo"},
		}},
		&infrav1.ContainerCluster{ObjectMeta: meta, Spec: infrav1.ContainerClusterSpec{LoadBalancer: infrav1.LoadBalancer{HostPort: 40123}}},
		&corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "demo-kubeconfig"},
			Data:       map[string][]byte{"value": []byte("apiVersion: v1\nkind: Config\nusers: hunter2\n")},
		},
	), "default", "demo")
	if err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("a malformed kubeconfig: %v", err)
	}
}

func kubeconfig(t *testing.T) []byte {
	t.Helper()
	data := must.Get(clientcmd.Write(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{"demo": {Server: "https://172.18.0.9:6443", CertificateAuthorityData: []byte("CA")}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{"demo-admin": {Token: "token"}},
		Contexts:       map[string]*clientcmdapi.Context{"demo": {Cluster: "demo", AuthInfo: "demo-admin"}},
		CurrentContext: "demo",
	}))(t)
	return data
}

func apiServer(t *testing.T, objects ...client.Object) client.Client {
	t.Helper()
	scheme := must.Get(management.Scheme())(t)
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()
}
