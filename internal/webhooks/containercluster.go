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

package webhooks

import (
	"cmp"
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/internal/conversion"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
)

// +kubebuilder:webhook:verbs=create;update,path=/mutate-infrastructure-cluster-x-k8s-io-v1beta2-containercluster,mutating=true,failurePolicy=fail,sideEffects=None,matchPolicy=Equivalent,groups=infrastructure.cluster.x-k8s.io,resources=containerclusters,versions=v1beta2,name=default.containercluster.infrastructure.cluster.x-k8s.io,admissionReviewVersions=v1
// +kubebuilder:webhook:verbs=create;update,path=/validate-infrastructure-cluster-x-k8s-io-v1beta2-containercluster,mutating=false,failurePolicy=fail,sideEffects=NoneOnDryRun,matchPolicy=Equivalent,groups=infrastructure.cluster.x-k8s.io,resources=containerclusters,versions=v1beta2,name=validation.containercluster.infrastructure.cluster.x-k8s.io,admissionReviewVersions=v1

func containerCluster(moving Moving, rules ...ClusterRule) kind[*infrav1.ContainerCluster] {
	return kind[*infrav1.ContainerCluster]{
		name: "ContainerCluster", object: &infrav1.ContainerCluster{},
		converter:   conversion.ContainerCluster().Converter,
		setDefaults: defaultCluster, validateUpdate: validateClusterUpdate, warn: warnCluster,
		validate: func(cluster *infrav1.ContainerCluster) field.ErrorList {
			errs := validateCluster(cluster)
			for _, rule := range rules {
				errs = rule(cluster, errs)
			}
			return errs
		},
		moving: moving,
	}
}

// defaultCluster fills in what a cluster keeps for life. Endpoint, host port and
// image are the controller's, and so is the network: the Cluster decides which one it is by its
// IP families. A cluster that began without a name for it is on the only one there was.
func defaultCluster(cluster *infrav1.ContainerCluster) {
	if cluster.Spec.Network.Name == "" && hasStarted(cluster) {
		cluster.Spec.Network.Name = network.DefaultName
	}
	if cluster.Spec.LoadBalancer.Type == "" {
		cluster.Spec.LoadBalancer.Type = infrav1.LoadBalancerHAProxy
	}
}

func validateCluster(cluster *infrav1.ContainerCluster) field.ErrorList {
	spec := field.NewPath("spec")
	errs := validateNetwork(spec.Child("network"), cluster.Spec.Network)
	errs = append(errs, validateLoadBalancer(spec.Child("loadBalancer"), cluster.Spec.LoadBalancer, cluster.Spec.ControlPlaneEndpoint.Port)...)
	errs = append(errs, validateEngineName(spec.Child("engineName"), cluster.Spec.EngineName)...)
	errs = append(errs, validateEngineChoice(spec, cluster.Spec.EngineSelector, cluster.Spec.EngineReservation)...)
	errs = append(errs, validateSeveralEngines(spec, severalOf(cluster.Spec))...)
	errs = append(errs, validateEndpoint(spec.Child("controlPlaneEndpoint"), cluster.Spec)...)
	errs = append(errs, validateRoleResources(spec.Child("resources"), cluster.Spec.Resources)...)
	errs = append(errs, validateRegistries(spec.Child("registries"), cluster.Spec.Registries)...)
	errs = append(errs, validateLimits(spec.Child("limits"), cluster.Spec.Limits)...)
	errs = append(errs, validateImages(spec.Child("images"), cluster.Spec.Images)...)
	return append(errs, validateFailureDomains(spec.Child("failureDomains"), cluster.Spec.FailureDomains)...)
}

// validateClusterUpdate pins what machines, certificates and kubeconfigs rely on.
// Endpoint and host port may come later than the rest: the controller sets
// them once it has them.
func validateClusterUpdate(before, after *infrav1.ContainerCluster) field.ErrorList {
	const (
		kubeconfigs = "kubeconfigs contain it; restore the value, or create another cluster"
		containers  = "containers of the cluster have addresses on this network; restore the value, or create another cluster"
	)
	// One from before there were webhooks.
	before = before.DeepCopy()
	defaultCluster(before)
	spec := field.NewPath("spec")
	endpoint, balancer, ofNetwork := spec.Child("controlPlaneEndpoint"), spec.Child("loadBalancer"), spec.Child("network")
	errs := validateUnchangedOnceSet(endpoint.Child("host"), before.Spec.ControlPlaneEndpoint.Host, after.Spec.ControlPlaneEndpoint.Host,
		"certificates and "+kubeconfigs)
	errs = append(errs, validateUnchangedOnceSet(endpoint.Child("port"), before.Spec.ControlPlaneEndpoint.Port, after.Spec.ControlPlaneEndpoint.Port, kubeconfigs)...)
	errs = append(errs, validateUnchangedOnceSet(balancer.Child("hostPort"), before.Spec.LoadBalancer.HostPort, after.Spec.LoadBalancer.HostPort, kubeconfigs)...)
	errs = append(errs, validateUnchangedOnceSet(balancer.Child("hostAddress"), published(before.Spec),
		cmp.Or(after.Spec.LoadBalancer.HostAddress, infrav1.DefaultPortAddress), kubeconfigs)...)
	errs = append(errs, validateUnchangedOnceSet(balancer.Child("type"), before.Spec.LoadBalancer.Type, after.Spec.LoadBalancer.Type,
		"it decides who serves the endpoint; restore the value, or create another cluster")...)
	if before.Spec.Storage.Type == infrav1.StorageCluster {
		errs = append(errs, validateUnchangedOnceSet(spec.Child("storage", "type"), before.Spec.Storage.Type, after.Spec.Storage.Type,
			"PersistentVolumes of the cluster have their data in its volume; restore the value, or create another cluster")...)
	}
	// An engine is recorded before anything is created there.
	if _, recorded := before.Annotations[infrav1.EngineAnnotation]; (recorded || hasStarted(before)) &&
		len(after.Spec.EngineNames) == 0 && before.Spec.EngineName != after.Spec.EngineName {
		errs = append(errs, field.Invalid(spec.Child("engineName"), after.Spec.EngineName, fmt.Sprintf(
			"is immutable once the cluster may have containers (%q): they are on that engine; restore the value, or create another cluster", before.Spec.EngineName)))
	}
	if before.Spec.OwnerID != "" && (len(before.Spec.EngineNames) == 0) != (len(after.Spec.EngineNames) == 0) {
		errs = append(errs, field.Invalid(spec.Child("engineNames"), after.Spec.EngineNames,
			"a cluster over several engines does not become one on a single engine, nor the other way round; restore the value, or create another cluster"))
	}
	if hasStarted(before) {
		errs = append(errs, validateUnchangedOnceSet(ofNetwork.Child("name"), before.Spec.Network.Name, after.Spec.Network.Name, containers)...)
		if before.Spec.Network.Subnet != after.Spec.Network.Subnet {
			errs = append(errs, field.Invalid(ofNetwork.Child("subnet"), after.Spec.Network.Subnet,
				"is immutable once the network is in use: "+containers))
		}
	}
	return append(errs, validateOwnershipUpdate(before, after)...)
}

// published is the address of the host port; empty while it can be chosen. On the engine of an object, the controller sets it
// with the endpoint, also for a host port that was requested.
func published(spec infrav1.ContainerClusterSpec) string {
	if spec.LoadBalancer.HostPort == 0 || spec.ControlPlaneEndpoint.Host == "" {
		return spec.LoadBalancer.HostAddress
	}
	return cmp.Or(spec.LoadBalancer.HostAddress, infrav1.DefaultPortAddress)
}

// hasStarted reports whether containers may be on the cluster's network. Until
// then, one that turned out to be unusable can be exchanged. Host port: a
// cluster that was moved or restored has no status yet.
func hasStarted(cluster *infrav1.ContainerCluster) bool {
	return ptr.Deref(cluster.Status.Initialization.Provisioned, false) || cluster.Spec.LoadBalancer.HostPort != 0
}

// validateOwnershipUpdate pins what says who owns the containers and who reconciles the
// object. clusterctl removes all annotations of an object that it has moved, just
// before it deletes it.
func validateOwnershipUpdate(before, after *infrav1.ContainerCluster) field.ErrorList {
	if _, moved := after.Annotations[clusterctlv1.DeleteForMoveAnnotation]; moved {
		return nil
	}
	annotations := field.NewPath("metadata", "annotations")
	errs := validateUnchangedOnceSet(field.NewPath("spec", "ownerID"), before.Spec.OwnerID, after.Spec.OwnerID,
		"containers of the cluster have it as a label and would be orphaned; restore the value")
	_, managedBefore := before.Annotations[clusterv1.ManagedByAnnotation]
	manager, managedAfter := after.Annotations[clusterv1.ManagedByAnnotation]
	if managedBefore && !managedAfter {
		errs = append(errs, field.Required(annotations.Key(clusterv1.ManagedByAnnotation),
			"must not be removed: this provider would recreate externally managed infrastructure; restore it"))
	}
	// Either comes before anything on the engine.
	taken := controllerutil.ContainsFinalizer(before, infrav1.ClusterFinalizer) || before.Spec.OwnerID != ""
	if !managedBefore && managedAfter && taken {
		errs = append(errs, field.Invalid(annotations.Key(clusterv1.ManagedByAnnotation), manager,
			"must be set on creation: this provider already manages the cluster, whose network, load balancer and finalizer would be orphaned; "+
				"remove the annotation, or create another cluster with it"))
	}
	return errs
}

func warnCluster(cluster *infrav1.ContainerCluster) admission.Warnings {
	if cluster.Spec.LoadBalancer.Type == infrav1.LoadBalancerNone && cluster.Spec.ControlPlaneEndpoint.Host == "" {
		return admission.Warnings{"spec.loadBalancer.type is None and spec.controlPlaneEndpoint is not set: " +
			"provisioning waits until it is set here or in the Cluster"}
	}
	return nil
}

// +kubebuilder:webhook:verbs=create;update,path=/mutate-infrastructure-cluster-x-k8s-io-v1beta2-containerclustertemplate,mutating=true,failurePolicy=fail,sideEffects=None,matchPolicy=Equivalent,groups=infrastructure.cluster.x-k8s.io,resources=containerclustertemplates,versions=v1beta2,name=default.containerclustertemplate.infrastructure.cluster.x-k8s.io,admissionReviewVersions=v1
// +kubebuilder:webhook:verbs=create;update,path=/validate-infrastructure-cluster-x-k8s-io-v1beta2-containerclustertemplate,mutating=false,failurePolicy=fail,sideEffects=None,matchPolicy=Equivalent,groups=infrastructure.cluster.x-k8s.io,resources=containerclustertemplates,versions=v1beta2,name=validation.containerclustertemplate.infrastructure.cluster.x-k8s.io,admissionReviewVersions=v1

func containerClusterTemplate() kind[*infrav1.ContainerClusterTemplate] {
	return kind[*infrav1.ContainerClusterTemplate]{
		name: "ContainerClusterTemplate", object: &infrav1.ContainerClusterTemplate{},
		converter:   conversion.ContainerClusterTemplate().Converter,
		setDefaults: defaultClusterTemplate, validate: validateClusterTemplate, validateUpdate: validateClusterTemplateUpdate, isTemplate: true,
	}
}

// defaultClusterTemplate fills in what defaultCluster would: a cluster is then what
// its template says.
func defaultClusterTemplate(template *infrav1.ContainerClusterTemplate) {
	spec := &template.Spec.Template.Spec
	if spec.LoadBalancer.Type == "" {
		spec.LoadBalancer.Type = infrav1.LoadBalancerHAProxy
	}
}

func validateClusterTemplate(template *infrav1.ContainerClusterTemplate) field.ErrorList {
	path, resource := field.NewPath("spec", "template"), template.Spec.Template
	errs := resource.ObjectMeta.Validate(path.Child("metadata"))
	return append(errs, ValidateClusterSpec(path.Child("spec"), &resource.Spec)...)
}

// ValidateClusterSpec checks the clusters of a template.
func ValidateClusterSpec(path *field.Path, spec *infrav1.ContainerClusterTemplateResourceSpec) field.ErrorList {
	errs := validateNetwork(path.Child("network"), spec.Network)
	errs = append(errs, validateEngineName(path.Child("engineName"), spec.EngineName)...)
	errs = append(errs, validateEngineChoice(path, spec.EngineSelector, spec.EngineReservation)...)
	errs = append(errs, validateSeveralEngines(path, several{
		names: spec.EngineNames, home: spec.EngineName, selected: spec.EngineSelector != nil, network: spec.Network, storage: spec.Storage.Type,
		services: spec.ServiceLoadBalancer.Type, publishes: spec.LoadBalancer.HostPort != 0 || spec.LoadBalancer.HostAddress != "" || len(spec.LoadBalancer.PortMappings) > 0,
		domains: len(spec.FailureDomains),
	})...)
	errs = append(errs, validateLoadBalancer(path.Child("loadBalancer"), infrav1.LoadBalancer{
		Type: spec.LoadBalancer.Type, Image: spec.LoadBalancer.Image,
		HostPort: spec.LoadBalancer.HostPort, HostAddress: spec.LoadBalancer.HostAddress,
		AdditionalPorts: spec.LoadBalancer.AdditionalPorts, PortMappings: spec.LoadBalancer.PortMappings,
	}, 0)...)
	errs = append(errs, validateRoleResources(path.Child("resources"), spec.Resources)...)
	errs = append(errs, validateRegistries(path.Child("registries"), spec.Registries)...)
	errs = append(errs, validateLimits(path.Child("limits"), spec.Limits)...)
	errs = append(errs, validateImages(path.Child("images"), spec.Images)...)
	return append(errs, validateFailureDomains(path.Child("failureDomains"), spec.FailureDomains)...)
}

func validateClusterTemplateUpdate(before, after *infrav1.ContainerClusterTemplate) field.ErrorList {
	before, after = before.DeepCopy(), after.DeepCopy()
	defaultClusterTemplate(before)
	// Earlier releases filled it in, so that an unchanged manifest has another one.
	if was, is := before.Spec.Template.Spec.Network.Name, &after.Spec.Template.Spec.Network.Name; was == network.DefaultName {
		*is = cmp.Or(*is, was)
	}
	return validateImmutable(field.NewPath("spec", "template", "spec"), &before.Spec.Template.Spec, &after.Spec.Template.Spec, templateIsImmutable)
}
