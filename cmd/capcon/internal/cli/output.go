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

package cli

import (
	"encoding/json"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/input"
)

// The formats of --output.
const (
	outputText = "text"
	outputJSON = "json"
)

// addOutput adds --output to a command, and checks it before the command runs.
func addOutput(command *cobra.Command, into *string) {
	command.Flags().StringVarP(into, "output", "o", outputText, "text or json")
	command.PreRunE = func(*cobra.Command, []string) error { return input.Refuse(checkOutput(*into)...) }
}

func checkOutput(format string) []input.Problem {
	if format == outputText || format == outputJSON {
		return nil
	}
	return []input.Problem{{
		Field: "--output", Value: format, Reason: "unsupported format", Remedy: "use text or json",
	}}
}

// printOutput prints a value as JSON, or as text for users.
func (a *app) printOutput(format string, value any, text func() error) error {
	if format == outputText {
		return text()
	}
	encoder := json.NewEncoder(a.Out)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(value); err != nil {
		return fmt.Errorf("print as JSON: %w", err)
	}
	return nil
}

// table prints lines whose columns are separated by tabs.
func (a *app) table(lines []string) error {
	const columnGap = 2
	table := tabwriter.NewWriter(a.Out, 0, 0, columnGap, ' ', 0)
	if _, err := fmt.Fprintln(table, strings.Join(lines, "\n")); err != nil {
		return fmt.Errorf("print table: %w", err)
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("print table: %w", err)
	}
	return nil
}

// plural is a count of something regular.
func plural(count int, noun string) string {
	if count == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", count, noun)
}
