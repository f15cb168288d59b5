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

package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, clusterv1.AddToScheme, apiextensionsv1.AddToScheme} {
		if err := add(scheme); err != nil {
			panic(err) // the types are constants of the libraries
		}
	}
	return scheme
}

// managementKinds are those of Cluster API whose changes make a cluster come
// and go, and the provider's.
func managementKinds(p provider) []client.Object {
	watched := []client.Object{&clusterv1.Cluster{}, &clusterv1.Machine{}, &clusterv1.MachineSet{}, &clusterv1.MachineDeployment{}}
	others := append([]schema.GroupVersionKind{
		{Group: "controlplane.cluster.x-k8s.io", Version: "v1beta2", Kind: "KubeadmControlPlane"},
		{Group: "bootstrap.cluster.x-k8s.io", Version: "v1beta2", Kind: "KubeadmConfig"},
	}, p.kinds...)
	for _, kind := range others {
		object := &unstructured.Unstructured{}
		object.SetGroupVersionKind(kind)
		watched = append(watched, object)
	}
	return watched
}

// observer holds what an API server has, by watches, and reports changes
// immediately: nothing is measured by asking again and again.
type observer struct {
	cache.Cache
	mu      sync.Mutex
	changed chan struct{}
}

// newObserver watches kinds until ctx ends; a journal that is not nil gets every
// change.
func newObserver(ctx context.Context, config *rest.Config, journal *journal, kinds ...client.Object) (*observer, error) {
	store, err := cache.New(config, cache.Options{Scheme: newScheme()})
	if err != nil {
		return nil, fmt.Errorf("create cache: %w", err)
	}
	o := &observer{Cache: store, changed: make(chan struct{})}
	go func() { _ = store.Start(ctx) }() // ends with ctx
	for _, kind := range kinds {
		informer, err := store.GetInformer(ctx, kind)
		if err != nil {
			return nil, fmt.Errorf("watch %T: %w", kind, err)
		}
		note := func(what string, object any) {
			o.notify()
			journal.note(what, object)
		}
		if _, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc:    func(object any) { note("added", object) },
			UpdateFunc: func(_, object any) { note("changed", object) },
			DeleteFunc: func(object any) { note("gone", object) },
		}); err != nil {
			return nil, fmt.Errorf("watch %T: %w", kind, err)
		}
	}
	if !store.WaitForCacheSync(ctx) {
		return nil, fmt.Errorf("read what is there: %w", context.Cause(ctx))
	}
	return o, nil
}

func (o *observer) notify() {
	o.mu.Lock()
	defer o.mu.Unlock()
	close(o.changed)
	o.changed = make(chan struct{})
}

func (o *observer) next() <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.changed
}

// until returns when the condition is true, looking at every change.
func (o *observer) until(ctx context.Context, condition func(ctx context.Context) (bool, error)) (time.Time, error) {
	for {
		changed := o.next()
		done, err := condition(ctx)
		if done || err != nil {
			return time.Now(), err
		}
		select {
		case <-ctx.Done():
			return time.Time{}, ctx.Err()
		case <-changed:
		}
	}
}

// nodeIsReady says whether a Node is.
func nodeIsReady(node *corev1.Node) bool {
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}
