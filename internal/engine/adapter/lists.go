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

package adapter

import (
	"cmp"
	"slices"
)

// Terms are a selector's labels as the filters of engines have them: "key=value", or the
// key alone.
func Terms(selector map[string]string) []string {
	var terms []string
	for key, value := range selector {
		if value != "" {
			key += "=" + value
		}
		terms = append(terms, key)
	}
	return terms
}

// Carries reports whether labels have all of the selector, each with the very value: the
// filter of an engine may take an asterisk for a pattern.
func Carries(labels, selector map[string]string) bool {
	for key, value := range selector {
		got, ok := labels[key]
		if !ok || value != "" && got != value {
			return false
		}
	}
	return true
}

// List turns an engine's answer into values, ordered by name. None is an empty list.
func List[Answer, Value any](answers []Answer, observed func(Answer) Value, name func(Value) string) []Value {
	out := make([]Value, 0, len(answers))
	for _, one := range answers {
		out = append(out, observed(one))
	}
	slices.SortFunc(out, func(a, b Value) int { return cmp.Compare(name(a), name(b)) })
	return out
}
