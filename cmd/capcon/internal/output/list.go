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

package output

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/yaml"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/input"
)

// The formats of --output of a list of objects, in addition to JSON.
const (
	table = "table"
	wide  = "wide"
	name  = "name"
	yml   = "yaml"
)

// List of objects.
type List struct {
	// Columns of the table, and those that wide adds. The first one is the name.
	Columns, Wide []string
	Rows          []Row
	// Scheme has the kinds of the objects; it may be nil without rows.
	Scheme *runtime.Scheme
}

// Row is one object.
type Row struct {
	Object client.Object
	// Name of it, as commands take it.
	Name string
	// Columns after the name, and those that wide adds.
	Columns, Wide []string
}

// AddListFlag adds --output of a list to a command, which checks it with CheckListFormat.
func AddListFlag(command *cobra.Command, into *string) {
	command.Flags().StringVarP(into, "output", "o", table, "table, wide, name, json or yaml")
}

// CheckListFormat of --output.
func CheckListFormat(format string) []input.Problem {
	if slices.Contains([]string{table, wide, name, JSON, yml}, format) {
		return nil
	}
	return []input.Problem{{Field: "--output", Value: format, Reason: "unsupported format", Remedy: "use table, wide, name, json or yaml"}}
}

// PrintList in a format. An empty table is not printed.
func (p *Printer) PrintList(format string, list List) error {
	switch format {
	case name:
		for _, row := range list.Rows {
			p.Printf("%s", row.Name)
		}
		return nil
	case JSON, yml:
		return p.printObjects(format, list)
	}
	if len(list.Rows) == 0 {
		return nil
	}
	line := func(columns, more []string) string {
		if format == wide {
			columns = slices.Concat(columns, more)
		}
		return strings.Join(columns, "\t")
	}
	lines := []string{line(list.Columns, list.Wide)}
	for _, row := range list.Rows {
		lines = append(lines, line(append([]string{row.Name}, row.Columns...), row.Wide))
	}
	return p.Table(lines)
}

// printObjects as a List of the core API, as kubectl does.
func (p *Printer) printObjects(format string, list List) error {
	items := make([]client.Object, 0, len(list.Rows))
	for _, row := range list.Rows {
		kind, err := apiutil.GVKForObject(row.Object, list.Scheme)
		if err != nil {
			return fmt.Errorf("print %s: %w", row.Name, err)
		}
		object := row.Object
		object.GetObjectKind().SetGroupVersionKind(kind)
		object.SetManagedFields(nil)
		items = append(items, object)
	}
	value := map[string]any{"apiVersion": "v1", "kind": "List", "metadata": map[string]any{"resourceVersion": ""}, "items": items}
	text, err := json.MarshalIndent(value, "", "    ")
	if err == nil && format == yml {
		text, err = yaml.JSONToYAML(text)
	}
	if err != nil {
		return fmt.Errorf("print as %s: %w", format, err)
	}
	p.Printf("%s", strings.TrimSuffix(string(text), "\n"))
	return nil
}
