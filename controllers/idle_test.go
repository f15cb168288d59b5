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

package controllers_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/controllers/engineevents"
	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/record"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
	"github.com/capi-samples/cluster-api-provider-container/test/world"
)

// A cluster in which nothing happens is not looked at: neither does anything
// poll, nor do the controllers see their own looking or writing as news.
func TestIdleClusterIsLeftAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := world.New(t, builders.New(builders.ControlPlane(builders.InitData), anotherControlPlane))
		w.Nodes.FirstBoot(record.Done)
		looks := &atomic.Int64{}
		stop := run(t, w, looks)
		defer stop()

		// Longer than anything takes to come to rest, once the machines are
		// Nodes.
		time.Sleep(30 * time.Second)
		for _, name := range []string{builders.Machine, secondMachine} {
			world.EditStatus(w, name, &clusterv1.Machine{}, func(m *clusterv1.Machine) {
				m.Status.NodeRef = clusterv1.MachineNodeReference{Name: name}
			})
		}
		time.Sleep(30 * time.Second)
		for _, name := range []string{builders.Machine, secondMachine} {
			machine, _ := world.Get(w, name, &infrav1.ContainerMachine{})
			if state, message := world.State(machine, infrav1.MachineReadyCondition); state != "True/Ready" {
				t.Fatalf("machine %s is %s: %s", name, state, message)
			}
		}

		before, calls := looks.Load(), len(w.Calls.Made())
		time.Sleep(2 * time.Minute)
		if more := looks.Load() - before; more != 0 {
			t.Errorf("an idle cluster was looked at %d times in two minutes, with %d engine calls", more, len(w.Calls.Made())-calls)
		}

		// What does happen is seen immediately, and comes to rest again.
		must.Succeed(t, w.Engine.KillContainer(builders.Container(builders.Machine), 137, false))
		time.Sleep(5 * time.Second)
		container, err := w.Engine.InspectContainer(t.Context(), builders.Container(builders.Machine))
		if err != nil || container.Status != engine.StatusRunning {
			t.Errorf("five seconds after it was killed the container is %s, %v", container.Status, err)
		}
		before = looks.Load()
		time.Sleep(2 * time.Minute)
		if more := looks.Load() - before; more != 0 {
			t.Errorf("after it came back the cluster was looked at %d times in two minutes", more)
		}
	})
}

// run lets two controllers work on the world until stop, and counts how often
// they look. Each write to the API server makes them look at everything.
func run(t *testing.T, w *world.World, looks *atomic.Int64) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	// The engine's events carry the bubble's time, and so does the clock.
	running.Go(func() {
		for ctx.Err() == nil {
			w.Clock.SetTime(time.Now())
			time.Sleep(time.Second)
		}
	})
	var queues []workqueue.TypedRateLimitingInterface[reconcile.Request]
	everything := [][]reconcile.Request{requests(builders.Cluster), requests(builders.Machine, secondMachine)}
	w.Writes.Hook(nil, func(world.Write) error {
		for i, queue := range queues {
			for _, request := range everything[i] {
				queue.Add(request)
			}
		}
		return nil
	})
	reconcilers := []reconcile.Func{
		func(context.Context, reconcile.Request) (ctrl.Result, error) { return w.ReconcileCluster() },
		func(_ context.Context, request reconcile.Request) (ctrl.Result, error) {
			return w.ReconcileMachine(request.Name)
		},
	}
	for i, reconciler := range reconcilers {
		c := must.Get(controller.NewTypedUnmanaged("idle", controller.TypedOptions[reconcile.Request]{
			SkipNameValidation: ptr.To(true),
			UsePriorityQueue:   ptr.To(false),
			LogConstructor:     func(*reconcile.Request) logr.Logger { return logr.Discard() },
			Reconciler: reconcile.Func(func(ctx context.Context, request reconcile.Request) (ctrl.Result, error) {
				looks.Add(1)
				result, err := reconciler(ctx, request)
				// As Cluster API's controllers do between two reconciles of one
				// object.
				time.Sleep(time.Second)
				return result, err
			}),
		}))(t)
		all := func(context.Context, types.NamespacedName) []reconcile.Request { return everything[i] }
		must.Succeed(t, c.Watch(engineevents.Source(w.Engine, engineevents.Mapping{
			Container: func(ctx context.Context, _ map[string]string) []reconcile.Request {
				return all(ctx, types.NamespacedName{})
			}, All: all,
		})))
		must.Succeed(t, c.Watch(source.Func(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
			queues = append(queues, queue)
			return nil
		})))
		running.Go(func() { _ = c.Start(ctx) })
		synctest.Wait()
	}
	return func() {
		cancel()
		// A controller first works off the requests left in its queue.
		running.Wait()
	}
}

func requests(names ...string) []reconcile.Request {
	all := make([]reconcile.Request, len(names))
	for i, name := range names {
		all[i].NamespacedName = client.ObjectKey{Namespace: builders.Namespace, Name: name}
	}
	return all
}

// A refusal backs off, though the attempt itself causes
// events: a container that did not start is removed.
func TestRefusalBacksOff(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason  string
		options []builders.Option
		refuse  func(w *world.World)
	}{
		"HostPortInUse": {
			reason: "Another process has the load balancer's port.",
			options: []builders.Option{func(o *builders.Objects) {
				o.ContainerCluster.Spec.LoadBalancer.HostPort = 8001
			}},
			refuse: func(w *world.World) { w.Engine.OccupyHostPort(8001) },
		},
		"NothingStarts": {
			reason: "The engine refuses to start anything.",
			refuse: func(w *world.World) {
				w.Calls.Hook(func(call simulated.Call) error {
					if call.Method == "StartContainer" {
						return fmt.Errorf("operation not permitted: %w", engine.ErrInvalid)
					}
					return nil
				}, nil)
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := world.New(t, builders.New(tc.options...))
				w.Nodes.FirstBoot(record.Failed)
				tc.refuse(w)
				looks := &atomic.Int64{}
				stop := run(t, w, looks)
				defer stop()
				time.Sleep(2 * time.Minute)
				before := looks.Load()
				time.Sleep(2 * time.Minute)
				// Each of the two objects every fifteen seconds, and each attempt
				// wakes both, by what it creates and by what it removes: two reconciles
				// or four, as these come together or a second apart. Woken each
				// second they would be two hundred and forty.
				if more := looks.Load() - before; more > 16*(1+4) {
					t.Errorf("%s\nit was looked at %d times in two minutes", tc.reason, more)
				}
			})
		})
	}
}
