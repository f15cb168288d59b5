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

package world

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
)

// maxMessage is what the API admits in a condition's message.
const maxMessage = 32768

// ConditionProblems returns what is wrong with the conditions of an object: Ready is
// True only where each of those it sums up is True; types are unique, reasons
// and times set, and no message holds one of the secrets.
func ConditionProblems(object conditions.Getter, summedUp, secrets []string) []string {
	var problems []string
	report := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	seen := map[string]metav1.Condition{}
	for _, condition := range object.GetConditions() {
		if _, twice := seen[condition.Type]; twice {
			report("condition %s is there twice", condition.Type)
		}
		seen[condition.Type] = condition
		if condition.Reason == "" || strings.ContainsAny(condition.Reason, " -./") {
			report("condition %s has the reason %q", condition.Type, condition.Reason)
		}
		if condition.LastTransitionTime.IsZero() {
			report("condition %s has no lastTransitionTime", condition.Type)
		}
		if !slices.Contains([]metav1.ConditionStatus{metav1.ConditionTrue, metav1.ConditionFalse, metav1.ConditionUnknown}, condition.Status) {
			report("condition %s has the status %q", condition.Type, condition.Status)
		}
		if len(condition.Message) > maxMessage {
			report("condition %s has a message of %d bytes", condition.Type, len(condition.Message))
		}
		for _, secret := range secrets {
			if strings.Contains(condition.Message, secret) {
				report("condition %s contains a secret: %s", condition.Type, condition.Message)
			}
		}
	}
	ready, known := seen[clusterv1.ReadyCondition]
	if !known {
		return append(problems, "there is no Ready condition")
	}
	for _, conditionType := range summedUp {
		condition, known := seen[conditionType]
		isTrue := known && condition.Status == metav1.ConditionTrue
		if !isTrue && ready.Status == metav1.ConditionTrue {
			report("Ready is True, and %s is %q (%s)", conditionType, condition.Status, condition.Reason)
		}
	}
	if all := allTrue(seen, summedUp); all && ready.Status != metav1.ConditionTrue {
		report("Ready is %s (%s), and all it sums up is True", ready.Status, ready.Reason)
	}
	return problems
}

func allTrue(seen map[string]metav1.Condition, types []string) bool {
	return !slices.ContainsFunc(types, func(conditionType string) bool {
		return seen[conditionType].Status != metav1.ConditionTrue
	})
}
