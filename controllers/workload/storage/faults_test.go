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
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/test/faults"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// disk is what the nodes have below the directory of volumes.
type disk struct {
	*world
	t *testing.T
	// directories as container and path.
	directories map[string]bool
}

func newDisk(t *testing.T) *disk {
	t.Helper()
	d := &disk{world: newWorld(t), t: t, directories: map[string]bool{}}
	d.engine.HandleExec(func(container string, command engine.Command) (engine.Output, error) {
		if command.Args[0] == "df" {
			return engine.Output{Stdout: []byte(d.free)}, nil
		}
		place := container + ":" + command.Args[len(command.Args)-1]
		switch script := command.Args[2]; {
		case strings.HasPrefix(script, "mkdir -p "):
			d.directories[place] = true
		case strings.HasPrefix(script, "rm -rf "):
			delete(d.directories, place)
		default:
			return engine.Output{}, fmt.Errorf("unexpected script %q", script)
		}
		return engine.Output{}, nil
	})
	return d
}

// LoseStatus implements faults.World. A volume has none that matters.
func (d *disk) LoseStatus() {}

// Revive implements faults.World.
func (d *disk) Revive() { d.limit(d.options.MaxVolumes) }

// RestartEngine implements faults.World.
func (d *disk) RestartEngine() { d.engine.RestartEngine() }

// state is what there is.
func (d *disk) state() []string {
	d.t.Helper()
	var state []string
	for _, volume := range d.volumes() {
		state = append(state, volume.Name)
	}
	for directory := range d.directories {
		state = append(state, directory)
	}
	slices.Sort(state)
	return state
}

func (d *disk) volumes() []corev1.PersistentVolume {
	d.t.Helper()
	return must.Get(d.client.CoreV1().PersistentVolumes().List(d.t.Context(), metav1.ListOptions{}))(d.t).Items
}

// provision does what the library's controller does for a claim. Errors are retried.
func (d *disk) provision() {
	if len(d.volumes()) > 0 {
		return
	}
	volume, _, err := d.provisioner.Provision(d.t.Context(), options())
	if err == nil {
		_, _ = d.client.CoreV1().PersistentVolumes().Create(d.t.Context(), volume, metav1.CreateOptions{})
	}
}

// deleteReleased does what the library's controller does for volumes. Errors are retried.
func (d *disk) deleteReleased() {
	ctx, volumes := d.t.Context(), d.client.CoreV1().PersistentVolumes()
	found := d.volumes()
	for i := range found {
		if found[i].Status.Phase == corev1.VolumeReleased && d.provisioner.Delete(ctx, &found[i]) == nil {
			_ = volumes.Delete(ctx, found[i].Name, metav1.DeleteOptions{})
		}
	}
}

// release the volume, as the PersistentVolume controller does when its claim is deleted.
func (d *disk) release() {
	d.t.Helper()
	volume := d.volumes()[0]
	volume.Status.Phase = corev1.VolumeReleased
	must.Get(d.client.CoreV1().PersistentVolumes().Update(d.t.Context(), &volume, metav1.UpdateOptions{}))(d.t)
}

// TestFaults: a claim gets one volume with one directory, and a volume that is released goes
// with its directory, whichever call fails, loses its answer or sees the manager killed.
func TestFaults(t *testing.T) {
	t.Parallel()
	const place = "mine:" + directory
	cases := map[string]struct {
		reason string
		// begin with a volume, and release it.
		begin func(*disk)
		want  []string
	}{
		"Provision": {reason: "The claim has its volume.", want: []string{place, volumeName}},
		"Delete":    {reason: "The volume is released.", begin: (*disk).release},
		"DeleteOfLostNode": {
			reason: "The directory went with its node.",
			begin: func(d *disk) {
				d.release()
				must.Succeed(d.t, d.engine.RemoveContainer(d.t.Context(), "mine"))
				delete(d.directories, place)
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			faults.Each(t, func(f faults.Fault) bool { return f.Kind != faults.Forgotten }, func(t *testing.T, f faults.Fault) *faults.Injector {
				t.Helper()
				d := newDisk(t)
				isProvisioning, work := tc.begin == nil, d.provision
				if !isProvisioning {
					d.provision()
					tc.begin(d)
					work = d.deleteReleased
				}
				injector := f.Arm(d)
				injector.Engine(d.engine)
				injector.Client(&d.client.Fake, d.client.Tracker())
				if !injector.Settle(d.state, work) {
					t.Fatal("the work does not end")
				}
				if diff := cmp.Diff(tc.want, d.state()); diff != "" {
					t.Errorf("%s\nvolumes and directories (-want +got):\n%s", tc.reason, diff)
				}
				if isProvisioning && path.Base(d.volumes()[0].Spec.Local.Path) != volumeName {
					t.Errorf("the volume has path %s", d.volumes()[0].Spec.Local.Path)
				}
				return injector
			})
		})
	}
}
