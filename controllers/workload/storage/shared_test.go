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

package storage_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/sig-storage-lib-external-provisioner/v13/controller"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
	"github.com/capi-samples/cluster-api-provider-container/test/simulatedvolumes"
)

// storageWait bounds what takes the informers some tenths of a second.
const storageWait = 20 * time.Second

// sharedWorld is a world whose volumes are on the volume of the cluster.
type sharedWorld struct {
	*world
	disk *simulatedvolumes.Disk
	// retained is what was recorded.
	retained []string
}

func newSharedWorld(t *testing.T) *sharedWorld {
	t.Helper()
	w := &sharedWorld{world: newWorld(t)}
	w.disk = simulatedvolumes.New(w.engine)
	w.engine.HandleExec(w.disk.Handle)
	w.options.Shared = true
	w.options.Retain = func(_ context.Context, change func([]string) []string) error {
		w.retained = change(w.retained)
		return nil
	}
	w.limit(w.options.MaxVolumes)
	return w
}

// provision a claim that is bound then, as the library and the PersistentVolume controller do.
func (w *sharedWorld) provision(t *testing.T, o controller.ProvisionOptions) *corev1.PersistentVolume {
	t.Helper()
	volume, state, err := w.provisioner.Provision(t.Context(), o)
	if err != nil || state != controller.ProvisioningFinished {
		t.Fatalf("Provision: %s, %v", state, err)
	}
	must.Get(w.client.CoreV1().PersistentVolumes().Create(t.Context(), volume, metav1.CreateOptions{}))(t)
	claim := o.PVC.DeepCopy()
	claim.Spec.VolumeName = volume.Name
	must.Get(w.client.CoreV1().PersistentVolumeClaims(claim.Namespace).Create(t.Context(), claim, metav1.CreateOptions{}))(t)
	return volume
}

// TestProvisionShared: any node can have the volume, and the selected one has it before kubelet
// looks for it.
func TestProvisionShared(t *testing.T) {
	t.Parallel()
	w := newSharedWorld(t)
	volume := w.provision(t, options())
	want := []corev1.NodeSelectorRequirement{{Key: corev1.LabelOSStable, Operator: corev1.NodeSelectorOpIn, Values: []string{"linux"}}}
	if diff := cmp.Diff(want, volume.Spec.NodeAffinity.Required.NodeSelectorTerms[0].MatchExpressions); diff != "" {
		t.Errorf("node affinity (-want +got):\n%s", diff)
	}
	if path := volume.Spec.Local.Path; path != "/run/cluster-volumes/pvc-1/data" || len(volume.Annotations) > 0 {
		t.Errorf("path %s, annotations %v", path, volume.Annotations)
	}
	if diff := cmp.Diff([]string{"mine"}, w.disk.Bound(volumeName)); diff != "" {
		t.Errorf("nodes with the volume (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{volumeName}, w.retained); diff != "" {
		t.Errorf("volumes with reclaim policy Retain (-want +got):\n%s", diff)
	}
	w.disk.Mount("mine", volumeName)
	if err := w.provisioner.Delete(t.Context(), volume); err == nil || !strings.Contains(err.Error(), "is in use") {
		t.Errorf("Delete of a mounted volume: %v", err)
	}
	w.disk.Unmount("mine", volumeName)
	for range 2 {
		must.Succeed(t, w.provisioner.Delete(t.Context(), volume))
	}
	if left := w.disk.Directories(); len(left) > 0 {
		t.Errorf("directories left: %v", left)
	}
}

// TestProvisionSharedElsewhere: any node does to create the directory.
func TestProvisionSharedElsewhere(t *testing.T) {
	t.Parallel()
	w, o := newSharedWorld(t), options()
	o.SelectedNodeName = ""
	w.provision(t, o)
	if have := w.disk.Bound(volumeName); len(have) > 0 {
		t.Errorf("bound in %v, where no Pod is", have)
	}
}

func TestProvisionSharedFails(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change func(*sharedWorld, *controller.ProvisionOptions)
		want   string
	}{
		"no node": {
			func(w *sharedWorld, _ *controller.ProvisionOptions) { w.disk.Older["mine"] = true }, "no node with the volume of the cluster is running",
		},
		"full": {func(w *sharedWorld, _ *controller.ProvisionOptions) { w.disk.Full = true }, "No space left on device"},
		"larger than the disk": {func(_ *sharedWorld, o *controller.ProvisionOptions) {
			o.PVC.Spec.Resources.Requests[corev1.ResourceStorage] = resource.MustParse("2Gi")
		}, "more than the free space"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, o := newSharedWorld(t), options()
			tc.change(w, &o)
			volume, _, err := w.provisioner.Provision(t.Context(), o)
			if volume != nil || err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("Provision: %v, %v, want %s", volume, err, tc.want)
			}
		})
	}
}

// TestClone: a claim is copied while no Pod uses it.
func TestClone(t *testing.T) {
	t.Parallel()
	w := newSharedWorld(t)
	w.provision(t, options())
	o := options()
	o.PVName, o.PVC.Name, o.PVC.UID = "pvc-2", "copy", "2"
	o.PVC.Spec.DataSource = &corev1.TypedLocalObjectReference{Kind: "PersistentVolumeClaim", Name: "data"}
	if !w.provisioner.ShouldProvision(t.Context(), o.PVC) {
		t.Error("the claim is not provisioned")
	}
	w.disk.Mount("mine", volumeName)
	if _, _, err := w.provisioner.Provision(t.Context(), o); !isIgnored(err) || !strings.Contains(err.Error(), "it is copied once no Pod uses it") {
		t.Errorf("Provision while the source is in use: %v", err)
	}
	w.disk.Unmount("mine", volumeName)
	w.provision(t, o)
	if got := w.disk.Directories(); len(got) != 2 {
		t.Errorf("directories %v", got)
	}
	small := options()
	small.PVName, small.PVC.Spec.DataSource = "pvc-3", o.PVC.Spec.DataSource
	small.PVC.Spec.Resources.Requests[corev1.ResourceStorage] = resource.MustParse("1Mi")
	if _, _, err := w.provisioner.Provision(t.Context(), small); !isIgnored(err) || !strings.Contains(err.Error(), "request at least as much") {
		t.Errorf("Provision of less than the source has: %v", err)
	}
	small.PVC.Spec.DataSource = &corev1.TypedLocalObjectReference{Kind: "PersistentVolumeClaim", Name: "gone"}
	if _, _, err := w.provisioner.Provision(t.Context(), small); !isIgnored(err) || !strings.Contains(err.Error(), `"gone" does not exist`) {
		t.Errorf("Provision from a claim that does not exist: %v", err)
	}
}

// TestSharedModes: all access modes are served, and snapshots refused.
func TestSharedModes(t *testing.T) {
	t.Parallel()
	w, claim := newSharedWorld(t), options().PVC
	claim.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany, corev1.ReadOnlyMany}
	if !w.provisioner.ShouldProvision(t.Context(), claim) {
		t.Errorf("refused: %v", w.events(t))
	}
	group := "snapshot.storage.k8s.io"
	claim.Spec.DataSource = &corev1.TypedLocalObjectReference{APIGroup: &group, Kind: "VolumeSnapshot", Name: "monday"}
	for range 2 {
		if w.provisioner.ShouldProvision(t.Context(), claim) {
			t.Error("a snapshot is provisioned")
		}
	}
	if events := w.events(t); len(events) != 1 || !strings.Contains(events[0], "without snapshots") {
		t.Errorf("Events: %q", events)
	}
}

// TestRunShared: a Pod on another node gets the volume of one that has ended.
func TestRunShared(t *testing.T) {
	t.Parallel()
	w := newSharedWorld(t)
	w.options.Report = func(string, error) {}
	w.provision(t, options())
	must.Get(w.engine.CreateContainer(t.Context(), engine.Spec{
		Name: "other", Image: builders.NodeImage, Labels: w.options.Recorded.Owner.ContainerLabels("worker", "other"),
	}))(t)
	must.Succeed(t, w.engine.StartContainer(t.Context(), "other"))
	must.Get(w.client.CoreV1().Nodes().Create(t.Context(), &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "other"}, Spec: corev1.NodeSpec{ProviderID: "container:///other"},
	}, metav1.CreateOptions{}))(t)
	claim := must.Get(w.client.CoreV1().PersistentVolumeClaims("default").Get(t.Context(), "data", metav1.GetOptions{}))(t)
	volume := must.Get(w.client.CoreV1().PersistentVolumes().Get(t.Context(), volumeName, metav1.GetOptions{}))(t)
	volume.Spec.ClaimRef = &corev1.ObjectReference{Namespace: "default", Name: "data", UID: claim.UID}
	must.Get(w.client.CoreV1().PersistentVolumes().Update(t.Context(), volume, metav1.UpdateOptions{}))(t)
	w.disk.Mount("mine", volumeName)
	w.start(t)
	must.Get(w.client.CoreV1().Pods("default").Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "database", UID: "pod"},
		Spec: corev1.PodSpec{NodeName: "other", Volumes: []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"},
		}}}},
	}, metav1.CreateOptions{}))(t)
	must.Eventually(t, storageWait, "an Event of the Pod that waits", func(context.Context) error {
		if events := w.events(t); len(events) != 1 || !strings.Contains(events[0], "node container mine has it mounted") {
			return errors.New(strings.Join(events, "; "))
		}
		return nil
	})
	w.disk.Unmount("mine", volumeName)
	must.Eventually(t, storageWait, "the volume is in the other node", func(context.Context) error {
		if have := w.disk.Bound(volumeName); !slices.Equal(have, []string{"other"}) {
			return errors.New(strings.Join(have, " "))
		}
		return nil
	})
	if violations := w.disk.Violations(); len(violations) > 0 {
		t.Errorf("two writers: %q", violations)
	}
	if len(w.events(t)) != 1 {
		t.Errorf("Events: %q", w.events(t))
	}
}
