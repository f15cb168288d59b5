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
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1alpha1"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/management"
)

func TestKubeconfig(t *testing.T) {
	t.Parallel()
	meta := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "default", Name: name} }
	kubeconfig := func(name string) client.Object {
		return &corev1.Secret{ObjectMeta: meta(name), Data: map[string][]byte{"value": []byte(name)}}
	}
	// One for each case: the fake client writes into what it is given.
	cluster := func() client.Object {
		return &clusterv1.Cluster{ObjectMeta: meta("demo"), Spec: clusterv1.ClusterSpec{
			// Its name is its own, as with a ClusterClass.
			InfrastructureRef: clusterv1.ContractVersionedObjectReference{
				APIGroup: infrav1.GroupVersion.Group, Kind: "ContainerCluster", Name: "demo-x7k2p",
			},
		}}
	}
	infrastructure := func(balancer infrav1.LoadBalancerType) client.Object {
		return &infrav1.ContainerCluster{ObjectMeta: meta("demo-x7k2p"), Spec: infrav1.ContainerClusterSpec{
			LoadBalancer: infrav1.LoadBalancer{Type: balancer},
		}}
	}
	const ours, core = "demo-kubeconfig-host", "demo-kubeconfig"
	for name, tc := range map[string]struct {
		reason  string
		objects []client.Object
		want    string
	}{
		"HostPort": {
			"The host reaches the load balancer at its port there.",
			[]client.Object{cluster(), infrastructure(infrav1.LoadBalancerHAProxy), kubeconfig(ours), kubeconfig(core)}, ours,
		},
		"HostPortNotYet": {
			"The other one may not work on the host.",
			[]client.Object{cluster(), infrastructure(infrav1.LoadBalancerHAProxy), kubeconfig(core)}, "",
		},
		"External": {
			"There is no port of the host, and the endpoint is for everybody.",
			[]client.Object{cluster(), infrastructure(infrav1.LoadBalancerNone), kubeconfig(core)}, core,
		},
		"ExternalNotYet": {"The control plane is not made.", []client.Object{cluster(), infrastructure(infrav1.LoadBalancerNone)}, ""},
		"NoCluster":      {"There is nothing.", nil, ""},
		"NoInfrastructure": {
			"It is not made yet.", []client.Object{cluster(), kubeconfig(core)}, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			scheme, err := management.Scheme()
			if err != nil {
				t.Fatal(err)
			}
			api := fake.NewClientBuilder().WithScheme(scheme).WithObjects(tc.objects...).Build()
			got, err := management.Kubeconfig(t.Context(), api, "default", "demo")
			if string(got) != tc.want || errors.Is(err, management.ErrNoKubeconfig) != (tc.want == "") || (err != nil) != (tc.want == "") {
				t.Errorf("%s\ngot %q and error %v, want %q", tc.reason, got, err, tc.want)
			}
		})
	}
}
