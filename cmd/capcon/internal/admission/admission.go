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

package admission

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/input"
)

// Check returns the problems of the variables of a topology. Their fields are as in a plan, such as
// spec.topology.variables[extraMounts].value[0].hostPath.
func Check(ctx context.Context, topology *clusterv1.Topology, class []clusterv1.ClusterClassVariable) []input.Problem {
	errs := unique(slices.Concat(checkMachines(topology), checkCluster(topology), checkLabels(topology)))
	// What a webhook explains needs no pattern of the schema.
	explained := len(errs)
	for _, place := range Places(topology) {
		for _, err := range checkSchemas(ctx, place, class) {
			if !slices.ContainsFunc(errs[:explained], func(other *field.Error) bool { return concern(err.Field, other.Field) }) {
				errs = append(errs, err)
			}
		}
	}
	problems := make([]input.Problem, 0, len(errs))
	for _, err := range errs {
		problems = append(problems, problem(err))
	}
	return problems
}

// concern reports whether two fields are the same, or one is in the other.
func concern(a, b string) bool { return strings.HasPrefix(a, b) || strings.HasPrefix(b, a) }

// unique errors: a variable of the topology is that of several roles.
func unique(errs field.ErrorList) field.ErrorList {
	seen := map[string]bool{}
	return slices.DeleteFunc(errs, func(err *field.Error) bool {
		before := seen[err.Error()]
		seen[err.Error()] = true
		return before
	})
}

// page of the documentation that has a row for each variable.
const page = "see docs/how-to/cluster-class.md"

func problem(err *field.Error) input.Problem {
	reason, remedy, found := cutLast(err.Detail, "; ")
	if !found {
		remedy = "correct it; " + page
	}
	problem := input.Problem{Field: err.Field, Reason: reason, Remedy: remedy}
	switch err.Type {
	case field.ErrorTypeRequired:
		if reason == "" {
			problem.Reason = "is required"
		}
	case field.ErrorTypeTypeInvalid: // it names the type that there is
	default:
		problem.Value = fmt.Sprint(err.BadValue)
	}
	return problem
}

func cutLast(text, separator string) (before, after string, found bool) {
	at := strings.LastIndex(text, separator)
	if at < 0 {
		return text, "", false
	}
	return text[:at], text[at+len(separator):], true
}
