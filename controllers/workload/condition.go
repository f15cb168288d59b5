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

package workload

import (
	"context"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/cluster-api/util/patch"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/controllers/internal/reconcile"
)

// Part of what runs for a workload cluster, by the field that switches it on.
type Part string

const (
	// Storage provisions volumes.
	Storage Part = "storage"
	// LoadBalancers are those of Services.
	LoadBalancers Part = "serviceLoadBalancer"
	// Registries publish the address of a local registry.
	Registries Part = "registries"

	// all parts, which end together where one returns an error.
	all Part = ""
)

// Report of a part: the error that it retries, or nil once it runs. notice informs of what a
// user may not expect.
type Report func(part Part, notice string, err error)

// parts are those that a user has switched on.
func (s Settings) parts() []Part {
	var parts []Part
	if s.Storage {
		parts = append(parts, Storage)
	}
	if s.LoadBalancers {
		parts = append(parts, LoadBalancers)
	}
	if s.LocalRegistry != (LocalRegistry{}) {
		parts = append(parts, Registries)
	}
	return parts
}

// conditionOf what runs with the settings; nil where nothing does.
func conditionOf(settings Settings, reports map[Part]report) *metav1.Condition {
	var problems, starting, notices []string
	if failed := reports[all].problem; failed != "" {
		problems = append(problems, failed)
	}
	parts := settings.parts()
	if settings.LocalRegistry == (LocalRegistry{}) && reports[Registries].problem != "" {
		// It is being removed.
		parts = append(parts, Registries)
	}
	for _, part := range parts {
		switch reported, exists := reports[part]; {
		case !exists:
			starting = append(starting, string(part))
		case reported.problem != "":
			problems = append(problems, fmt.Sprintf("%s: %s", part, reported.problem))
		case reported.notice != "":
			notices = append(notices, reported.notice)
		}
	}
	switch {
	case len(problems) > 0:
		return condition(metav1.ConditionFalse, infrav1.WorkloadControllersNotReadyReason, strings.Join(problems, "; "))
	case len(starting) > 0:
		return condition(metav1.ConditionFalse, infrav1.WorkloadControllersConnectingReason, "Starting: "+strings.Join(starting, ", "))
	case len(notices) > 0:
		return condition(metav1.ConditionTrue, infrav1.ForeignStorageClassReason, strings.Join(notices, "; "))
	case len(parts) > 0:
		return condition(metav1.ConditionTrue, infrav1.WorkloadControllersReadyReason, "")
	}
	return nil
}

func condition(status metav1.ConditionStatus, reason, message string) *metav1.Condition {
	return &metav1.Condition{Type: infrav1.WorkloadControllersReadyCondition, Status: status, Reason: reason, Message: message}
}

// setCondition writes the condition, or removes it where it is nil. The other conditions have
// other writers and stay.
func (r *Reconciler) setCondition(ctx context.Context, cluster *infrav1.ContainerCluster, condition *metav1.Condition) error {
	helper, err := patch.NewHelper(cluster, r.Client)
	if err != nil {
		return fmt.Errorf("prepare patch: %w", err)
	}
	if condition == nil {
		conditions.Delete(cluster, infrav1.WorkloadControllersReadyCondition)
	} else {
		reconcile.SetCondition(cluster, *condition)
	}
	owned := patch.WithOwnedConditions{Conditions: []string{infrav1.WorkloadControllersReadyCondition}}
	if err := reconcile.IgnoreGone(helper.Patch(ctx, cluster, owned)); err != nil {
		return fmt.Errorf("patch ContainerCluster: %w", err)
	}
	return nil
}
