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

package clusterctl_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/test/clusterctl"
	"github.com/capi-samples/cluster-api-provider-container/test/env"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// TestIntegrationMoveSharedEngine: clusterctl moves two clusters on one engine with this engine and its
// credentials: each object once, and none stays. No controller runs; what is real is clusterctl, the API servers with
// their schemas, and this provider's webhooks.
func TestIntegrationMoveSharedEngine(t *testing.T) {
	t.Parallel()
	source, target := env.Start(t), env.Start(t)
	from, to := connect(t, source), connect(t, target)
	createSharedEngine(t, from)
	before := inManagement(t, from)
	program := clusterctl.New(t, root)
	must.Get(program.Run(t.Context(), "move", "--namespace", metav1.NamespaceDefault,
		"--kubeconfig", program.Kubeconfig(source), "--to-kubeconfig", program.Kubeconfig(target)))(t)
	if diff := cmp.Diff(before, inManagement(t, to)); diff != "" {
		t.Errorf("objects in the target (-before +after):\n%s", diff)
	}
	if left := inManagement(t, from); len(left) > 0 {
		t.Errorf("objects are left in the source: %v", left)
	}
}

// createSharedEngine with two provisioned clusters: clusterctl moves no others.
func createSharedEngine(t *testing.T, api client.Client) {
	t.Helper()
	const name, credentials = "shared", "shared-credentials"
	named := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: name}
	}
	secret := &corev1.Secret{ObjectMeta: named(credentials), Data: map[string][]byte{"ca.crt": []byte("ca")}}
	secret.Labels = map[string]string{clusterctlv1.ClusterctlMoveLabel: ""}
	engine := &infrav1.ContainerEngine{ObjectMeta: named(name), Spec: infrav1.ContainerEngineSpec{
		Endpoint: "tcp://a.example.org:2376", CredentialsSecretName: credentials,
	}}
	engine.Finalizers = []string{infrav1.EngineFinalizer}
	must.Succeed(t, errors.Join(api.Create(t.Context(), secret), api.Create(t.Context(), engine)))
	for _, cluster := range []string{"one", "two"} {
		owner := &clusterv1.Cluster{ObjectMeta: named(cluster), Spec: clusterv1.ClusterSpec{
			InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: infrav1.GroupVersion.Group, Kind: "ContainerCluster", Name: cluster},
		}}
		must.Succeed(t, api.Create(t.Context(), owner))
		owner.Status.Initialization.InfrastructureProvisioned = ptr.To(true)
		owner.Status.Conditions = []metav1.Condition{{
			Type: clusterv1.ClusterControlPlaneInitializedCondition, Status: metav1.ConditionTrue, Reason: "Initialized", LastTransitionTime: metav1.Now(),
		}}
		must.Succeed(t, api.Status().Update(t.Context(), owner))
		placed := &infrav1.ContainerCluster{ObjectMeta: named(cluster), Spec: infrav1.ContainerClusterSpec{EngineName: name}}
		placed.Finalizers = []string{infrav1.ClusterFinalizer}
		placed.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(owner, clusterv1.GroupVersion.WithKind("Cluster"))}
		must.Succeed(t, api.Create(t.Context(), placed))
	}
}

// inManagement are the clusters, engines and credentials of a management cluster, with their specs.
func inManagement(t *testing.T, api client.Client) map[string]any {
	t.Helper()
	clusters, placed := &clusterv1.ClusterList{}, &infrav1.ContainerClusterList{}
	engines, secrets := &infrav1.ContainerEngineList{}, &corev1.SecretList{}
	for _, list := range []client.ObjectList{clusters, placed, engines, secrets} {
		must.Succeed(t, api.List(t.Context(), list, client.InNamespace(metav1.NamespaceDefault)))
	}
	found := map[string]any{}
	for i := range clusters.Items {
		cluster := &clusters.Items[i]
		cluster.Spec.Paused = nil // during the move
		found["Cluster "+cluster.Name] = cluster.Spec
	}
	for i := range placed.Items {
		found["ContainerCluster "+placed.Items[i].Name] = placed.Items[i].Spec
	}
	for i := range engines.Items {
		found["ContainerEngine "+engines.Items[i].Name] = engines.Items[i].Spec
	}
	for i := range secrets.Items {
		found["Secret "+secrets.Items[i].Name] = secrets.Items[i].Data
	}
	return found
}
