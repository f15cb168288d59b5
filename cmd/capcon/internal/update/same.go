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
	"cmp"
	"encoding/json"
	"reflect"
	"slices"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// same reports whether two values of a variable are the same, but for defaults of the class, which
// Cluster API adds to the Cluster.
func (c *computation) same(name string, present, desired json.RawMessage) bool {
	if present == nil || desired == nil {
		return present == nil && desired == nil
	}
	schema := clusterv1.JSONSchemaProps{}
	if c.Class != nil {
		for i := range c.Class.Spec.Variables {
			if c.Class.Spec.Variables[i].Name == name {
				schema = c.Class.Spec.Variables[i].Schema.OpenAPIV3Schema
			}
		}
	}
	return sameValue(decode(present), decode(desired), &schema)
}

func sameValue(present, desired any, schema *clusterv1.JSONSchemaProps) bool {
	switch present := present.(type) {
	case map[string]any:
		keys, ok := desired.(map[string]any)
		return ok && sameObject(present, keys, schema)
	case []any:
		entries, ok := desired.([]any)
		return ok && sameList(present, entries, schema.Items)
	}
	return reflect.DeepEqual(present, desired)
}

// sameObject fills in the defaults of what is desired.
func sameObject(present, desired map[string]any, schema *clusterv1.JSONSchemaProps) bool {
	for key := range desired {
		if _, found := present[key]; !found {
			return false
		}
	}
	for key, value := range present {
		below := schema.Properties[key]
		given, found := desired[key]
		if !found && below.Default != nil {
			given, found = decode(below.Default.Raw), true
		}
		if !found || !sameValue(value, given, &below) {
			return false
		}
	}
	return true
}

func sameList(present, desired []any, items *clusterv1.JSONSchemaProps) bool {
	items = cmp.Or(items, &clusterv1.JSONSchemaProps{})
	return slices.EqualFunc(present, desired, func(a, b any) bool { return sameValue(a, b, items) })
}
