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

// Package watching decides which changes of objects are worth a reconcile.
//
// A reconcile that finds nothing to do is not free: it asks the engine, and
// Cluster API's controllers leave a second between two reconciles of an object,
// so that the one that is worth something comes late.
package watching

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

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

// ClusterSpec lets changes of a Cluster's spec pass, its deletion among them,
// and none of its status, of which Cluster API makes some twenty while a
// cluster comes to be and one a second while it goes.
func ClusterSpec() predicate.Predicate { return predicate.GenerationChangedPredicate{} }

// MachineSpecOrNode lets changes of a Machine's spec pass, its deletion among
// them, and the one change of its status that counts: that it is a Node.
func MachineSpecOrNode() predicate.Predicate {
	return predicate.Or(predicate.GenerationChangedPredicate{}, predicate.Funcs{
		UpdateFunc: func(update event.UpdateEvent) bool {
			before, known := update.ObjectOld.(*clusterv1.Machine)
			after, ok := update.ObjectNew.(*clusterv1.Machine)
			return known && ok && before.Status.NodeRef != after.Status.NodeRef
		},
		CreateFunc:  func(event.CreateEvent) bool { return true },
		DeleteFunc:  func(event.DeleteEvent) bool { return true },
		GenericFunc: func(event.GenericEvent) bool { return true },
	})
}
