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
	"context"
	"strings"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/controllers/internal/reconcile"
	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/script"
	"github.com/capi-samples/cluster-api-provider-container/internal/node"
)

// checkMounts refuses what would break the node, or show its secrets on the
// host, before anything is done for it. Webhooks refuse the same, where they
// are asked.
func (r *Reconciler) checkMounts(_ context.Context, s *scope) error {
	if s.hasStarted() {
		return nil
	}
	var refusals []string
	for _, refused := range node.CheckMounts(s.mounts(), script.Paths()) {
		refusals = append(refusals, refused.Error())
	}
	if len(refusals) == 0 {
		return nil
	}
	return reconcile.WaitForEvent(infrav1.ContainerFailedReason, "spec.extraMounts and spec.devices: "+strings.Join(refusals, "; and "))
}
