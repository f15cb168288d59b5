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

import (
	"slices"
	"strings"
)

// Level says how binding a rule is.
type Level string

// The words of the contract, and Code for what its text does not say and Cluster API's controllers
// need nevertheless.
const (
	Must   Level = "MUST"
	Should Level = "SHOULD"
	Code   Level = "CODE"
)

// Rule of the contract.
type Rule struct {
	ID    string
	Level Level
	// Page and Section of the contract's text.
	Page, Section string
	// Title is the requirement in one sentence.
	Title string
}

const contractURL = "https://cluster-api.sigs.k8s.io/developer/providers/contracts/"

// URL of the section.
func (r Rule) URL() string {
	anchor := strings.Map(func(c rune) rune {
		switch {
		case c == ' ':
			return '-'
		case c == '-' || c >= 'a' && c <= 'z' || c >= '0' && c <= '9':
			return c
		default:
			return -1
		}
	}, strings.ToLower(r.Section))
	return contractURL + r.Page + "#" + anchor
}

const (
	pageCluster = "infra-cluster"
	pageMachine = "infra-machine"
	pagePool    = "infra-machinepool"

	sectionScope       = "All resources: scope"
	sectionCluster     = "InfraCluster, InfraClusterList resource definition"
	sectionVersion     = "All resources: version"
	sectionGroup       = "All resources: API group"
	sectionEndpoint    = "InfraCluster: control plane endpoint"
	sectionDomains     = "InfraCluster: failure domains"
	sectionCompleted   = "InfraCluster: initialization completed"
	sectionConditions  = "InfraCluster: conditions"
	sectionFailures    = "InfraCluster: terminal failures"
	sectionExternal    = "Externally managed infrastructure"
	sectionNormal      = "Normal resource"
	sectionDeleted     = "Deleted resource"
	sectionPausing     = "InfraCluster: pausing"
	sectionClusterT    = "InfraClusterTemplate, InfraClusterTemplateList resource definition"
	sectionProviderID  = "InfraMachine: provider ID"
	sectionDomain      = "InfraMachine: failure domain"
	sectionAddresses   = "InfraMachine: addresses"
	sectionMCompleted  = "InfraMachine: initialization completed"
	sectionMConditions = "InfraMachine: conditions"
	sectionMPausing    = "InfraMachine: pausing"
	sectionTemplate    = "InfraMachineTemplate, InfraMachineTemplateList resource definition"
	sectionDryRun      = "InfraMachineTemplate: support for SSA dry run"
	sectionFromZero    = "InfraMachineTemplate: support cluster autoscaling from zero"
	sectionIDList      = "InfraMachinePool: providerIDList"
	sectionReplicas    = "InfraMachinePool: replicas"
	sectionPCompleted  = "InfraMachinePool: initialization completed"
	sectionMove        = "Move"
)

// Rules are those that the kit tests.
func Rules() []Rule {
	return slices.Concat(rulesOfKinds(), rulesOfClusters(), rulesOfMachines(), rulesOfTemplates(), rulesOfPools())
}

func rulesOfKinds() []Rule {
	return []Rule{
		{"C1", Must, pageCluster, sectionScope, "All kinds are namespaced."},
		{"C3", Must, pageCluster, sectionCluster, "Each kind has a list kind."},
		{"C4", Must, pageMachine, sectionTemplate, "A template kind is named after the kind created from it, with the suffix Template."},
		{"C5", Must, pageCluster, sectionCluster, "A CRD has the name that Cluster API derives from the kind."},
		{"C6", Must, pageCluster, sectionVersion, "A CRD is labeled with the contract, and with served versions that follow it."},
		{"C11", Must, pageCluster, sectionGroup, "In a group of its own, a ClusterRole for Cluster API's controllers is aggregated."},
		{"C12", Code, pageCluster, sectionGroup, "In a group of its own, the ClusterRole is aggregated for the kubeadm control plane too."},
		{"C16", Should, pageCluster, sectionConditions, "status.conditions is a list by type."},
		{"C18", Must, pageCluster, sectionFailures, "status has neither failureReason nor failureMessage."},
		{"C19", Must, pageCluster, sectionCompleted, "status.initialization.provisioned is a boolean."},
		{"C20", Should, pageMachine, sectionTemplate, "spec.template.metadata of templates has labels and annotations."},
	}
}

func rulesOfClusters() []Rule {
	return []Rule{
		{"IC1", Must, pageCluster, sectionEndpoint, "spec.controlPlaneEndpoint is complete when the cluster is provisioned."},
		{"IC2", Code, pageCluster, sectionEndpoint, "The endpoint never changes: Cluster API reads it once."},
		{"IC6", Must, pageCluster, sectionDomains, "status.failureDomains is a list by name, which the Cluster gets."},
		{"IC7", Must, pageCluster, sectionCompleted, "status.initialization.provisioned becomes true, and the Cluster's infrastructure is provisioned."},
		{"IC7b", Code, pageCluster, sectionCompleted, "It stays true."},
		{"IC8", Code, pageCluster, sectionNormal, "A finalizer keeps an object that has infrastructure."},
		{"IC9", Should, pageCluster, sectionConditions, "Condition Ready is True when the cluster is provisioned, with a reason."},
		{"IC10", Should, pageCluster, sectionExternal, "An externally managed object is not written, neither finalizers nor status."},
		{"IC11", Code, pageCluster, sectionExternal, "Machines of an externally managed cluster are provisioned."},
		{"IC13", Should, pageCluster, sectionPausing, "Condition Paused of a cluster follows the Cluster's spec.paused."},
		{"IC14", Must, pageCluster, sectionNormal, "Nothing is done before the Cluster's owner reference is set."},
		{"IC15", Must, pageCluster, sectionDeleted, "A deleted object goes, and its infrastructure goes before it."},
		{"O6a", Should, pageCluster, sectionNormal, "A removed finalizer of a cluster is restored."},
		{"O6b", Should, pageCluster, sectionNormal, "Nothing is written without a change."},
		{"M4a", Code, "clusterctl", sectionMove, "A cluster that was moved is provisioned again, with the same endpoint."},
		{"M5a", Code, "clusterctl", sectionMove, "Deletion of a paused cluster is not handled."},
	}
}

func rulesOfMachines() []Rule {
	return []Rule{
		{"IM1", Must, pageMachine, sectionProviderID, "spec.providerID is a string, which the Machine gets."},
		{"IM1b", Must, pageMachine, sectionProviderID, "It is unique."},
		{"IM2", Code, pageMachine, sectionProviderID, "It is there when the machine is provisioned."},
		{"IM3", Must, pageMachine, sectionMCompleted, "status.initialization.provisioned becomes true, and the Machine's infrastructure is provisioned."},
		{"IM3b", Code, pageMachine, sectionMCompleted, "It stays true."},
		{"IM4", Should, pageMachine, sectionAddresses, "status.addresses has types that Cluster API knows, and the Machine gets them."},
		{"IM6", Must, pageMachine, sectionDomain, "A machine is in the failure domain of its Machine."},
		{"IM7", Code, pageMachine, sectionDomain, "There is no spec.failureDomain: it would override the Machine's."},
		{"IM8", Should, pageMachine, sectionMConditions, "Condition Ready is True when the machine is provisioned, with a reason."},
		{"IM9", Code, pageMachine, sectionNormal, "A finalizer keeps an object that has infrastructure."},
		{"IM12a", Must, pageMachine, sectionNormal, "A machine waits for the Cluster's infrastructure."},
		{"IM12b", Must, pageMachine, sectionNormal, "A machine waits for its bootstrap data."},
		{"IM12c", Must, pageMachine, sectionDeleted, "Deletion waits for neither."},
		{"IM13", Code, pageMachine, sectionNormal, "The finalizer comes after the Machine's owner reference."},
		{"IM15", Must, pageMachine, sectionDeleted, "A deleted object goes, and its infrastructure goes before it."},
		{"IM15b", Must, pageMachine, sectionDeleted, "It goes if its infrastructure is already gone."},
		{"IM20", Should, pageMachine, sectionMPausing, "Condition Paused of a machine follows the Cluster's spec.paused."},
		{"IM20b", Should, pageMachine, sectionMPausing, "It follows the annotation of the machine, too."},
		{"O6c", Should, pageMachine, sectionNormal, "A removed finalizer of a machine is restored."},
		{"M4b", Code, "clusterctl", sectionMove, "A machine that was moved is provisioned again, with the same provider ID."},
		{"M4c", Code, "clusterctl", sectionMove, "Its infrastructure stays, and that of the cluster."},
		{"M5b", Code, "clusterctl", sectionMove, "Deletion of a paused machine is not handled."},
	}
}

func rulesOfTemplates() []Rule {
	return []Rule{
		{"ICT1", Must, pageCluster, sectionClusterT, "A cluster can be created from the template."},
		{"IMT1", Must, pageMachine, sectionTemplate, "A MachineDeployment creates machines from the template."},
		{"IMT2a", Should, pageMachine, sectionDryRun, "A change of a template's spec is refused."},
		{"IMT2b", Must, pageMachine, sectionDryRun, "It is allowed in a dry run of the topology controller."},
		{"IMT3", Code, pageMachine, sectionDryRun, "Immutability is not in the schema, which does not know of dry runs."},
		{"IMT4", Code, pageMachine, sectionDryRun, "Applying a template again changes nothing."},
		{"IMT5", Must, pageMachine, sectionFromZero, "status.capacity is in a status subresource."},
		{"IMT7", Code, pageMachine, sectionTemplate, "Templates have no finalizers: they would block the deletion of a Cluster."},
		{"IMT8", Code, pageMachine, sectionDryRun, "A machine has the same defaults as its template."},
	}
}

func rulesOfPools() []Rule {
	return []Rule{
		{"P1", Must, pagePool, sectionIDList, "spec.providerIDList has the provider ID of each instance."},
		{"P3", Must, pagePool, sectionReplicas, "status.replicas is their number."},
		{"P4", Must, pagePool, sectionPCompleted, "status.initialization.provisioned becomes true."},
		{"P5", Code, pagePool, sectionPCompleted, "status.ready too, which Cluster API reads instead."},
		{"P9", Code, pagePool, "MachinePoolMachines support", "Pools and machines have the same API version."},
	}
}
