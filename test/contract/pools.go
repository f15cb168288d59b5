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

// pools are the rules for the infrastructure of a MachinePool.
func pools() []Rule {
	const (
		instances  = "controllers/machinepool/instances.go"
		plan       = "controllers/machinepool/plan.go"
		publish    = "controllers/machinepool/publish.go"
		reconciler = "controllers/machinepool/reconciler.go"
		replicas   = "controllers/machinepool/replicas.go"
		scope      = "controllers/machinepool/scope.go"
	)
	return []Rule{
		{ID: "P1", Says: "spec.providerIDList names all instances.", Proof: Proof{
			poolTests, "TestSituations/Created", publish, "s.pool.Spec.ProviderIDList = ids", "s.pool.Spec.ProviderIDList = nil",
		}},
		{ID: "P1", Says: "It is written as a whole, and has room for 10000.", Proof: Proof{
			contractTests, "TestFields", poolsCRD, "                maxItems: 10000\n                type: array\n                x-kubernetes-list-type: atomic\n", "                maxItems: 10000\n                type: array\n",
		}},
		{ID: "P2", Says: "A pool may have a provider ID of its own.", Unproved: "Optional: it is nothing on an engine."},
		{ID: "P3", Says: "status.replicas is as many as there are provider IDs.", Proof: Proof{
			poolTests, "TestSituations/ImageThatCannotBeHad", publish, "int32(len(ids))", "int32(len(statuses))",
		}},
		{ID: "P3", Says: "It is written where it is 0, too.", Proof: Proof{
			contractTests, "TestEmptyFieldsAreAbsent", "api/v1alpha1/containermachinepool_types.go", "Replicas int32 `json:\"replicas\"`", "Replicas int32 `json:\"replicas,omitempty\"`",
		}},
		{ID: "P4", Says: "status.initialization.provisioned becomes true.", Proof: Proof{
			poolTests, "TestSituations/Created", publish, "status.Initialization.Provisioned = ptr.To(true)", "_ = ptr.To(true)",
		}},
		{ID: "P5", Says: "status.ready too, which Cluster API reads instead.", Proof: Proof{
			poolTests, "TestSituations/ScaledToZero", publish, "status.Ready = status.Initialization.Provisioned", "status.Ready = nil",
		}},
		{ID: "P6", Says: "status.instances tells people of them.", Proof: Proof{
			poolTests, "TestSituations/Created", instances, "Version:      i.containerMachine.Annotations[infrav1.VersionAnnotation],", "",
		}},
		{ID: "P7", Says: "status.infrastructureMachineKind has Cluster API make a Machine for each.", Proof: Proof{
			poolTests, "TestSituations/Created", publish, "status.InfrastructureMachineKind = machineKind", `status.InfrastructureMachineKind = ""`,
		}},
		{ID: "P8", Says: "Instances have the labels by which Cluster API finds them, hashed where the name is long.", Proof: Proof{
			poolTests, "TestSituations/LongName", instances, "format.MustFormatValue(s.machinePoolName)", `format.MustFormatValue("") + s.machinePoolName`,
		}},
		{ID: "P9", Says: "Pools and machines are of one version.", Proof: Proof{
			contractTests, "TestOneVersion", poolsCRD, "    name: v1alpha1\n", "    name: v1alpha2\n",
		}},
		{ID: "P10", Says: "The pool owns its instances.", Proof: Proof{
			poolTests, "TestSituations/Created", replicas, "containerMachine.OwnerReferences = util.EnsureOwnerRef(", "_ = util.EnsureOwnerRef(",
		}},
		{ID: "P11", Says: "An instance has version and bootstrap data of the MachinePool: its Machine has none.", Proof: Proof{
			machineTests, "TestSituations/OfPool", "controllers/machine/scope.go",
			`return cmp.Or(ptr.Deref(s.machine.Spec.Bootstrap.DataSecretName, ""), s.containerMachine.Annotations[infrav1.BootstrapDataSecretAnnotation])`,
			`return cmp.Or(ptr.Deref(s.machine.Spec.Bootstrap.DataSecretName, ""))`,
		}},
		{ID: "P12", Says: "Scaling down deletes Machines, so that Nodes are drained; one that is asked for first.", Proof: Proof{
			poolTests, "TestSituations/OneIsAskedFor", instances, "return asked", "return asked && false",
		}},
		{ID: "P12", Says: "An instance that has no Machine yet is not removed.", Proof: Proof{
			poolTests, "TestSituations/NoMachineYet", replicas, "		if machine == nil {\n			continue\n		}\n", "		if machine == nil {\n			_ = r.Client.Delete(ctx, s.instances[0].containerMachine)\n			continue\n		}\n",
		}},
		{ID: "P12", Says: "A Machine whose instance vanished is deleted, and replaced.", Proof: Proof{
			poolTests, "TestSituations/Dangling", replicas, "plan.remove = append(plan.remove, s.dangling...)", "_ = s.dangling",
		}},
		{ID: "P13", Says: "A rollout makes a new instance before it removes an old one.", Proof: Proof{
			poolTests, "TestPlan", plan, "const maxSurge = 1", "const maxSurge = 0",
		}},
		{ID: "P13", Says: "Another version, image, mount or bootstrap data makes an instance old.", Proof: Proof{
			poolTests, "TestSituations/DataSecret", instances, "secret != nil && made.Annotations", "secret == nil && made.Annotations",
		}},
		{ID: "P14", Says: "The number is left alone where somebody else manages it.", Proof: Proof{
			poolTests, "TestSituations/ManagedByOthers", scope, "if !annotations.ReplicasManagedByExternalAutoscaler(s.machinePool) {", "if !annotations.ReplicasManagedByExternalAutoscaler(s.machinePool) || true {",
		}},
		{ID: "P15", Says: "There are neither failureReason nor failureMessage, on which core 1.14 panics.", Proof: Proof{
			contractTests, "TestFields", poolsCRD, "              infrastructureMachineKind:\n", "              failureMessage:\n                type: string\n              infrastructureMachineKind:\n",
		}},
		{ID: "P16", Says: "Ready tells whether as many as are wanted can be used.", Proof: Proof{
			poolTests, "TestSituations/BootstrapFails", publish, "if ready >= s.wanted() {", "if ready >= 0 {",
		}},
		{ID: "P17", Says: "A paused pool is left alone.", Proof: Proof{
			poolTests, "TestSituations/Paused", reconciler, "pool); err != nil || isPaused {", "pool); err != nil || isPaused && false {",
		}},
		{ID: "P18", Says: "A ClusterClass makes pools from a template.", Proof: Proof{
			contractTests, "TestTemplatesMakeTheirKind/ContainerMachinePool", "api/v1alpha1/containermachinepooltemplate_types.go",
			"Template ContainerMachinePoolMachineTemplate `json:\"template,omitempty,omitzero\"`", "Template ContainerMachinePoolMachineTemplate `json:\"machine,omitempty,omitzero\"`",
		}},
		{ID: "P18", Says: "Its spec cannot change.", Proof: Proof{
			webhookTests, "TestChanges/PoolTemplateSpec", "internal/webhooks/containermachinepooltemplate.go",
			"&before.Spec.Template.Spec, &after.Spec.Template.Spec,", "&after.Spec.Template.Spec, &after.Spec.Template.Spec,",
		}},
		{ID: "P19", Says: "Pools are not scaled from zero by what their template says.", Unproved: "Tells what an autoscaler does."},
		{ID: "P20", Says: "No instance is made before the Cluster's infrastructure is provisioned.", Proof: Proof{
			poolTests, "TestSituations/InfrastructureNotProvisioned", replicas, "if s.infrastructureProvisioned() || len(s.instances) > 0 {", "if s.infrastructureProvisioned() || true {",
		}},
	}
}
