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
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
)

// sendFailure sends an Event when the machine fails for good, which it reports in its Ready
// condition from then on.
func (r *Reconciler) sendFailure(s *scope) {
	// Without conditions where the object is gone.
	reason := conditions.GetReason(s.containerMachine, infrav1.MachineReadyCondition)
	before := meta.FindStatusCondition(s.conditions, infrav1.MachineReadyCondition)
	if before != nil && before.Reason == reason {
		return
	}
	switch reason {
	case infrav1.ContainerNotFoundReason, infrav1.BootstrapFailedReason, infrav1.BootstrapTimeoutReason, infrav1.VersionUnsupportedReason:
		message := conditions.GetMessage(s.containerMachine, infrav1.MachineReadyCondition)
		r.Events.Eventf(s.containerMachine, nil, corev1.EventTypeWarning, reason, "Reconcile", "%s", message)
	}
}
