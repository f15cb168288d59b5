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

package machinepool

import (
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
)

// maxNamed is how many instances a message names: a pool may have thousands.
const maxNamed = 5

// publish reports the state of the pool to Cluster API and users. An instance has its
// provider ID listed as long as its object is there: Cluster API deletes the
// Node of one that is not, and it may still be drained.
func (r *Reconciler) publish(_ context.Context, s *scope) error {
	var ids []string
	var statuses []infrav1.ContainerMachinePoolInstance
	for _, i := range s.instances {
		if id := i.containerMachine.Spec.ProviderID; id != "" {
			ids = append(ids, id)
		}
		statuses = append(statuses, i.status())
	}
	slices.Sort(ids)
	s.pool.Spec.ProviderIDList = ids
	status := &s.pool.Status
	status.InfrastructureMachineKind = machineKind
	status.Instances = statuses
	status.Replicas = int32(len(ids)) //nolint:gosec // the list has room for 10000
	if len(ids) > 0 || s.desiredReplicas() == 0 && s.infrastructureProvisioned() {
		status.Initialization.Provisioned = ptr.To(true)
	}
	status.Ready = status.Initialization.Provisioned
	s.reportReady()
	s.reportUpToDate()
	return nil
}

// reportReady reports what Cluster API knows of the instances. Those whose state is
// unknown, as while the engine is down, are neither ready nor not.
func (s *scope) reportReady() {
	ready, unknown := 0, 0
	var not []string
	for _, i := range s.instances {
		switch {
		case i.leaving():
			continue
		case i.unknown():
			unknown++
		case i.ready():
			ready++
			continue
		}
		not = append(not, fmt.Sprintf("%s (%s)", i.containerMachine.Name, i.state()))
	}
	if ready >= s.desiredReplicas() {
		s.setCondition(infrav1.ReplicasReadyCondition, metav1.ConditionTrue, infrav1.ReplicasReadyReason, "")
		return
	}
	message := fmt.Sprintf("%d of %d replicas are ready", ready, s.desiredReplicas())
	if len(not) > 0 {
		message += "; not ready: " + enumerate(not)
	}
	status := metav1.ConditionFalse
	if ready+unknown >= s.desiredReplicas() {
		status = metav1.ConditionUnknown
	}
	s.setCondition(infrav1.ReplicasReadyCondition, status, infrav1.ReplicasNotReadyReason, message)
}

func (s *scope) reportUpToDate() {
	var outdated []string
	for _, i := range s.instances {
		if s.outdated(i) {
			outdated = append(outdated, i.containerMachine.Name)
		}
	}
	if len(outdated) == 0 {
		s.setCondition(infrav1.ReplicasUpToDateCondition, metav1.ConditionTrue, infrav1.ReplicasUpToDateReason, "")
		return
	}
	s.setCondition(infrav1.ReplicasUpToDateCondition, metav1.ConditionFalse, infrav1.RollingOutReason, "waiting for outdated replicas to be replaced: "+enumerate(outdated))
}

func enumerate(names []string) string {
	if more := len(names) - maxNamed; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:maxNamed], ", "), more)
	}
	return strings.Join(names, ", ")
}
