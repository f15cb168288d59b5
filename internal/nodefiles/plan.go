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

// Package nodefiles changes files of nodes that run, and restarts what reads them only when it starts. What is to be
// done next is computed from what the node has: any step can be the last one of a manager, and any can be repeated.
package nodefiles

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// File that a node is to have.
type File struct {
	// Path is absolute and clean.
	Path string
	// Owner is "user" or "user:group", by name or number.
	Owner string
	// Mode has the permission bits.
	Mode uint32
	// Content may hold secrets.
	Content []byte
}

// Spec is what a node is to have.
type Spec struct {
	// Files in the order of their paths.
	Files []File
	// Kept are paths that stay as the first boot made them.
	Kept []string
	// Known are paths that the first boot wrote and that may be removed if the others do not have them.
	Known []string
}

// Record is what the node keeps of its updates, so that a manager continues what another began.
type Record struct {
	// Paths of files that updates wrote and the first boot did not.
	Paths []string
	// Restarts that are not finished: the invocation of each unit that is to end, or pending.
	Restarts map[string]string
}

// pending is a restart that waits until all files are written.
const pending = "pending"

// Present is what is at a path.
type Present struct {
	// IsFile says that it is a regular file, or a link to one. The other fields are set only then.
	IsFile bool
	Mode   uint32
	// User and Group by name, UID and GID by number.
	User, Group, UID, GID string
	// Checksum is the SHA-256 of the content.
	Checksum string
}

// Unit of systemd, as it is now.
type Unit struct {
	Invocation, State, Substate, Result string
}

// Observed is what a running node has.
type Observed struct {
	Record Record
	// Files by path; what is absent is not in it.
	Files map[string]Present
	Units map[string]Unit
}

// Action of a Step.
type Action int

// The actions.
const (
	// Done: the node has what it is to have.
	Done Action = iota
	// PutRecord: the record is written.
	PutRecord
	// Write files.
	Write
	// Remove files.
	Remove
	// Restart a unit.
	Restart
	// Wait for a unit.
	Wait
)

// Step of an update.
type Step struct {
	Action Action
	// Record to be written.
	Record Record
	// Files to be written.
	Files []File
	// Paths to be removed.
	Paths []string
	// Unit to be restarted, or waited for.
	Unit string
	// Problem of the unit; empty = none is known.
	Problem string
}

// String describes the step, for conditions; it never has a content.
func (s Step) String() string {
	switch s.Action {
	case PutRecord:
		return "record what changes"
	case Write:
		paths := make([]string, 0, len(s.Files))
		for _, file := range s.Files {
			paths = append(paths, file.Path)
		}
		return "write " + strings.Join(paths, ", ")
	case Remove:
		return "remove " + strings.Join(s.Paths, ", ")
	case Restart, Wait:
		return "restart " + s.Unit
	case Done:
	}
	return "done"
}

// paths to be observed.
func (s Spec) paths() []string {
	paths := slices.Clone(s.Known)
	for _, file := range s.Files {
		paths = append(paths, file.Path)
	}
	return paths
}

// stale paths are those that were written and are not desired.
func (s Spec) stale(record Record) []string {
	stale := slices.Concat(s.Known, record.Paths)
	slices.Sort(stale)
	return slices.DeleteFunc(slices.Compact(stale), func(path string) bool {
		return slices.Contains(s.Kept, path) || slices.ContainsFunc(s.Files, func(file File) bool { return file.Path == path })
	})
}

// added are paths of files that the first boot did not write.
func (s Spec) added() []string {
	var added []string
	for _, file := range s.Files {
		if !slices.Contains(s.Known, file.Path) {
			added = append(added, file.Path)
		}
	}
	return added
}

// Next is the next step for a node. What is restarted, and what may be removed later, is recorded before the files change;
// a unit is restarted after the last of them.
func Next(spec Spec, has Observed) Step {
	changed := slices.DeleteFunc(slices.Clone(spec.Files), func(file File) bool { return file.matches(has.Files[file.Path]) })
	stale := slices.DeleteFunc(spec.stale(has.Record), func(path string) bool { return !has.Files[path].IsFile })
	if len(changed)+len(stale) > 0 {
		needed := has.Record.with(spec.added(), unitsOf(changed, stale))
		switch {
		case !needed.equals(has.Record):
			return Step{Action: PutRecord, Record: needed}
		case len(changed) > 0:
			return Step{Action: Write, Files: changed}
		default:
			return Step{Action: Remove, Paths: stale}
		}
	}
	for _, unit := range slices.Sorted(maps.Keys(has.Record.Restarts)) {
		if step := has.restart(unit); step.Action != Done {
			return step
		}
	}
	if last := (Record{Paths: spec.added()}); !last.equals(has.Record) {
		return Step{Action: PutRecord, Record: last}
	}
	return Step{}
}

// restart of a unit has ended when it is active in another invocation than the one that was to end.
func (o Observed) restart(name string) Step {
	unit, recorded := o.Units[name], o.Record.Restarts[name]
	if recorded == pending {
		next := o.Record.with(nil, nil)
		next.Restarts[name] = cmp.Or(unit.Invocation, "none")
		return Step{Action: PutRecord, Record: next}
	}
	isNew := recorded != cmp.Or(unit.Invocation, "none")
	problem := fmt.Sprintf("unit %s is %s (%s); its log in the node has the cause: journalctl --unit %[1]s", name, unit.State, unit.Result)
	switch {
	case unit.State == "active" && isNew:
		return Step{}
	case unit.Substate == "auto-restart":
		return Step{Action: Wait, Unit: name, Problem: problem}
	case unit.State == "failed" && isNew:
		return Step{Action: Restart, Unit: name, Problem: problem}
	case unit.State == "active", unit.State == "failed", unit.State == "inactive":
		return Step{Action: Restart, Unit: name}
	default:
		return Step{Action: Wait, Unit: name}
	}
}

// with more paths, and units that wait for their restart.
func (r Record) with(paths, units []string) Record {
	next := Record{Paths: slices.Concat(r.Paths, paths), Restarts: map[string]string{}}
	slices.Sort(next.Paths)
	next.Paths = slices.Compact(next.Paths)
	maps.Copy(next.Restarts, r.Restarts)
	for _, unit := range units {
		next.Restarts[unit] = pending
	}
	return next
}

func (r Record) equals(other Record) bool {
	return slices.Equal(r.Paths, other.Paths) && maps.Equal(r.Restarts, other.Restarts)
}

func (f File) matches(present Present) bool {
	sum := sha256.Sum256(f.Content)
	user, group, hasGroup := strings.Cut(f.Owner, ":")
	return present.IsFile && present.Mode == f.Mode && present.Checksum == hex.EncodeToString(sum[:]) &&
		(user == present.User || user == present.UID) && (!hasGroup || group == present.Group || group == present.GID)
}

// parse what the script prints: the record, then what is at the paths and at those of the record, and then the units.
func parse(text string, paths []string) (Observed, error) {
	has := Observed{Record: Record{Restarts: map[string]string{}}, Files: map[string]Present{}, Units: map[string]Unit{}}
	unit := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		kind, rest, _ := strings.Cut(line, " ")
		switch kind {
		case "path":
			has.Record.Paths = append(has.Record.Paths, rest)
		case "restart":
			name, invocation, _ := strings.Cut(rest, " ")
			has.Record.Restarts[name] = invocation
		case "file":
			index, present, err := parseFile(rest)
			all := slices.Concat(paths, has.Record.Paths)
			if err != nil || index < 0 || index >= len(all) {
				return Observed{}, fmt.Errorf("unexpected line %q", line)
			}
			has.Files[all[index]] = present
		case "unit":
			unit = rest
		default:
			name, value, _ := strings.Cut(line, "=")
			has.Units[unit] = has.Units[unit].with(name, value)
		}
	}
	return has, nil
}

// parseFile reads the number of a path and, if it is a regular file, what is known of it.
func parseFile(text string) (int, Present, error) {
	number, _, _ := strings.Cut(text, " ")
	fields := strings.Fields(text)
	index, err := strconv.Atoi(number)
	if err != nil || len(fields) != 7 {
		return index, Present{}, err //nolint:wrapcheck // the caller says what was read
	}
	mode, err := strconv.ParseUint(fields[1], 8, 32)
	return index, Present{
		IsFile: true, Mode: uint32(mode), User: fields[2], Group: fields[3], UID: fields[4], GID: fields[5], Checksum: fields[6],
	}, err //nolint:wrapcheck // the caller says what was read
}

func (u Unit) with(property, value string) Unit {
	switch property {
	case "InvocationID":
		u.Invocation = value
	case "ActiveState":
		u.State = value
	case "SubState":
		u.Substate = value
	case "Result":
		u.Result = value
	}
	return u
}

// text of a record, in which parse finds it again.
func (r Record) text() string {
	var out strings.Builder
	for _, path := range r.Paths {
		fmt.Fprintf(&out, "path %s\n", path)
	}
	for _, unit := range slices.Sorted(maps.Keys(r.Restarts)) {
		fmt.Fprintf(&out, "restart %s %s\n", unit, r.Restarts[unit])
	}
	return out.String()
}
