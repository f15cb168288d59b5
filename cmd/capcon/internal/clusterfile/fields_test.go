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
	"os"
	"reflect"
	"strings"
	"testing"

	"sigs.k8s.io/kind/pkg/apis/config/v1alpha4"
)

// TestEachFieldHasARow: the page says of each field of kind's format what becomes of it.
func TestEachFieldHasARow(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../../docs/how-to/kind-config.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		if cells := strings.Split(line, "|"); len(cells) > 3 && strings.TrimSpace(cells[2]+cells[3]) != "" {
			for name := range strings.SplitSeq(cells[1], ",") {
				rows[strings.Trim(name, " `")] = true
			}
		}
	}
	fields := paths("", reflect.TypeFor[v1alpha4.Cluster]())
	if len(fields) < 30 {
		t.Fatalf("only %d fields are known: %v", len(fields), fields)
	}
	for _, field := range fields {
		if !rows[field] {
			t.Errorf("no row has the field %s", field)
		}
	}
}

// paths of the fields of a type that have values, not those that have fields.
func paths(prefix string, of reflect.Type) []string {
	var found []string
	for _, field := range reflect.VisibleFields(of) {
		if field.Anonymous {
			continue
		}
		name, _, _ := strings.Cut(field.Tag.Get("yaml"), ",")
		path := prefix + name
		value := field.Type
		if value.Kind() == reflect.Slice {
			value, path = value.Elem(), path+"[]"
		}
		if value.Kind() == reflect.Struct {
			found = append(found, paths(path+".", value)...)
			continue
		}
		found = append(found, strings.TrimSuffix(path, "[]"))
	}
	return found
}
