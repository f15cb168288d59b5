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

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/cluster-api/util/conditions"
)

// Object has conditions.
type Object interface {
	metav1.Object
	conditions.Setter
}

// SettleConditions undoes changes of conditions that are not worth a write.
//
// A condition that ends a reconcile with the status it began with gets its old time:
// phases may report several statuses of one condition, and a time that changes is a
// write, which causes the next reconcile.
//
// An object without its last finalizer, which is deleted by the same patch, gets all its
// old conditions: a write of new ones would only delay the deletion.
func SettleConditions(object Object, before []metav1.Condition) {
	if !object.GetDeletionTimestamp().IsZero() && len(object.GetFinalizers()) == 0 {
		object.SetConditions(before)
		return
	}
	after := object.GetConditions()
	for i := range after {
		for _, old := range before {
			if old.Type == after[i].Type && old.Status == after[i].Status {
				after[i].LastTransitionTime = old.LastTransitionTime
			}
		}
	}
	object.SetConditions(after)
}
