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

// Package webhooks validates templates.
package webhooks

import (
	"context"
	"fmt"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"sigs.k8s.io/cluster-api/util/topology"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/template/api/v1alpha1"
)

// +kubebuilder:webhook:verbs=update,path=/validate-infrastructure-cluster-x-k8s-io-v1alpha1-samplemachinetemplate,mutating=false,failurePolicy=fail,matchPolicy=Equivalent,groups=infrastructure.cluster.x-k8s.io,resources=samplemachinetemplates,versions=v1alpha1,name=validation.samplemachinetemplate.infrastructure.cluster.x-k8s.io,sideEffects=None,admissionReviewVersions=v1

// MachineTemplates refuses changes of the spec of a SampleMachineTemplate: machines that exist would not
// be changed.
type MachineTemplates struct{}

// SetupWithManager serves the webhook.
func (w *MachineTemplates) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewWebhookManagedBy(mgr, &infrav1.SampleMachineTemplate{}).WithValidator(w).Complete()
}

// ValidateCreate accepts all.
func (w *MachineTemplates) ValidateCreate(context.Context, *infrav1.SampleMachineTemplate) (admission.Warnings, error) {
	return nil, nil
}

// ValidateUpdate accepts changes only in a dry run of the topology controller, which compares templates
// this way.
func (w *MachineTemplates) ValidateUpdate(ctx context.Context, before, after *infrav1.SampleMachineTemplate) (admission.Warnings, error) {
	req, err := admission.RequestFromContext(ctx)
	if err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("get request: %v", err))
	}
	if topology.IsDryRunRequest(req, after) || reflect.DeepEqual(before.Spec.Template.Spec, after.Spec.Template.Spec) {
		return nil, nil
	}
	path := field.NewPath("spec", "template", "spec")
	return nil, apierrors.NewInvalid(infrav1.GroupVersion.WithKind("SampleMachineTemplate").GroupKind(), after.Name, field.ErrorList{
		field.Forbidden(path, "is immutable; create another template"),
	})
}

// ValidateDelete accepts all.
func (w *MachineTemplates) ValidateDelete(context.Context, *infrav1.SampleMachineTemplate) (admission.Warnings, error) {
	return nil, nil
}
