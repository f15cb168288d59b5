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

package env_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/env"
	"github.com/capi-samples/cluster-api-provider-container/test/inputs"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// TestIntegrationWebhooks has a real API server ask the webhooks. All bad input
// and all changes are known to the unit tests of the webhooks too: here it
// counts that they are asked, for all kinds, and what the CRDs say before them.
func TestIntegrationWebhooks(t *testing.T) {
	t.Parallel()
	config := env.Start(t)
	api := must.Get(client.New(config, client.Options{Scheme: builders.Scheme(t)}))(t)
	for name, input := range inputs.Bad() {
		err := api.Create(t.Context(), inputs.Decode(t, input.Kind, "bad", input.Object), client.DryRunAll)
		if !refuses(err, input.Field) {
			t.Errorf("%s: %s\nThe API server says %v, want it to refuse %s", name, input.Reason, err, input.Field)
		}
	}
	for name, change := range inputs.Changes() {
		if change.IsOlder {
			continue
		}
		err := try(t, api, change)
		switch {
		case change.Field == "" && err != nil:
			t.Errorf("%s: %s\nThe API server says %v", name, change.Reason, err)
		case change.Field != "" && !refuses(err, change.Field):
			t.Errorf("%s: %s\nThe API server says %v, want it to refuse %s", name, change.Reason, err, change.Field)
		}
	}
	checkDefaults(t, api)
	checkPerClusterFields(t, api)
	checkFinalizers(t, api)
	checkMove(t, api)
}

// refuses reports whether an API server found fault with a field, or with the
// item of a list that it is in.
func refuses(err error, field string) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || !apierrors.IsInvalid(err) || status.Status().Details == nil {
		return false
	}
	return slices.ContainsFunc(status.Status().Details.Causes, func(cause metav1.StatusCause) bool {
		return strings.HasPrefix(field, cause.Field)
	})
}

// try makes an object and changes it, and returns what the API server says.
func try(t *testing.T, api client.Client, change inputs.Change) error {
	t.Helper()
	before := inputs.Decode(t, change.Kind, "changed", change.Before)
	wanted := before.DeepCopyObject()
	must.Succeed(t, api.Create(t.Context(), before))
	defer func() {
		must.Succeed(t, api.Delete(t.Context(), before))
		if len(before.GetFinalizers()) > 0 {
			must.Succeed(t, api.Patch(t.Context(), before, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))))
		}
	}()
	if cluster, ok := wanted.(*infrav1.ContainerCluster); ok && cluster.Status.Initialization.Provisioned != nil {
		cluster.ResourceVersion = before.GetResourceVersion()
		must.Succeed(t, api.Status().Update(t.Context(), cluster))
		before.SetResourceVersion(cluster.ResourceVersion)
	}
	after := inputs.Decode(t, change.Kind, "changed", change.After)
	after.SetResourceVersion(before.GetResourceVersion())
	var options []client.UpdateOption
	if change.TopologyAsks {
		annotations := maps.Clone(after.GetAnnotations())
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[clusterv1.TopologyDryRunAnnotation] = ""
		after.SetAnnotations(annotations)
		options = append(options, client.DryRunAll)
	}
	return api.Update(t.Context(), after, options...)
}

// checkDefaults: what is filled in stays the same however often the samples are applied.
func checkDefaults(t *testing.T, api client.Client) {
	t.Helper()
	strict := client.WithFieldValidation(api, client.FieldValidation(metav1.FieldValidationStrict))
	samples := must.Get(filepath.Glob("../../config/samples/*.yaml"))(t)
	if len(samples) != 7 {
		t.Errorf("%d samples, want one of each kind: %v", len(samples), samples)
	}
	for _, sample := range samples {
		object := &unstructured.Unstructured{}
		apply := func() string {
			applied := &unstructured.Unstructured{}
			must.Succeed(t, yaml.Unmarshal(must.Get(os.ReadFile(sample))(t), applied))
			applied.SetNamespace(builders.Namespace)
			object.SetGroupVersionKind(applied.GroupVersionKind())
			must.Succeed(t, strict.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(applied), client.FieldOwner("topology"), client.ForceOwnership))
			must.Succeed(t, api.Get(t.Context(), client.ObjectKeyFromObject(applied), object))
			return object.GetResourceVersion()
		}
		first := apply()
		if again := apply(); again != first {
			t.Errorf("applying %s again changes it: %v", sample, object)
		}
		must.Succeed(t, api.Delete(t.Context(), object))
	}
	made := inputs.Decode(t, "ContainerCluster", "defaults", `spec: {}`)
	must.Succeed(t, api.Create(t.Context(), made, client.DryRunAll))
	cluster, _ := made.(*infrav1.ContainerCluster)
	want := infrav1.ContainerClusterSpec{LoadBalancer: infrav1.LoadBalancer{Type: infrav1.LoadBalancerHAProxy}}
	if diff := cmp.Diff(want, cluster.Spec); diff != "" {
		t.Errorf("An empty cluster becomes (-want +got):\n%s", diff)
	}
}

// checkPerClusterFields: a template has no place for them.
func checkPerClusterFields(t *testing.T, api client.Client) {
	t.Helper()
	strict := client.WithFieldValidation(api, client.FieldValidation(metav1.FieldValidationStrict))
	for field, value := range map[string]any{
		"controlPlaneEndpoint": map[string]any{"host": "a"},
		"ownerID":              "abc",
	} {
		template := &unstructured.Unstructured{Object: map[string]any{
			"spec": map[string]any{"template": map[string]any{"spec": map[string]any{field: value}}},
		}}
		template.SetGroupVersionKind(infrav1.GroupVersion.WithKind("ContainerClusterTemplate"))
		template.SetNamespace(builders.Namespace)
		template.SetName("bad")
		err := strict.Create(t.Context(), template, client.DryRunAll)
		if !apierrors.IsBadRequest(err) || !strings.Contains(err.Error(), "unknown field") {
			t.Errorf("a ContainerClusterTemplate with %s: %v, want it refused as unknown", field, err)
		}
	}
}

// checkFinalizers: what is being deleted can go, whatever is in it.
func checkFinalizers(t *testing.T, api client.Client) {
	t.Helper()
	for kind, body := range map[string]string{
		"ContainerCluster": `spec: {ownerID: abc}`, "ContainerMachine": `spec: {providerID: "container:///a"}`,
	} {
		object := inputs.Decode(t, kind, "deleted", body)
		object.SetFinalizers([]string{"example.test/finalizer"})
		must.Succeed(t, api.Create(t.Context(), object))
		must.Succeed(t, api.Delete(t.Context(), object))
		must.Succeed(t, api.Get(t.Context(), client.ObjectKeyFromObject(object), object))
		// A change that would be refused at any other time.
		changed := inputs.Decode(t, kind, "deleted", `spec: {}`)
		changed.SetResourceVersion(object.GetResourceVersion())
		must.Succeed(t, api.Update(t.Context(), changed))
		if err := api.Get(t.Context(), client.ObjectKeyFromObject(object), object); !apierrors.IsNotFound(err) {
			t.Errorf("%s is still there: %v", kind, err)
		}
	}
}

// checkMove does with an object what "clusterctl move" does: it recreates it
// with everything but its status, and then deletes the old one, annotations
// first and finalizers last.
func checkMove(t *testing.T, api client.Client) {
	t.Helper()
	replaceAnnotations := client.RawPatch(types.JSONPatchType, fmt.Appendf(nil,
		`[{"op": "add", "path": "/metadata/annotations", "value": {%q: ""}}]`, clusterctlv1.DeleteForMoveAnnotation))
	removeFinalizers := client.RawPatch(types.MergePatchType, []byte(`{"metadata": {"finalizers": []}}`))
	for kind, body := range map[string]string{
		"ContainerCluster": `
metadata: {finalizers: [containercluster.infrastructure.cluster.x-k8s.io]}
spec: {ownerID: abc, controlPlaneEndpoint: {host: 172.30.0.2, port: 6443}, network: {name: capcon}, loadBalancer: {type: HAProxy, hostPort: 32768}}`,
		"ContainerMachine": `
metadata: {finalizers: [containermachine.infrastructure.cluster.x-k8s.io]}
spec: {providerID: "container:///a", image: "node:v1", extraMounts: [{hostPath: /a, containerPath: /a}]}`,
		"ContainerMachineTemplate": `spec: {template: {spec: {image: "node:v1"}}}`,
		"ContainerClusterTemplate": `spec: {template: {spec: {network: {name: a}}}}`,
		"ContainerMachinePool": `
metadata: {finalizers: [containermachinepool.infrastructure.cluster.x-k8s.io]}
spec: {providerIDList: ["container:///a"], template: {spec: {image: "node:v1"}}}`,
		"ContainerMachinePoolTemplate": `spec: {template: {spec: {template: {spec: {image: "node:v1"}}}}}`,
	} {
		object := inputs.Decode(t, kind, "moved", body)
		finalizers := len(object.GetFinalizers())
		must.Succeed(t, api.Create(t.Context(), object))
		must.Succeed(t, api.Patch(t.Context(), object, replaceAnnotations))
		must.Succeed(t, api.Delete(t.Context(), object))
		if finalizers > 0 {
			must.Succeed(t, api.Patch(t.Context(), object, removeFinalizers))
		}
		if err := api.Get(t.Context(), client.ObjectKeyFromObject(object), object); !apierrors.IsNotFound(err) {
			t.Errorf("%s is still there: %v", kind, err)
		}
	}
}
