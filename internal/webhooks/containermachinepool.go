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
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/internal/conversion"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
)

// +kubebuilder:webhook:verbs=create;update,path=/validate-infrastructure-cluster-x-k8s-io-v1beta2-containermachinepool,mutating=false,failurePolicy=fail,sideEffects=None,matchPolicy=Equivalent,groups=infrastructure.cluster.x-k8s.io,resources=containermachinepools,versions=v1beta2,name=validation.containermachinepool.infrastructure.cluster.x-k8s.io,admissionReviewVersions=v1

// Nothing of a pool is filled in, as with machines, and everything may change:
// its controller replaces instances that are not as is wanted now.
func containerMachinePool() kind[*infrav1.ContainerMachinePool] {
	return kind[*infrav1.ContainerMachinePool]{
		name: "ContainerMachinePool", object: &infrav1.ContainerMachinePool{},
		converter:      conversion.ContainerMachinePool().Converter,
		validate:       validateMachinePool,
		validateUpdate: func(*infrav1.ContainerMachinePool, *infrav1.ContainerMachinePool) field.ErrorList { return nil },
		warn: func(pool *infrav1.ContainerMachinePool) admission.Warnings {
			return warnImage(field.NewPath("spec", "template", "spec", "image"), pool.Spec.Template.Spec.Image)
		},
	}
}

func validateMachinePool(pool *infrav1.ContainerMachinePool) field.ErrorList {
	path := field.NewPath("spec")
	errs := validatePoolTemplate(path.Child("template"), pool.Spec.Template)
	for i, id := range pool.Spec.ProviderIDList {
		if _, err := identity.ParseProviderID(id); err != nil {
			errs = append(errs, field.Invalid(path.Child("providerIDList").Index(i), id,
				identity.ErrProviderID.Error()+"; omit the list, which the controller sets"))
		}
	}
	return errs
}

// validatePoolTemplate checks what the instances of pools are made from.
func validatePoolTemplate(path *field.Path, template infrav1.ContainerMachinePoolMachineTemplate) field.ErrorList {
	metadata := path.Child("metadata")
	errs := template.ObjectMeta.Validate(metadata)
	for _, recorded := range []string{
		infrav1.VersionAnnotation, infrav1.BootstrapDataSecretAnnotation, infrav1.BootstrapDataHashAnnotation, infrav1.FailureDomainAnnotation,
	} {
		if value, found := template.ObjectMeta.Annotations[recorded]; found {
			errs = append(errs, field.Invalid(metadata.Child("annotations").Key(recorded), value,
				"is reserved for the controller; remove it, and set the value in the MachinePool"))
		}
	}
	return append(errs, ValidateMachineSpec(path.Child("spec"), &template.Spec)...)
}

// +kubebuilder:webhook:verbs=create;update,path=/validate-infrastructure-cluster-x-k8s-io-v1beta2-containermachinepooltemplate,mutating=false,failurePolicy=fail,sideEffects=None,matchPolicy=Equivalent,groups=infrastructure.cluster.x-k8s.io,resources=containermachinepooltemplates,versions=v1beta2,name=validation.containermachinepooltemplate.infrastructure.cluster.x-k8s.io,admissionReviewVersions=v1

func containerMachinePoolTemplate() kind[*infrav1.ContainerMachinePoolTemplate] {
	return kind[*infrav1.ContainerMachinePoolTemplate]{
		name: "ContainerMachinePoolTemplate", object: &infrav1.ContainerMachinePoolTemplate{},
		converter: conversion.ContainerMachinePoolTemplate().Converter,
		validate:  validateMachinePoolTemplate, validateUpdate: validateMachinePoolTemplateUpdate, isTemplate: true,
		warn: func(template *infrav1.ContainerMachinePoolTemplate) admission.Warnings {
			return warnImage(field.NewPath("spec", "template", "spec", "template", "spec", "image"), template.Spec.Template.Spec.Template.Spec.Image)
		},
	}
}

func validateMachinePoolTemplate(template *infrav1.ContainerMachinePoolTemplate) field.ErrorList {
	path, resource := field.NewPath("spec", "template"), template.Spec.Template
	errs := resource.ObjectMeta.Validate(path.Child("metadata"))
	return append(errs, validatePoolTemplate(path.Child("spec", "template"), resource.Spec.Template)...)
}

func validateMachinePoolTemplateUpdate(before, after *infrav1.ContainerMachinePoolTemplate) field.ErrorList {
	return validateImmutable(field.NewPath("spec", "template", "spec"), &before.Spec.Template.Spec, &after.Spec.Template.Spec, templateIsImmutable)
}
