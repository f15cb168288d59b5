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

package admission

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/internal/webhooks"
)

// Variables that are fields of machines, and of the cluster, with the same names.
var (
	machineVariables = []string{"extraMounts", "portMappings", "environment", "labels", "dnsSearch", "devices", "resources"}
	clusterVariables = []string{"loadBalancer", "network", "registries", "images", "limits", "failureDomains"}
)

// checkMachines of each role, whose own variables replace those of all nodes.
func checkMachines(topology *clusterv1.Topology) field.ErrorList {
	var errs field.ErrorList
	places := Places(topology)
	for _, role := range places[1:] {
		spec := &infrav1.ContainerMachineCommonSpec{}
		fields := collect(spec, machineVariables, places[0], role)
		errs = append(errs, relocate(webhooks.ValidateMachineSpec(field.NewPath(root), spec), fields)...)
	}
	return errs
}

func checkCluster(topology *clusterv1.Topology) field.ErrorList {
	spec := &infrav1.ContainerClusterTemplateResourceSpec{}
	fields := collect(spec, clusterVariables, Places(topology)[0])
	return relocate(webhooks.ValidateClusterSpec(field.NewPath(root), spec), fields)
}

// collect the variables of places in a spec, the last one of each name, and return where they are.
// One of another form is left out: the schema refuses it.
func collect(into any, names []string, places ...Place) map[string]string {
	fields := map[string]string{}
	values := map[string]json.RawMessage{}
	for _, place := range places {
		for _, variable := range place.Variables {
			if slices.Contains(names, variable.Name) {
				values[variable.Name], fields[variable.Name] = variable.Value.Raw, place.Field(variable.Name)
			}
		}
	}
	for name, value := range values {
		text, err := json.Marshal(map[string]json.RawMessage{name: value})
		if err == nil {
			_ = json.Unmarshal(text, into)
		}
	}
	return fields
}

// root of the fields of a spec.
const root = "spec"

// relocate errors from the fields of a spec to the variables that they are from.
func relocate(errs field.ErrorList, fields map[string]string) field.ErrorList {
	for _, err := range errs {
		name := strings.TrimPrefix(err.Field, root+".")
		rest := ""
		if end := strings.IndexAny(name, ".["); end >= 0 {
			name, rest = name[:end], name[end:]
		}
		err.Field = fields[name] + rest
	}
	return errs
}

// checkLabels that kubelets give to their Nodes.
func checkLabels(topology *clusterv1.Topology) field.ErrorList {
	var errs field.ErrorList
	for _, place := range Places(topology) {
		for _, variable := range place.Variables {
			labels := map[string]string{}
			if variable.Name == "nodeLabels" && json.Unmarshal(variable.Value.Raw, &labels) == nil {
				errs = append(errs, validateLabels(field.NewPath(place.Field(variable.Name)), labels)...)
			}
		}
	}
	return errs
}

func validateLabels(path *field.Path, labels map[string]string) field.ErrorList {
	const form = "use at most 63 letters, digits, dashes, underscores and dots, beginning and ending with a letter or digit"
	var errs field.ErrorList
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		if len(validation.IsQualifiedName(key)) > 0 {
			errs = append(errs, field.Invalid(path.Child(key), key, "is not a valid label key; "+form+", such as tier or example.com/tier"))
		}
		if len(validation.IsValidLabelValue(labels[key])) > 0 {
			errs = append(errs, field.Invalid(path.Child(key), labels[key], "is not a valid label value; "+form))
		}
	}
	return errs
}
