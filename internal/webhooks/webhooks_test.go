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
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/internal/endpoint"
	"github.com/capi-samples/cluster-api-provider-container/test/inputs"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// create does what an API server does with an object, and update with a change.
func create(t *testing.T, object client.Object) error {
	t.Helper()
	return update(t, nil, object)
}

func update(t *testing.T, before, after client.Object) error {
	t.Helper()
	switch after := after.(type) {
	case *infrav1.ContainerCluster:
		return admit(t, containerCluster(nil), before, after)
	case *infrav1.ContainerEngine:
		return admit(t, containerEngine(must.Get(endpoint.ParseAllowed(inputs.AllowedEndpoints()))(t)), before, after)
	case *infrav1.ContainerClusterTemplate:
		return admit(t, containerClusterTemplate(), before, after)
	case *infrav1.ContainerMachine:
		return admit(t, containerMachine(), before, after)
	case *infrav1.ContainerMachineTemplate:
		return admit(t, containerMachineTemplate(), before, after)
	case *infrav1.ContainerMachinePool:
		return admit(t, containerMachinePool(), before, after)
	case *infrav1.ContainerMachinePoolTemplate:
		return admit(t, containerMachinePoolTemplate(), before, after)
	default:
		t.Fatalf("%T has no webhooks", after)
		return nil
	}
}

func admit[T client.Object](t *testing.T, k kind[T], before client.Object, after T) error {
	t.Helper()
	_, asks := after.GetAnnotations()[clusterv1.TopologyDryRunAnnotation]
	ctx := admission.NewContextWithRequest(t.Context(), admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{DryRun: ptr.To(asks)}})
	if k.setDefaults != nil {
		must.Succeed(t, k.Default(ctx, after))
	}
	if before == nil {
		_, err := k.ValidateCreate(ctx, after)
		return err
	}
	old, ok := before.(T)
	if !ok {
		t.Fatalf("%T was a %T", after, before)
	}
	_, err := k.ValidateUpdate(ctx, old, after)
	return err
}

// refusals are what a user sees, each as "field: message".
func refusals(t *testing.T, err error) []string {
	t.Helper()
	if err == nil {
		return nil
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) || !apierrors.IsInvalid(err) {
		t.Fatalf("the error is of type %T: %v", err, err)
	}
	var refused []string
	for _, cause := range status.Status().Details.Causes {
		_, message, _ := strings.Cut(cause.Message, ": ")
		if cause.Type == metav1.CauseTypeFieldValueInvalid {
			// The value stands before what is wrong with it.
			_, message, _ = strings.Cut(message, ": ")
		}
		refused = append(refused, cause.Field+": "+message)
	}
	return refused
}

func TestBadInput(t *testing.T) {
	t.Parallel()
	for name, input := range inputs.Bad() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := refusals(t, create(t, inputs.Decode(t, input.Kind, "bad", input.Object)))
			if diff := cmp.Diff([]string{input.Field + ": " + input.Message}, got); diff != "" {
				t.Errorf("%s (-want, +got):\n%s", input.Reason, diff)
			}
		})
	}
}

func TestChanges(t *testing.T) {
	t.Parallel()
	for name, change := range inputs.Changes() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := inputs.Decode(t, change.Kind, "changed", change.Before)
			after := inputs.Decode(t, change.Kind, "changed", change.After)
			if change.TopologyAsks {
				after.SetAnnotations(map[string]string{clusterv1.TopologyDryRunAnnotation: ""})
			}
			var want []string
			if change.Field != "" {
				want = []string{change.Field + ": " + change.Message}
			}
			if diff := cmp.Diff(want, refusals(t, update(t, before, after))); diff != "" {
				t.Errorf("%s (-want, +got):\n%s", change.Reason, diff)
			}
		})
	}
}

// TestCommonSpecFields: each field that users set for a machine has an input that is
// refused and a change that is tried, in the tables that the tests above go through.
// That what is not listed as mutable is immutable needs no table.
func TestCommonSpecFields(t *testing.T) {
	t.Parallel()
	const machine = "ContainerMachine"
	for field := range reflect.TypeFor[infrav1.ContainerMachineCommonSpec]().Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			refused, changed := false, false
			for _, input := range inputs.Bad() {
				refused = refused || input.Kind == machine && strings.HasPrefix(input.Field, "spec."+name)
			}
			for _, change := range inputs.Changes() {
				changed = changed || change.Kind == machine && strings.Contains(change.After, name+": ")
			}
			if !refused || !changed {
				t.Errorf("spec.%s has a bad value in test/inputs/bad.go: %t, and a change in changes.go: %t; add them", name, refused, changed)
			}
		})
	}
}
