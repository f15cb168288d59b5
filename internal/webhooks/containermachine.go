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
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/internal/conversion"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/inplace"
)

// +kubebuilder:webhook:verbs=create;update,path=/validate-infrastructure-cluster-x-k8s-io-v1beta2-containermachine,mutating=false,failurePolicy=fail,sideEffects=None,matchPolicy=Equivalent,groups=infrastructure.cluster.x-k8s.io,resources=containermachines,versions=v1beta2,name=validation.containermachine.infrastructure.cluster.x-k8s.io,admissionReviewVersions=v1

// Nothing of a machine is filled in: its image follows the Machine's version,
// and what a template leaves out must be absent from the machine as well.
func containerMachine() kind[*infrav1.ContainerMachine] {
	return kind[*infrav1.ContainerMachine]{
		name: "ContainerMachine", object: &infrav1.ContainerMachine{},
		converter: conversion.ContainerMachine().Converter,
		validate:  validateMachine, validateUpdate: validateMachineUpdate, accepts: acceptInPlace,
		warn: func(machine *infrav1.ContainerMachine) admission.Warnings {
			return warnImage(field.NewPath("spec", "image"), machine.Spec.Image)
		},
	}
}

func validateMachine(machine *infrav1.ContainerMachine) field.ErrorList {
	path := field.NewPath("spec")
	errs := ValidateMachineSpec(path, &machine.Spec.ContainerMachineCommonSpec)
	if id := machine.Spec.ProviderID; id != "" {
		if _, err := identity.ParseProviderID(id); err != nil {
			errs = append(errs, field.Invalid(path.Child("providerID"), id,
				identity.ErrProviderID.Error()+"; omit it, unless it is the provider ID of a container to adopt"))
		}
	}
	if record := machine.Spec.Bootstrap; ptr.Deref(record.Recreating, false) && record.Attempt == 0 {
		errs = append(errs, field.Invalid(path.Child("bootstrap", "recreating"), true,
			"requires the attempt that the container is recreated for; omit it, the provider sets it"))
	}
	return errs
}

// ValidateMachineSpec checks what machines, templates and pools have in common.
func ValidateMachineSpec(path *field.Path, spec *infrav1.ContainerMachineCommonSpec) field.ErrorList {
	errs := validateImage(path.Child("image"), spec.Image)
	errs = append(errs, validateMounts(path, spec)...)
	errs = append(errs, validateResources(path.Child("resources"), spec.Resources)...)
	errs = append(errs, validatePorts(path.Child("portMappings"), spec.PortMappings)...)
	errs = append(errs, validateEnvironment(path.Child("environment"), spec.Environment)...)
	errs = append(errs, validateLabels(path.Child("labels"), spec.Labels)...)
	errs = append(errs, validateDevices(path.Child("devices"), spec.Devices)...)
	errs = append(errs, validateDNSSearch(path.Child("dnsSearch"), spec.DNSSearch)...)
	if timeout := spec.BootstrapTimeout; timeout != nil && timeout.Duration <= 0 {
		errs = append(errs, field.Invalid(path.Child("bootstrapTimeout"), timeout.Duration.String(),
			"must be greater than 0; omit it, or use a duration such as 10m"))
	}
	return errs
}

// validateMachineUpdate: the container, and the node in it, are created once. For other
// values the Machine is replaced.
func validateMachineUpdate(before, after *infrav1.ContainerMachine) field.ErrorList {
	path := field.NewPath("spec")
	errs := validateUnchangedOnceSet(path.Child("providerID"), before.Spec.ProviderID, after.Spec.ProviderID,
		"it is the provider ID of the Node and identifies the container; restore the value")
	if ptr.Deref(before.Spec.Bootstrap.Completed, false) && !ptr.Deref(after.Spec.Bootstrap.Completed, false) {
		errs = append(errs, field.Invalid(path.Child("bootstrap", "completed"), false,
			"is immutable once true: a missing container would be bootstrapped again; restore the value"))
	}
	return append(errs, validateImmutable(path, before.Spec.Immutable(), after.Spec.Immutable(),
		"field is immutable; roll out a new template with this value")...)
}

// acceptInPlace returns the machine before an update with the values after it of the fields that a running container
// can get.
func acceptInPlace(before, after *infrav1.ContainerMachine) *infrav1.ContainerMachine {
	accepted := before.DeepCopy()
	inplace.Accept(&accepted.Spec.ContainerMachineCommonSpec, &after.Spec.ContainerMachineCommonSpec)
	return accepted
}

// +kubebuilder:webhook:verbs=create;update,path=/validate-infrastructure-cluster-x-k8s-io-v1beta2-containermachinetemplate,mutating=false,failurePolicy=fail,sideEffects=None,matchPolicy=Equivalent,groups=infrastructure.cluster.x-k8s.io,resources=containermachinetemplates,versions=v1beta2,name=validation.containermachinetemplate.infrastructure.cluster.x-k8s.io,admissionReviewVersions=v1

func containerMachineTemplate() kind[*infrav1.ContainerMachineTemplate] {
	return kind[*infrav1.ContainerMachineTemplate]{
		name: "ContainerMachineTemplate", object: &infrav1.ContainerMachineTemplate{},
		converter: conversion.ContainerMachineTemplate().Converter,
		validate:  validateMachineTemplate, validateUpdate: validateMachineTemplateUpdate, isTemplate: true,
		warn: func(template *infrav1.ContainerMachineTemplate) admission.Warnings {
			return warnImage(field.NewPath("spec", "template", "spec", "image"), template.Spec.Template.Spec.Image)
		},
	}
}

func validateMachineTemplate(template *infrav1.ContainerMachineTemplate) field.ErrorList {
	path, resource := field.NewPath("spec", "template"), template.Spec.Template
	errs := resource.ObjectMeta.Validate(path.Child("metadata"))
	return append(errs, ValidateMachineSpec(path.Child("spec"), &resource.Spec)...)
}

func validateMachineTemplateUpdate(before, after *infrav1.ContainerMachineTemplate) field.ErrorList {
	return validateImmutable(field.NewPath("spec", "template", "spec"), &before.Spec.Template.Spec, &after.Spec.Template.Spec, templateIsImmutable)
}
