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

package contract

// machines are the rules for the infrastructure of a Machine.
func machines() []Rule {
	const (
		container  = "controllers/machine/container.go"
		data       = "controllers/machine/data.go"
		deletion   = "controllers/machine/delete.go"
		publish    = "controllers/machine/publish.go"
		reconciler = "controllers/machine/reconciler.go"
		admission  = "internal/webhooks/containermachine.go"
	)
	return []Rule{
		{ID: "IM1", Says: "spec.providerID is a text of at most 512 characters.", Proof: Proof{
			contractTests, "TestFields", machinesCRD,
			"ContainerCluster to adopt.\n                maxLength: 512\n", "ContainerCluster to adopt.\n",
		}},
		{ID: "IM1", Says: "The Node has the same one, from its kubelet.", Proof: Proof{
			machineTests, "TestSituations/Bootstrapping", container, "ProviderID:      identity.ProviderID(s.containerName()),", `ProviderID:      identity.ProviderID("other"),`,
		}},
		{ID: "IM1", Says: "Or, where nobody told its kubelet, from us.", Proof: Proof{
			machineTests, "TestSituations/NodeWithoutProviderID", "controllers/machine/node.go", "	node.Spec.ProviderID = providerID\n", "",
		}},
		{ID: "IM1", Says: "It is unique: a container's name differs by cluster and owner.", Proof: Proof{
			"internal/identity", "TestContainerNamesDiffer", "internal/identity/names.go", "hash(owner.Namespace, owner.Cluster, owner.ID, kind, name)", "hash(owner.Namespace, owner.Cluster, kind, name)",
		}},
		{ID: "IM2", Says: "It is there when the machine is provisioned, with the addresses.", Proof: Proof{
			contractTests, "TestProvisionedComesWithTheRest", publish, "s.containerMachine.Spec.ProviderID = identity.ProviderID(s.container.Name)", `_ = identity.ProviderID("")`,
		}},
		{ID: "IM3", Says: "status.initialization.provisioned becomes true.", Proof: Proof{
			machineTests, "TestSituations/Bootstrapping", publish, "s.containerMachine.Status.Initialization.Provisioned = ptr.To(true)", "_ = ptr.To(true)",
		}},
		{ID: "IM3", Says: "And stays so whatever happens.", Proof: Proof{
			machineTests, "TestSituations/Missing", publish, "s.containerMachine.Status.Initialization.Provisioned = ptr.To(true)", "s.containerMachine.Status.Initialization.Provisioned = nil\n	_ = ptr.To(true)",
		}},
		{ID: "IM4", Says: "Addresses are published.", Proof: Proof{
			machineTests, "TestSituations/Bootstrapping", publish, "Type: clusterv1.MachineInternalIP", "Type: clusterv1.MachineExternalIP",
		}},
		{ID: "IM5", Says: "A machine is in the failure domain of its Machine: its Node is labelled so.", Proof: Proof{
			machineTests, "TestSituations/Bootstrapping", container, "Zone:            s.failureDomain(),", `Zone:            "",`,
		}},
		{ID: "IM6", Says: "Where it really is, is published.", Proof: Proof{
			machineTests, "TestSituations/Bootstrapping", publish, "s.containerMachine.Status.FailureDomain = s.failureDomain()", `s.containerMachine.Status.FailureDomain = ""`,
		}},
		{ID: "IM7", Says: "There is no spec.failureDomain: it would be written over the Machine's.", Proof: Proof{
			contractTests, "TestFields", machinesCRD, "              extraMounts:\n", "              failureDomain:\n                type: string\n              extraMounts:\n",
		}},
		{ID: "IM8", Says: "Ready is False while the machine cannot be used, and tells why.", Proof: Proof{
			machineTests, "TestSituations/Disconnected", "controllers/machine/scope.go", "if condition.Status != metav1.ConditionTrue {", "if condition.Status == metav1.ConditionUnknown {",
		}},
		{ID: "IM9", Says: "An object that vanishes after it was provisioned is an error: a finalizer keeps it.", Proof: Proof{
			machineTests, "TestFinalizerComesFirst", reconciler,
			"finalizers.EnsureFinalizer(ctx, r.Client, containerMachine, infrav1.MachineFinalizer)", "finalizers.EnsureFinalizer(ctx, r.Client, containerMachine.DeepCopy(), \"example.test/none\")",
		}},
		{ID: "IM10", Says: "A dead machine is told of by a condition, for a MachineHealthCheck to see.", Proof: Proof{
			machineTests, "TestSituations/Missing", "controllers/machine/record.go", "s.wait(infrav1.ContainerNotFoundReason, fmt.Sprintf(", "s.wait(infrav1.ContainerExitedReason, fmt.Sprintf(",
		}},
		{ID: "IM11", Says: "What cannot change in place is refused, so that the Machine is replaced.", Proof: Proof{
			webhookTests, "TestChanges/MachineImage", admission, "before.Spec.Immutable(), after.Spec.Immutable(),", "after.Spec.Immutable(), after.Spec.Immutable(),",
		}},
		{ID: "IM11", Says: "What can is allowed.", Proof: Proof{
			webhookTests, "TestChanges/MachineTimeout", admission, "before.Spec.Immutable(), after.Spec.Immutable(),",
			"&before.Spec.ContainerMachineCommonSpec, &after.Spec.ContainerMachineCommonSpec,",
		}},
		{ID: "IM12", Says: "Nothing is made before the Cluster's infrastructure is provisioned.", Proof: Proof{
			machineTests, "TestSituations/InfrastructureNotProvisioned", data, "case !provisioned:", "case !provisioned && false:",
		}},
		{ID: "IM12", Says: "Nor before there is bootstrap data.", Proof: Proof{
			machineTests, "TestSituations/NoDataSecretName", data, "	case s.dataSecretName() == \"\":\n		s.wait", "	case s.dataSecretName() == \"none\":\n		s.wait",
		}},
		{ID: "IM12", Says: "Deleting waits for neither.", Proof: Proof{
			machineTests, "TestDeletions/NothingYet", deletion, "		r.observeOwnContainer,\n", "		r.waitForCluster,\n		r.observeOwnContainer,\n",
		}},
		{ID: "IM13", Says: "The finalizer comes after the Machine's owner reference.", Proof: Proof{
			machineTests, "TestHandsOff/NoMachine", reconciler, "	s, err := r.newScope(ctx, containerMachine)\n",
			"	_, _ = finalizers.EnsureFinalizer(ctx, r.Client, containerMachine, infrav1.MachineFinalizer)\n	s, err := r.newScope(ctx, containerMachine)\n",
		}},
		{ID: "IM14", Says: "Control planes are backends of the load balancer.", Proof: Proof{
			clusterTests, "TestBackends/Both", "controllers/cluster/loadbalancer.go",
			"len(addresses) == 0 || container.Status == engine.StatusCreated", "len(addresses) >= 0 || container.Status == engine.StatusCreated",
		}},
		{ID: "IM14", Says: "And are none any more when they are gone.", Proof: Proof{
			machineTests, "TestControlPlaneWaitsForLoadBalancer/NeverLetsGo", deletion, "		r.waitForRelease,\n", "",
		}},
		{ID: "IM15", Says: "Deleting removes the container with its volumes, and then the finalizer.", Proof: Proof{
			machineTests, "TestDeletions/Worker", deletion, "if err := r.Engine.RemoveContainer(ctx, name); err != nil {", "if err := error(nil); err != nil {",
		}},
		{ID: "IM15", Says: "A container that is gone already is as good.", Proof: Proof{
			machineTests, "TestDeletions/ContainerGone", deletion, "	case errors.Is(err, engine.ErrNotFound):\n", "	case errors.Is(err, engine.ErrConflict):\n",
		}},
		{ID: "IM16", Says: "A control plane gets no connections any more once its Machine is being deleted.", Proof: Proof{
			clusterTests, "TestBackends/MachineDeleted", "controllers/cluster/machines.go", "deleting.Insert(machine.Spec.InfrastructureRef.Name)", "_ = machine.Spec.InfrastructureRef.Name",
		}},
		{ID: "IM17", Says: "Objects made from templates are annotated with what they were made from.", Unproved: "Tells what Cluster API does."},
		{ID: "IM18", Says: "Objects made again with nothing but spec.providerID take the container over.", Proof: Proof{
			contractTests, "TestAdoption", "controllers/machine/image.go", "	if s.hasStarted() {\n		return nil\n	}\n", "",
		}},
		{ID: "IM18", Says: "Also one that an object of another name made.", Proof: Proof{
			machineTests, "TestSituations/AdoptedByProviderID", "controllers/machine/owner.go", "s.containerMachine.Spec.ProviderID == identity.ProviderID(container.Name)", "s.containerMachine.Spec.ProviderID == identity.ProviderID(container.ID)",
		}},
		{ID: "IM19", Says: "Of taints only the one is taken away that a cloud controller would.", Proof: Proof{
			machineTests, "TestSituations/NodeWithoutProviderID", "controllers/machine/node.go", "return taint.Key == uninitializedTaint", "return taint.Key != \"\"",
		}},
		{ID: "IM20", Says: "A paused machine is left alone.", Proof: Proof{
			machineTests, "TestHandsOff/Paused", reconciler, "containerMachine); err != nil || isPaused {", "containerMachine); err != nil || isPaused && false {",
		}},
	}
}
