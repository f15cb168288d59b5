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
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
	"sigs.k8s.io/controller-runtime/pkg/webhook/conversion"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/cluster-api/util/topology"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
)

// kind says how the objects of one kind are admitted. All its functions but moving are
// pure.
type kind[T client.Object] struct {
	// name of the kind, and an empty object of it.
	name   string
	object T
	// setDefaults of fields that are not set; nil where none has a default.
	setDefaults func(T)
	// validate an object by itself.
	validate func(T) field.ErrorList
	// validateUpdate returns the changes that are not allowed.
	validateUpdate func(before, after T) field.ErrorList
	// accepts returns the fields of a spec that may have the values of after although they are immutable, because
	// Cluster API updates the object in place; nil where there are none.
	accepts func(before, after T) T
	// warn of what is possible and probably not meant; nil where there is nothing.
	warn func(T) admission.Warnings
	// converter of objects in other versions; nil where there are none.
	converter func(*runtime.Scheme) (conversion.Converter, error)
	// isTemplate lets the topology controller compare what must not change:
	// it asks in a dry run what a template would become, and makes another
	// one if that differs.
	isTemplate bool
	// moving is called with an object that clusterctl deletes because it has moved it; may be
	// nil.
	moving func(context.Context, T) error
}

// Default implements admission.Defaulter.
func (k kind[T]) Default(_ context.Context, object T) error {
	if object.GetDeletionTimestamp().IsZero() {
		k.setDefaults(object)
	}
	return nil
}

// ValidateCreate implements admission.Validator.
func (k kind[T]) ValidateCreate(_ context.Context, object T) (admission.Warnings, error) {
	return k.result(object, k.validate(object))
}

// ValidateUpdate implements admission.Validator. It lets everything pass that
// is being deleted: what is wrong with it does not matter any more, and its
// finalizers must go. What was wrong before does not stop another change:
// rules that came after an object must not lock it.
func (k kind[T]) ValidateUpdate(ctx context.Context, before, after T) (admission.Warnings, error) {
	if err := k.reportMoving(ctx, before, after); err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	if !after.GetDeletionTimestamp().IsZero() {
		return nil, nil
	}
	errs := introduced(k.validate(before), k.validate(after))
	asks, err := k.topologyAsks(ctx, after)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	if !asks {
		if before, err = k.accepted(ctx, before, after); err != nil {
			return nil, apierrors.NewInternalError(err)
		}
		errs = append(errs, k.validateUpdate(before, after)...)
	}
	return k.result(after, errs)
}

// ValidateDelete implements admission.Validator. It is never asked: everything
// may be deleted.
func (k kind[T]) ValidateDelete(context.Context, T) (admission.Warnings, error) { return nil, nil }

func (k kind[T]) result(object T, errs field.ErrorList) (admission.Warnings, error) {
	var warnings admission.Warnings
	if k.warn != nil {
		warnings = k.warn(object)
	}
	if len(errs) == 0 {
		return warnings, nil
	}
	return warnings, apierrors.NewInvalid(infrav1.GroupVersion.WithKind(k.name).GroupKind(), object.GetName(), errs)
}

// reportMoving passes the object as it was: clusterctl removes all its other annotations.
func (k kind[T]) reportMoving(ctx context.Context, before, after T) error {
	if _, moved := after.GetAnnotations()[clusterctlv1.DeleteForMoveAnnotation]; !moved || k.moving == nil {
		return nil
	}
	request, err := admission.RequestFromContext(ctx)
	if err != nil {
		return fmt.Errorf("read admission request: %w", err)
	}
	if ptr.Deref(request.DryRun, false) {
		return nil
	}
	return k.moving(ctx, before)
}

// accepted is the object before the update with what Cluster API may change of it in place. Cluster API marks the
// object with the update; its control plane asks before, in a dry run.
func (k kind[T]) accepted(ctx context.Context, before, after T) (T, error) {
	if k.accepts == nil {
		return before, nil
	}
	if _, isUpdating := after.GetAnnotations()[clusterv1.UpdateInProgressAnnotation]; isUpdating {
		return k.accepts(before, after), nil
	}
	request, err := admission.RequestFromContext(ctx)
	if err != nil || !ptr.Deref(request.DryRun, false) {
		return before, nil //nolint:nilerr // Only a request can be a dry run.
	}
	var options metav1.PatchOptions
	if len(request.Options.Raw) == 0 {
		return before, nil
	}
	if err := json.Unmarshal(request.Options.Raw, &options); err != nil {
		return before, fmt.Errorf("read options of the admission request: %w", err)
	}
	if strings.HasPrefix(options.FieldManager, "capi-") {
		return k.accepts(before, after), nil
	}
	return before, nil
}

func (k kind[T]) topologyAsks(ctx context.Context, after T) (bool, error) {
	if !k.isTemplate {
		return false, nil
	}
	request, err := admission.RequestFromContext(ctx)
	if err != nil {
		return false, fmt.Errorf("read admission request: %w", err)
	}
	return topology.IsDryRunRequest(request, after), nil
}

// introduced are the errors that were not there before.
func introduced(before, after field.ErrorList) field.ErrorList {
	return slices.DeleteFunc(after, func(err *field.Error) bool {
		return slices.ContainsFunc(before, func(old *field.Error) bool { return old.Error() == err.Error() })
	})
}
