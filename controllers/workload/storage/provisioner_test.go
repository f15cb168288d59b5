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
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/sig-storage-lib-external-provisioner/v13/controller"

	containercluster "github.com/capi-samples/cluster-api-provider-container/controllers/cluster"
	"github.com/capi-samples/cluster-api-provider-container/controllers/workload/storage"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

const (
	nodeName   = "worker"
	volumeName = "pvc-1"
	directory  = "/var/lib/node-local-volumes/" + volumeName
)

// world is a cluster with one Node whose container is "mine", and a container of
// another owner, "foreign".
type world struct {
	engine      *simulated.Engine
	client      *fake.Clientset
	provisioner storage.QualifyingProvisioner
	options     storage.Options
	// free is what df prints.
	free string
	// ran are the scripts that ran, with their argument.
	ran []string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{engine: simulated.New(), free: "    Avail\n1073741824\n"}
	w.engine.AddImage(engine.Image{Tags: []string{builders.NodeImage}}, nil)
	owner := builders.Owner()
	stranger := identity.Owner{Namespace: owner.Namespace, Cluster: owner.Cluster, ID: "stranger"}
	for name, labels := range map[string]map[string]string{
		"mine":    owner.ContainerLabels(identity.RoleWorker, nodeName),
		"foreign": stranger.ContainerLabels(identity.RoleWorker, nodeName),
	} {
		_, err := w.engine.CreateContainer(t.Context(), engine.Spec{Name: name, Image: builders.NodeImage, Labels: labels, Restart: engine.RestartAlways})
		must.Succeed(t, err)
		must.Succeed(t, w.engine.StartContainer(t.Context(), name))
	}
	w.engine.HandleExec(func(_ string, command engine.Command) (engine.Output, error) {
		if command.Args[0] == "df" {
			return engine.Output{Stdout: []byte(w.free)}, nil
		}
		w.ran = append(w.ran, strings.Join(command.Args[2:], " "))
		return engine.Output{}, nil
	})
	w.client = fake.NewClientset(&corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: nodeName, Labels: map[string]string{corev1.LabelHostname: "host"}},
		Spec:       corev1.NodeSpec{ProviderID: identity.ProviderID("mine")},
	})
	w.options = storage.Options{Engine: w.engine, Recorded: containercluster.EngineRecord{Owner: owner}, MaxVolumes: math.MaxInt32}
	w.limit(math.MaxInt32)
	return w
}

// now is the time of Events.
var now = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func (w *world) limit(volumes int32) {
	w.options.MaxVolumes = volumes
	w.provisioner = storage.NewProvisioner(w.client, clocktesting.NewFakePassiveClock(now), w.options)
}

// events are the Events that exist, as type, reason and message.
func (w *world) events(t *testing.T) []string {
	t.Helper()
	var texts []string
	for _, event := range must.Get(w.client.CoreV1().Events("").List(t.Context(), metav1.ListOptions{}))(t).Items {
		texts = append(texts, event.Type+" "+event.Reason+" "+event.Message)
	}
	return texts
}

// addVolume adds a PersistentVolume that is a directory of a node.
func (w *world) addVolume(t *testing.T, name, path string) {
	t.Helper()
	_, err := w.client.CoreV1().PersistentVolumes().Create(t.Context(), &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeSpec{PersistentVolumeSource: corev1.PersistentVolumeSource{
			Local: &corev1.LocalVolumeSource{Path: path},
		}},
	}, metav1.CreateOptions{})
	must.Succeed(t, err)
}

func (w *world) setProviderID(t *testing.T, id string) {
	t.Helper()
	node := must.Get(w.client.CoreV1().Nodes().Get(t.Context(), nodeName, metav1.GetOptions{}))(t)
	node.Spec.ProviderID = id
	_, err := w.client.CoreV1().Nodes().Update(t.Context(), node, metav1.UpdateOptions{})
	must.Succeed(t, err)
}

func options() controller.ProvisionOptions {
	return controller.ProvisionOptions{
		PVName:           volumeName,
		SelectedNodeName: nodeName,
		StorageClass: &storagev1.StorageClass{
			ObjectMeta: metav1.ObjectMeta{Name: "standard"}, ReclaimPolicy: ptr.To(corev1.PersistentVolumeReclaimRetain),
		},
		PVC: &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: "data", UID: "1",
			Annotations: map[string]string{"volume.kubernetes.io/storage-provisioner": storage.Provisioner},
		}, Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources: corev1.VolumeResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
			},
		}},
	}
}

func TestProvision(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	got, state, err := w.provisioner.Provision(t.Context(), options())
	if err != nil || state != controller.ProvisioningFinished {
		t.Fatalf("Provision: %s, %v", state, err)
	}
	want := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{
			Name:        volumeName,
			Annotations: map[string]string{"container.infrastructure.cluster.x-k8s.io/provider-id": "container:///mine"},
		},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:                      corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
			AccessModes:                   []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
			PersistentVolumeSource:        corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: directory}},
			NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{
					{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{"host"}},
				},
			}}}},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("volume: -want +got:\n%s", diff)
	}
	if diff := cmp.Diff([]string{`mkdir -p "$0" && chmod 0777 "$0" ` + directory}, w.ran); diff != "" {
		t.Errorf("commands: -want +got:\n%s", diff)
	}
}

// TestProvisionImmediately: a node is chosen that takes Pods.
func TestProvisionImmediately(t *testing.T) {
	t.Parallel()
	w, o := newWorld(t), options()
	_, err := w.client.CoreV1().Nodes().Create(t.Context(), &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "cordoned"}, Spec: corev1.NodeSpec{Unschedulable: true},
	}, metav1.CreateOptions{})
	must.Succeed(t, err)
	o.SelectedNodeName = ""
	volume, state, err := w.provisioner.Provision(t.Context(), o)
	if err != nil || state != controller.ProvisioningFinished || len(w.ran) != 1 {
		t.Fatalf("Provision: %v, %s, %v", volume, state, err)
	}
}

func TestProvisionRefuses(t *testing.T) {
	t.Parallel()
	const unsatisfiable = "PersistentVolumeClaim cannot be provisioned: "
	cases := map[string]struct {
		change func(*testing.T, *world, *controller.ProvisionOptions)
		state  controller.ProvisioningState
		want   string
		// isRefused: the claim gets an Event and is left until the next resync.
		isRefused bool
	}{
		"immediate binding, some topologies": {
			change: func(_ *testing.T, _ *world, o *controller.ProvisionOptions) {
				o.SelectedNodeName, o.StorageClass.AllowedTopologies = "", make([]corev1.TopologySelectorTerm, 1)
			},
			want:      unsatisfiable + `allowedTopologies of StorageClass "standard": set volumeBindingMode to WaitForFirstConsumer`,
			isRefused: true,
		},
		"immediate binding, no node": {
			change: func(t *testing.T, w *world, o *controller.ProvisionOptions) {
				t.Helper()
				o.SelectedNodeName = ""
				node := must.Get(w.client.CoreV1().Nodes().Get(t.Context(), nodeName, metav1.GetOptions{}))(t)
				node.Spec.Taints = []corev1.Taint{{Key: "a", Effect: corev1.TaintEffectNoSchedule}}
				_, err := w.client.CoreV1().Nodes().Update(t.Context(), node, metav1.UpdateOptions{})
				must.Succeed(t, err)
			},
			want: "no schedulable Node found",
		},
		"larger than the disk": {
			change: func(_ *testing.T, _ *world, o *controller.ProvisionOptions) {
				o.PVC.Spec.Resources.Requests[corev1.ResourceStorage] = resource.MustParse("1025Mi")
			},
			want: `check free space of Node "worker": ` + unsatisfiable + "requested 1025Mi, which is more than the free space on the file system of the " +
				"engine's host; free space, or request less",
			isRefused: true,
		},
		"limit": {
			change: func(t *testing.T, w *world, _ *controller.ProvisionOptions) {
				t.Helper()
				w.limit(1)
				w.addVolume(t, "pvc-2", "/var/lib/node-local-volumes/pvc-2")
			},
			want: unsatisfiable + "the cluster may have 1 volumes; delete others, or increase spec.limits.persistentVolumes of the ContainerCluster or " +
				"--max-persistent-volumes of its manager",
			isRefused: true,
		},
		"another owner's container": {
			change: func(t *testing.T, w *world, _ *controller.ProvisionOptions) {
				t.Helper()
				w.setProviderID(t, identity.ProviderID("foreign"))
			},
			want: `find the container of Node "worker": container "foreign": container is not owned by this cluster`,
		},
		"Node of another provider": {
			change: func(t *testing.T, w *world, _ *controller.ProvisionOptions) {
				t.Helper()
				w.setProviderID(t, "kind://docker/kind/worker")
			},
			want: `find the container of Node "worker": parse provider ID "kind://docker/kind/worker": provider ID must be container:///<container name>`,
		},
		"Node deleted": {
			change: func(_ *testing.T, _ *world, o *controller.ProvisionOptions) { o.SelectedNodeName = "gone" },
			state:  controller.ProvisioningReschedule,
			want:   `get Node: nodes "gone" not found`,
		},
		"container removed": {
			change: func(t *testing.T, w *world, _ *controller.ProvisionOptions) {
				t.Helper()
				must.Succeed(t, w.engine.RemoveContainer(t.Context(), "mine"))
			},
			state: controller.ProvisioningReschedule,
			want:  `find the container of Node "worker": inspect container: container "mine": not found`,
		},
		"node stopped": {
			change: func(t *testing.T, w *world, _ *controller.ProvisionOptions) {
				t.Helper()
				must.Succeed(t, w.engine.StopContainer(t.Context(), "mine", 0))
			},
			want: `check free space of Node "worker": run df: container "mine" is exited: conflict`,
		},
		"odd df": {
			change: func(_ *testing.T, w *world, _ *controller.ProvisionOptions) { w.free = "" },
			want:   `check free space of Node "worker": parse the output of df`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, o := newWorld(t), options()
			tc.change(t, w, &o)
			volume, state, err := w.provisioner.Provision(t.Context(), o)
			if tc.isRefused {
				// Once more: the Event stays one.
				volume, state, err = w.provisioner.Provision(t.Context(), o)
				if diff := cmp.Diff([]string{"Warning ProvisioningFailed " + tc.want}, w.events(t)); diff != "" {
					t.Errorf("events: -want +got:\n%s", diff)
				}
				if !isIgnored(err) {
					t.Errorf("Provision: %v, want an error that is ignored", err)
				}
			} else if err == nil || isIgnored(err) || !strings.HasPrefix(err.Error(), tc.want) {
				t.Errorf("Provision: %v, want %s", err, tc.want)
			}
			if tc.state == "" {
				tc.state = controller.ProvisioningFinished
			}
			if volume != nil || state != tc.state || len(w.ran) > 0 {
				t.Errorf("volume %v, state %s, ran %q; want none, %s, none", volume, state, w.ran, tc.state)
			}
		})
	}
}

// TestLimit: a volume that exists is not counted for itself, nor are those of others.
func TestLimit(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.limit(2)
	w.addVolume(t, volumeName, directory)
	w.addVolume(t, "pvc-2", "/var/lib/node-local-volumes/pvc-2")
	w.addVolume(t, "disk", "/mnt/disk")
	if volume, state, err := w.provisioner.Provision(t.Context(), options()); err != nil || volume == nil {
		t.Errorf("Provision: %v, %s, %v", volume, state, err)
	}
}

func TestDelete(t *testing.T) {
	t.Parallel()
	remove := []string{`rm -rf -- "$0" ` + directory}
	cases := map[string]struct {
		providerID string
		change     func(*testing.T, *world)
		ran        []string
		check      func(error) bool
	}{
		"volume":            {providerID: "container:///mine", ran: remove, check: func(err error) bool { return err == nil }},
		"container removed": {providerID: "container:///gone", check: func(err error) bool { return err == nil }},
		"not found on another engine": {
			providerID: "container:///mine",
			change: func(_ *testing.T, w *world) {
				w.options.Recorded.StorageID = "simulated"
				w.limit(math.MaxInt32)
				w.engine.SwitchStorage("another")
			},
			check: func(err error) bool { return errors.As(err, new(*containercluster.OtherEngineError)) },
		},
		"another owner's container": {providerID: "container:///foreign", check: isIgnored},
		"no annotation":             {check: isIgnored},
		"node stopped": {
			providerID: "container:///mine",
			change: func(t *testing.T, w *world) {
				t.Helper()
				must.Succeed(t, w.engine.StopContainer(t.Context(), "mine", 0))
			},
			check: func(err error) bool { return errors.Is(err, engine.ErrConflict) },
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			if tc.change != nil {
				tc.change(t, w)
			}
			// Its path may have been edited: only its name counts.
			err := w.provisioner.Delete(t.Context(), &corev1.PersistentVolume{
				ObjectMeta: metav1.ObjectMeta{
					Name:        volumeName,
					Annotations: map[string]string{"container.infrastructure.cluster.x-k8s.io/provider-id": tc.providerID},
				},
				Spec: corev1.PersistentVolumeSpec{PersistentVolumeSource: corev1.PersistentVolumeSource{
					Local: &corev1.LocalVolumeSource{Path: "/etc"},
				}},
			})
			if !tc.check(err) {
				t.Errorf("Delete: %v", err)
			}
			if diff := cmp.Diff(tc.ran, w.ran); diff != "" {
				t.Errorf("commands: -want +got:\n%s", diff)
			}
		})
	}
}

func isIgnored(err error) bool {
	var ignored *controller.IgnoredError
	return errors.As(err, &ignored)
}
