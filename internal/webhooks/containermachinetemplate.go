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
)

// +kubebuilder:webhook:verbs=create;update,path=/validate-infrastructure-cluster-x-k8s-io-v1beta2-containermachinetemplate,mutating=false,failurePolicy=fail,sideEffects=None,matchPolicy=Equivalent,groups=infrastructure.cluster.x-k8s.io,resources=containermachinetemplates,versions=v1beta2,name=validation.containermachinetemplate.infrastructure.cluster.x-k8s.io,admissionReviewVersions=v1

func containerMachineTemplate() kind[*infrav1.ContainerMachineTemplate] {
	return kind[*infrav1.ContainerMachineTemplate]{
		name: "ContainerMachineTemplate", object: &infrav1.ContainerMachineTemplate{},
		converter: conversion.ContainerMachineTemplate(),
		validate:  validateMachineTemplate, validateUpdate: validateMachineTemplateUpdate, isTemplate: true,
		warn: func(template *infrav1.ContainerMachineTemplate) admission.Warnings {
			return warnImage(field.NewPath("spec", "template", "spec", "image"), template.Spec.Template.Spec.Image)
		},
	}
}

func validateMachineTemplate(template *infrav1.ContainerMachineTemplate) field.ErrorList {
	path, resource := field.NewPath("spec", "template"), template.Spec.Template
	errs := resource.ObjectMeta.Validate(path.Child("metadata"))
	return append(errs, validateCommonSpec(path.Child("spec"), &resource.Spec)...)
}

func validateMachineTemplateUpdate(before, after *infrav1.ContainerMachineTemplate) field.ErrorList {
	return validateImmutable(field.NewPath("spec", "template", "spec"), &before.Spec.Template.Spec, &after.Spec.Template.Spec, templateIsImmutable)
}
