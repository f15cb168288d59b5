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

package input

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Problem is one value that cannot be used.
type Problem struct {
	// Field as the user typed it: a flag or an argument.
	Field string
	// Value that was given.
	Value string
	// Reason says what is wrong with it.
	Reason string
	// Remedy says what to give instead.
	Remedy string
}

// String is one line for users.
func (p Problem) String() string {
	if p.Value == "" {
		return fmt.Sprintf("%s: %s; %s", p.Field, p.Reason, p.Remedy)
	}
	return fmt.Sprintf("%s %q: %s; %s", p.Field, p.Value, p.Reason, p.Remedy)
}

// Error is everything that is wrong with a request.
type Error struct {
	// Problems, at least one.
	Problems []Problem
}

// Refuse returns an *Error with the problems, or nil where there is none.
func Refuse(problems ...Problem) error {
	if len(problems) == 0 {
		return nil
	}
	return &Error{Problems: problems}
}

// Problems of an error of Refuse.
func Problems(err error) []Problem {
	if refused := new(Error); errors.As(err, &refused) {
		return refused.Problems
	}
	return nil
}

// Origins are the places of a file, such as "kind.yaml:3: networking.podSubnet", by the fields of
// problems that they set: flags, and fields of the Cluster such as
// spec.topology.variables[network].value.name. OfFile is the file.
type Origins map[string]string

// OfFile is the key of the file itself, whose place is that of fields of the Cluster with no other.
const OfFile = ""

// Locate has the problems of an error name the places of the file that they are in, or of the
// fields that these are in.
func (o Origins) Locate(err error) error {
	for i, problem := range Problems(err) {
		Problems(err)[i].Field = o.locate(problem.Field)
	}
	return err
}

func (o Origins) locate(field string) string {
	for at := field; at != ""; at = parent(at) {
		if place, ok := o[at]; ok {
			return place + field[len(at):]
		}
	}
	if file, ok := o[OfFile]; ok && strings.HasPrefix(field, "spec.") {
		return file + ": " + field
	}
	return field
}

// parent of a field: what it is a key or an index of.
func parent(field string) string {
	separator := "."
	if strings.HasSuffix(field, "]") {
		separator = "["
	}
	return field[:max(strings.LastIndex(field, separator), 0)]
}

// CheckNotNegative checks a number, or how long something may take.
func CheckNotNegative[N int | time.Duration](flag string, given N, remedy string) []Problem {
	if given >= 0 {
		return nil
	}
	return []Problem{{flag, fmt.Sprint(given), "must not be negative", remedy}}
}

// Error implements error.
func (e *Error) Error() string {
	lines := make([]string, 0, len(e.Problems)+1)
	lines = append(lines, "invalid arguments:")
	for _, problem := range e.Problems {
		lines = append(lines, "  "+problem.String())
	}
	return strings.Join(lines, "\n")
}
