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

package admission_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/admission"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/objects"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	class := must.Get(objects.ClassVariables())(t)
	const (
		variables = "spec.topology.variables"
		worker    = "spec.topology.workers.machineDeployments[a].variables.overrides"
	)
	for name, tc := range map[string]struct {
		reason, topology string
		// want are the fields of the problems.
		want []string
	}{
		"valid": {"A management cluster admits it.", `
variables:
- {name: limits, value: {persistentVolumes: 3}}
- {name: nodeLabels, value: {example.com/tier: front}}
- {name: extraMounts, value: [{hostPath: /srv, containerPath: /data}]}
- {name: loadBalancer, value: {hostPort: 6444, portMappings: [{containerPort: 80, hostPort: 80}]}}
- {name: apiServer, value: {extraArgs: [{name: v, value: "2"}]}}
controlPlane: {variables: {overrides: [{name: resources, value: {cpu: 2, memory: 4Gi, pids: 4000}}]}}
workers: {machineDeployments: [{class: worker, name: a}]}
`, nil},
		"each once": {"Both roles have it.", `
variables: [{name: extraMounts, value: [{hostPath: /srv, containerPath: data}]}]
workers: {machineDeployments: [{class: worker, name: a}]}
`, []string{variables + "[extraMounts].value[0].containerPath"}},
		"replaced": {"No role has it, but Cluster API checks it.", `
variables: [{name: extraMounts, value: [{hostPath: /srv, containerPath: data}]}]
controlPlane: {variables: {overrides: [{name: extraMounts, value: [{hostPath: /srv, containerPath: /data}]}]}}
`, []string{variables + "[extraMounts].value[0].containerPath"}},
		"device and mount": {"They are in one container.", `
variables: [{name: devices, value: [{path: /dev/fuse}]}]
workers: {machineDeployments: [{class: worker, name: a, variables: {overrides: [{name: extraMounts, value: [{hostPath: /srv, containerPath: /dev/fuse}]}]}}]}
`, []string{variables + "[devices].value[0].path"}},
		"limit": {"The node would not start.", `
workers: {machineDeployments: [{class: worker, name: a, variables: {overrides: [{name: resources, value: {memory: 1Mi}}]}}]}
`, []string{worker + "[resources].value.memory"}},
		"cluster": {"The load balancer could not start.", `
variables: [{name: loadBalancer, value: {hostPort: 80, portMappings: [{containerPort: 80, hostPort: 80}]}}]
`, []string{variables + "[loadBalancer].value.portMappings[0].hostPort"}},
		"types": {"They are the API server's to refuse.", `
variables: [{name: storage, value: none}, {name: limits, value: {loadBalancers: -1}}, {name: allowSchedulingOnControlPlanes, value: "true"}]
`, []string{variables + "[storage].value", variables + "[limits].value.loadBalancers", variables + "[allowSchedulingOnControlPlanes].value"}},
		"enumeration": {"There is no such storage.", "variables: [{name: storage, value: {type: NFS}}]", []string{variables + "[storage].value.type"}},
		"required":    {"It is not complete.", "variables: [{name: registries, value: [{caBundle: a}]}]", []string{variables + "[registries].value[0].host", variables + "[registries].value[0].caBundle"}},
		"unknown": {"They are typing errors.", `
variables: [{name: nosuch, value: 1}, {name: registries, value: [{host: "example.com:5000", mirors: []}]}]
`, []string{variables + "[nosuch]", variables + "[registries].value[0].mirors"}},
		"rule":   {"kubeadm would take the last one.", "variables: [{name: apiServer, value: {extraArgs: [{name: v, value: '2'}, {name: v, value: '3'}]}}]", []string{variables + "[apiServer].value.extraArgs"}},
		"labels": {"The kubelet would not start.", "variables: [{name: nodeLabels, value: {-bad-/x: 'y z'}}]", []string{variables + "[nodeLabels].value.-bad-/x", variables + "[nodeLabels].value.-bad-/x"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var topology clusterv1.Topology
			must.Succeed(t, yaml.UnmarshalStrict([]byte(tc.topology), &topology))
			var fields []string
			for _, problem := range admission.Check(t.Context(), &topology, class) {
				fields = append(fields, problem.Field)
				if problem.Reason == "" || problem.Remedy == "" {
					t.Errorf("problem without reason or remedy: %s", problem)
				}
			}
			if diff := cmp.Diff(tc.want, fields); diff != "" {
				t.Errorf("%s Fields (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// A class of a user may require fields that have defaults, which Cluster API sets first.
func TestCheckDefaults(t *testing.T) {
	t.Parallel()
	class := []clusterv1.ClusterClassVariable{{Name: "size", Schema: clusterv1.VariableSchema{OpenAPIV3Schema: clusterv1.JSONSchemaProps{
		Type: "object", Required: []string{"unit", "count"},
		Properties: map[string]clusterv1.JSONSchemaProps{
			"unit":  {Type: "string", Default: &apiextensionsv1.JSON{Raw: []byte(`"Gi"`)}},
			"count": {Type: "integer"},
		},
		XValidations: []clusterv1.ValidationRule{{Rule: "self.unit == 'Gi' || self.count < 10"}},
	}}}}
	for value, want := range map[string][]string{
		`{"count": 20}`: nil,
		`{}`:            {"spec.topology.variables[size].value.count"},
	} {
		topology := &clusterv1.Topology{Variables: []clusterv1.ClusterVariable{{Name: "size", Value: apiextensionsv1.JSON{Raw: []byte(value)}}}}
		var fields []string
		for _, problem := range admission.Check(t.Context(), topology, class) {
			fields = append(fields, problem.Field)
		}
		if diff := cmp.Diff(want, fields); diff != "" {
			t.Errorf("fields of %s (-want +got):\n%s", value, diff)
		}
	}
}
