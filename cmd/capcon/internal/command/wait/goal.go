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

package wait

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/input"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/management"
)

// goal of a wait.
type goal struct {
	// met says in a few words that it is reached.
	met     string
	reached func(management.Observed) bool
	// condition that is waited for; empty = none.
	condition string
	// whenAbsent: it is reached where there is no management plane.
	whenAbsent bool
}

// parseGoal of --for.
func parseGoal(given string) (goal, []input.Problem) {
	switch given {
	case "ready":
		return goal{met: "ready", reached: func(o management.Observed) bool { return management.Summarize(o).Ready() }}, nil
	case "delete":
		return goal{met: "deleted", whenAbsent: true, reached: func(o management.Observed) bool { return o.Orphaned() }}, nil
	}
	condition, found := strings.CutPrefix(given, "condition=")
	conditionType, status, _ := strings.Cut(condition, "=")
	if status == "" {
		status = string(metav1.ConditionTrue)
	}
	if !found || conditionType == "" || !isStatus(status) {
		return goal{}, []input.Problem{{
			Field: "--for", Value: given, Reason: "not something to wait for",
			Remedy: "use ready, delete, or condition=TYPE[=STATUS] with the status true, false or unknown, such as condition=Available",
		}}
	}
	return goal{met: conditionType + " is " + strings.ToLower(status), condition: conditionType, reached: func(o management.Observed) bool {
		return o.Cluster != nil && hasCondition(o.Cluster.Status.Conditions, conditionType, status)
	}}, nil
}

func isStatus(status string) bool {
	return strings.EqualFold(status, string(metav1.ConditionTrue)) || strings.EqualFold(status, string(metav1.ConditionFalse)) ||
		strings.EqualFold(status, string(metav1.ConditionUnknown))
}

// hasCondition of a type and a status, both in any case, as with kubectl.
func hasCondition(conditions []metav1.Condition, conditionType, status string) bool {
	for _, condition := range conditions {
		if strings.EqualFold(condition.Type, conditionType) {
			return strings.EqualFold(string(condition.Status), status)
		}
	}
	return false
}
