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

package volumebinding_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"

	containercluster "github.com/capi-samples/cluster-api-provider-container/controllers/cluster"
	"github.com/capi-samples/cluster-api-provider-container/controllers/workload/volumebinding"
	"github.com/capi-samples/cluster-api-provider-container/internal/clustervolume"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
	"github.com/capi-samples/cluster-api-provider-container/test/simulatedvolumes"
)

const (
	namespace = "default"
	volume    = "pvc-1"
	claim     = "data"
)

// world is a cluster with the nodes a and b, and a claim that is bound to one PersistentVolume.
type world struct {
	*simulatedvolumes.Disk
	t        *testing.T
	engine   *simulated.Engine
	client   *fake.Clientset
	changed  chan struct{}
	retained []string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	e := simulated.New()
	e.AddImage(engine.Image{Tags: []string{builders.NodeImage}}, nil)
	w := &world{Disk: simulatedvolumes.New(e), t: t, engine: e, client: fake.NewClientset(), changed: make(chan struct{})}
	e.HandleExec(w.Handle)
	for _, name := range []string{"a", "b"} {
		must.Get(e.CreateContainer(t.Context(), engine.Spec{
			Name: name, Image: builders.NodeImage, Labels: builders.Owner().ContainerLabels(identity.RoleWorker, name), Restart: engine.RestartAlways,
		}))(t)
		must.Succeed(t, e.StartContainer(t.Context(), name))
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-" + name}, Spec: corev1.NodeSpec{ProviderID: identity.ProviderID(name)}}
		must.Get(w.client.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{}))(t)
	}
	must.Succeed(t, clustervolume.Create(t.Context(), e, "a", volume))
	must.Get(w.client.CoreV1().PersistentVolumeClaims(namespace).Create(t.Context(), &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: claim, UID: "1"}, Spec: corev1.PersistentVolumeClaimSpec{VolumeName: volume},
	}, metav1.CreateOptions{}))(t)
	must.Get(w.client.CoreV1().PersistentVolumes().Create(t.Context(), &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: volume},
		Spec: corev1.PersistentVolumeSpec{
			AccessModes:            []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			ClaimRef:               &corev1.ObjectReference{Namespace: namespace, Name: claim, UID: "1"},
			PersistentVolumeSource: corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: clustervolume.Path(volume)}},
		},
	}, metav1.CreateOptions{}))(t)
	return w
}

// start binding until the test ends.
func (w *world) start() {
	ctx, cancel := context.WithCancel(w.t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- volumebinding.Run(ctx, w.client, volumebinding.Options{
			Engine: w.engine, Recorded: containercluster.EngineRecord{Owner: builders.Owner()}, Changed: w.changed,
			Retain: func(_ context.Context, change func([]string) []string) error {
				w.retained = change(w.retained)
				return nil
			},
		})
	}()
	w.t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			w.t.Errorf("Run: %v", err)
		}
	})
	w.wait()
}

// wait until nothing changes any more, apart from what is retried later.
func (*world) wait() {
	time.Sleep(time.Millisecond)
	synctest.Wait()
}

// pod of the claim on a node.
func (w *world) pod(name, node string) {
	w.t.Helper()
	must.Get(w.client.CoreV1().Pods(namespace).Create(w.t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(name)},
		Spec: corev1.PodSpec{NodeName: "node-" + node, Volumes: []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim},
		}}}},
	}, metav1.CreateOptions{}))(w.t)
	w.wait()
}

func (w *world) deletePod(name string) {
	w.t.Helper()
	must.Succeed(w.t, w.client.CoreV1().Pods(namespace).Delete(w.t.Context(), name, metav1.DeleteOptions{}))
	w.wait()
}

func (w *world) expect(reason string, want ...string) {
	w.t.Helper()
	if diff := cmp.Diff(want, w.Bound(volume)); diff != "" {
		w.t.Errorf("%s Nodes with the PersistentVolume (-want +got):\n%s", reason, diff)
	}
}

// events of a Pod.
func (w *world) events(pod string) []string {
	w.t.Helper()
	var messages []string
	for _, event := range must.Get(w.client.CoreV1().Events(namespace).List(w.t.Context(), metav1.ListOptions{}))(w.t).Items {
		if event.InvolvedObject.Name == pod {
			messages = append(messages, event.Reason+": "+event.Message)
		}
	}
	return messages
}

// inBubble runs a test whose retries take no time.
func inBubble(t *testing.T, test func(w *world)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.start()
		test(w)
	})
}

func TestFollowsPods(t *testing.T) {
	inBubble(t, func(w *world) {
		w.expect("No Pod uses it.")
		w.pod("first", "a")
		w.expect("A Pod is on the node.", "a")
		w.deletePod("first")
		w.pod("second", "b")
		w.expect("The first Pod has gone, and had not mounted it.", "b")
	})
}

// TestWaits for a node that still has the volume mounted, with one Event that says so.
func TestWaits(t *testing.T) {
	inBubble(t, func(w *world) {
		w.pod("first", "a")
		if !w.Mount("a", volume) {
			w.t.Fatal("the volume is not bound")
		}
		w.deletePod("first")
		w.pod("second", "b")
		time.Sleep(time.Minute)
		w.expect("Its processes may still write, though the object of the Pod has gone.", "a")
		events := w.events("second")
		if len(events) != 1 || !strings.HasPrefix(events[0], "PersistentVolumeNotBound: Waiting for PersistentVolume pvc-1: node container a ") {
			w.t.Errorf("Events %q, want one that names the node", events)
		}
		w.Unmount("a", volume)
		time.Sleep(time.Minute)
		w.expect("It is looked at again.", "b")
	})
}

// TestWaitsForAnotherPod: the volume stays on the node of the first Pod, and the second gets one Event.
func TestWaitsForAnotherPod(t *testing.T) {
	inBubble(t, func(w *world) {
		w.pod("first", "a")
		w.Mount("a", volume)
		w.pod("second", "b")
		time.Sleep(time.Minute)
		w.expect("The first Pod has it.", "a")
		events := w.events("second")
		if len(events) != 1 || !strings.Contains(events[0], "node container a has it for another Pod. It is bound here once") {
			w.t.Errorf("Events %q, want one that names the node", events)
		}
		if events := w.events("first"); len(events) > 0 {
			w.t.Errorf("Events %q of the Pod that has it", events)
		}
	})
}

// TestContainerEnds: what the engine reports is not waited for.
func TestContainerEnds(t *testing.T) {
	inBubble(t, func(w *world) {
		w.pod("first", "a")
		w.Mount("a", volume)
		w.deletePod("first")
		w.pod("second", "b")
		must.Succeed(w.t, w.engine.RemoveContainer(w.t.Context(), "a"))
		w.changed <- struct{}{}
		w.wait()
		w.expect("The node has ended.", "b")
	})
}

// TestNotItsClaim: a claim of another UID does not use the volume, and a Pod that has ended neither.
func TestNotItsClaim(t *testing.T) {
	inBubble(t, func(w *world) {
		claims := w.client.CoreV1().PersistentVolumeClaims(namespace)
		existing := must.Get(claims.Get(w.t.Context(), claim, metav1.GetOptions{}))(w.t)
		existing.UID = "2"
		must.Get(claims.Update(w.t.Context(), existing, metav1.UpdateOptions{}))(w.t)
		w.wait()
		w.pod("first", "a")
		w.expect("The claim was recreated.")
		existing.UID = "1"
		must.Get(claims.Update(w.t.Context(), existing, metav1.UpdateOptions{}))(w.t)
		w.wait()
		w.expect("It is the claim.", "a")
		pods := w.client.CoreV1().Pods(namespace)
		pod := must.Get(pods.Get(w.t.Context(), "first", metav1.GetOptions{}))(w.t)
		pod.Status.Phase = corev1.PodSucceeded
		must.Get(pods.UpdateStatus(w.t.Context(), pod, metav1.UpdateOptions{}))(w.t)
		w.wait()
		w.pod("second", "b")
		w.expect("The first Pod has ended.", "b")
	})
}

// TestRetain records volumes with the policy, also after their objects are gone, while they have data.
func TestRetain(t *testing.T) {
	inBubble(t, func(w *world) {
		volumes := w.client.CoreV1().PersistentVolumes()
		existing := must.Get(volumes.Get(w.t.Context(), volume, metav1.GetOptions{}))(w.t)
		existing.Spec.PersistentVolumeReclaimPolicy = corev1.PersistentVolumeReclaimRetain
		must.Get(volumes.Update(w.t.Context(), existing, metav1.UpdateOptions{}))(w.t)
		w.wait()
		if !slices.Equal(w.retained, []string{volume}) {
			w.t.Errorf("recorded %q, want the volume", w.retained)
		}
		must.Succeed(w.t, volumes.Delete(w.t.Context(), volume, metav1.DeleteOptions{}))
		w.wait()
		if !slices.Equal(w.retained, []string{volume}) {
			w.t.Errorf("recorded %q after the deletion of the object, want the volume: it has data", w.retained)
		}
	})
}
