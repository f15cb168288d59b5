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

package management

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
)

// replaceable reports whether a machine's replacement resolves a trouble of its
// container: what it had is gone already, or it was made from a template that has been
// corrected. Where a control plane may have state, another one must be ready: the new one
// joins it, and it removes the old one's member from etcd.
func replaceable(o Observed, machine *clusterv1.Machine, reason string) bool {
	isControlPlane := util.IsControlPlaneMachine(machine)
	lost := slices.Contains([]string{infrav1.ContainerNotFoundReason, infrav1.BootstrapInterruptedReason}, reason)
	if !lost && (!isControlPlane || !isOutdated(machine)) {
		return false
	}
	return !isControlPlane || !hasState(o, machine) || slices.ContainsFunc(o.Machines, func(other clusterv1.Machine) bool {
		return other.Name != machine.Name && util.IsControlPlaneMachine(&other) && machineReady(&other)
	})
}

// isOutdated: it failed before it became a Node, and its template has been corrected since. Its
// control plane provider replaces no Machine before the cluster is initialized.
func isOutdated(machine *clusterv1.Machine) bool {
	condition := conditions.Get(machine, clusterv1.MachineUpToDateCondition)
	return !machine.Status.NodeRef.IsDefined() && condition != nil && condition.Reason == clusterv1.MachineNotUpToDateReason
}

// hasState reports whether a control plane may hold the state of the cluster.
func hasState(o Observed, machine *clusterv1.Machine) bool {
	return machine.Status.NodeRef.IsDefined() || o.Cluster != nil && ptr.Deref(o.Cluster.Status.Initialization.ControlPlaneInitialized, false)
}

// Replace deletes the Machine of a trouble, whose owner makes another. A Machine that is
// absent, or has changed since it was observed, is no error: the next observation decides.
func Replace(ctx context.Context, c client.Client, namespace string, trouble Trouble) error {
	machine := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: trouble.Replace}}
	err := c.Delete(ctx, machine, trouble.Observed)
	if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return fmt.Errorf("delete Machine %q: %w", trouble.Replace, err)
}
