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
	"fmt"
	"regexp"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	kjson "sigs.k8s.io/json"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/input"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/objects"
)

// readManifest returns the Cluster of a manifest, without what belongs to one that exists.
func (f *file) readManifest(text []byte) (*clusterv1.Cluster, error) {
	raw, err := sigsyaml.YAMLToJSON(text)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", f.name, err)
	}
	cluster := &clusterv1.Cluster{}
	unknown, err := kjson.UnmarshalStrict(raw, cluster)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", f.name, err)
	}
	for _, problem := range unknown {
		field := strings.Trim(strings.TrimPrefix(problem.Error(), "unknown field "), `"`)
		f.refuse(f.line(steps(field)...), field, "", "a Cluster has no such field", "correct or remove it")
	}
	class := cluster.Spec.Topology.ClassRef.Name
	switch {
	case !cluster.Spec.Topology.IsDefined():
		f.refuse(f.line("spec"), "spec.topology", "", "the Cluster has no topology", "set spec.topology with the class "+objects.NamedClass+", or apply the manifest with kubectl")
	case class != objects.NamedClass && !strings.HasPrefix(class, objects.NamedClass+"-"):
		f.refuse(f.line("spec", "topology", "classRef", "name"), "spec.topology.classRef.name", class, "is not the class of capcon",
			"use "+objects.NamedClass+", or apply the manifest with kubectl")
	}
	f.ofManifest()
	f.checkPodNetwork(cluster.Spec.Topology.Variables)
	return stripped(cluster), input.Refuse(f.problems...)
}

// checkPodNetwork: capcon installs the Pod network itself, and takes the variable out.
func (f *file) checkPodNetwork(variables []clusterv1.ClusterVariable) {
	for _, variable := range variables {
		if given := string(variable.Value.Raw); variable.Name == podNetwork && given != `"default"` && given != `"none"` {
			f.problems = append(f.problems, input.Problem{
				Field: f.origins[value(podNetwork)], Value: strings.Trim(given, `"`), Reason: "is no Pod network", Remedy: "use default or none",
			})
		}
	}
}

// step of a path such as spec.topology.variables[0].name.
var step = regexp.MustCompile(`[^.\[\]]+`)

func steps(path string) []any {
	var steps []any
	for _, text := range step.FindAllString(path, -1) {
		if index, err := strconv.Atoi(text); err == nil {
			steps = append(steps, index)
		} else {
			steps = append(steps, text)
		}
	}
	return steps
}

// stripped of what belongs to one Cluster that exists, and to one management cluster.
func stripped(cluster *clusterv1.Cluster) *clusterv1.Cluster {
	topology := cluster.Spec.Topology.DeepCopy()
	topology.ClassRef = clusterv1.ClusterClassRef{Name: objects.NamedClass}
	topology.Variables = without(topology.Variables, "ownerID")
	return &clusterv1.Cluster{
		TypeMeta:   metav1.TypeMeta{APIVersion: clusterv1.GroupVersion.String(), Kind: clusterv1.ClusterKind},
		ObjectMeta: metav1.ObjectMeta{Name: cluster.Name},
		Spec:       clusterv1.ClusterSpec{ClusterNetwork: cluster.Spec.ClusterNetwork, Topology: *topology},
	}
}

func without(variables []clusterv1.ClusterVariable, name string) []clusterv1.ClusterVariable {
	var others []clusterv1.ClusterVariable
	for _, variable := range variables {
		if variable.Name != name {
			others = append(others, variable)
		}
	}
	return others
}
