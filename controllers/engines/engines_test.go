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

package engines_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/controllers/engineevents"
	"github.com/capi-samples/cluster-api-provider-container/controllers/engines"
	"github.com/capi-samples/cluster-api-provider-container/internal/endpoint"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/remote"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/test/engineobjects"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

var (
	own    = types.NamespacedName{}
	first  = types.NamespacedName{Namespace: "team", Name: "first"}
	second = types.NamespacedName{Namespace: "team", Name: "second"}
)

func cluster(on types.NamespacedName) *infrav1.ContainerCluster {
	return &infrav1.ContainerCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "c"}, Spec: infrav1.ContainerClusterSpec{EngineName: on.Name},
	}
}

func machine(on types.NamespacedName) *infrav1.ContainerMachine {
	return &infrav1.ContainerMachine{ObjectMeta: metav1.ObjectMeta{
		Namespace: "team", Name: "m", Annotations: map[string]string{infrav1.EngineNameAnnotation: on.Name},
	}}
}

// fixture is a registry with two engines of objects, which no probe has reached yet.
type fixture struct {
	*engines.Engines

	// slow is the first engine.
	slow    *engineobjects.Slow
	engines map[types.NamespacedName]*simulated.Engine
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{engines: map[types.NamespacedName]*simulated.Engine{own: simulated.New(), first: simulated.New(), second: simulated.New()}}
	f.slow = engineobjects.NewSlow(f.engines[first])
	f.Engines = engines.New(engines.Own(f.engines[own]), engines.Options{
		Open: engineobjects.Open(map[string]engine.Engine{"first": f.slow, "second": f.engines[second]}),
	})
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error)
	go func() { ended <- f.Start(ctx) }()
	t.Cleanup(func() { cancel(); must.Succeed(t, <-ended) })
	for _, name := range []types.NamespacedName{first, second} {
		must.Succeed(t, f.Connect(t.Context(), name, engineobjects.Target(t, name.Name)))
	}
	return f
}

func (f *fixture) probe(t *testing.T, name types.NamespacedName) error {
	t.Helper()
	_, err := f.Probe(t.Context(), name, engineobjects.Accept)
	return err
}

func isUnavailable(err error) bool {
	var unavailable *engines.UnavailableError
	return errors.As(err, &unavailable) && errors.Is(err, engine.ErrUnavailable)
}

// create a volume of the name.
func create(ctx context.Context, connection *engines.Connection, name string) error {
	return connection.Engine.CreateVolume(ctx, name, nil)
}

func TestFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		for _, object := range []client.Object{cluster(own), machine(own), &infrav1.ContainerMachine{}} {
			if connection, err := f.For(object); connection != f.Own() || err != nil {
				t.Errorf("An object that names no engine is on the manager's own; got %v, %v", connection, err)
			}
		}
		if _, err := f.For(cluster(types.NamespacedName{Name: "absent"})); !isUnavailable(err) || !strings.Contains(err.Error(), `ContainerEngine "team/absent": not found`) {
			t.Errorf("of an engine that is not there: %v", err)
		}
		if _, err := f.For(machine(first)); !isUnavailable(err) {
			t.Errorf("of an engine that has not responded: %v", err)
		}
		must.Succeed(t, errors.Join(f.probe(t, first), f.probe(t, second)))
		must.Succeed(t, create(t.Context(), must.Get(f.For(cluster(first)))(t), "a"))
		must.Succeed(t, create(t.Context(), must.Get(f.For(machine(second)))(t), "b"))
		for name, want := range map[types.NamespacedName][]string{own: nil, first: {"a"}, second: {"b"}} {
			var got []string
			for _, volume := range must.Get(f.engines[name].ListVolumes(t.Context(), nil))(t) {
				got = append(got, volume.Name)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("volumes on %q (-want, +got):\n%s", name.Name, diff)
			}
		}
	})
}

// TestMembers: one that is lost is none, and one that does not respond is an error.
func TestMembers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		over := cluster(first)
		over.Spec.EngineNames = []string{first.Name, second.Name}
		members := func() []string {
			t.Helper()
			var names []string
			for _, member := range must.Get(f.Members(over))(t) {
				names = append(names, member.Name.Name)
			}
			return names
		}
		must.Succeed(t, f.probe(t, first))
		if found, err := f.Members(over); !isUnavailable(err) {
			t.Errorf("while one does not respond: %v, %v", found, err)
		}
		must.Succeed(t, f.probe(t, second))
		if diff := cmp.Diff(over.Spec.EngineNames, members()); diff != "" {
			t.Errorf("members (-want, +got):\n%s", diff)
		}
		f.Disconnect(second, engines.ErrLost)
		if diff := cmp.Diff([]string{first.Name}, members()); diff != "" {
			t.Errorf("once one is lost (-want, +got):\n%s", diff)
		}
	})
}

// TestHangs: an engine that answers after 40 seconds stops its own callers after 30, and no others.
func TestHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		must.Succeed(t, errors.Join(f.probe(t, first), f.probe(t, second)))
		hanging, other := must.Get(f.For(cluster(first)))(t), must.Get(f.For(cluster(second)))(t)
		f.slow.Delay(40 * time.Second)
		start := time.Now()
		blocked := make(chan error, 3)
		for range cap(blocked) {
			go func() { blocked <- create(t.Context(), hanging, "a") }()
		}
		synctest.Wait()
		must.Succeed(t, create(t.Context(), other, "b"))
		must.Get(f.For(cluster(second)))(t)
		if took := time.Since(start); took != 0 {
			t.Errorf("the other engine took %s", took)
		}
		if err := f.probe(t, first); !errors.Is(err, engine.ErrUnavailable) || !strings.Contains(err.Error(), "within 30s") {
			t.Errorf("probe: %v", err)
		}
		for range cap(blocked) {
			if err := <-blocked; !isUnavailable(err) {
				t.Errorf("a call that was inside: %v", err)
			}
		}
		if took := time.Since(start); took != 30*time.Second {
			t.Errorf("callers were stopped after %s", took)
		}
		_, err := f.For(cluster(first))
		if !isUnavailable(err) || !isUnavailable(create(t.Context(), hanging, "a")) || time.Since(start) != 30*time.Second {
			t.Errorf("afterwards: %v after %s", err, time.Since(start))
		}
		f.slow.Delay(20 * time.Second)
		must.Succeed(t, f.probe(t, first))
		must.Succeed(t, create(t.Context(), must.Get(f.For(cluster(first)))(t), "a"))
		if got := must.Get(f.For(cluster(first)))(t); got != hanging {
			t.Error("an engine that responds again has another client")
		}
	})
}

// TestVerify: what is refused is not used, and the reason is what callers get.
func TestVerify(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		refused := errors.New("another one")
		_, err := f.Probe(t.Context(), first, func(ctx context.Context, info engine.Info, eng engine.ContainerReader) error {
			if _, err := eng.ListContainers(ctx, nil); err != nil || info.StorageID == "" {
				t.Errorf("%+v, %v", info, err)
			}
			return refused
		})
		if _, lookup := f.For(cluster(first)); !errors.Is(err, refused) || !errors.Is(lookup, refused) || !isUnavailable(lookup) {
			t.Errorf("probe %v, lookup %v", err, lookup)
		}
	})
}

// TestEvents: all controllers hear of all engines, each of those objects that are on the one.
func TestEvents(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
		defer queue.ShutDown()
		must.Succeed(t, f.Source(engineevents.Mapping{
			Container: func(_ context.Context, labels map[string]string) []reconcile.Request { return nil },
			All: func(_ context.Context, name types.NamespacedName) []reconcile.Request {
				return []reconcile.Request{{NamespacedName: name}}
			},
		}).Start(t.Context(), queue))
		heard := func() map[string]bool {
			synctest.Wait()
			names := map[string]bool{}
			for queue.Len() > 0 {
				request, _ := queue.Get()
				queue.Done(request)
				names[request.Name] = true
			}
			return names
		}
		_ = heard()
		must.Succeed(t, f.probe(t, first))
		if diff := cmp.Diff(map[string]bool{"first": true}, heard()); diff != "" {
			t.Errorf("an engine responds (-want, +got):\n%s", diff)
		}
		must.Succeed(t, f.probe(t, first))
		if diff := cmp.Diff(map[string]bool{}, heard()); diff != "" {
			t.Errorf("it still does (-want, +got):\n%s", diff)
		}
		f.engines[second].RelistEvents()
		if diff := cmp.Diff(map[string]bool{"second": true}, heard()); diff != "" {
			t.Errorf("the stream of events of another one was interrupted (-want, +got):\n%s", diff)
		}
		f.slow.Delay(time.Hour)
		_ = f.probe(t, first)
		if diff := cmp.Diff(map[string]bool{"first": true}, heard()); diff != "" {
			t.Errorf("an engine hangs (-want, +got):\n%s", diff)
		}
		f.engines[own].RelistEvents()
		if diff := cmp.Diff(map[string]bool{"": true}, heard()); diff != "" {
			t.Errorf("the manager's own (-want, +got):\n%s", diff)
		}
	})
}

func TestConnect(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		must.Succeed(t, f.probe(t, first))
		before := must.Get(f.For(cluster(first)))(t)
		rotated := engineobjects.Target(t, "first")
		must.Succeed(t, f.Connect(t.Context(), first, rotated))
		if after := must.Get(f.For(cluster(first)))(t); after != before {
			t.Error("other credentials make another client")
		}
		invalid := rotated
		invalid.Credentials, invalid.Digest = remote.Credentials{SSHKey: []byte("no key")}, "no key"
		err := f.Connect(t.Context(), first, invalid)
		var refused *remote.CredentialsError
		if _, lookup := f.For(cluster(first)); !errors.As(err, &refused) || !isUnavailable(lookup) {
			t.Errorf("credentials that cannot be used: %v, and then %v", err, lookup)
		}
		moved := rotated
		moved.At = must.Get(endpoint.Parse("ssh://me@second"))(t)
		must.Succeed(t, f.Connect(t.Context(), first, moved))
		must.Succeed(t, f.probe(t, first))
		if after := must.Get(f.For(cluster(first)))(t); after == before {
			t.Error("another endpoint has the client of the former one")
		}
		if err := create(t.Context(), before, "a"); !isUnavailable(err) {
			t.Errorf("the client of the former endpoint: %v", err)
		}
		reason := errors.New("the reason")
		f.Disconnect(first, reason)
		if _, err := f.For(cluster(first)); !errors.Is(err, reason) || !isUnavailable(err) {
			t.Errorf("after the end: %v", err)
		}
		if err := f.probe(t, first); !isUnavailable(err) {
			t.Errorf("probe after the end: %v", err)
		}
		f.Disconnect(first, nil)
		if _, err := f.For(cluster(first)); errors.Is(err, reason) || !isUnavailable(err) {
			t.Errorf("after the object is gone: %v", err)
		}
	})
}

// TestSlots: one engine leaves workers to the others, and the manager's own is not limited.
func TestSlots(t *testing.T) {
	t.Parallel()
	slots := &engines.Slots{Limit: 2}
	enter := func(object client.Object) func() {
		leave, entered := slots.Enter(object)
		if !entered {
			return nil
		}
		return leave
	}
	one, two := enter(machine(first)), enter(machine(first))
	if one == nil || two == nil || enter(machine(first)) != nil {
		t.Error("two workers may be at one engine, and no third one")
	}
	if enter(machine(second)) == nil {
		t.Error("another engine is not limited by that")
	}
	for range 10 {
		if enter(machine(own)) == nil {
			t.Fatal("the manager's own engine is limited")
		}
	}
	one()
	if enter(machine(first)) == nil {
		t.Error("a worker that left has not made room")
	}
	if leave, entered := (*engines.Slots)(nil).Enter(machine(first)); !entered || leave == nil {
		t.Error("without slots there is a limit")
	}
}
