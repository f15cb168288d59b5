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

package commandtest

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/state"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// Created is a world in which "capcon up demo" has run: its container is demo-a-1234. Controllers continue to act.
func Created(t *testing.T, args ...string) *World {
	t.Helper()
	w := New(t)
	w.Controllers = w.Become
	w.MustRun(append([]string{"up", "demo"}, args...)...)
	return w
}

// WithVolume is a world with a ready cluster of one control plane and three workers, whose API
// server has a volume on the first worker. Writes are counted from then on.
func WithVolume(t *testing.T) *World {
	t.Helper()
	w := Created(t, "--workers", "3")
	const first = "demo-worker-0"
	volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv"}, Spec: corev1.PersistentVolumeSpec{
		ClaimRef:               &corev1.ObjectReference{Namespace: "default", Name: "data"},
		PersistentVolumeSource: corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: "/data"}},
		NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{first}}},
		}}}},
	}}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: first, Labels: map[string]string{corev1.LabelHostname: first}}}
	w.Workload = fake.NewClientBuilder().WithScheme(w.Client.Scheme()).WithObjects(volume, node).Build()
	w.Writes = 0
	return w
}

// WithLeftovers is a world with a cluster demo that its plane has, one (lost) that this user created
// and no plane has, and one (strange) of another user. Each has a control plane.
func WithLeftovers(t *testing.T) *World {
	t.Helper()
	w := New(t)
	w.Plane.Current = Running("plane")
	must.Get(network.Ensure(t.Context(), w.Engine, network.Request{}))(t)
	for _, name := range []string{"demo", "lost", "strange"} {
		w.AddContainer(name+"-a", name, name+"-id", identity.RoleControlPlane)
	}
	w.Create(ContainerCluster("demo", "demo-id"))
	must.Succeed(t, errors.Join(w.Directory().Save("demo", state.Cluster{OwnerID: "demo-id"}),
		w.Directory().Save("lost", state.Cluster{OwnerID: "lost-id", Plane: "plane"})))
	return w
}

// WithNodes is WithLeftovers with the Cluster of demo, a worker and a load balancer.
func WithNodes(t *testing.T) *World {
	t.Helper()
	w := WithLeftovers(t)
	w.AddContainer("demo-b", "demo", "demo-id", identity.RoleWorker)
	w.AddContainer("demo-lb", "demo", "demo-id", identity.RoleLoadBalancer)
	w.Create(&clusterv1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "demo"},
		Spec:       clusterv1.ClusterSpec{InfrastructureRef: clusterv1.ContractVersionedObjectReference{Kind: "ContainerCluster", Name: "demo"}},
	})
	return w
}

// ContainerCluster of an owner.
func ContainerCluster(name, ownerID string) *infrav1.ContainerCluster {
	return &infrav1.ContainerCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Spec: infrav1.ContainerClusterSpec{OwnerID: ownerID},
	}
}

// WithLogs is WithLeftovers with a load balancer of demo, logs, and a secret in the bootstrap data of
// demo-a, which is in its journal.
func WithLogs(t *testing.T) *World {
	t.Helper()
	w := WithLeftovers(t)
	w.AddContainer("demo-lb", "demo", "demo-id", identity.RoleLoadBalancer)
	w.Engine.SetLog("demo-lb", "Server is UP\n")
	w.Engine.HandleExec(func(string, engine.Command) (engine.Output, error) {
		return engine.Output{Stdout: []byte("kubelet: the word is swordfish42\nkubelet: token=abc\n")}, nil
	})
	data := "#cloud-config\nwrite_files:\n- path: /etc/word\n  permissions: '0600'\n  content: |\n    swordfish42\n"
	w.Create(
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "data"}, Data: map[string][]byte{"value": []byte(data)}},
		&clusterv1.Machine{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "demo-a"},
			Spec:       clusterv1.MachineSpec{ClusterName: "demo", Bootstrap: clusterv1.Bootstrap{DataSecretName: ptr.To("data")}},
		})
	return w
}

// Lose the objects of the cluster demo, as clusterctl leaves its source.
func (w *World) Lose() {
	w.T.Helper()
	ctx, cluster := w.T.Context(), w.Cluster()
	cluster.Finalizers = nil
	must.Succeed(w.T, w.Client.Update(ctx, cluster))
	must.Succeed(w.T, w.Client.Delete(ctx, cluster))
	for _, kind := range goneWithTheCluster() {
		must.Succeed(w.T, w.Client.DeleteAllOf(ctx, kind, client.InNamespace("default")))
	}
}
