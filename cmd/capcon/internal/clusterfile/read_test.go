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

package clusterfile

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/input"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

func TestReadRefuses(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ reason, file, want string }{
		"empty":          {"Nothing is in it.", "", "file.yaml: is empty; use a Cluster of"},
		"comment":        {"Nothing is in it.", "# later\n", "file.yaml: is empty"},
		"list":           {"It is no object.", "\n- kind: Cluster\n", "file.yaml:2: is not a mapping"},
		"text":           {"It is no object.", "hello\n", "file.yaml:1: is not a mapping"},
		"no API version": {"It could be anything.", "kind: Cluster\n", "file.yaml: has no apiVersion; use a Cluster of"},
		"API version":    {"It is another project's.", "kind: Simple\napiVersion: k3d.io/v1alpha5\n", `file.yaml:2: apiVersion "k3d.io/v1alpha5": is neither`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, _, err := Read("file.yaml", []byte(tc.file), input.Request{})
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s Want %q, got: %v", tc.reason, tc.want, err)
			}
		})
	}
}

// TestOrigins: what is wrong with a value is said of its place in the file, unless a flag has it.
func TestOrigins(t *testing.T) {
	t.Parallel()
	const (
		ofKind   = "kind: Cluster\napiVersion: kind.x-k8s.io/v1alpha4\nname: Demo\nnodes:\n- role: control-plane\n- role: control-plane\nnetworking:\n  podSubnet: 10.200.0.1/16\n"
		manifest = "kind: Cluster\napiVersion: cluster.x-k8s.io/v1beta2\nmetadata: {name: Demo}\nspec:\n  topology:\n    classRef: {name: container}\n    version: v1.20.0\n    controlPlane:\n      replicas: 2\n"
	)
	for name, tc := range map[string]struct {
		file    string
		request input.Request
		want    []string
	}{
		"kind":     {ofKind, input.Request{}, []string{"kind.yaml:3: name", "kind.yaml:5: nodes", "kind.yaml:8: networking.podSubnet"}},
		"flags":    {ofKind, input.Request{Name: "Test", ControlPlanes: ptr.To(4), PodCIDR: "10.200.0.1/16"}, []string{"NAME", "--control-planes", "--pod-cidr"}},
		"manifest": {manifest, input.Request{}, []string{"kind.yaml:3: metadata.name", "kind.yaml:9: spec.topology.controlPlane.replicas", "kind.yaml:7: spec.topology.version"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			request, origins, err := Read("kind.yaml", []byte(tc.file), tc.request)
			must.Succeed(t, err)
			var fields []string
			for _, problem := range input.Problems(origins.Locate(request.Validate())) {
				fields = append(fields, problem.Field)
			}
			if diff := cmp.Diff(tc.want, fields); diff != "" {
				t.Errorf("fields of problems (-want +got):\n%s", diff)
			}
		})
	}
}

// TestNameOfKind: a file of kind needs no name.
func TestNameOfKind(t *testing.T) {
	t.Parallel()
	request, _, err := Read("kind.yaml", []byte(header), input.Request{})
	must.Succeed(t, err)
	if request.Name != "kind" {
		t.Errorf("the cluster has the name %q", request.Name)
	}
}
