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
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/capi-samples/cluster-api-provider-container/controllers/workload/storage"
)

func TestShouldProvision(t *testing.T) {
	t.Parallel()
	const refused = "Warning ProvisioningFailed PersistentVolumeClaim cannot be provisioned: "
	const restore = ", because volumes are directories without snapshots and clones; create a claim without it and restore the data, " +
		"or use a StorageClass of another provisioner"
	cases := map[string]struct {
		reason string
		change func(*corev1.PersistentVolumeClaim)
		// event is the only one; empty = none, and the claim is provisioned.
		event string
	}{
		"plain": {"It can be served.", func(*corev1.PersistentVolumeClaim) {}, ""},
		"snapshot": {"An empty volume would lose what the snapshot has.", func(c *corev1.PersistentVolumeClaim) {
			source := &corev1.TypedLocalObjectReference{APIGroup: ptr.To("snapshot.storage.k8s.io"), Kind: "VolumeSnapshot", Name: "monday"}
			c.Spec.DataSource = source
		}, refused + `spec.dataSource: a volume cannot be created from VolumeSnapshot.snapshot.storage.k8s.io "monday"` + restore},
		"clone": {"As does one of another claim.", func(c *corev1.PersistentVolumeClaim) {
			c.Spec.DataSource = &corev1.TypedLocalObjectReference{Kind: "PersistentVolumeClaim", Name: "other"}
		}, refused + `spec.dataSource: a volume cannot be created from PersistentVolumeClaim "other"` + restore},
		"snapshot of another namespace": {"The API server does not copy it to dataSource.", func(c *corev1.PersistentVolumeClaim) {
			c.Spec.DataSourceRef = &corev1.TypedObjectReference{
				APIGroup: ptr.To("snapshot.storage.k8s.io"), Kind: "VolumeSnapshot", Name: "monday", Namespace: ptr.To("backup"),
			}
		}, refused + `spec.dataSourceRef: a volume cannot be created from VolumeSnapshot.snapshot.storage.k8s.io "monday"` + restore},
		"populator": {"A populator fills the volume of a claim of its own.", func(c *corev1.PersistentVolumeClaim) {
			c.Spec.DataSourceRef = &corev1.TypedObjectReference{APIGroup: ptr.To("forklift.konveyor.io"), Kind: "Image", Name: "disk"}
		}, `Normal Provisioning Waiting for a volume populator for the data source Image.forklift.konveyor.io "disk"; volumes of this provisioner are empty`},
		"selector": {"No volume would match it.", func(c *corev1.PersistentVolumeClaim) {
			c.Spec.Selector = &metav1.LabelSelector{}
		}, refused + "spec.selector: provisioned volumes have no labels; create a claim without it"},
		"block": {"A directory is no device.", func(c *corev1.PersistentVolumeClaim) {
			c.Spec.VolumeMode = ptr.To(corev1.PersistentVolumeBlock)
		}, refused + "spec.volumeMode: Block is not supported; use Filesystem"},
		"attributes": {"They would be ignored.", func(c *corev1.PersistentVolumeClaim) {
			c.Spec.VolumeAttributesClassName = ptr.To("fast")
		}, refused + "spec.volumeAttributesClassName: volumes have no attributes; create a claim without it"},
		"many nodes": {"A directory is on one node.", func(c *corev1.PersistentVolumeClaim) {
			c.Spec.AccessModes = append(c.Spec.AccessModes, corev1.ReadWriteMany)
		}, refused + "spec.accessModes: ReadWriteMany is not supported, because a volume is on one node; use ReadWriteOnce or ReadWriteOncePod"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, claim := newWorld(t), options().PVC
			tc.change(claim)
			for range 2 {
				if got := w.provisioner.ShouldProvision(t.Context(), claim); got != (tc.event == "") {
					t.Errorf("%s ShouldProvision: %t", tc.reason, got)
				}
			}
			var want []string
			if tc.event != "" {
				want = []string{tc.event}
			}
			if diff := cmp.Diff(want, w.events(t)); diff != "" {
				t.Errorf("%s Events: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestShouldProvisionOfOthers: a claim of another provisioner gets no Event.
func TestShouldProvisionOfOthers(t *testing.T) {
	t.Parallel()
	w, claim := newWorld(t), options().PVC
	claim.Annotations["volume.kubernetes.io/storage-provisioner"] = "csi"
	claim.Spec.VolumeMode = ptr.To(corev1.PersistentVolumeBlock)
	w.provisioner.ShouldProvision(t.Context(), claim)
	if events := w.events(t); len(events) > 0 {
		t.Errorf("Events: %q", events)
	}
}

// TestEventOfLongName: an Event has a valid name.
func TestEventOfLongName(t *testing.T) {
	t.Parallel()
	w, claim := newWorld(t), options().PVC
	claim.Name = strings.Repeat("a", 229) + "." + strings.Repeat("b", 23)
	claim.Spec.Selector = &metav1.LabelSelector{}
	w.provisioner.ShouldProvision(t.Context(), claim)
	events, err := w.client.CoreV1().Events(claim.Namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(events.Items) != 1 {
		t.Fatalf("Events: %v, %v", events, err)
	}
	event := events.Items[0]
	if len(event.Name) > 253 || strings.Contains(event.Name, "..") || !event.FirstTimestamp.Time.Equal(now) || event.Source.Component != storage.Provisioner {
		t.Errorf("Event: %+v", event)
	}
}
