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

package preflight

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Severity says what an Item keeps from working.
type Severity string

// The severities.
const (
	// SeverityError: no cluster can work.
	SeverityError Severity = "error"
	// SeverityWarning: clusters work, with less than they could have, or
	// only so many.
	SeverityWarning Severity = "warning"
)

// Item is one thing that is missing.
type Item struct {
	// Name is stable, short and fit for a program, such as
	// "InotifyInstances".
	Name     string
	Severity Severity
	// Message says what is, with its numbers; Remedy what to do.
	Message, Remedy string
}

func failure(name, message, remedy string) Item {
	return Item{Name: name, Severity: SeverityError, Message: message, Remedy: remedy}
}

func warning(name, message, remedy string) Item {
	return Item{Name: name, Severity: SeverityWarning, Message: message, Remedy: remedy}
}

// Check returns what is missing, errors first, each kind in a fixed order.
// An empty result means that everything known is well.
func Check(facts Facts) []Item {
	if facts.EngineError != nil {
		return []Item{engineError(facts.EngineError)}
	}
	facts.Nodes = max(facts.Nodes, 1)
	items := checkEngine(facts)
	if facts.Host != nil {
		items = append(items, checkHost(facts, *facts.Host)...)
	}
	// "error" comes before "warning".
	slices.SortStableFunc(items, func(a, b Item) int { return cmp.Compare(a.Severity, b.Severity) })
	return items
}

// Failed reports whether any item is an error.
func Failed(items []Item) bool {
	return slices.ContainsFunc(items, func(item Item) bool { return item.Severity == SeverityError })
}

// Summary is one line for a condition that names each item and its remedy, in
// the order given. Empty for no items.
func Summary(items []Item) string {
	texts := make([]string, len(items))
	for i, item := range items {
		texts[i] = fmt.Sprintf("%s (%s): %s; %s", item.Name, item.Severity, item.Message, item.Remedy)
	}
	// An engine's own text may span lines.
	return strings.Join(strings.Fields(strings.Join(texts, " | ")), " ")
}
