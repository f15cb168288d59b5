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
	"encoding/json"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/internal/inplace"
	"github.com/capi-samples/cluster-api-provider-container/test/inputs"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// The webhook admits in an update what the table of the extension has, and nothing else.
func TestInPlaceFields(t *testing.T) {
	t.Parallel()
	values := map[string][2]string{
		"image": {`"node:v1"`, `"node:v2"`}, "extraMounts": {`[]`, `[{hostPath: /a, containerPath: /a}]`}, "portMappings": {`[]`, `[{containerPort: 80}]`},
		"resources.cpu": {`1`, `2`}, "resources.memory": {`1Gi`, `2Gi`}, "resources.pids": {`1000`, `2000`},
		"environment": {`[]`, `[{name: A, value: b}]`}, "labels": {`{a: b}`, `{a: c}`}, "devices": {`[]`, `[{path: /dev/fuse}]`},
		"dnsSearch": {`[]`, `[a.example.com]`}, "bootstrapTimeout": {`5m`, `6m`},
	}
	for _, field := range inplace.Fields() {
		name := strings.Join(field.Path, ".")
		value, isKnown := values[name]
		if !isKnown {
			t.Errorf("%s has no values; add two to the table of this test", name)
			continue
		}
		machine := func(text string) *infrav1.ContainerMachine {
			body := "spec: {" + strings.Join(field.Path, ": {") + ": " + text + strings.Repeat("}", len(field.Path))
			object, _ := inputs.Decode(t, "ContainerMachine", "m", body).(*infrav1.ContainerMachine)
			return object
		}
		after := machine(value[1])
		after.Annotations = map[string]string{clusterv1.UpdateInProgressAnnotation: ""}
		if err := update(t, machine(value[0]), after); (err == nil) != (field.Change != inplace.Never) {
			t.Errorf("%s changes %q: %v", name, field.Change, err)
		}
	}
}

// A control plane asks in a dry run before it marks the machine. The dry run of a user has the same result as the request.
func TestInPlaceDryRun(t *testing.T) {
	t.Parallel()
	before := inputs.Decode(t, "ContainerMachine", "m", `spec: {resources: {cpu: 1}}`)
	after := inputs.Decode(t, "ContainerMachine", "m", `spec: {resources: {cpu: 2}}`)
	old, _ := before.(*infrav1.ContainerMachine)
	changed, _ := after.(*infrav1.ContainerMachine)
	for _, tc := range []struct {
		manager      string
		dryRun, isIn bool
	}{{"capi-kubeadmcontrolplane", true, true}, {"kubectl", true, false}, {"capi-kubeadmcontrolplane", false, false}} {
		options := must.Get(json.Marshal(metav1.PatchOptions{FieldManager: tc.manager}))(t)
		ctx := admission.NewContextWithRequest(t.Context(), admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
			DryRun: ptr.To(tc.dryRun), Options: runtime.RawExtension{Raw: options},
		}})
		if _, err := containerMachine().ValidateUpdate(ctx, old, changed); (err == nil) != tc.isIn {
			t.Errorf("%+v: %v", tc, err)
		}
	}
}
