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

package machinepool_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/record"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
	"github.com/capi-samples/cluster-api-provider-container/test/world"
)

// With a stale cache, a pool neither creates its instances again nor deletes their
// Machines as dangling.
func TestStaleCache(t *testing.T) {
	t.Parallel()
	w := world.New(t, builders.New(builders.MachinePool(2)))
	w.Nodes.FirstBoot(record.Done)
	w.SettlePool()
	before := names(w)
	knowing := w.Pool.Client.(client.WithWatch) //nolint:forcetypeassert // the world's clients are
	w.Pool.Client = interceptor.NewClient(knowing, interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if _, ok := list.(*infrav1.ContainerMachineList); ok {
				return nil
			}
			return c.List(ctx, list, opts...)
		},
	})
	mutations := len(w.Mutations())
	if _, err := w.ReconcilePool(); err != nil {
		t.Fatal(err)
	}
	for _, mutation := range w.Mutations()[mutations:] {
		if strings.HasPrefix(mutation, "create") || strings.HasPrefix(mutation, "delete") {
			t.Errorf("the pool did %q", mutation)
		}
	}
	if after := names(w); !slices.Equal(before, after) {
		t.Errorf("instances %v became %v", before, after)
	}
}

// An idle pool writes nothing, and reads only from its cache.
func TestIdlePoolIsSilent(t *testing.T) {
	t.Parallel()
	w := world.New(t, builders.New(builders.MachinePool(3)))
	w.Nodes.FirstBoot(record.Done)
	w.SettlePool()
	writes, live := len(w.Writes.Made()), 0
	w.Pool.Live = interceptor.NewClient(w.Client, interceptor.Funcs{
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
			live++
			return nil
		},
	})
	for range 5 {
		if _, err := w.ReconcilePool(); err != nil {
			t.Fatal(err)
		}
	}
	if made := w.Writes.Made()[writes:]; len(made) > 0 || live > 0 {
		t.Errorf("an idle pool writes %v and reads %d times past its cache", made, live)
	}
}

// An instance that the API server refuses gets an Event, and is created after a retry.
func TestRefusedInstance(t *testing.T) {
	t.Parallel()
	w := world.New(t, builders.New(builders.MachinePool(1)))
	refused := errors.New("spec.extraMounts[0].hostPath is no good")
	w.Writes.Hook(func(write world.Write) error {
		if write.Verb == "create" {
			return refused
		}
		return nil
	}, nil)
	if _, err := w.ReconcilePool(); !errors.Is(err, refused) {
		t.Errorf("the reconcile returned %v", err)
	}
	if state, message := world.State(get(w), infrav1.MachinePoolReadyCondition); state != "False/"+infrav1.ReplicasNotReadyReason || message != "0 of 1 replicas are ready" {
		t.Errorf("Ready is %s: %s", state, message)
	}
	if !slices.ContainsFunc(w.Events.Sent(), func(sent string) bool {
		return strings.HasPrefix(sent, "Warning ReplicaRefused") && strings.Contains(sent, refused.Error())
	}) {
		t.Errorf("no Event has the cause: %q", w.Events.Sent())
	}
	w.Writes.Hook(nil, nil)
	w.SettlePool()
	if made := len(names(w)); made != 1 {
		t.Errorf("%d instances after the retry, want 1", made)
	}
}

// lostPool returns a pool of six, on whose instances the condition says that their containers
// are not found.
func lostPool(t *testing.T) *world.World {
	t.Helper()
	w := world.New(t, builders.New(builders.MachinePool(6)))
	w.Nodes.FirstBoot(record.Done)
	w.SettleCluster()
	w.SettlePool()
	for _, name := range names(w) {
		world.EditStatus(w, name, &infrav1.ContainerMachine{}, func(m *infrav1.ContainerMachine) {
			conditions.Set(m, metav1.Condition{
				Type: infrav1.ContainerReadyCondition, Status: metav1.ConditionFalse, Reason: infrav1.ContainerNotFoundReason,
			})
		})
	}
	return w
}

// deleting are how many Machines are being deleted.
func deleting(w *world.World) (count int) {
	for _, machine := range w.Machines() {
		if !machine.DeletionTimestamp.IsZero() {
			count++
		}
	}
	return count
}

// Machines are replaced for a container that is not found only if the engine of the cluster says
// so when it is done, and not all of them in one pass.
func TestLostInstances(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		change func(*testing.T, *world.World)
		want   int
	}{
		"AnotherEngine": {
			reason: "The containers may run on the engine of the cluster.",
			change: func(_ *testing.T, w *world.World) { w.Engine.SwitchStorage("another") },
		},
		"Restored": {
			reason: "The containers are there.",
			change: func(*testing.T, *world.World) {},
		},
		"AllRemoved": {
			reason: "More than one fifth is not lost in a usual way.",
			change: func(t *testing.T, w *world.World) {
				t.Helper()
				for _, name := range names(w) {
					must.Succeed(t, w.Engine.RemoveContainer(t.Context(), builders.Container(name)))
				}
			},
			want: 1,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := lostPool(t)
			c.change(t, w)
			for range 3 {
				if _, err := w.ReconcilePool(); err != nil {
					t.Fatal(err)
				}
			}
			if got := deleting(w); got != c.want {
				t.Errorf("%s %d Machines are deleted, want %d", c.reason, got, c.want)
			}
		})
	}
}

// Lost instances are all replaced in the end, one after the other.
func TestLostInstancesAreReplaced(t *testing.T) {
	t.Parallel()
	w := lostPool(t)
	before := names(w)
	for _, name := range before {
		must.Succeed(t, w.Engine.RemoveContainer(t.Context(), builders.Container(name)))
	}
	w.SettlePool()
	after := names(w)
	if len(after) != len(before) {
		t.Errorf("there are %d instances, want %d", len(after), len(before))
	}
	for _, name := range before {
		if _, stays := world.Get(w, name, &infrav1.ContainerMachine{}); stays {
			t.Errorf("%s was not replaced", name)
		}
	}
	if state, message := world.State(get(w), infrav1.MachinePoolReadyCondition); state != ready {
		t.Errorf("the pool is %s: %s", state, message)
	}
}
