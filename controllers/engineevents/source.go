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

// Package engineevents makes an engine's events a source of reconciles, so
// that a container that dies shows immediately and nothing has to be polled.
package engineevents

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
)

// ending is how long after a signal a container is looked at that has not ended by
// then: a kernel that cannot end its processes says nothing, and Podman calls it
// stopped some time later without an event.
const ending = 15 * time.Second

// askTimeout bounds asking whose container an event is about. It takes
// milliseconds, or the engine is in trouble and all objects are looked at.
const askTimeout = 10 * time.Second

// Engine is what the source needs of an engine.
type Engine interface {
	engine.EventSource
	engine.ContainerReader
}

// Mapping says which objects an event is about.
type Mapping struct {
	// Container maps the labels of one of our containers.
	Container func(ctx context.Context, labels map[string]string) []reconcile.Request
	// All lists every object on the engine of a ContainerEngine, or on the manager's own if that is
	// empty, for when events may have been missed or the engine cannot be reached, which the objects
	// then say.
	All func(ctx context.Context, engine types.NamespacedName) []reconcile.Request
	// Exits records each event before the objects are reconciled; nil = the
	// exits of containers are not recorded.
	Exits *Exits
}

// Queue of a controller.
type Queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// Source returns a source that enqueues what the events of the manager's own engine are about.
func Source(eng Engine, mapping Mapping) source.Source {
	return source.Func(func(ctx context.Context, queue Queue) error {
		ctx = ctrl.LoggerInto(ctx, ctrl.LoggerFrom(ctx).WithName("engine-events"))
		watcher := Watcher{Mapping: mapping, Queue: queue}
		go eng.Events(ctx, func(event engine.Event) { watcher.Handle(ctx, From{Engine: eng}, event) })
		return nil
	})
}

// From is the engine of an event.
type From struct {
	// Name of the ContainerEngine; empty = the manager's own engine.
	Name   types.NamespacedName
	Engine engine.ContainerReader
}

// Watcher enqueues the objects of a controller.
type Watcher struct {
	Mapping Mapping
	Queue   Queue
}

// Handle enqueues what an event is about. It never waits for the engine.
func (w Watcher) Handle(ctx context.Context, from From, event engine.Event) {
	if w.Mapping.Exits != nil {
		w.Mapping.Exits.Observe(event)
	}
	enqueue := func() {
		for _, request := range requests(ctx, from, w.Mapping, event) {
			if event.Kind == engine.EventKill {
				w.Queue.AddAfter(request, ending)
				continue
			}
			w.Queue.Add(request)
		}
	}
	if isUnlabeled(event) {
		// It takes a call of the engine, which must not keep other events waiting.
		go enqueue()
		return
	}
	enqueue()
}

// isAboutAll reports whether an event is about no single container.
func isAboutAll(event engine.Event) bool {
	return event.Kind == engine.EventRelist || event.Kind == engine.EventLost
}

// isUnlabeled reports whether an event names its container by the ID alone, as
// Docker's of a network do.
func isUnlabeled(event engine.Event) bool { return event.Labels == nil && !isAboutAll(event) }

func requests(ctx context.Context, from From, mapping Mapping, event engine.Event) []reconcile.Request {
	if isAboutAll(event) {
		return mapping.All(ctx, from.Name)
	}
	labels := event.Labels
	if isUnlabeled(event) {
		asking, cancel := context.WithTimeout(ctx, askTimeout)
		defer cancel()
		container, err := from.Engine.InspectContainer(asking, event.ContainerID)
		switch {
		case errors.Is(err, engine.ErrNotFound):
			// It has, or will have, an event of its own.
			return nil
		case err != nil:
			ctrl.LoggerFrom(ctx).Error(err, "Failed to inspect container of engine event", "containerID", event.ContainerID)
			return mapping.All(ctx, from.Name)
		}
		labels = container.Labels
	}
	if labels[identity.LabelOwnerID] == "" {
		return nil
	}
	return mapping.Container(ctx, labels)
}
