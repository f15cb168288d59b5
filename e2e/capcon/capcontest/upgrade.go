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

package capcontest

import (
	"context"
	"testing"
	"time"

	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
)

// HaveVersion of Kubernetes, instead of the default, all nodes of a cluster that is not created yet.
func (d *Declared) HaveVersion(version string) {
	d.ControlPlane.Spec.Version = version
	for _, template := range []*infrav1.ContainerMachineTemplate{d.Machines, d.Workers} {
		template.Spec.Template.Spec.Image = nodeRepository + ":" + version
	}
	for _, deployment := range d.Deployments {
		deployment.Spec.Template.Spec.Version = version
	}
}

// RunBeforeKubeadm a command, on all nodes of a cluster that is not created yet.
func (d *Declared) RunBeforeKubeadm(command string) {
	for _, config := range []*bootstrapv1.KubeadmConfigSpec{&d.ControlPlane.Spec.KubeadmConfigSpec, &d.workerConfig.Spec.Template.Spec} {
		config.PreKubeadmCommands = append(config.PreKubeadmCommands, command)
	}
}

// Upgrade the control plane and then the workers, whose kubelets must not be newer than its API
// server, and wait until so many Machines have Nodes.
func (d *Declared) Upgrade(t *testing.T, version string, machines int) {
	t.Helper()
	next := func(template *infrav1.ContainerMachineTemplate) string {
		made := d.template(template.Name + "-" + version)
		made.Spec = *template.Spec.DeepCopy()
		made.Spec.Template.Spec.Image = nodeRepository + ":" + version
		made.OwnerReferences = template.OwnerReferences
		d.Apply(t, made)
		return made.Name
	}
	name := next(d.Machines)
	Edit(t, d.API, client.ObjectKeyFromObject(d.ControlPlane), &controlplanev1.KubeadmControlPlane{}, func(c *controlplanev1.KubeadmControlPlane) {
		c.Spec.Version, c.Spec.MachineTemplate.Spec.InfrastructureRef.Name = version, name
	})
	d.machinesHaveVersion(t, version, func(m clusterv1.Machine) bool { _, is := m.Labels[clusterv1.MachineControlPlaneLabel]; return is })
	name = next(d.Workers)
	for _, deployment := range d.Deployments {
		Edit(t, d.API, client.ObjectKeyFromObject(deployment), &clusterv1.MachineDeployment{}, func(deployment *clusterv1.MachineDeployment) {
			deployment.Spec.Template.Spec.Version, deployment.Spec.Template.Spec.InfrastructureRef.Name = version, name
		})
	}
	d.machinesHaveVersion(t, version, func(clusterv1.Machine) bool { return true })
	d.MachinesHaveNodes(t, machines)
}

func (d *Declared) machinesHaveVersion(t *testing.T, version string, chosen func(clusterv1.Machine) bool) {
	t.Helper()
	EventuallyWithin(t, 15*time.Minute, "Machines have version "+version, func(ctx context.Context) (string, error) {
		machines, err := ListMachines(ctx, d.API, d.Name)
		for _, machine := range machines {
			if chosen(machine) && machine.Spec.Version != version {
				return machine.Name + " has " + machine.Spec.Version, nil
			}
		}
		return "", err
	})
}
