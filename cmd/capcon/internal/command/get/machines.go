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

package get

import (
	"cmp"
	"context"

	"github.com/spf13/cobra"
	"sigs.k8s.io/cluster-api/util"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/management"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/output"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/session"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
)

func machinesCommand(a *session.App) *cobra.Command {
	return printer{
		use: "machines", alias: "machine", short: "Print the Machines of a cluster, or of all clusters",
		columns: []string{"NAME", "CLUSTER", "ROLE", "VERSION", "STATE", "AGE"},
		wide:    []string{"NODE", "INTERNAL-IP", "CONTAINER", "ENGINE"},
		rows:    machineRows,
	}.command(a)
}

func machineRows(ctx context.Context, s *session.Session, clusters []clusterv1.Cluster) ([]output.Row, error) {
	var rows []output.Row
	for i := range clusters {
		observed, err := management.Observe(ctx, s.Client, clusters[i].Namespace, clusters[i].Name)
		if err != nil {
			return nil, err
		}
		containers, machines := map[string]infrav1.ContainerMachine{}, map[string]*clusterv1.Machine{}
		for _, container := range observed.Containers {
			containers[container.Name] = container
		}
		for j := range observed.Machines {
			machines[observed.Machines[j].Name] = &observed.Machines[j]
		}
		for _, summary := range management.Summarize(observed).Machines { // which are in order
			machine := machines[summary.Name]
			rows = append(rows, machineRow(s, machine, summary.Detail, containers[machine.Spec.InfrastructureRef.Name]))
		}
	}
	return rows, nil
}

func machineRow(s *session.Session, machine *clusterv1.Machine, state string, container infrav1.ContainerMachine) output.Row {
	role, address := identity.RoleWorker, ""
	if util.IsControlPlaneMachine(machine) {
		role = identity.RoleControlPlane
	}
	for _, known := range machine.Status.Addresses {
		if known.Type == clusterv1.MachineInternalIP {
			address = cmp.Or(address, known.Address)
		}
	}
	name, _ := identity.ParseProviderID(container.Spec.ProviderID) // empty until it has one
	return output.Row{
		Object: machine, Name: machine.Name,
		Columns: []string{
			session.Shown(machine.Namespace, machine.Spec.ClusterName), string(role), cmp.Or(machine.Spec.Version, none), state, age(s, machine),
		},
		Wide: []string{cmp.Or(machine.Status.NodeRef.Name, none), cmp.Or(address, none), cmp.Or(name, none), cmp.Or(container.Annotations[infrav1.EngineNameAnnotation], none)},
	}
}
