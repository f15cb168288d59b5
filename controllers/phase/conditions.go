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

package phase

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/cluster-api/util/conditions"
)

// KeepTransitionTimes gives every condition that ends a reconcile with the
// status it began with its old time: phases may say different things of one
// condition on the way, and a time that changes is a write, which causes the
// next reconcile.
func KeepTransitionTimes(object conditions.Setter, before []metav1.Condition) {
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
