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
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// Types of conditions.
const (
	readyCondition  = clusterv1.ReadyCondition
	pausedCondition = clusterv1.PausedCondition
)

func text(object *unstructured.Unstructured, path ...string) string {
	value, _, _ := unstructured.NestedString(object.Object, path...)
	return value
}

func number(object *unstructured.Unstructured, path ...string) int64 {
	value, _, _ := unstructured.NestedInt64(object.Object, path...)
	return value
}

func boolean(object *unstructured.Unstructured, path ...string) bool {
	value, _, _ := unstructured.NestedBool(object.Object, path...)
	return value
}

func isProvisioned(object *unstructured.Unstructured) bool {
	return boolean(object, "status", "initialization", "provisioned")
}

func providerID(machine *unstructured.Unstructured) string {
	return text(machine, "spec", "providerID")
}

func endpoint(cluster *unstructured.Unstructured) clusterv1.APIEndpoint {
	return clusterv1.APIEndpoint{
		Host: text(cluster, "spec", "controlPlaneEndpoint", "host"),
		Port: int32(number(cluster, "spec", "controlPlaneEndpoint", "port")), //nolint:gosec // Its schema limits it.
	}
}

// decode converts a field into a type of Cluster API.
func decode[T any](object *unstructured.Unstructured, path ...string) (T, error) {
	var value T
	found, exists, err := unstructured.NestedFieldNoCopy(object.Object, path...)
	if err != nil || !exists {
		return value, err
	}
	content, err := json.Marshal(found)
	if err != nil {
		return value, err
	}
	if err := json.Unmarshal(content, &value); err != nil {
		return value, fmt.Errorf("read %v of %s: %w", path, describe(object), err)
	}
	return value, nil
}

// Conditions that are not as they should be.
var (
	errNoCondition = errors.New("the condition is missing")
	errIncomplete  = errors.New("the condition has no reason or no transition time")
)

// checkCondition checks that an object has a condition with a status.
func checkCondition(object *unstructured.Unstructured, kind string, status metav1.ConditionStatus) error {
	conditions, err := decode[[]metav1.Condition](object, "status", "conditions")
	if err != nil {
		return err
	}
	i := slices.IndexFunc(conditions, func(c metav1.Condition) bool { return c.Type == kind })
	if i < 0 {
		return fmt.Errorf("%s: %w: %s", kind, errNoCondition, state(object))
	}
	condition := conditions[i]
	if condition.Reason == "" || condition.LastTransitionTime.IsZero() {
		return fmt.Errorf("%s: %w", kind, errIncomplete)
	}
	if condition.Status != status {
		return fmt.Errorf("the condition %s is %s (%s): %s", kind, condition.Status, condition.Reason, condition.Message)
	}
	return nil
}

// state is what a message says of an object: its finalizers, deletion, provider ID or endpoint, and
// status.
func state(object *unstructured.Unstructured) string {
	seen := map[string]any{}
	if object.GetDeletionTimestamp() != nil {
		seen["deleted"] = true
	}
	if finalizers := object.GetFinalizers(); len(finalizers) > 0 {
		seen["finalizers"] = finalizers
	}
	for _, field := range []string{"providerID", "controlPlaneEndpoint"} {
		if value, found, _ := unstructured.NestedFieldNoCopy(object.Object, "spec", field); found {
			seen[field] = value
		}
	}
	status, _, _ := unstructured.NestedMap(object.Object, "status")
	// Those of the older contract say nothing more.
	delete(status, "deprecated")
	seen["status"] = status
	content, err := json.Marshal(seen)
	if err != nil {
		return err.Error()
	}
	return string(content)
}
