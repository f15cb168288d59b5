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
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
	"github.com/capi-samples/cluster-api-provider-container/test/world"
)

// newVolumeWorld has a cluster with storage type Cluster and one machine.
func newVolumeWorld(t *testing.T) *world.World {
	t.Helper()
	w := world.New(t, builders.New(append(spec(func(s *infrav1.ContainerClusterSpec) { s.Storage.Type = infrav1.StorageCluster }),
		builders.ControlPlane(builders.InitData))...))
	w.SettleCluster()
	return w
}

// TestVolume: the nodes of a cluster with storage type Cluster mount one volume, which is removed
// with the cluster, unless PersistentVolumes must be kept.
func TestVolume(t *testing.T) {
	t.Parallel()
	owner := builders.Owner()
	for name, tc := range map[string]struct {
		reason, retained string
		isKept           bool
	}{
		"Removed":  {reason: "Its PersistentVolumes are deleted with the cluster."},
		"Retained": {reason: "A user wants the data of some.", retained: "pvc-1", isKept: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newVolumeWorld(t)
			w.SettleMachine(builders.Machine)
			volume := must.Get(w.Engine.InspectVolume(t.Context(), owner.Volume()))(t)
			if diff := cmp.Diff(owner.VolumeLabels(), volume.Labels); diff != "" {
				t.Errorf("labels of the volume (-want +got):\n%s", diff)
			}
			if volumes := w.Engine.VolumesOf(owner.NodeContainer(builders.Machine)); !strings.Contains(strings.Join(volumes, " "), owner.Volume()) {
				t.Errorf("the node mounts the volumes %q", volumes)
			}
			if tc.retained != "" {
				world.Edit(w, builders.Cluster, &infrav1.ContainerCluster{}, func(c *infrav1.ContainerCluster) {
					metav1.SetMetaDataAnnotation(&c.ObjectMeta, infrav1.RetainedVolumesAnnotation, tc.retained)
				})
			}
			world.Purge(w, builders.Machine, &infrav1.ContainerMachine{})
			world.Delete(w, builders.Cluster, &infrav1.ContainerCluster{})
			w.SettleCluster()
			if _, exists := world.Get(w, builders.Cluster, &infrav1.ContainerCluster{}); exists {
				t.Error("the ContainerCluster exists")
			}
			_, err := w.Engine.InspectVolume(t.Context(), owner.Volume())
			if err != nil && !errors.Is(err, engine.ErrNotFound) || (err == nil) != tc.isKept {
				t.Errorf("%s\ninspect volume: %v", tc.reason, err)
			}
		})
	}
}

// TestForeignVolume: a volume of that name without the cluster's labels is neither used nor
// removed.
func TestForeignVolume(t *testing.T) {
	t.Parallel()
	w, name := newVolumeWorld(t), builders.Owner().Volume()
	must.Succeed(t, w.Engine.CreateVolume(t.Context(), name, nil))
	w.SettleMachine(builders.Machine)
	object, _ := world.Get(w, builders.Machine, &infrav1.ContainerMachine{})
	if state, message := world.State(object, infrav1.ContainerReadyCondition); state != "False/"+infrav1.ContainerFailedReason || !strings.Contains(message, name) {
		t.Errorf("condition %s: %s", state, message)
	}
	world.Purge(w, builders.Machine, &infrav1.ContainerMachine{})
	world.Delete(w, builders.Cluster, &infrav1.ContainerCluster{})
	w.SettleCluster()
	must.Get(w.Engine.InspectVolume(t.Context(), name))(t)
}

// TestVolumeInUse: a container of a user keeps the cluster until it is removed.
func TestVolumeInUse(t *testing.T) {
	t.Parallel()
	w, owner := newVolumeWorld(t), builders.Owner()
	w.SettleMachine(builders.Machine)
	must.Get(w.Engine.CreateContainer(t.Context(), engine.Spec{
		Name: "backup", Image: builders.NodeImage, Mounts: []engine.Mount{{Type: engine.MountVolume, Source: owner.Volume(), Target: "/data"}},
	}))(t)
	world.Purge(w, builders.Machine, &infrav1.ContainerMachine{})
	world.Delete(w, builders.Cluster, &infrav1.ContainerCluster{})
	w.SettleCluster()
	object, _ := world.Get(w, builders.Cluster, &infrav1.ContainerCluster{})
	if _, message := world.State(object, infrav1.LoadBalancerReadyCondition); !strings.Contains(message, "backup") {
		t.Errorf("message %q does not name the container", message)
	}
	must.Succeed(t, w.Engine.RemoveContainer(t.Context(), "backup"))
	w.SettleCluster()
	if _, exists := world.Get(w, builders.Cluster, &infrav1.ContainerCluster{}); exists {
		t.Error("the ContainerCluster exists")
	}
}
