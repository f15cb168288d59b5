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
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/e2e/capcon/capcontest"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/node"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane"
	"github.com/capi-samples/cluster-api-provider-container/test/integration"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

const volumesCluster = "volumes-test"

// TestClusterVolumes has a database write to a PersistentVolume of storage type Cluster, while the
// nodes it runs on are drained, stopped, paused, killed and upgraded, and the manager is killed.
// No record that it acknowledged is lost, and at no time two nodes have the volume mounted.
//
// It needs the node images of both versions (make images-load KUBERNETES_VERSION=...).
func TestClusterVolumes(t *testing.T) {
	eng := integration.Engine(t, capcontest.NodeImage, capcontest.LoadBalancerImage, capcontest.PlaneImage)
	d := capcontest.Declare(t, eng, volumesCluster)
	d.ContainerCluster.Spec.Storage.Type = infrav1.StorageCluster
	d.ControlPlane.Spec.Replicas = ptr.To[int32](1)
	d.Deployments = []*clusterv1.MachineDeployment{d.Deployment(volumesCluster, 2)}
	d.HaveVersion(previousVersion)
	// The older nodes have the etcd of their kubeadm, under whose name the database does not look.
	d.RunBeforeKubeadm("ctr --namespace k8s.io images tag registry.k8s.io/etcd:3.6.6-0 registry.k8s.io/etcd:3.6.8-0 || true")
	d.Create(t)
	db := &writer{t: t, Declared: d, engine: eng, command: must.Get(eng.Info(t.Context()))(t).Name, cluster: d.ComesUp(t, 3)}
	db.start()
	capcontest.RunSteps(t, []capcontest.Step{
		{Name: "machine deleted", Run: db.machineDeleted},
		{Name: "kubelet stopped, node killed", Run: db.kubeletStopped},
		{Name: "node paused", Run: db.paused},
		{Name: "node disconnected", Run: db.disconnected},
		{Name: "node restarted", Run: db.restarted},
		{Name: "engine restarted", Run: db.engineRestarted},
		{Name: "manager killed", Run: db.managerKilled},
		{Name: "shared volume", Run: db.shared},
		{Name: "read-only volume", Run: db.readOnly},
		{Name: "three replicas", Run: db.scaled},
		{Name: "all nodes upgraded", Run: db.upgraded},
		{Name: "records are kept", Run: db.recordsAreKept},
		{Name: "retained", Run: db.retained},
	})
}

func (w *writer) machineDeleted(t *testing.T) {
	machine := w.node(t)
	must.Succeed(t, w.API.Delete(t.Context(), &machine))
	capcontest.Eventually(t, "the Pod is on another node", func(ctx context.Context) (string, error) {
		pod, err := w.cluster.CoreV1().Pods(metav1.NamespaceDefault).Get(ctx, databasePod, metav1.GetOptions{})
		if err == nil && pod.Spec.NodeName == machine.Status.NodeRef.Name {
			return "it is on " + pod.Spec.NodeName, nil
		}
		return "", client.IgnoreNotFound(err)
	})
	w.writes(t, "the Machine is deleted")
	w.MachinesHaveNodes(t, 3)
}

func (w *writer) kubeletStopped(t *testing.T) {
	machine := w.node(t)
	w.cordon(t, machine.Status.NodeRef.Name, true)
	must.Get(w.engine.Exec(t.Context(), containerOf(t, machine), engine.Command{Args: []string{"systemctl", "stop", "kubelet"}}))(t)
	w.evict(t)
	w.waits(t)
	capcontest.MustExecute(t, w.command, "kill", containerOf(t, machine))
	w.writes(t, "the node is killed")
	capcontest.MachinesReady(t, w.Program)
	w.cordon(t, machine.Status.NodeRef.Name, false)
}

func (w *writer) paused(t *testing.T) {
	machine := w.node(t)
	w.cordon(t, machine.Status.NodeRef.Name, true)
	capcontest.MustExecute(t, w.command, "pause", containerOf(t, machine))
	w.evict(t)
	w.waits(t)
	capcontest.MustExecute(t, w.command, "unpause", containerOf(t, machine))
	w.writes(t, "the node is resumed")
	w.cordon(t, machine.Status.NodeRef.Name, false)
}

// disconnected: the node keeps the volume, since its processes still write.
func (w *writer) disconnected(t *testing.T) {
	machine := w.node(t)
	w.cordon(t, machine.Status.NodeRef.Name, true)
	container := must.Get(w.engine.InspectContainer(t.Context(), containerOf(t, machine)))(t)
	capcontest.MustExecute(t, w.command, "network", "disconnect", container.Labels[identity.LabelNetwork], container.Name)
	w.evict(t)
	w.waits(t)
	capcontest.MustExecute(t, append([]string{w.command}, capcontest.ConnectArguments(container)...)...)
	w.writes(t, "the node is connected again")
	capcontest.MachinesReady(t, w.Program)
	w.cordon(t, machine.Status.NodeRef.Name, false)
}

// engineRestarted with all containers.
func (w *writer) engineRestarted(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("it takes root to stop the engine")
	}
	for _, target := range []string{"engine-stop", "engine"} {
		capcontest.MustExecute(t, "make", "-C", capcontest.Root, "--no-print-directory", target, "ENGINE="+w.command)
	}
	w.writes(t, "the engine has restarted")
	capcontest.MachinesReady(t, w.Program)
}

// scaled to three replicas, each with a volume of its own.
func (w *writer) scaled(t *testing.T) {
	sets := w.cluster.AppsV1().StatefulSets(metav1.NamespaceDefault)
	must.Get(sets.Patch(t.Context(), "database", types.MergePatchType, []byte(`{"spec":{"replicas":3}}`), metav1.PatchOptions{}))(t)
	capcontest.Eventually(t, "three replicas are ready", func(ctx context.Context) (string, error) {
		set, err := sets.Get(ctx, "database", metav1.GetOptions{})
		if err != nil {
			return "", err
		}
		if set.Status.ReadyReplicas != 3 {
			return fmt.Sprintf("%d are", set.Status.ReadyReplicas), nil
		}
		return "", nil
	})
	w.writes(t, "three replicas are ready")
}

func (w *writer) restarted(t *testing.T) {
	capcontest.MustExecute(t, w.command, "restart", containerOf(t, w.node(t)))
	w.writes(t, "the node has restarted")
	capcontest.MachinesReady(t, w.Program)
}

func (w *writer) managerKilled(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("it takes root to kill the manager")
	}
	for range 3 {
		machine := w.node(t)
		w.cordon(t, machine.Status.NodeRef.Name, true)
		must.Succeed(t, w.cluster.CoreV1().Pods(metav1.NamespaceDefault).Delete(t.Context(), databasePod, metav1.DeleteOptions{}))
		must.Get(capcontest.KillManager(plane.DefaultName))(t)
		w.writes(t, "the manager was killed")
		w.cordon(t, machine.Status.NodeRef.Name, false)
	}
}

// shared: Pods on two nodes have one volume.
func (w *writer) shared(t *testing.T) {
	claims := w.cluster.CoreV1().PersistentVolumeClaims(metav1.NamespaceDefault)
	data := must.Get(claims.Get(t.Context(), "data-"+databasePod, metav1.GetOptions{}))(t)
	must.Get(claims.Create(t.Context(), &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "shared"},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany}, Resources: data.Spec.Resources,
		},
	}, metav1.CreateOptions{}))(t)
	database := must.Get(w.cluster.CoreV1().Pods(metav1.NamespaceDefault).Get(t.Context(), databasePod, metav1.GetOptions{}))(t)
	for _, machine := range capcontest.Machines(t, w.Program) {
		must.Get(w.cluster.CoreV1().Pods(metav1.NamespaceDefault).Create(t.Context(), sharing(database, machine.Status.NodeRef.Name), metav1.CreateOptions{}))(t)
	}
	capcontest.Eventually(t, "Pods on all nodes write to one volume", func(ctx context.Context) (string, error) {
		pods, err := w.cluster.CoreV1().Pods(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{LabelSelector: "app=sharing"})
		if err != nil {
			return "", err
		}
		for i := range pods.Items {
			if pods.Items[i].Status.Phase != corev1.PodRunning {
				return pods.Items[i].Name + " is " + string(pods.Items[i].Status.Phase), nil
			}
		}
		return "", nil
	})
	must.Succeed(t, w.cluster.CoreV1().Pods(metav1.NamespaceDefault).DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "app=sharing"}))
	must.Succeed(t, claims.Delete(t.Context(), "shared", metav1.DeleteOptions{}))
}

// readOnly: a claim says why it has no PersistentVolume, and has one when the volume is writable.
func (w *writer) readOnly(t *testing.T) {
	remount := func(mode string) {
		for _, machine := range capcontest.Machines(t, w.Program) {
			must.Get(w.engine.Exec(t.Context(), containerOf(t, machine), engine.Command{Args: []string{"mount", "-o", "remount,bind," + mode, node.VolumePath}}))(t)
		}
	}
	claims := w.cluster.CoreV1().PersistentVolumeClaims(metav1.NamespaceDefault)
	data := must.Get(claims.Get(t.Context(), "data-"+databasePod, metav1.GetOptions{}))(t)
	remount("ro")
	claim := must.Get(claims.Create(t.Context(), &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "written", Annotations: map[string]string{"volume.kubernetes.io/selected-node": w.node(t).Status.NodeRef.Name}},
		Spec:       corev1.PersistentVolumeClaimSpec{AccessModes: data.Spec.AccessModes, Resources: data.Spec.Resources},
	}, metav1.CreateOptions{}))(t)
	capcontest.Eventually(t, "an Event says that the volume is read-only", func(ctx context.Context) (string, error) {
		events, err := w.cluster.CoreV1().Events(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{
			FieldSelector: "reason=ProvisioningFailed,involvedObject.uid=" + string(claim.UID),
		})
		if err == nil && !slices.ContainsFunc(events.Items, func(event corev1.Event) bool { return strings.Contains(event.Message, "Read-only file system") }) {
			return fmt.Sprintf("Events: %v", events.Items), nil
		}
		return "", err
	})
	remount("rw")
	capcontest.Eventually(t, "the claim is bound", func(ctx context.Context) (string, error) {
		claim, err := claims.Get(ctx, claim.Name, metav1.GetOptions{})
		if err == nil && claim.Status.Phase != corev1.ClaimBound {
			return string(claim.Status.Phase), nil
		}
		return "", err
	})
	must.Succeed(t, claims.Delete(t.Context(), claim.Name, metav1.DeleteOptions{}))
}

// sharing is a Pod on a node that has the shared volume: an etcd with a directory of its own.
func sharing(database *corev1.Pod, node string) *corev1.Pod {
	container := *database.Spec.Containers[0].DeepCopy()
	container.Command = []string{"etcd", "--data-dir=/data/" + node}
	container.VolumeMounts = []corev1.VolumeMount{{Name: "data", MountPath: "/data"}}
	container.ReadinessProbe = nil
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "sharing-" + node, Labels: map[string]string{"app": "sharing"}},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{container}, NodeSelector: map[string]string{corev1.LabelHostname: node}, Tolerations: capcontest.Everywhere(),
			Volumes: []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "shared"},
			}}},
			TerminationGracePeriodSeconds: ptr.To[int64](0),
		},
	}
}

// upgraded: every Machine is replaced by one of the next Kubernetes, the control plane first.
func (w *writer) upgraded(t *testing.T) {
	w.Upgrade(t, currentVersion, 3)
	w.writes(t, "all nodes are upgraded")
	for _, node := range must.Get(w.cluster.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{}))(t).Items {
		if node.Status.NodeInfo.KubeletVersion != currentVersion {
			t.Errorf("Node %s has Kubernetes %s, want %s", node.Name, node.Status.NodeInfo.KubeletVersion, currentVersion)
		}
	}
}

func (w *writer) recordsAreKept(t *testing.T) {
	acknowledged := w.acknowledged.Load()
	capcontest.Eventually(t, "the records are read", func(ctx context.Context) (string, error) {
		var answer struct {
			Count string `json:"count"`
		}
		// All keys from the first to the last that was acknowledged.
		err := w.ask(ctx, "range", map[string]any{"key": encodedKey(0), "range_end": encodedKey(acknowledged), "count_only": true}, &answer)
		if err != nil {
			return "", err
		}
		if answer.Count != strconv.FormatInt(acknowledged, 10) {
			t.Fatalf("the database has %s of %d acknowledged records", answer.Count, acknowledged)
		}
		t.Logf("the database has all %d acknowledged records", acknowledged)
		return "", nil
	})
}

// retained: the volume is kept when the cluster is deleted.
func (w *writer) retained(t *testing.T) {
	volume := w.volume(t.Context())
	must.Get(w.cluster.CoreV1().PersistentVolumes().Patch(t.Context(), volume, types.MergePatchType,
		[]byte(`{"spec":{"persistentVolumeReclaimPolicy":"Retain"}}`), metav1.PatchOptions{}))(t)
	existing := &infrav1.ContainerCluster{}
	capcontest.Eventually(t, "the volume is recorded", func(ctx context.Context) (string, error) {
		err := w.API.Get(ctx, client.ObjectKeyFromObject(w.ContainerCluster), existing)
		if recorded := existing.Annotations[infrav1.RetainedVolumesAnnotation]; recorded != volume {
			return fmt.Sprintf("%q is recorded", recorded), err
		}
		return "", err
	})
	owner := identity.Owner{Namespace: existing.Namespace, Cluster: volumesCluster, ID: existing.Spec.OwnerID}
	w.Delete(t)
	must.Get(w.engine.InspectVolume(t.Context(), owner.Volume()))(t)
	must.Succeed(t, w.engine.RemoveVolume(t.Context(), owner.Volume()))
}
