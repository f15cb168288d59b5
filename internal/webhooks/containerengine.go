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
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/internal/endpoint"
)

// +kubebuilder:webhook:verbs=create;update,path=/validate-infrastructure-cluster-x-k8s-io-v1beta2-containerengine,mutating=false,failurePolicy=fail,sideEffects=None,matchPolicy=Equivalent,groups=infrastructure.cluster.x-k8s.io,resources=containerengines,versions=v1beta2,name=validation.containerengine.infrastructure.cluster.x-k8s.io,admissionReviewVersions=v1

// containerEngine: the controller refuses the same endpoints, since a manager may have no webhooks.
func containerEngine(allowed endpoint.Allowed) kind[*infrav1.ContainerEngine] {
	return kind[*infrav1.ContainerEngine]{
		name: "ContainerEngine", object: &infrav1.ContainerEngine{},
		validate:       func(engine *infrav1.ContainerEngine) field.ErrorList { return validateEngine(engine, allowed) },
		validateUpdate: validateDebts,
	}
}

func validateEngine(engine *infrav1.ContainerEngine, allowed endpoint.Allowed) field.ErrorList {
	spec := field.NewPath("spec")
	errs := validateEngineEndpoint(spec.Child("endpoint"), engine, allowed)
	for _, wrong := range validation.IsDNS1123Subdomain(engine.Spec.CredentialsSecretName) {
		errs = append(errs, field.Invalid(spec.Child("credentialsSecretName"), engine.Spec.CredentialsSecretName, wrong))
	}
	errs = append(errs, validateHost(spec.Child("advertiseAddress"), engine.Spec.AdvertiseAddress)...)
	if name := engine.Spec.FailureDomain; name != "" && len(validation.IsValidLabelValue(name)) > 0 {
		errs = append(errs, field.Invalid(spec.Child("failureDomain"), name, invalidZone))
	}
	errs = append(errs, validateReservations(spec.Child("reservations"), engine.Spec.Reservations)...)
	return append(errs, validateCapacity(spec.Child("capacity"), engine.Spec.Capacity)...)
}

// validateEngineEndpoint shows nothing of an endpoint that has a password.
func validateEngineEndpoint(path *field.Path, engine *infrav1.ContainerEngine, allowed endpoint.Allowed) field.ErrorList {
	at, err := endpoint.Parse(engine.Spec.Endpoint)
	if refused := new(endpoint.Error); errors.As(err, &refused) {
		return field.ErrorList{field.Forbidden(path, refused.Error())}
	}
	if !allowed.Has(engine.Namespace, at) {
		return field.ErrorList{field.Invalid(path, engine.Spec.Endpoint, fmt.Sprintf(
			"is not allowed in namespace %q by the manager's flag --%s; ask the administrator of the management cluster to add it",
			engine.Namespace, endpoint.AllowedFlag))}
	}
	address, err := netip.ParseAddr(at.Host)
	if engine.Spec.AdvertiseAddress == "" && (err == nil && (address.IsLoopback() || address.IsUnspecified()) || at.Host == "localhost") {
		return field.ErrorList{field.Required(field.NewPath("spec", "advertiseAddress"),
			"must be set if the host of the endpoint is a loopback address: nodes and users do not reach the engine's host by it")}
	}
	return nil
}

// validateEngineName: whether there is such an object is the controller's to know.
func validateEngineName(path *field.Path, name string) field.ErrorList {
	if name == "" {
		return nil
	}
	var errs field.ErrorList
	for _, wrong := range validation.IsDNS1123Subdomain(name) {
		errs = append(errs, field.Invalid(path, name, wrong))
	}
	return errs
}

func validateEngineChoice(spec *field.Path, selector *metav1.LabelSelector, reservation infrav1.EngineResources) field.ErrorList {
	errs := metav1validation.ValidateLabelSelector(selector, metav1validation.LabelSelectorValidationOptions{}, spec.Child("engineSelector"))
	errs = append(errs, validateNotNegative(spec.Child("engineReservation", "cpu"), reservation.CPU)...)
	return append(errs, validateNotNegative(spec.Child("engineReservation", "memory"), reservation.Memory)...)
}

func validateReservations(path *field.Path, reservations []infrav1.EngineReservation) field.ErrorList {
	var errs field.ErrorList
	for i, reservation := range reservations {
		errs = append(errs, validateNotNegative(path.Index(i).Child("cpu"), reservation.CPU)...)
		errs = append(errs, validateNotNegative(path.Index(i).Child("memory"), reservation.Memory)...)
	}
	return errs
}

// validateDebts: what is recorded of an engine that is not lost can have been created there only by objects that are
// there. To remove a debt is the user's decision.
func validateDebts(before, after *infrav1.ContainerEngine) field.ErrorList {
	if ptr.Deref(after.Spec.Lost, false) {
		return nil
	}
	var errs field.ErrorList
	for i, debt := range after.Spec.Debts {
		if !slices.ContainsFunc(before.Spec.Debts, func(other infrav1.EngineDebt) bool { return equality.Semantic.DeepEqual(other, debt) }) {
			errs = append(errs, field.Forbidden(field.NewPath("spec", "debts").Index(i),
				"is recorded by the provider while spec.lost is true, and may only be removed otherwise"))
		}
	}
	return errs
}

func validateNotNegative(at *field.Path, quantity *resource.Quantity) field.ErrorList {
	if quantity == nil || quantity.Sign() >= 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(at, quantity.String(), "must not be negative")}
}

func validateCapacity(path *field.Path, capacity infrav1.EngineCapacity) field.ErrorList {
	var errs field.ErrorList
	check := func(at *field.Path, quantity *resource.Quantity) {
		errs = append(errs, validateNotNegative(at, quantity)...)
	}
	check(path.Child("cpu"), capacity.CPU)
	check(path.Child("memory"), capacity.Memory)
	check(path.Child("controlPlane", "cpu"), capacity.ControlPlane.CPU)
	check(path.Child("controlPlane", "memory"), capacity.ControlPlane.Memory)
	check(path.Child("workers", "cpu"), capacity.Workers.CPU)
	check(path.Child("workers", "memory"), capacity.Workers.Memory)
	return errs
}
