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

package capcon_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/test/integration"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

const remediationCluster = "remediation-test"

// TestRemediation removes the containers of a worker and of one of three
// control planes. A MachineHealthCheck on InfrastructureReady finds them, and
// Cluster API replaces the Machines, the control plane's etcd member too.
func TestRemediation(t *testing.T) {
	eng := integration.Engine(t)
	program := build(t, remediationCluster)
	program.downBeforeAndAfter()
	program.mustRun("up", remediationCluster, "--control-planes", "3", "--workers", "1")
	watchHealth(t, management(t, program), remediationCluster, time.Minute)
	for _, role := range []identity.Role{identity.RoleWorker, identity.RoleControlPlane} {
		t.Run(string(role), func(t *testing.T) {
			program := program.at(t)
			before := nodeContainers(t, eng, remediationCluster)
			lost := before[slices.IndexFunc(before, func(c engine.Container) bool {
				return c.Labels[identity.LabelRole] == string(role)
			})]
			must.Succeed(t, eng.RemoveContainer(t.Context(), lost.Name))
			eventually(t, "another Machine in its place", func(ctx context.Context) (string, error) {
				after, err := listNodeContainers(ctx, eng, remediationCluster)
				if err != nil {
					return "", err
				}
				if len(after) == len(before) && !slices.ContainsFunc(after, func(c engine.Container) bool { return c.ID == lost.ID }) {
					return "", nil
				}
				return fmt.Sprintf("%d of %d containers", len(after), len(before)), nil
			})
			nodesReady(t, program.connectCluster(), len(before))
			machinesReady(t, program)
		})
	}
}

// watchHealth has Cluster API replace Machines whose infrastructure is not
// ready for so long. While a bootstrap runs it is not ready either: the time
// is one that each bootstrap of a test stays below.
func watchHealth(t *testing.T, api client.Client, cluster string, unhealthyAfter time.Duration) {
	t.Helper()
	check := &clusterv1.MachineHealthCheck{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: cluster},
		Spec: clusterv1.MachineHealthCheckSpec{
			ClusterName: cluster,
			Selector:    metav1.LabelSelector{MatchLabels: map[string]string{clusterv1.ClusterNameLabel: cluster}},
			Checks: clusterv1.MachineHealthCheckChecks{
				UnhealthyMachineConditions: []clusterv1.UnhealthyMachineCondition{{
					Type:   clusterv1.MachineInfrastructureReadyCondition,
					Status: metav1.ConditionFalse, TimeoutSeconds: ptr.To(int32(unhealthyAfter.Seconds())),
				}},
			},
		},
	}
	if err := api.Create(t.Context(), check); err != nil {
		t.Fatalf("create MachineHealthCheck: %v", err)
	}
}
