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

package update

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/cluster-api/cmd/clusterctl/client/yamlprocessor"
	"sigs.k8s.io/yaml"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/input"
	"github.com/capi-samples/cluster-api-provider-container/templates"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// changed are the paths of the Cluster that a request changes, or the flags that are refused.
func changed(t *testing.T, present Present, request input.Request, chosen Chosen) []string {
	t.Helper()
	plan, err := Compute(present, request, chosen)
	if refused := new(input.Error); errors.As(err, &refused) {
		var flags []string
		for _, problem := range refused.Problems {
			if problem.Reason == "" || problem.Remedy == "" || problem.Value == "" {
				t.Errorf("the problem is not complete: %+v", problem)
			}
			flags = append(flags, problem.Field)
		}
		return flags
	}
	must.Succeed(t, err)
	before := must.Get(json.Marshal(present.Cluster))(t)
	patch := must.Get(plan.Patch())(t)
	if patch == nil {
		if len(plan.Changes) > 0 {
			t.Errorf("changes without a patch: %s", plan)
		}
		return nil
	}
	after := must.Get(must.Get(jsonpatch.DecodePatch(patch))(t).Apply(before))(t)
	return differing(t, before, after)
}

// differing are the paths of the values that differ.
func differing(t *testing.T, before, after []byte) []string {
	t.Helper()
	first, second := map[string]string{}, map[string]string{}
	flatten(t, "", before, first)
	flatten(t, "", after, second)
	paths := map[string]bool{}
	for path, value := range first {
		paths[path] = second[path] != value
	}
	for path, value := range second {
		paths[path] = first[path] != value
	}
	maps.DeleteFunc(paths, func(_ string, differs bool) bool { return !differs })
	if len(paths) == 0 {
		return nil
	}
	return slices.Sorted(maps.Keys(paths))
}

// flatten a JSON value to its leaves, as they are written.
func flatten(t *testing.T, path string, value json.RawMessage, into map[string]string) {
	t.Helper()
	var object map[string]json.RawMessage
	var list []json.RawMessage
	switch {
	case value[0] == '{' && json.Unmarshal(value, &object) == nil && len(object) > 0:
		for key, each := range object {
			flatten(t, path+"/"+key, each, into)
		}
	case value[0] == '[' && json.Unmarshal(value, &list) == nil && len(list) > 0:
		for i, each := range list {
			flatten(t, fmt.Sprintf("%s/%d", path, i), each, into)
		}
	default:
		into[path] = string(value)
	}
}

func file(t *testing.T, name string) Present {
	t.Helper()
	return read(t, must.Get(os.ReadFile(filepath.Join("testdata", name)))(t))
}

func flavor(t *testing.T, name string) Present {
	t.Helper()
	raw := must.Get(os.ReadFile(filepath.Join("..", "..", "..", "..", "templates", name)))(t)
	given := map[string]string{
		"CLUSTER_NAME": "demo", "NAMESPACE": "default", "KUBERNETES_VERSION": "v1.36.3", "CONTAINER_POD_CIDR": "192.168.0.0/16",
		"CONTROL_PLANE_MACHINE_COUNT": "1", "WORKER_MACHINE_COUNT": "1",
	}
	processed := must.Get(yamlprocessor.NewSimpleProcessor().Process(raw, func(name string) (string, error) {
		if value, known := given[name]; known {
			return value, nil
		}
		return "", fmt.Errorf("unknown variable %s", name)
	}))(t)
	first, _, _ := strings.Cut(string(processed), "\n---\n")
	return read(t, []byte(first))
}

func read(t *testing.T, text []byte) Present {
	t.Helper()
	cluster, class := &clusterv1.Cluster{}, &clusterv1.ClusterClass{}
	must.Succeed(t, yaml.UnmarshalStrict(text, cluster))
	cluster.ResourceVersion = "7"
	first, _, _ := strings.Cut(templates.ClusterClass, "\n---\n")
	must.Succeed(t, yaml.UnmarshalStrict([]byte(first), class))
	return Present{Cluster: cluster, Class: class, Machines: machines(cluster)}
}

func foreignClass(present Present) Present {
	present.Class = &clusterv1.ClusterClass{Spec: clusterv1.ClusterClassSpec{Variables: []clusterv1.ClusterClassVariable{{
		Name: "resources", Schema: clusterv1.VariableSchema{OpenAPIV3Schema: clusterv1.JSONSchemaProps{Type: "string"}},
	}}}}
	return present
}

// machines of a cluster, each with a Node "node-NAME".
func machines(cluster *clusterv1.Cluster) []clusterv1.Machine {
	var made []clusterv1.Machine
	add := func(role, label, value string, count *int32) {
		for i := range ptr.Deref(count, 1) {
			name := fmt.Sprintf("%s-%d", role, i)
			made = append(made, clusterv1.Machine{
				ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{label: value}},
				Status:     clusterv1.MachineStatus{NodeRef: clusterv1.MachineNodeReference{Name: "node-" + name}},
			})
		}
	}
	add("control-plane", clusterv1.MachineControlPlaneLabel, "", cluster.Spec.Topology.ControlPlane.Replicas)
	for _, deployment := range cluster.Spec.Topology.Workers.MachineDeployments {
		add(deployment.Name, clusterv1.ClusterTopologyMachineDeploymentNameLabel, deployment.Name, deployment.Replicas)
	}
	for _, pool := range cluster.Spec.Topology.Workers.MachinePools {
		add(pool.Name, clusterv1.ClusterTopologyMachinePoolNameLabel, pool.Name, pool.Replicas)
	}
	return made
}
