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

package contract

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// history has each version of the provider's objects in a namespace, in the order in which they were
// written. A rule about what must be there first is tested with it: polling would miss a version.
type history struct {
	mutex    sync.Mutex
	versions []*unstructured.Unstructured
}

func newHistory() *history { return &history{} }

// record records the objects of a kind from now on, until ctx ends.
func (h *history) record(ctx context.Context, api client.WithWatch, example *unstructured.Unstructured, namespace string) error {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(example.GroupVersionKind().GroupVersion().WithKind(example.GetKind() + "List"))
	events, err := api.Watch(ctx, list, client.InNamespace(namespace))
	if err != nil {
		return fmt.Errorf("watch %s: %w", list.GetKind(), err)
	}
	go func() {
		defer events.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case event, open := <-events.ResultChan():
				if !open {
					return
				}
				if object, ok := event.Object.(*unstructured.Unstructured); ok && event.Type != watch.Bookmark {
					h.add(object)
				}
			}
		}
	}()
	return nil
}

func (h *history) add(object *unstructured.Unstructured) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.versions = append(h.versions, object)
}

// of returns the versions of one object.
func (h *history) of(object *unstructured.Unstructured) []*unstructured.Unstructured {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	var versions []*unstructured.Unstructured
	for _, version := range h.versions {
		if version.GetKind() == object.GetKind() && version.GetName() == object.GetName() {
			versions = append(versions, version)
		}
	}
	return versions
}
