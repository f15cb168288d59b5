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

package readyourwrites

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// Informers are those that writes wait for, of all caches that Watch has seen.
type Informers struct {
	scheme *runtime.Scheme
	// exceeded counts writes that the caches did not show within the limit, or whose
	// response was not understood.
	exceeded *prometheus.CounterVec

	mutex      sync.RWMutex
	byResource map[schema.GroupResource][]informer
}

// New returns Informers without any. The scheme must have the kinds of typed objects.
func New(scheme *runtime.Scheme) *Informers {
	return &Informers{
		scheme: scheme,
		exceeded: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "capcon_plane_writes_not_observed_total",
			Help: "Writes that return although the manager's caches may not show them: 30 seconds passed, or the response is not JSON.",
		}, []string{"group", "resource"}),
		byResource: map[schema.GroupResource][]informer{},
	}
}

// Register the metrics.
func (i *Informers) Register(registry prometheus.Registerer) error {
	return registry.Register(i.exceeded)
}

// Watch returns the options of a cache whose informers are added when they are
// created. Only label selectors are supported: a write of an
// object that a field selector or a namespace leaves out waits until the limit.
func (i *Informers) Watch(options cache.Options) (cache.Options, error) {
	create := options.NewInformer
	if create == nil {
		create = toolscache.NewSharedIndexInformer
	}
	selectors := map[schema.GroupKind]labels.Selector{}
	for object, by := range options.ByObject {
		kind, err := apiutil.GVKForObject(object, i.scheme)
		if err != nil {
			return options, err
		}
		if by.Label != nil {
			selectors[kind.GroupKind()] = by.Label
		}
	}
	options.NewInformer = func(lw toolscache.ListerWatcher, object runtime.Object, resync time.Duration, indexers toolscache.Indexers) toolscache.SharedIndexInformer {
		created := create(lw, object, resync, indexers)
		if kind, err := apiutil.GVKForObject(object, i.scheme); err == nil {
			i.add(kind, informer{SharedIndexInformer: created, selector: selectors[kind.GroupKind()]})
		}
		return created
	}
	return options, nil
}

func (i *Informers) add(kind schema.GroupVersionKind, added informer) {
	if added.selector == nil {
		added.selector = labels.Everything()
	}
	// Right for all kinds of the plane; see TestResourceNames.
	resource, _ := meta.UnsafeGuessKindToResource(kind)
	i.mutex.Lock()
	defer i.mutex.Unlock()
	i.byResource[resource.GroupResource()] = append(i.byResource[resource.GroupResource()], added)
}

// show reports whether all running informers of the resource show the write.
func (i *Informers) show(resource schema.GroupResource, written write) bool {
	i.mutex.RLock()
	defer i.mutex.RUnlock()
	for _, each := range i.byResource[resource] {
		if !each.IsStopped() && !each.shows(written) {
			return false
		}
	}
	return true
}

type informer struct {
	toolscache.SharedIndexInformer

	selector labels.Selector
}

// shows reports whether readers of the informer's store see the write, or what came
// after it.
func (i informer) shows(written write) bool {
	store := i.GetStore()
	if !written.gone {
		seen := store.LastStoreSyncResourceVersion()
		if order, err := resourceversion.CompareResourceVersion(seen, written.resourceVersion); err == nil && order >= 0 {
			return true
		}
		if i.selector.Matches(written.labels) {
			return false
		}
	}
	// Also of an object that the selector no longer matches.
	object, exists, err := store.GetByKey(written.key.String())
	if err != nil || !exists {
		return err == nil
	}
	accessor, err := meta.Accessor(object)
	return err == nil && accessor.GetUID() != written.uid
}
