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
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// pauses are those of a cluster with a machine, which are also deleted while they are paused.
func pauses() scenario {
	const name = "paused"
	return scenario{name: "pause", steps: func(w *world) []step {
		cluster, machine := w.infraCluster(), w.infraMachine(name)
		paused := func(object *unstructured.Unstructured, status metav1.ConditionStatus) func(context.Context) error {
			return func(ctx context.Context) error { return w.hasCondition(ctx, object, pausedCondition, status) }
		}
		set := func(paused bool) func(context.Context) error {
			return func(ctx context.Context) error { return w.pause(ctx, paused) }
		}
		deleted := func(object *unstructured.Unstructured) func(context.Context) error {
			return func(ctx context.Context) error { return w.survives(ctx, object) }
		}
		gone := func(object *unstructured.Unstructured) func(context.Context) error {
			return func(ctx context.Context) error { return w.goesWithInfrastructure(ctx, object) }
		}
		return slices.Concat(w.provision(name), []step{
			{run: set(true)},
			{rule: "IC13", run: paused(cluster, metav1.ConditionTrue)},
			{rule: "IM20", run: paused(machine, metav1.ConditionTrue)},
			{run: set(false)},
			{rule: "IC13", run: paused(cluster, metav1.ConditionFalse)},
			{rule: "IM20", run: paused(machine, metav1.ConditionFalse)},
			{rule: "IM20b", run: func(ctx context.Context) error { return w.followsAnnotation(ctx, machine) }},
			{run: set(true)},
			{rule: "M5b", run: deleted(machine)},
			{run: set(false)},
			{rule: "IM15", run: gone(machine)},
			{run: func(ctx context.Context) error { return w.delete(ctx, w.machine(name)) }},
			{run: set(true)},
			{rule: "M5a", run: deleted(cluster)},
			{run: set(false)},
			{rule: "IC15", run: gone(cluster)},
			{run: w.end},
		})
	}}
}

func (w *world) followsAnnotation(ctx context.Context, object *unstructured.Unstructured) error {
	annotate := func(paused bool) error {
		return w.edit(ctx, object, func() {
			annotations := object.GetAnnotations()
			if annotations == nil {
				annotations = map[string]string{}
			}
			delete(annotations, clusterv1.PausedAnnotation)
			if paused {
				annotations[clusterv1.PausedAnnotation] = ""
			}
			object.SetAnnotations(annotations)
		})
	}
	if err := annotate(true); err != nil {
		return err
	}
	seen := w.hasCondition(ctx, object, pausedCondition, metav1.ConditionTrue)
	if err := annotate(false); err != nil || seen != nil {
		return errors.Join(seen, err)
	}
	return w.hasCondition(ctx, object, pausedCondition, metav1.ConditionFalse)
}

// survives deletes a paused object, which stays with its infrastructure.
func (w *world) survives(ctx context.Context, object *unstructured.Unstructured) error {
	if err := w.quiet(ctx, object); err != nil {
		return err
	}
	if err := w.delete(ctx, object); err != nil {
		return err
	}
	if err := w.quiet(ctx, object); err != nil {
		return err
	}
	if err := w.get(ctx, object); err != nil {
		return fmt.Errorf("it is deleted while its Cluster is paused: %w", err)
	}
	return w.exists(ctx, object, true)
}

// moved is a cluster with a machine that is moved as "clusterctl move" does it: paused, deleted without
// finalizers, and created again without status and with new UIDs.
func moved() scenario {
	const name = "moved"
	return scenario{name: "move", steps: func(w *world) []step {
		cluster, machine := w.infraCluster(), w.infraMachine(name)
		var before clusterv1.APIEndpoint
		var id string
		return slices.Concat(w.provision(name), []step{
			{run: func(ctx context.Context) error {
				err := errors.Join(w.get(ctx, cluster), w.get(ctx, machine))
				before, id = endpoint(cluster), providerID(machine)
				return err
			}},
			{run: func(ctx context.Context) error { return w.pause(ctx, true) }},
			{run: func(ctx context.Context) error { return w.quiet(ctx, cluster, machine) }},
			{run: func(ctx context.Context) error { return w.recreate(ctx, machine) }},
			{run: func(ctx context.Context) error { return w.recreate(ctx, cluster) }},
			{rule: "M4c", run: func(ctx context.Context) error { return w.bothExist(ctx, cluster, machine) }},
			{run: func(ctx context.Context) error { return w.pause(ctx, false) }},
			{rule: "M4a", essential: true, run: func(ctx context.Context) error {
				return w.isProvisionedAgain(ctx, cluster, func() error {
					if after := endpoint(cluster); after != before {
						return fmt.Errorf("%w from %q to %q", errNewEndpoint, before.String(), after.String())
					}
					return nil
				})
			}},
			{rule: "M4b", run: func(ctx context.Context) error {
				return w.isProvisionedAgain(ctx, machine, func() error {
					if after := providerID(machine); after != id {
						return fmt.Errorf("%w: %q instead of %q", errProviderID, after, id)
					}
					return nil
				})
			}},
			{rule: "M4c", run: func(ctx context.Context) error { return w.bothExist(ctx, cluster, machine) }},
			{run: w.end},
		})
	}}
}

// isProvisionedAgain waits until a moved object is provisioned, and then checks that it is the same.
func (w *world) isProvisionedAgain(ctx context.Context, object *unstructured.Unstructured, same func() error) error {
	return w.becomes(ctx, object, "provisioned again", func() error {
		if !isProvisioned(object) {
			return fmt.Errorf("%w: %s", errNotProvisioned, state(object))
		}
		if err := same(); err != nil {
			return final{err}
		}
		return nil
	})
}

func (w *world) bothExist(ctx context.Context, objects ...*unstructured.Unstructured) error {
	if w.provider.Infrastructure == nil {
		return errNoHook
	}
	for _, object := range objects {
		if err := w.exists(ctx, object, true); err != nil {
			return err
		}
	}
	return nil
}

// recreate deletes an object with its finalizers, and creates it again as a move would.
func (w *world) recreate(ctx context.Context, object *unstructured.Unstructured) error {
	if err := w.get(ctx, object); err != nil {
		return err
	}
	next := w.unpopulated(object, object.GetName())
	next.SetLabels(object.GetLabels())
	next.SetAnnotations(object.GetAnnotations())
	next.SetOwnerReferences(object.GetOwnerReferences())
	next.SetFinalizers(object.GetFinalizers())
	next.Object["spec"] = object.Object["spec"]
	// Its annotations are removed: only the Cluster says that it is paused.
	if err := w.edit(ctx, object, func() { object.SetAnnotations(nil) }); err != nil {
		return err
	}
	if err := w.delete(ctx, object); err != nil {
		return err
	}
	err := w.eventually(ctx, "remove the finalizers of "+describe(object), func(ctx context.Context) error {
		if err := w.get(ctx, object); err != nil {
			return client.IgnoreNotFound(err)
		}
		object.SetFinalizers(nil)
		return client.IgnoreNotFound(w.api.Update(ctx, object))
	})
	if err != nil {
		return err
	}
	if err := w.goes(ctx, object); err != nil {
		return err
	}
	if err := w.create(ctx, next); err != nil {
		return err
	}
	return w.get(ctx, object)
}
