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

package trace

import (
	"context"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Selection is a kind of objects to record.
type Selection struct {
	Kind    schema.GroupVersionKind
	Options []client.ListOption
	// MetadataOnly is set for kinds that hold secrets.
	MetadataOnly bool
}

// Watch records the objects of an API server in a group until ctx ends.
func Watch(ctx context.Context, recorder *Recorder, group string, c client.WithWatch, selections ...Selection) error {
	all, ctx := errgroup.WithContext(ctx)
	changes := make(chan change)
	for _, selection := range selections {
		all.Go(func() error { return selection.follow(ctx, c, changes) })
	}
	objects := NewObjects(recorder, group)
	all.Go(func() error {
		for {
			select {
			case one := <-changes:
				objects.Observe(one.at, one.kind, one.object)
			case <-ctx.Done():
				objects.End(time.Now())
				return nil
			}
		}
	})
	return all.Wait() //nolint:wrapcheck // It is one of this package.
}

// listed is a change of an object that was there before the watch.
const listed watch.EventType = "LISTED"

// change of an object, when it was received.
type change struct {
	at     time.Time
	kind   watch.EventType
	object *unstructured.Unstructured
}

func (s Selection) follow(ctx context.Context, c client.WithWatch, changes chan<- change) error {
	list := s.newList()
	if err := c.List(ctx, list, s.Options...); err != nil {
		return fmt.Errorf("list %s: %w", s.Kind.Kind, err)
	}
	send := func(kind watch.EventType, object runtime.Object) error {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
		if err != nil {
			return fmt.Errorf("read %s: %w", s.Kind.Kind, err)
		}
		u := &unstructured.Unstructured{Object: content}
		u.SetGroupVersionKind(s.Kind) // The API server gives metadata a kind of its own.
		select {
		case changes <- change{at: time.Now(), kind: kind, object: u}:
		case <-ctx.Done():
		}
		return nil
	}
	if err := meta.EachListItem(list, func(item runtime.Object) error { return send(listed, item) }); err != nil {
		return err
	}
	// It continues with another watch where one ends.
	watcher, err := watchtools.NewRetryWatcherWithContext(ctx, list.GetResourceVersion(), &cache.ListWatch{
		WatchFuncWithContext: func(ctx context.Context, raw metav1.ListOptions) (watch.Interface, error) {
			return c.Watch(ctx, s.newList(), append(slices.Clone(s.Options), &client.ListOptions{Raw: &raw})...)
		},
	})
	if err != nil {
		return fmt.Errorf("watch %s: %w", s.Kind.Kind, err)
	}
	defer watcher.Stop()
	for event := range watcher.ResultChan() {
		switch event.Type {
		case watch.Added, watch.Modified, watch.Deleted:
			if err := send(event.Type, event.Object); err != nil {
				return err
			}
		case watch.Error:
			return fmt.Errorf("watch %s: %w", s.Kind.Kind, apierrors.FromObject(event.Object))
		case watch.Bookmark:
		}
	}
	return nil
}

func (s Selection) newList() client.ObjectList {
	kind := s.Kind.GroupVersion().WithKind(s.Kind.Kind + "List")
	if s.MetadataOnly {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(kind)
		return list
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind)
	return list
}
