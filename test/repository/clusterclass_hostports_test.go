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

package repository

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	runtimehooksv1 "sigs.k8s.io/cluster-api/api/runtime/hooks/v1alpha1"
	"sigs.k8s.io/cluster-api/core/reconcilers/topology/cluster/patches/inline"
)

// A host port of several replicas is refused before there is any Machine. How many there are
// is not known of a pool or a MachineDeployment that an autoscaler scales.
func TestClusterClassRefusesHostPortOfReplicas(t *testing.T) {
	t.Parallel()
	const given = `[{"containerPort":80,"address":"0.0.0.0"},{"containerPort":30080,"hostPort":8080}]`
	class, parts := clusterClass(t)
	at := slices.IndexFunc(class.Spec.Patches, func(p clusterv1.ClusterClassPatch) bool { return p.Name == "portMappings" })
	cases := map[string]struct {
		reason, template, field, builtin, ports string
		refused                                 bool
	}{
		"control planes":         {"The second waits.", "container-control-plane", "controlPlane", `,"replicas":3`, given, true},
		"workers":                {"The second waits.", "container-worker", "machineDeployment", `,"replicas":2`, given, true},
		"pool":                   {"The second waits.", "container-worker", "machinePool", `,"replicas":2`, given, true},
		"one control plane":      {"It has the port.", "container-control-plane", "controlPlane", `,"replicas":1`, given, false},
		"one worker":             {"It has the port.", "container-worker", "machineDeployment", `,"replicas":1`, given, false},
		"autoscaler":             {"It may be one.", "container-worker", "machineDeployment", "", given, false},
		"workers without a port": {"Each has its own.", "container-worker", "machineDeployment", `,"replicas":2`, `[{"containerPort":80}]`, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kind, holder, path := "ContainerMachineTemplate", "MachineDeployment", "/spec/template/spec/portMappings"
			switch tc.field {
			case "controlPlane":
				holder = "KubeadmControlPlane"
			case "machinePool":
				kind, holder, path = "ContainerMachinePoolTemplate", "MachinePool", "/spec/template/spec/template/spec/portMappings"
			}
			item := runtimehooksv1.GeneratePatchesRequestItem{
				UID: "1", Object: runtime.RawExtension{Object: parts[kind+" "+tc.template]},
				HolderReference: runtimehooksv1.HolderReference{Kind: holder, FieldPath: holders()[kind+" "+tc.template].HolderReference.FieldPath},
				Variables: []runtimehooksv1.Variable{{Name: "builtin", Value: apiextensionsv1.JSON{
					Raw: fmt.Appendf(nil, `{%q:{"version":"v1.36.3","class":"worker"%s}}`, tc.field, tc.builtin),
				}}},
			}
			response, err := inline.NewGenerator(&class.Spec.Patches[at]).Generate(t.Context(), nil, &runtimehooksv1.GeneratePatchesRequest{
				Variables: []runtimehooksv1.Variable{{Name: "portMappings", Value: apiextensionsv1.JSON{Raw: []byte(tc.ports)}}},
				Items:     []runtimehooksv1.GeneratePatchesRequestItem{item},
			})
			if tc.refused {
				if err == nil || !strings.Contains(err.Error(), "host port 8080 cannot be published by ") {
					t.Errorf("%s Want it refused, got %v", tc.reason, err)
				}
				return
			}
			if err != nil || len(response.Items) != 1 {
				t.Fatalf("%s got %v, %v", tc.reason, response, err)
			}
			want := fmt.Sprintf(`[{"op":"add","path":%q,"value":%s}]`, path, tc.ports)
			if diff := cmp.Diff(decoded(t, want), decoded(t, string(response.Items[0].Patch))); diff != "" {
				t.Errorf("%s (-want +got)\n%s", tc.reason, diff)
			}
		})
	}
}
