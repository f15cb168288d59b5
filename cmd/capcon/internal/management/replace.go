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

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1alpha1"
)

// replaceable returns the Machine whose replacement heals a trouble of its
// container; nil where there is none. What such a machine had is gone already,
// so nothing is lost. A control plane needs another one that is ready: the new
// one joins it, and it removes the old one's member from etcd.
func replaceable(o Observed, container *infrav1.ContainerMachine, reason string) *clusterv1.Machine {
	lost := []string{infrav1.ContainerMissingReason, infrav1.BootstrapInterruptedReason}
	if !slices.Contains(lost, reason) {
		return nil
	}
	i := slices.IndexFunc(o.Machines, func(m clusterv1.Machine) bool {
		return m.Spec.InfrastructureRef.Name == container.Name && m.DeletionTimestamp.IsZero()
	})
	if i < 0 {
		return nil
	}
	machine := &o.Machines[i]
	if !util.IsControlPlaneMachine(machine) {
		return machine
	}
	for j := range o.Machines {
		if j != i && util.IsControlPlaneMachine(&o.Machines[j]) && machineReady(&o.Machines[j]) {
			return machine
		}
	}
	return nil
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
