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
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1alpha1"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
)

// +kubebuilder:webhook:verbs=create;update,path=/validate-infrastructure-cluster-x-k8s-io-v1alpha1-containermachine,mutating=false,failurePolicy=fail,sideEffects=None,matchPolicy=Equivalent,groups=infrastructure.cluster.x-k8s.io,resources=containermachines,versions=v1alpha1,name=validation.containermachine.infrastructure.cluster.x-k8s.io,admissionReviewVersions=v1

// Nothing of a machine is filled in: its image follows the Machine's version,
// and what a template leaves out must be absent from the machine as well.
func containerMachine() kind[*infrav1.ContainerMachine] {
	return kind[*infrav1.ContainerMachine]{
		name: "ContainerMachine", object: &infrav1.ContainerMachine{},
		check: checkMachine, compare: compareMachines,
		warn: func(machine *infrav1.ContainerMachine) admission.Warnings {
			return warnOfImage(field.NewPath("spec", "image"), machine.Spec.Image)
		},
	}
}

func checkMachine(machine *infrav1.ContainerMachine) field.ErrorList {
	path := field.NewPath("spec")
	errs := checkMachineSpec(path, machine.Spec)
	if id := machine.Spec.ProviderID; id != "" {
		if _, err := identity.ParseProviderID(id); err != nil {
			errs = append(errs, field.Invalid(path.Child("providerID"), id,
				identity.ErrProviderID.Error()+"; leave it out unless it names a container to take over"))
		}
	}
	return errs
}

// checkMachineSpec checks what a machine and its template have in common.
func checkMachineSpec(path *field.Path, spec infrav1.ContainerMachineSpec) field.ErrorList {
	errs := checkImage(path.Child("image"), spec.Image)
	errs = append(errs, checkMounts(path.Child("extraMounts"), spec.ExtraMounts)...)
	if timeout := spec.BootstrapTimeout; timeout != nil && timeout.Duration <= 0 {
		errs = append(errs, field.Invalid(path.Child("bootstrapTimeout"), timeout.Duration.String(),
			"must be longer than nothing; leave it out, or give a duration such as 10m"))
	}
	return errs
}

// compareMachines: a container has its image and mounts from when it was made,
// and with it goes the node. Another machine is made for others.
func compareMachines(before, after *infrav1.ContainerMachine) field.ErrorList {
	const remedy = "cannot change, since the container is not made again for it; change the Machine's template, so that the Machine is replaced"
	path := field.NewPath("spec")
	errs := pinned(path.Child("providerID"), before.Spec.ProviderID, after.Spec.ProviderID,
		"the Node has it and it names the container; put it back")
	if ptr.Deref(before.Spec.Bootstrap.Completed, false) && !ptr.Deref(after.Spec.Bootstrap.Completed, false) {
		errs = append(errs, field.Invalid(path.Child("bootstrap", "completed"), false,
			"is true for life: without it a missing container would be bootstrapped a second time; put it back"))
	}
	if before.Spec.Image != after.Spec.Image {
		errs = append(errs, field.Invalid(path.Child("image"), after.Spec.Image, remedy))
	}
	if !slices.Equal(nodeMounts(before.Spec.ExtraMounts), nodeMounts(after.Spec.ExtraMounts)) {
		errs = append(errs, field.Invalid(path.Child("extraMounts"), containerPaths(after.Spec.ExtraMounts), remedy))
	}
	return errs
}
