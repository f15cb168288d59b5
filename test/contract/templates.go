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

// templates are the rules for the templates of clusters and machines.
func templates() []Rule {
	const admission = "internal/webhooks/containerclustertemplate.go"
	return []Rule{
		{ID: "ICT1", Says: "A ClusterClass makes clusters from a template, which has nothing that is one cluster's alone.", Proof: Proof{
			contractTests, "TestTemplatesMakeTheirKind/ContainerCluster", "api/v1alpha1/containerclustertemplate_types.go",
			"Network Network `json:\"network,omitempty,omitzero\"`", "Network Network `json:\"net,omitempty,omitzero\"`",
		}},
		{ID: "ICT2", Says: "Its spec cannot change.", Proof: Proof{
			webhookTests, "TestChanges/ClusterTemplateSpec", admission, "&before.Spec.Template.Spec, &after.Spec.Template.Spec,", "&after.Spec.Template.Spec, &after.Spec.Template.Spec,",
		}},
		{ID: "ICT2", Says: "A cluster follows what a ClusterClass can change of it.", Proof: Proof{
			webhookTests, "TestChanges/LoadBalancerImage", "internal/webhooks/containercluster.go",
			`errs = append(errs, pinned(balancer.Child("type"),`,
			`errs = append(errs, pinned(balancer.Child("image"), before.Spec.LoadBalancer.Image, after.Spec.LoadBalancer.Image, "")...)` + "\n	" +
				`errs = append(errs, pinned(balancer.Child("type"),`,
		}},
		{ID: "ICT3", Says: "A template may be refused where ClusterClasses are off.", Unproved: "Optional, and the gate is another manager's."},
		{ID: "IMT1", Says: "Control planes and MachineDeployments make machines from a template.", Proof: Proof{
			contractTests, "TestTemplatesMakeTheirKind/ContainerMachine", "api/v1alpha1/containermachinetemplate_types.go",
			"Spec ContainerMachineCommonSpec `json:\"spec,omitempty,omitzero\"`", "Spec ContainerMachineCommonSpec `json:\"machine,omitempty,omitzero\"`",
		}},
		{ID: "IMT2", Says: "Its spec cannot change.", Proof: Proof{
			webhookTests, "TestChanges/MachineTemplateSpec", "internal/webhooks/containermachinetemplate.go",
			"&before.Spec.Template.Spec, &after.Spec.Template.Spec,", "&after.Spec.Template.Spec, &after.Spec.Template.Spec,",
		}},
		{ID: "IMT2", Says: "But the topology controller may ask in a dry run what it would become.", Proof: Proof{
			webhookTests, "TestChanges/MachineTemplateDryRun", "internal/webhooks/kind.go", "return topology.IsDryRunRequest(request, after), nil", "return topology.IsDryRunRequest(request, after) && false, nil",
		}},
		{ID: "IMT3", Says: "The schema has no rule about it, which could not know who asks.", Proof: Proof{
			contractTests, "TestTemplatesAreNotImmutableBySchema", templatesCRD,
			"            description: spec is the template.\n", "            description: spec is the template.\n            x-kubernetes-validations:\n            - rule: self == oldSelf\n",
		}},
		{ID: "IMT4", Says: "What is applied twice is the same: nothing is filled in differently, or lost.", Proof: Proof{
			contractTests, "TestEmptyFieldsAreAbsent/ContainerMachineTemplate", "api/v1alpha1/containermachinetemplate_types.go",
			"Spec ContainerMachineTemplateSpec `json:\"spec,omitempty,omitzero\"`", "Spec ContainerMachineTemplateSpec `json:\"spec\"`",
		}},
		{ID: "IMT5", Says: "status.capacity says what an autoscaler may expect of a node.", Proof: Proof{
			"controllers/machinetemplate", "TestReconcile/new", "controllers/machinetemplate/reconciler.go", "status.Capacity = capacity", "_ = capacity",
		}},
		{ID: "IMT6", Says: "status.nodeInfo says its architecture and operating system.", Proof: Proof{
			"controllers/machinetemplate", "TestReconcile/new", "controllers/machinetemplate/reconciler.go", "status.NodeInfo.Architecture = architecture", "_ = architecture",
		}},
		{ID: "IMT7", Says: "Templates have no finalizers: they would keep a Cluster from going. The manager may write no more than their status.", Proof: Proof{
			repositoryTests, "TestRoleOfTheManager", "config/rbac/role.yaml", "  - containermachines\n  verbs:\n  - create\n", "  - containermachines\n  - containermachinetemplates\n  verbs:\n  - create\n",
		}},
		{ID: "IMT8", Says: "What is filled in of an object is filled in of its template.", Proof: Proof{
			webhookTests, "TestDefaults/Empty", admission, "spec.LoadBalancer.Type = infrav1.LoadBalancerHAProxy", "spec.LoadBalancer.Type = infrav1.LoadBalancerNone",
		}},
	}
}
