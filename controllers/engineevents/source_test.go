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

package engineevents_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/capi-samples/cluster-api-provider-container/controllers/engineevents"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

const (
	image   = "example.test/image:1"
	ours    = "ours"
	foreign = "foreign"
)

func TestSource(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		change func(t *testing.T, eng *simulated.Engine)
		want   []string
	}{
		"Nothing": {reason: "Without an event nothing is asked for.", change: func(*testing.T, *simulated.Engine) {}},
		"Died": {
			reason: "A container that dies is looked at.",
			change: func(t *testing.T, eng *simulated.Engine) {
				t.Helper()
				must.Succeed(t, eng.KillContainer(ours, 137, false))
			},
			want: []string{"m1"},
		},
		"Signaled": {
			reason: "A signal alone says nothing: what it led to has an event of its own.",
			change: func(t *testing.T, eng *simulated.Engine) { t.Helper(); must.Succeed(t, eng.Signal(ours)) },
		},
		"Unkillable": {
			reason: "If none comes the container is looked at all the same.",
			change: func(t *testing.T, eng *simulated.Engine) {
				t.Helper()
				must.Succeed(t, eng.Signal(ours))
				time.Sleep(15 * time.Second) // of the bubble's clock
			},
			want: []string{"m1"},
		},
		"Removed": {
			reason: "So is one that is gone: its event still says whose it was.",
			change: func(t *testing.T, eng *simulated.Engine) {
				t.Helper()
				must.Succeed(t, eng.RemoveContainer(t.Context(), ours))
			},
			want: []string{"m1"},
		},
		"Disconnected": {
			reason: "An event of a network does not say whose container it is about; that is asked.",
			change: func(t *testing.T, eng *simulated.Engine) {
				t.Helper()
				must.Succeed(t, eng.DisconnectNetwork(t.Context(), "n1", ours))
			},
			want: []string{"m1"},
		},
		"Foreign": {
			reason: "Other users' containers are none of ours.",
			change: func(t *testing.T, eng *simulated.Engine) {
				t.Helper()
				must.Succeed(t, eng.DisconnectNetwork(t.Context(), "n1", foreign))
				must.Succeed(t, eng.KillContainer(foreign, 1, false))
				must.Succeed(t, eng.RemoveContainer(t.Context(), foreign))
			},
		},
		"Relist": {
			reason: "Where events may have been missed everything is looked at.",
			change: func(_ *testing.T, eng *simulated.Engine) { eng.RelistEvents() },
			want:   []string{"all"},
		},
		"EngineDown": {
			reason: "An unreachable engine enqueues each object.",
			change: func(_ *testing.T, eng *simulated.Engine) { eng.Down() },
			want:   []string{"all"},
		},
		"NotInspected": {
			reason: "A container that cannot be inspected may belong to any object.",
			change: func(t *testing.T, eng *simulated.Engine) {
				t.Helper()
				eng.FailNext("InspectContainer", engine.ErrUnavailable)
				must.Succeed(t, eng.DisconnectNetwork(t.Context(), "n1", ours))
			},
			want: []string{"all"},
		},
		"GoneMeanwhile": {
			reason: "One that is gone has an event of its own.",
			change: func(t *testing.T, eng *simulated.Engine) {
				t.Helper()
				eng.FailNext("InspectContainer", engine.ErrNotFound)
				must.Succeed(t, eng.DisconnectNetwork(t.Context(), "n1", ours))
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				eng := newEngine(t)
				queue := watch(t, eng)
				if diff := cmp.Diff([]string{"all"}, drain(queue)); diff != "" {
					t.Errorf("At first everything is looked at (-want +got):\n%s", diff)
				}
				tc.change(t, eng)
				synctest.Wait()
				if diff := cmp.Diff(tc.want, drain(queue)); diff != "" {
					t.Errorf("%s\nrequests (-want +got):\n%s", tc.reason, diff)
				}
			})
		})
	}
}

// watch the engine until the test's bubble ends, and wait for the first events.
func watch(t *testing.T, eng engineevents.Engine) workqueue.TypedRateLimitingInterface[reconcile.Request] {
	t.Helper()
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(func() {
		cancel()
		queue.ShutDown()
		synctest.Wait()
	})
	must.Succeed(t, engineevents.Source(eng, mapping()).Start(ctx, queue))
	synctest.Wait()
	return queue
}

// An inspect that hangs keeps no other event waiting, and ends.
func TestSourceContinuesWhileAnInspectHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		eng := newEngine(t)
		queue := watch(t, hanging{eng})
		drain(queue)
		must.Succeed(t, eng.DisconnectNetwork(t.Context(), "n1", foreign))
		must.Succeed(t, eng.KillContainer(ours, 137, false))
		synctest.Wait()
		if diff := cmp.Diff([]string{"m1"}, drain(queue)); diff != "" {
			t.Errorf("while the inspect hangs (-want +got):\n%s", diff)
		}
		eng.Down()
		synctest.Wait()
		if diff := cmp.Diff([]string{"all"}, drain(queue)); diff != "" {
			t.Errorf("when the engine is down (-want +got):\n%s", diff)
		}
		time.Sleep(time.Minute) // of the bubble's clock
		synctest.Wait()
		if diff := cmp.Diff([]string{"all"}, drain(queue)); diff != "" {
			t.Errorf("when it was given up (-want +got):\n%s", diff)
		}
	})
}

// hanging never says what a container is.
type hanging struct{ engineevents.Engine }

func (hanging) InspectContainer(ctx context.Context, _ string) (engine.Container, error) {
	<-ctx.Done()
	return engine.Container{}, ctx.Err()
}

func mapping() engineevents.Mapping {
	request := func(name string) []reconcile.Request {
		return []reconcile.Request{{NamespacedName: types.NamespacedName{Name: name}}}
	}
	return engineevents.Mapping{
		Container: func(_ context.Context, labels map[string]string) []reconcile.Request {
			return request(labels[identity.LabelMachine])
		},
		All: func(context.Context, types.NamespacedName) []reconcile.Request { return request("all") },
	}
}

// newEngine has a container of ours and a foreign one on a network.
func newEngine(t *testing.T) *simulated.Engine {
	t.Helper()
	eng := simulated.New()
	eng.AddImage(engine.Image{Tags: []string{image}}, nil)
	must.Get(eng.CreateNetwork(t.Context(), engine.NetworkSpec{Name: "n1"}))(t)
	owner := identity.Owner{Namespace: "default", Cluster: "c1", ID: "abcdefgh"}
	for name, labels := range map[string]map[string]string{ours: owner.ContainerLabels(identity.RoleWorker, "m1"), foreign: {"mine": "yes"}} {
		spec := engine.Spec{Name: name, Image: image, Labels: labels, Attachment: engine.Attachment{Network: "n1"}}
		must.Get(eng.CreateContainer(t.Context(), spec))(t)
		must.Succeed(t, eng.StartContainer(t.Context(), name))
	}
	return eng
}

// drain returns the names of what is asked for, each once.
func drain(queue workqueue.TypedRateLimitingInterface[reconcile.Request]) []string {
	var names []string
	for queue.Len() > 0 {
		request, _ := queue.Get()
		queue.Done(request)
		names = append(names, request.Name)
	}
	return names
}
