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

package machine

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
)

// wantedFailureDomain is where the machine is to be put, "" = anywhere.
func (s *scope) wantedFailureDomain() string {
	return cmp.Or(s.machine.Spec.FailureDomain, s.containerMachine.Annotations[infrav1.FailureDomainAnnotation])
}

// failureDomain is where the container was put: its Node has the label, and
// keeps it whatever the Machine says later. One that was adopted is where it
// is said to be.
func (s *scope) failureDomain() string {
	if s.hasStarted() {
		if domain, recorded := s.container.Labels[identity.LabelFailureDomain]; recorded {
			return domain
		}
	}
	return s.wantedFailureDomain()
}

// checkFailureDomain refuses one that the Cluster does not have, most likely
// misspelt, and one that cannot become the label of a Node: the kubelet would
// not start. A Cluster that declares none has none to compare with.
func (r *Reconciler) checkFailureDomain(_ context.Context, s *scope) error {
	domain := s.wantedFailureDomain()
	if s.hasStarted() || domain == "" {
		return nil
	}
	declared := s.cluster.Status.FailureDomains
	switch {
	case len(declared) > 0 && !slices.ContainsFunc(declared, func(d clusterv1.FailureDomain) bool { return d.Name == domain }):
		return waitForUser(infrav1.ContainerFailedReason, fmt.Sprintf(
			"failure domain %q of the Machine is not a failure domain of the Cluster (%s); use one of these, or add it to spec.failureDomains of the ContainerCluster",
			domain, failureDomainNames(declared)))
	case len(validation.IsValidLabelValue(domain)) > 0:
		return waitForUser(infrav1.ContainerFailedReason, fmt.Sprintf(
			"failure domain %q of the Machine is not a valid label value; use at most 63 letters, digits, dashes, "+
				"underscores and dots, beginning and ending with a letter or digit", domain))
	}
	return nil
}

func failureDomainNames(domains []clusterv1.FailureDomain) string {
	names := make([]string, 0, len(domains))
	for _, domain := range domains {
		names = append(names, domain.Name)
	}
	return strings.Join(names, ", ")
}
