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

package reconcile

// The predicates decide which changes of objects are worth a reconcile. One that finds
// nothing to do is not free: it asks the engine, and Cluster API's controllers leave a second
// between two reconciles of an object, so that the one that is worth something comes late.

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/cluster-api/util/labels"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
)

// Selected says whether this manager reconciles an object, by its value of
// the flag --watch-filter. Controllers check it for the
// object itself: what wakes them, such as a change of its Cluster or an event of
// the engine, knows nothing of it.
func Selected(object client.Object, filter string) bool {
	return filter == "" || labels.HasWatchLabel(object, filter)
}

// TakenOver lets objects pass that Cluster API's object of the kind owns, and
// those with a finalizer, which have something to clean up. Others wait for
// their owner; that they get it is a change.
func TakenOver(kind string) predicate.Predicate {
	return predicate.NewPredicateFuncs(func(object client.Object) bool {
		if len(object.GetFinalizers()) > 0 {
			return true
		}
		for _, owner := range object.GetOwnerReferences() {
			version, err := schema.ParseGroupVersion(owner.APIVersion)
			if err == nil && version.Group == clusterv1.GroupVersion.Group && owner.Kind == kind {
				return true
			}
		}
		return false
	})
}

// ClusterSpecChanged lets changes of a Cluster's spec pass, its deletion among them, and those that
// ClusterStoppedChanged lets pass, and none of its status, of which Cluster API makes some
// twenty while a cluster comes to be and one a second while it goes.
func ClusterSpecChanged() predicate.Predicate {
	return predicate.Or(predicate.GenerationChangedPredicate{}, ClusterStoppedChanged())
}

// ClusterStoppedChanged lets the changes of a Cluster pass by which its containers are to be stopped, or
// to be started again.
func ClusterStoppedChanged() predicate.Predicate {
	isStopped := func(object client.Object) bool {
		_, stopped := object.GetAnnotations()[infrav1.StoppedAnnotation]
		return stopped
	}
	return predicate.Funcs{
		CreateFunc:  func(event.CreateEvent) bool { return false },
		DeleteFunc:  func(event.DeleteEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
		UpdateFunc: func(update event.UpdateEvent) bool {
			return update.ObjectOld != nil && update.ObjectNew != nil && isStopped(update.ObjectOld) != isStopped(update.ObjectNew)
		},
	}
}

// MachineSpecOrNodeChanged lets changes of a Machine's spec pass, its deletion among
// them, and the one change of its status that counts: that it is a Node.
func MachineSpecOrNodeChanged() predicate.Predicate {
	return specOr(func(before, after *clusterv1.Machine) bool { return before.Status.NodeRef != after.Status.NodeRef })
}

// MachineSpecOrHealthChanged lets changes of a Machine's spec pass, its deletion among
// them, and of its status whether it can be counted on and whether a
// MachineHealthCheck wants it replaced.
func MachineSpecOrHealthChanged() predicate.Predicate {
	return specOr(func(before, after *clusterv1.Machine) bool {
		return stateChanged(before, after, clusterv1.MachineAvailableCondition,
			clusterv1.MachineHealthCheckSucceededCondition, clusterv1.MachineOwnerRemediatedCondition)
	})
}

// PoolInstanceChanged lets changes of a ContainerMachine pass that its pool reports
// or repairs: of its spec, its labels and owners, its addresses, and its
// conditions.
func PoolInstanceChanged() predicate.Predicate {
	return predicate.Or(predicate.LabelChangedPredicate{}, predicate.AnnotationChangedPredicate{},
		specOr(func(before, after *infrav1.ContainerMachine) bool {
			return stateChanged(before, after, infrav1.MachineReadyCondition, infrav1.ContainerReadyCondition) ||
				!slices.Equal(before.Status.Addresses, after.Status.Addresses) ||
				len(before.OwnerReferences) != len(after.OwnerReferences)
		}))
}

// stateChanged says whether one of the conditions has another status or
// reason.
func stateChanged(before, after conditions.Getter, types ...string) bool {
	state := func(object conditions.Getter, conditionType string) (metav1.ConditionStatus, string) {
		condition := conditions.Get(object, conditionType)
		if condition == nil {
			return "", ""
		}
		return condition.Status, condition.Reason
	}
	return slices.ContainsFunc(types, func(conditionType string) bool {
		status, reason := state(before, conditionType)
		newStatus, newReason := state(after, conditionType)
		return status != newStatus || reason != newReason
	})
}

// specOr lets all but updates pass, and those of the spec, and those that are
// worth it.
func specOr[T client.Object](worth func(before, after T) bool) predicate.Predicate {
	return predicate.Or(predicate.GenerationChangedPredicate{}, predicate.Funcs{
		UpdateFunc: func(update event.UpdateEvent) bool {
			before, known := update.ObjectOld.(T)
			after, ok := update.ObjectNew.(T)
			return known && ok && worth(before, after)
		},
	})
}
