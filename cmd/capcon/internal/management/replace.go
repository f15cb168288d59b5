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

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
)

// replaceable reports whether a machine's replacement resolves a trouble of its
// container. What such a machine had is gone already, so nothing is lost. A
// control plane needs another one that is ready: the new one joins it, and it
// removes the old one's member from etcd.
func replaceable(o Observed, machine *clusterv1.Machine, reason string) bool {
	lost := []string{infrav1.ContainerNotFoundReason, infrav1.BootstrapInterruptedReason}
	if !slices.Contains(lost, reason) {
		return false
	}
	return !util.IsControlPlaneMachine(machine) || slices.ContainsFunc(o.Machines, func(other clusterv1.Machine) bool {
		return other.Name != machine.Name && util.IsControlPlaneMachine(&other) && machineReady(&other)
	})
}

// Replace deletes a Machine, whose owner makes another. It succeeds if the
// Machine is absent.
func Replace(ctx context.Context, c client.Client, namespace, name string) error {
	machine := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	if err := c.Delete(ctx, machine); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete Machine %q: %w", name, err)
	}
	return nil
}
