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

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/internal/conversion"
)

// +kubebuilder:webhook:verbs=create;update,path=/mutate-infrastructure-cluster-x-k8s-io-v1beta2-containerclustertemplate,mutating=true,failurePolicy=fail,sideEffects=None,matchPolicy=Equivalent,groups=infrastructure.cluster.x-k8s.io,resources=containerclustertemplates,versions=v1beta2,name=default.containerclustertemplate.infrastructure.cluster.x-k8s.io,admissionReviewVersions=v1
// +kubebuilder:webhook:verbs=create;update,path=/validate-infrastructure-cluster-x-k8s-io-v1beta2-containerclustertemplate,mutating=false,failurePolicy=fail,sideEffects=None,matchPolicy=Equivalent,groups=infrastructure.cluster.x-k8s.io,resources=containerclustertemplates,versions=v1beta2,name=validation.containerclustertemplate.infrastructure.cluster.x-k8s.io,admissionReviewVersions=v1

func containerClusterTemplate() kind[*infrav1.ContainerClusterTemplate] {
	return kind[*infrav1.ContainerClusterTemplate]{
		name: "ContainerClusterTemplate", object: &infrav1.ContainerClusterTemplate{},
		converter:   conversion.ContainerClusterTemplate(),
		setDefaults: defaultClusterTemplate, validate: validateClusterTemplate, validateUpdate: validateClusterTemplateUpdate, isTemplate: true,
	}
}

// defaultClusterTemplate fills in what defaultCluster would: a cluster is then what
// its template says.
func defaultClusterTemplate(template *infrav1.ContainerClusterTemplate) {
	spec := &template.Spec.Template.Spec
	defaultNetwork(&spec.Network)
	if spec.LoadBalancer.Type == "" {
		spec.LoadBalancer.Type = infrav1.LoadBalancerHAProxy
	}
}

func validateClusterTemplate(template *infrav1.ContainerClusterTemplate) field.ErrorList {
	path, resource := field.NewPath("spec", "template"), template.Spec.Template
	metadata, spec := path.Child("metadata"), path.Child("spec")
	errs := resource.ObjectMeta.Validate(metadata)
	errs = append(errs, validateNetwork(spec.Child("network"), resource.Spec.Network)...)
	errs = append(errs, validateLoadBalancer(spec.Child("loadBalancer"), infrav1.LoadBalancer{
		Type: resource.Spec.LoadBalancer.Type, Image: resource.Spec.LoadBalancer.Image,
		AdditionalPorts: resource.Spec.LoadBalancer.AdditionalPorts,
	}, 0)...)
	errs = append(errs, validateRegistries(spec.Child("registries"), resource.Spec.Registries)...)
	errs = append(errs, validateLimits(spec.Child("limits"), resource.Spec.Limits)...)
	errs = append(errs, validateImages(spec.Child("images"), resource.Spec.Images)...)
	return append(errs, validateFailureDomains(spec.Child("failureDomains"), resource.Spec.FailureDomains)...)
}

func validateClusterTemplateUpdate(before, after *infrav1.ContainerClusterTemplate) field.ErrorList {
	before = before.DeepCopy()
	defaultClusterTemplate(before)
	return validateImmutable(field.NewPath("spec", "template", "spec"), &before.Spec.Template.Spec, &after.Spec.Template.Spec, templateIsImmutable)
}
