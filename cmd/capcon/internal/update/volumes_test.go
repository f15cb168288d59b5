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

package update

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestVolumesThatAreLost(t *testing.T) {
	t.Parallel()
	nodes := []corev1.Node{node("node-a", "one"), node("node-b", "one"), node("node-c", "two")}
	host, zone := corev1.LabelHostname, corev1.LabelTopologyZone
	cases := map[string]struct {
		reason string
		volume corev1.PersistentVolume
		want   []Volume
	}{
		"on a replaced node":   {"Its directory goes with the container.", volume(host, "node-a"), []Volume{{Name: "pv", Claim: "default/data", Machine: "a"}}},
		"on another node":      {"That one stays.", volume(host, "node-c"), nil},
		"also on another node": {"Its data is there.", volume(zone, "one"), nil},
		"on a node that is gone": {
			"It is lost already.", volume(host, "node-x"), nil,
		},
		"a directory of some host": {
			"It may be on the replaced one.", corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv"}, Spec: corev1.PersistentVolumeSpec{
				PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/data"}},
			}},
			[]Volume{{Name: "pv"}},
		},
		"of a network": {
			"It is on no node.", corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv"}, Spec: corev1.PersistentVolumeSpec{
				PersistentVolumeSource: corev1.PersistentVolumeSource{NFS: &corev1.NFSVolumeSource{Server: "nfs", Path: "/"}},
			}}, nil,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for kind, plan := range map[string]Plan{
				"replaced": {Replaced: []MachineChange{{Machine: Machine{Name: "a", Node: "node-a"}}, {Machine: Machine{Name: "starting"}}}},
				"deleted":  {Deleted: []Deletion{{Count: 1, Machines: []Machine{{Name: "a", Node: "node-a"}}}}},
			} {
				got := plan.WithVolumes([]corev1.PersistentVolume{tc.volume}, nodes)
				if diff := cmp.Diff(tc.want, got.Volumes); diff != "" || got.NeedsConsent != (len(tc.want) > 0) {
					t.Errorf("%s, %s Consent: %t, lost (-want +got):\n%s", kind, tc.reason, got.NeedsConsent, diff)
				}
			}
		})
	}
}

func TestVolumesWithoutNode(t *testing.T) {
	t.Parallel()
	on := func(node string, change func(*corev1.PersistentVolume)) corev1.PersistentVolume {
		volume := volume(corev1.LabelHostname, node)
		volume.Spec.Local = &corev1.LocalVolumeSource{Path: "/data"}
		change(&volume)
		return volume
	}
	as := func(*corev1.PersistentVolume) {}
	for name, tc := range map[string]struct {
		reason string
		volume corev1.PersistentVolume
		want   []Volume
	}{
		"Node":      {"Its data is there.", on("node-a", as), nil},
		"NodeGone":  {"Its data went with the node.", on("node-x", as), []Volume{{Name: "pv", Claim: "default/data"}}},
		"Unclaimed": {"No Pod waits for it.", on("node-x", func(v *corev1.PersistentVolume) { v.Spec.ClaimRef = nil }), nil},
		"Released":  {"Its claim was deleted.", on("node-x", func(v *corev1.PersistentVolume) { v.Status.Phase = corev1.VolumeReleased }), nil},
		"Network":   {"A node of that zone may come.", on("node-x", func(v *corev1.PersistentVolume) { v.Spec.Local = nil }), nil},
		"Anywhere":  {"It is for any node.", on("node-x", func(v *corev1.PersistentVolume) { v.Spec.NodeAffinity = nil }), nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := WithoutNode([]corev1.PersistentVolume{tc.volume}, []corev1.Node{node("node-a", "one")})
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestUnknownVolumesNeedConsent(t *testing.T) {
	t.Parallel()
	if plan := (Plan{}).WithUnknownVolumes("connection refused"); !plan.NeedsConsent || plan.VolumesUnknown == "" {
		t.Errorf("There may be some: %+v", plan)
	}
}

func node(name, zone string) corev1.Node {
	return corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
		corev1.LabelHostname: name, corev1.LabelTopologyZone: zone,
	}}}
}

func volume(label, value string) corev1.PersistentVolume {
	return corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: "pv"},
		Spec: corev1.PersistentVolumeSpec{
			ClaimRef: &corev1.ObjectReference{Namespace: "default", Name: "data"},
			NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{{Key: label, Operator: corev1.NodeSelectorOpIn, Values: []string{value}}},
			}}}},
		},
	}
}
