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

package capd

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const class = `apiVersion: cluster.x-k8s.io/v1beta2
kind: ClusterClass
metadata: {name: c}
spec:
  patches:
`

func TestClusterClass(t *testing.T) {
	t.Parallel()
	const machines = `{selector: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: DevMachineTemplate, matchResources: {controlPlane: true}}, jsonPatches: `
	const pools = `{selector: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: DockerMachinePoolTemplate, matchResources: {machinePoolClass: {names: [a]}}}, jsonPatches: `
	const converted = `{selector: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: ContainerMachineTemplate, matchResources: {controlPlane: true}}, jsonPatches: `
	const convertedPools = `{selector: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: ContainerMachinePoolTemplate, matchResources: {machinePoolClass: {names: [a]}}}, jsonPatches: `
	const cluster = `{selector: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: ContainerClusterTemplate, matchResources: {infrastructureCluster: true}}, jsonPatches: `
	cases := map[string]struct {
		reason, in, want string
		findings         int
	}{
		"Paths": {
			reason: "paths lead to the fields of this provider",
			in: `  - name: image
    definitions:
    - ` + machines + `[{op: add, path: /spec/template/spec/backend/docker/customImage, valueFrom: {template: "a/b:{{ .builtin.controlPlane.version }}"}}]}
    - ` + pools + `[{op: add, path: /spec/template/spec/template/extraMounts/-, value: {hostPath: /a, containerPath: /a}}, {op: add, path: /spec/template/metadata, value: {}}]}`,
			want: `  - name: image
    definitions:
    - ` + converted + `[{op: add, path: /spec/template/spec/image, valueFrom: {template: "a/b:{{ .builtin.controlPlane.version }}"}}]}
    - ` + convertedPools + `[{op: add, path: /spec/template/spec/template/spec/extraMounts/-, value: {hostPath: /a, containerPath: /a}}, {op: add, path: /spec/template/metadata, value: {}}]}`,
		},
		"Images": {
			reason: "images are patched into the cluster, once, and not where the variable has none",
			in: `  - name: images
    enabledIf: '{{ ne .other "" }}'
    definitions:
    - ` + machines + `[{op: add, path: /spec/template/spec/backend/docker/preLoadImages, valueFrom: {variable: images}}, {op: remove, path: /spec/template/spec/backend/docker/extraMounts}]}
  - name: more
    definitions:
    - ` + pools + `[{op: replace, path: /spec/template/spec/template/preLoadImages, valueFrom: {variable: images}}]}
  - name: fixed
    definitions:
    - ` + pools + `[{op: replace, path: /spec/template/spec/template/preLoadImages, value: [a]}]}`,
			want: `  - name: images
    enabledIf: '{{ ne .other "" }}'
    definitions:
    - ` + converted + `[{op: remove, path: /spec/template/spec/extraMounts}]}
  - name: images-images
    enabledIf: '{{ if .images }}{{ ne .other "" }}{{ end }}'
    definitions:
    - ` + cluster + `[{op: add, path: /spec/template/spec/images, valueFrom: {variable: images}}]}
  - name: fixed
    definitions:
    - ` + cluster + `[{op: add, path: /spec/template/spec/images, value: [a]}]}`,
		},
		"NoEquivalent": {
			reason: "what has no equivalent is left out, with what would be empty",
			in: `  - name: backend
    definitions:
    - ` + machines + `[{op: add, path: /spec/template/spec/backend, value: {docker: {}}}, {op: add, path: /spec/template/spec/backend/inMemory/vm, value: {}}, {op: add, path: /spec/template/spec/backend/docker/none, value: 1}]}
  - name: kept
    definitions: [{selector: {apiVersion: controlplane.cluster.x-k8s.io/v1beta2, kind: KubeadmControlPlaneTemplate, matchResources: {controlPlane: true}}, jsonPatches: [{op: remove, path: /spec/a}]}]
  - name: external
    external: {generatePatchesExtension: a}`,
			want: `  - name: kept
    definitions: [{selector: {apiVersion: controlplane.cluster.x-k8s.io/v1beta2, kind: KubeadmControlPlaneTemplate, matchResources: {controlPlane: true}}, jsonPatches: [{op: remove, path: /spec/a}]}]
  - name: external
    external: {generatePatchesExtension: a}`,
			findings: 4,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, findings := convertOne(t, class+tc.in)
			if diff := cmp.Diff(canonical(t, class+tc.want), canonical(t, got)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if found := len(strings.Fields(strings.ReplaceAll(findings, " ", "_"))); found != tc.findings {
				t.Errorf("%d findings, want %d:\n%s", found, tc.findings, findings)
			}
		})
	}
}
