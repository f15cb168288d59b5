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

package webhooks

import (
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// checkFailureDomains: each becomes the label topology.kubernetes.io/zone of
// Nodes, and a kubelet that is given none of the right form does not start.
func checkFailureDomains(path *field.Path, domains []clusterv1.FailureDomain) field.ErrorList {
	var errs field.ErrorList
	for i, domain := range domains {
		if wrong := validation.IsValidLabelValue(domain.Name); len(wrong) > 0 {
			errs = append(errs, field.Invalid(path.Index(i).Child("name"), domain.Name,
				"becomes a label of Nodes and cannot; use at most 63 letters, digits, dashes, underscores and dots, beginning and ending with a letter or digit"))
		}
	}
	return errs
}
