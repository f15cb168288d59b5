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
	"reflect"

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

func sameValue(present, desired any, schema *clusterv1.JSONSchemaProps) bool { //nolint:gocognit // One case for each kind of value.
	switch present := present.(type) {
	case map[string]any:
		keys, ok := desired.(map[string]any)
		if !ok {
			return false
		}
		for key := range keys {
			if _, found := present[key]; !found {
				return false
			}
		}
		for key, value := range present {
			below := schema.Properties[key]
			given, found := keys[key]
			if !found && below.Default != nil {
				given, found = decode(below.Default.Raw), true
			}
			if !found || !sameValue(value, given, &below) {
				return false
			}
		}
		return true
	case []any:
		entries, ok := desired.([]any)
		if !ok || len(entries) != len(present) {
			return false
		}
		items := schema.Items
		if items == nil {
			items = &clusterv1.JSONSchemaProps{}
		}
		for i, value := range present {
			if !sameValue(value, entries[i], items) {
				return false
			}
		}
		return true
	}
	return reflect.DeepEqual(present, desired)
}
