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

package containerengine_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/controllers/debts"
	"github.com/capi-samples/cluster-api-provider-container/internal/clustervolume"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

func ownerOf(cluster string) identity.Owner {
	return identity.Owner{Namespace: namespace, Cluster: cluster, ID: "owner-" + cluster}
}

// newIndebted has an engine that was lost: with all that cluster "gone" left, a container of a machine of cluster "stays"
// that was deleted, and what others have.
func newIndebted(t *testing.T, change func(*infrav1.EngineDebt)) *fixture {
	t.Helper()
	f := newFixture(t, nil)
	f.expect("before it is lost", well())
	f.engine.AddImage(engine.Image{Tags: []string{builders.NodeImage}}, nil)
	must.Get(network.Ensure(t.Context(), f.engine, network.Request{Name: "of-gone"}))(t)
	gone, stays := ownerOf("gone"), ownerOf("stays")
	for name, labels := range map[string]map[string]string{
		"gone-node":     gone.ContainerLabels(identity.RoleWorker, "m"),
		"gone-lb":       gone.ContainerLabels(identity.RoleLoadBalancer, ""),
		"gone-service":  gone.ContainerLabels(identity.RoleServiceLoadBalancer, ""),
		"stays-deleted": stays.ContainerLabels(identity.RoleWorker, "deleted"),
		"stays-node":    stays.ContainerLabels(identity.RoleWorker, "m"),
		"stays-lb":      stays.ContainerLabels(identity.RoleLoadBalancer, ""),
		"stays-service": stays.ContainerLabels(identity.RoleServiceLoadBalancer, ""),
		"foreign":       nil,
		"other-owner":   identity.Owner{Namespace: namespace, Cluster: "gone", ID: "another"}.ContainerLabels(identity.RoleWorker, "m"),
	} {
		must.Get(f.engine.CreateContainer(t.Context(), engine.Spec{Name: name, Image: builders.NodeImage, Labels: labels}))(t)
	}
	for _, owner := range []identity.Owner{gone, stays} {
		must.Get(clustervolume.Ensure(t.Context(), f.engine, owner))(t)
	}
	f.edit(func(e *infrav1.ContainerEngine) {
		debt := debts.OfCluster(gone, "of-gone", "")
		if change != nil {
			change(&debt)
		}
		left := debts.OfContainer(stays, "stays-deleted")
		// Of the cluster, one that does not exist, and names of others.
		left.Containers = append(left.Containers, "stays-lb", "absent", "foreign", "other-owner", "stays-service")
		e.Spec.Lost, e.Spec.Debts = ptr.To(true), []infrav1.EngineDebt{debt, left}
	})
	f.expect("it is lost", unused(infrav1.EngineLostReason, 0))
	return f
}

// left on the engine, by names.
func (f *fixture) left() map[string][]string {
	f.t.Helper()
	ctx := context.WithoutCancel(f.t.Context())
	left := map[string][]string{}
	for _, container := range must.Get(f.engine.ListContainers(ctx, nil))(f.t) {
		left["containers"] = append(left["containers"], container.Name)
	}
	for _, volume := range must.Get(f.engine.ListVolumes(ctx, nil))(f.t) {
		left["volumes"] = append(left["volumes"], volume.Name)
	}
	for _, created := range must.Get(f.engine.ListNetworks(ctx, nil))(f.t) {
		left["networks"] = append(left["networks"], created.Name)
	}
	return left
}

func (f *fixture) back() { f.edit(func(e *infrav1.ContainerEngine) { e.Spec.Lost = nil }) }

// soon is when an engine without debts is probed.
const soon = time.Second

// indebted is the state of an engine that pays its debts.
func indebted() state {
	want := well()
	want.ready, want.used = "False "+infrav1.EngineDebtsUnpaidReason, false
	return want
}

// TestDebts: an engine that is back is cleaned before it is used.
func TestDebts(t *testing.T) {
	t.Parallel()
	volumes := []string{ownerOf("stays").Volume()}
	cases := map[string]struct {
		reason string
		change func(*infrav1.EngineDebt)
		want   map[string][]string
	}{
		"Whole": {reason: "All of the cluster goes, and the containers of the other one that were named.", want: map[string][]string{"volumes": volumes}},
		"Retained": {
			reason: "The volume is kept for its user.", change: func(d *infrav1.EngineDebt) { d.VolumeRetained = ptr.To(true) },
			want: map[string][]string{"volumes": {ownerOf("gone").Volume(), volumes[0]}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newIndebted(t, tc.change)
			before := f.left()
			if _, err := f.reconcile(); err != nil || cmp.Diff(before, f.left()) != "" || ptr.Deref(f.get().Status.Debts, 0) != 2 {
				t.Errorf("it is lost, and was changed: %v, %v; %v debts", err, f.left(), f.get().Status.Debts)
			}
			f.restart()
			f.back()
			want := indebted()
			want.after = soon
			f.expect("it is cleaned", want)
			tc.want["containers"] = []string{"foreign", "other-owner", "stays-node", "stays-service"}
			if diff := cmp.Diff(tc.want, f.left()); diff != "" {
				t.Errorf("%s What is left (-want, +got):\n%s", tc.reason, diff)
			}
			if got := f.get().Spec.Debts; len(got) > 0 {
				t.Errorf("debts are left: %v", got)
			}
			f.expect("it is used again", well())
			if got := ptr.Deref(f.get().Status.Debts, -1); got != 0 {
				t.Errorf("status.debts is %d", got)
			}
		})
	}
}

// TestDebtCannotBePaid: the engine waits, and other debts do not.
func TestDebtCannotBePaid(t *testing.T) {
	t.Parallel()
	f := newIndebted(t, nil)
	f.back()
	f.engine.OnCall(func(call simulated.Call) error {
		if call.Method == "RemoveVolume" {
			return errors.New("device or resource busy")
		}
		return nil
	})
	for range 2 {
		f.expect("something cannot be removed", indebted())
	}
	found := f.get()
	names := []string{}
	for _, debt := range found.Spec.Debts {
		names = append(names, debt.Name)
	}
	if diff := cmp.Diff([]string{ownerOf("gone").ID}, names); diff != "" {
		t.Errorf("debts (-want, +got):\n%s", diff)
	}
	if message := conditions.GetMessage(found, infrav1.EngineReadyCondition); !strings.Contains(message, "gone") || !strings.Contains(message, "busy") {
		t.Errorf("the message is %q", message)
	}
	if _, err := f.engines.For(clusterOn("new")); err == nil || !strings.Contains(err.Error(), "gone left there") {
		t.Errorf("a cluster gets %v", err)
	}
	f.engine.ResetHooks()
	want := indebted()
	want.after = soon
	f.expect("it can", want)
	f.expect("it is used again", well())
}

// TestDebtsOfAnotherEngine: only the administrator knows that nothing of it is left.
func TestDebtsOfAnotherEngine(t *testing.T) {
	t.Parallel()
	f := newIndebted(t, nil)
	f.engine.SwitchStorage("b")
	f.back()
	replaced := unused(infrav1.EngineReplacedReason, interval)
	f.expect("another one responds", replaced)
	dropAnnotation := func(e *infrav1.ContainerEngine) { delete(e.Annotations, infrav1.EngineAnnotation) }
	f.edit(dropAnnotation)
	f.expect("who removes the annotation may not know of the debts", replaced)
	if message := conditions.GetMessage(f.get(), infrav1.EngineReachableCondition); !strings.Contains(message, "spec.debts") {
		t.Errorf("the message is %q", message)
	}
	f.engine.SwitchStorage("a")
	want := indebted()
	want.after = soon
	f.expect("the former one responds: it is known by its identity", want)
	f.expect("and used", well())

	f = newIndebted(t, nil)
	f.engine.SwitchStorage("b")
	f.back()
	f.expect("another one responds", replaced)
	f.edit(func(e *infrav1.ContainerEngine) { e.Spec.Debts = nil; dropAnnotation(e) })
	f.expect("the administrator gives the former one up", well())
}

// TestReplacedWhileItPays: what another engine does not have may still be on the former one.
func TestReplacedWhileItPays(t *testing.T) {
	t.Parallel()
	f := newIndebted(t, nil)
	f.back()
	switchOnce := sync.OnceFunc(func() { f.engine.SwitchStorage("b") })
	f.engine.OnCall(func(call simulated.Call) error {
		if call.Method == "ListContainers" {
			switchOnce()
		}
		return nil
	})
	want := indebted()
	want.after = soon
	f.expect("another one responds after the probe", want)
	if got := len(f.get().Spec.Debts); got != 2 {
		t.Errorf("%d debts are left, want 2", got)
	}
	f.expect("it is noticed", unused(infrav1.EngineReplacedReason, interval))
	f.engine.SwitchStorage("a")
	f.expect("the former one is back", want)
	f.expect("it is used again", well())
}

// TestDebtsOfRenamedEngine: an engine that has what was left is the one, whatever it calls itself.
func TestDebtsOfRenamedEngine(t *testing.T) {
	t.Parallel()
	f := newIndebted(t, nil)
	f.edit(func(e *infrav1.ContainerEngine) { e.Annotations[infrav1.EngineAnnotation] = "former name" })
	f.back()
	want := indebted()
	want.after = soon
	f.expect("it has another identity", want)
	f.expect("it is used again", well())
}

// TestDeletionWithDebts: who deletes an engine gives it up only if it is lost.
func TestDeletionWithDebts(t *testing.T) {
	t.Parallel()
	remove := func(f *fixture) { must.Succeed(t, f.client.Delete(t.Context(), f.get())) }
	isThere := func(f *fixture) bool {
		return f.client.Get(t.Context(), client.ObjectKeyFromObject(&infrav1.ContainerEngine{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "build"}}), &infrav1.ContainerEngine{}) == nil
	}
	f := newIndebted(t, nil)
	f.back()
	f.engine.Down()
	remove(f)
	want := unused(infrav1.EngineUnreachableReason, interval)
	want.ready = "False " + infrav1.EngineInUseReason
	f.expect("it does not respond", want)
	if message := conditions.GetMessage(f.get(), infrav1.EngineReadyCondition); !strings.Contains(message, "gone, stays left") || !strings.Contains(message, "spec.lost") {
		t.Errorf("the message is %q", message)
	}
	f.engine.Up()
	for range 2 {
		_, err := f.reconcile()
		must.Succeed(t, err)
	}
	if isThere(f) {
		t.Error("it is cleaned, and stays")
	}
	f = newIndebted(t, nil)
	before := f.left()
	remove(f)
	_, err := f.reconcile()
	must.Succeed(t, err)
	if diff := cmp.Diff(before, f.left()); diff != "" || isThere(f) {
		t.Errorf("it is lost, and given up: the object stays: %t, on the engine (-before, +after):\n%s", isThere(f), diff)
	}
}
