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

// Package output prints the results and errors of commands.
package output

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/input"
)

// The formats of --output.
const (
	Text = "text"
	JSON = "json"
)

// Optional is a column of a table that is not always shown, with the tab behind it.
func Optional(shown bool, text string) string { //nolint:revive // It is a property of the table.
	if !shown {
		return ""
	}
	return text + "\t"
}

// Printer prints for users. An error of the output has nowhere to go but the output.
type Printer struct {
	Out, Err io.Writer
	// warnings that are printed at the end.
	warnings []string
	mu       sync.Mutex
}

// Printf prints a line of the result.
func (p *Printer) Printf(format string, values ...any) {
	_, _ = fmt.Fprintf(p.Out, format+"\n", values...)
}

// Errorf prints a line about an error.
func (p *Printer) Errorf(format string, values ...any) {
	_, _ = fmt.Fprintf(p.Err, format+"\n", values...)
}

// Warnf warns of what does not keep the command from its work. Each warning is printed once,
// at the end. Safe for concurrent use.
func (p *Printer) Warnf(format string, values ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if text := fmt.Sprintf(format, values...); !slices.Contains(p.warnings, text) {
		p.warnings = append(p.warnings, text)
	}
}

// PrintWarnings of the command.
func (p *Printer) PrintWarnings() {
	for _, text := range p.warnings {
		p.Errorf("Warning: %s", text)
	}
}

// AddFlag adds --output to a command, and checks it before the command runs.
func AddFlag(command *cobra.Command, into *string) {
	command.Flags().StringVarP(into, "output", "o", Text, "text or json")
	command.PreRunE = func(*cobra.Command, []string) error { return input.Refuse(CheckFormat(*into)...) }
}

// CheckFormat of --output.
func CheckFormat(format string) []input.Problem {
	if format == Text || format == JSON {
		return nil
	}
	return []input.Problem{{
		Field: "--output", Value: format, Reason: "unsupported format", Remedy: "use text or json",
	}}
}

// Print a value as JSON, or as text for users.
func (p *Printer) Print(format string, value any, text func() error) error {
	if format == Text {
		return text()
	}
	encoder := json.NewEncoder(p.Out)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(value); err != nil {
		return fmt.Errorf("print as JSON: %w", err)
	}
	return nil
}

// Table prints lines whose columns are separated by tabs.
func (p *Printer) Table(lines []string) error {
	const columnGap = 2
	table := tabwriter.NewWriter(p.Out, 0, 0, columnGap, ' ', 0)
	if _, err := fmt.Fprintln(table, strings.Join(lines, "\n")); err != nil {
		return fmt.Errorf("print table: %w", err)
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("print table: %w", err)
	}
	return nil
}

// Cut a line to the columns, which keeps it from wrapping; below 1 = any number.
func Cut(line string, columns int) string {
	if runes := []rune(line); columns > 0 && len(runes) > columns {
		return string(runes[:columns-1]) + "…"
	}
	return line
}

// Plural is a count of something regular.
func Plural(count int, noun string) string {
	if count == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", count, noun)
}

// OrNone lists names.
func OrNone(names []string) string { return cmp.Or(strings.Join(names, ", "), "none") }

// ShellQuote quotes a word for a POSIX shell, where it needs that.
func ShellQuote(word string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./@%"
	if word != "" && strings.Trim(word, plain) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
