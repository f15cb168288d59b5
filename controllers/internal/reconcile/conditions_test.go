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

package reconcile_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/controllers/internal/reconcile"
)

func TestSettleConditions(t *testing.T) {
	t.Parallel()
	earlier, now := metav1.NewTime(time.Unix(1, 0)), metav1.NewTime(time.Unix(2, 0))
	condition := func(kind string, status metav1.ConditionStatus, at metav1.Time) metav1.Condition {
		return metav1.Condition{Type: kind, Status: status, LastTransitionTime: at}
	}
	before := []metav1.Condition{condition("Same", metav1.ConditionTrue, earlier), condition("Other", metav1.ConditionTrue, earlier)}
	after := []metav1.Condition{condition("Same", metav1.ConditionTrue, now), condition("Other", metav1.ConditionFalse, now)}
	settled := []metav1.Condition{condition("Same", metav1.ConditionTrue, earlier), condition("Other", metav1.ConditionFalse, now)}
	for name, tc := range map[string]struct {
		reason     string
		deleted    *metav1.Time
		finalizers []string
		want       []metav1.Condition
	}{
		"Lives":          {"a status that is the same keeps its time", nil, []string{"a"}, settled},
		"NoFinalizer":    {"an object without finalizers that is not deleted stays", nil, nil, settled},
		"Deleting":       {"what a deletion waits for is reported", &now, []string{"a"}, settled},
		"FinalizersGone": {"a deletion does not wait for a status", &now, nil, before},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			object := &infrav1.ContainerMachine{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: tc.deleted, Finalizers: tc.finalizers}}
			object.SetConditions(append([]metav1.Condition{}, after...))
			reconcile.SettleConditions(object, before)
			if diff := cmp.Diff(tc.want, object.GetConditions()); diff != "" {
				t.Errorf("%s\nconditions (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
