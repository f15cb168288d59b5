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

package manager

import (
	"cmp"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	"sigs.k8s.io/cluster-api/util/secret"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/test/env"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// TestIntegrationControlPlaneEvents has one API server as management and workload cluster.
func TestIntegrationControlPlaneEvents(t *testing.T) {
	t.Parallel()
	config := env.Start(t)
	scheme := must.Get(newScheme([]func(*runtime.Scheme) error{infrav1.AddToScheme}))(t)
	api := must.Get(client.New(config, client.Options{Scheme: scheme}))(t)
	const name, patience = "demo", time.Minute
	cluster := createWorkloadCluster(t, api, name, env.Kubeconfig(t, config))

	mgr := must.Get(createManager(restConfig(config), cache.Options{Scheme: scheme}, Options{HealthAddress: "0", MetricsAddress: "0"}))(t)
	p := &provider{mgr: mgr, opts: Options{Concurrency: 1}}
	p.secrets = must.Get(secretClient(mgr))(t)
	clusters := must.Get(p.newClusterCache(t.Context(), logr.Discard()))(t)
	reconciled := make(chan reconcile.Request, 1)
	events := controlPlaneEvents{clusters}.GetClusterSource("recorder", func(_ context.Context, cluster client.Object) []ctrl.Request {
		return []ctrl.Request{{NamespacedName: types.NamespacedName{Namespace: cluster.GetNamespace(), Name: "control-plane-of-" + cluster.GetName()}}}
	})
	must.Succeed(t, ctrl.NewControllerManagedBy(mgr).Named("recorder").WatchesRawSource(events).
		Complete(reconcile.Func(func(_ context.Context, request reconcile.Request) (reconcile.Result, error) {
			reconciled <- request
			return reconcile.Result{}, nil
		})))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the manager ended with %v", err)
		}
	})

	expect := func(after string) {
		t.Helper()
		select {
		case request := <-reconciled:
			if request.String() != "default/control-plane-of-"+name {
				t.Errorf("after %s, %s is reconciled", after, request)
			}
		case <-time.After(patience):
			t.Fatalf("after %s, nothing is reconciled", after)
		}
	}
	expect("the connection")
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: "kube-apiserver", Labels: map[string]string{"tier": "control-plane"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "kube-apiserver", Image: "example.test/image"}}},
	}
	other := pod.DeepCopy()
	other.Name, other.Labels = "other", nil
	configuration := func(name string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: name}}
	}
	setReady := func(pod *corev1.Pod, status corev1.ConditionStatus) {
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: status}}
		must.Succeed(t, api.Status().Update(t.Context(), pod))
	}
	// What must not be seen comes before what must, in one order for all watches of a kind.
	must.Succeed(t, api.Create(t.Context(), configuration("other")))
	must.Succeed(t, api.Create(t.Context(), configuration("kubeadm-config")))
	expect("kubeadm has written its configuration")
	must.Succeed(t, api.Create(t.Context(), other))
	setReady(other, corev1.ConditionTrue)
	must.Succeed(t, api.Create(t.Context(), pod))
	expect("a static Pod is there")
	setReady(pod, corev1.ConditionTrue)
	expect("it is ready")
	pod.Status.Phase = corev1.PodRunning
	must.Succeed(t, api.Status().Update(t.Context(), pod))
	setReady(pod, corev1.ConditionFalse)
	expect("it is not ready any more")
	must.Succeed(t, api.Delete(t.Context(), pod, client.GracePeriodSeconds(0)))
	expect("it is gone")
	// The API server does not stop as long as there are watches.
	must.Succeed(t, api.Delete(t.Context(), cluster))
	must.Eventually(t, patience, "the workload cluster is disconnected", func(ctx context.Context) error {
		_, err := clusters.GetReader(ctx, client.ObjectKeyFromObject(cluster))
		if errors.Is(err, clustercache.ErrClusterNotConnected) {
			return nil
		}
		return cmp.Or(err, errors.New("it is connected"))
	})
	select {
	case request := <-reconciled:
		t.Errorf("%s is reconciled once more", request)
	default:
	}
}

// createWorkloadCluster whose infrastructure is provisioned.
func createWorkloadCluster(t *testing.T, api client.Client, name string, kubeconfig []byte) *clusterv1.Cluster {
	t.Helper()
	reference := func(group, kind string) clusterv1.ContractVersionedObjectReference {
		return clusterv1.ContractVersionedObjectReference{APIGroup: group, Kind: kind, Name: name}
	}
	cluster := &clusterv1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: name},
		Spec: clusterv1.ClusterSpec{
			InfrastructureRef: reference(infrav1.GroupVersion.Group, "ContainerCluster"),
			ControlPlaneRef:   reference("controlplane.cluster.x-k8s.io", "KubeadmControlPlane"),
		},
	}
	must.Succeed(t, api.Create(t.Context(), cluster))
	cluster.Status.Initialization.InfrastructureProvisioned = ptr.To(true)
	must.Succeed(t, api.Status().Update(t.Context(), cluster))
	must.Succeed(t, api.Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: cluster.Namespace, Name: secret.Name(name, secret.Kubeconfig), Labels: map[string]string{clusterv1.ClusterNameLabel: name},
		},
		Type: clusterv1.ClusterSecretType, Data: map[string][]byte{secret.KubeconfigDataName: kubeconfig},
	}))
	return cluster
}
