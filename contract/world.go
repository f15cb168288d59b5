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
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

const (
	// nameOfCluster is the name of the Cluster and of its infrastructure.
	nameOfCluster = "contract"
	pollInterval  = 50 * time.Millisecond
)

// world is a namespace with one cluster.
type world struct {
	api       client.WithWatch
	config    *rest.Config
	provider  Provider
	namespace string
	history   *history
}

// newWorld creates the namespace and begins to record the provider's objects in it.
func newWorld(ctx context.Context, api client.WithWatch, config *rest.Config, p Provider, name string) (*world, error) {
	w := &world{api: api, config: config, provider: p, history: newHistory()}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "contract-" + name + "-"}}
	if err := api.Create(ctx, namespace); err != nil {
		return nil, fmt.Errorf("create namespace: %w", err)
	}
	w.namespace = namespace.Name
	for _, example := range []*unstructured.Unstructured{p.Objects.Cluster, p.Objects.Machine} {
		if err := w.history.record(ctx, api, example, w.namespace); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// unpopulated is an object to read, which is like an example.
func (w *world) unpopulated(example *unstructured.Unstructured, name string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(example.GroupVersionKind())
	object.SetNamespace(w.namespace)
	object.SetName(name)
	return object
}

// like is a new object of a template, labeled for the cluster.
func (w *world) like(example *unstructured.Unstructured, name string) *unstructured.Unstructured {
	object := example.DeepCopy()
	object.SetNamespace(w.namespace)
	object.SetName(name)
	labels := object.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[clusterv1.ClusterNameLabel] = nameOfCluster
	object.SetLabels(labels)
	return object
}

func (w *world) infraCluster() *unstructured.Unstructured {
	return w.unpopulated(w.provider.Objects.Cluster, nameOfCluster)
}

func (w *world) infraMachine(name string) *unstructured.Unstructured {
	return w.unpopulated(w.provider.Objects.Machine, name)
}

func (w *world) create(ctx context.Context, object client.Object) error {
	if err := w.api.Create(ctx, object); err != nil {
		return fmt.Errorf("create %s: %w", describe(object), err)
	}
	return nil
}

// get reads an object again.
func (w *world) get(ctx context.Context, object client.Object) error {
	if err := w.api.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
		return fmt.Errorf("get %s: %w", describe(object), err)
	}
	return nil
}

func (w *world) delete(ctx context.Context, object client.Object) error {
	if err := w.api.Delete(ctx, object); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete %s: %w", describe(object), err)
	}
	return nil
}

// edit changes an object, again after a conflict.
func (w *world) edit(ctx context.Context, object client.Object, change func()) error {
	return w.eventually(ctx, "change "+describe(object), func(ctx context.Context) error {
		return w.change(ctx, object, change, func() error { return w.api.Update(ctx, object) })
	})
}

func (w *world) editStatus(ctx context.Context, object client.Object, change func()) error {
	return w.eventually(ctx, "change the status of "+describe(object), func(ctx context.Context) error {
		return w.change(ctx, object, change, func() error { return w.api.Status().Update(ctx, object) })
	})
}

// final is an error after which there is no use in waiting.
type final struct{ error }

func (f final) Unwrap() error { return f.error }

func (w *world) change(ctx context.Context, object client.Object, change func(), write func() error) error {
	if err := w.get(ctx, object); err != nil {
		return err
	}
	change()
	err := write()
	if err != nil && !apierrors.IsConflict(err) {
		return final{err}
	}
	return err
}

// eventually waits until the check finds nothing. Its error has what the check found last.
func (w *world) eventually(ctx context.Context, what string, check func(context.Context) error) error {
	last := errors.New("not checked")
	err := wait.PollUntilContextTimeout(ctx, pollInterval, w.provider.Timing.Timeout, true, func(ctx context.Context) (bool, error) {
		err := check(ctx)
		if err == nil || ctx.Err() == nil {
			// What a check found before it was interrupted says more.
			last = err
		}
		return err == nil, finalError(err)
	})
	if err == nil {
		return nil
	}
	if finalError(last) != nil {
		return fmt.Errorf("%s: %w", what, last)
	}
	return fmt.Errorf("waited %s to %s: %w", w.provider.Timing.Timeout, what, last)
}

func finalError(err error) error {
	var f final
	if errors.As(err, &f) {
		return f.error
	}
	return nil
}

// becomes waits until the object is in a state, for which the check finds nothing.
func (w *world) becomes(ctx context.Context, object client.Object, what string, check func() error) error {
	return w.eventually(ctx, fmt.Sprintf("see %s %s", describe(object), what), func(ctx context.Context) error {
		if err := w.get(ctx, object); err != nil {
			return err
		}
		return check()
	})
}

// goes waits until the object does not exist.
func (w *world) goes(ctx context.Context, object *unstructured.Unstructured) error {
	return w.eventually(ctx, fmt.Sprintf("see %s deleted", describe(object)), func(ctx context.Context) error {
		err := w.api.Get(ctx, client.ObjectKeyFromObject(object), object)
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return err
		}
		return fmt.Errorf("it exists, with finalizers %q: %s", object.GetFinalizers(), state(object))
	})
}

// errChanges means that an object does not come to rest.
var errChanges = errors.New("it is written again and again")

// quiet waits until none of the objects has changed for a while.
func (w *world) quiet(ctx context.Context, objects ...*unstructured.Unstructured) error {
	seen := map[string]string{}
	since := time.Now()
	err := w.eventually(ctx, "see that nothing changes any more", func(ctx context.Context) error {
		for _, object := range objects {
			if err := w.get(ctx, object); client.IgnoreNotFound(err) != nil {
				return err
			}
			if name := describe(object); seen[name] != object.GetResourceVersion() {
				seen[name], since = object.GetResourceVersion(), time.Now()
			}
		}
		if time.Since(since) < w.provider.Timing.Quiet {
			return errChanges
		}
		return nil
	})
	if errors.Is(err, errChanges) && len(objects) > 0 {
		return fmt.Errorf("%w: %s", err, state(objects[0]))
	}
	return err
}

// describe names an object in messages.
func describe(object client.Object) string {
	kind := object.GetObjectKind().GroupVersionKind().Kind
	if kind == "" {
		kind = fmt.Sprintf("%T", object)
	}
	return kind + " " + object.GetName()
}
