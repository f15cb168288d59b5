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

// Package trace records what happens while a cluster is created: changes of objects, calls
// of the container engine, and the steps in its nodes, on one time axis. It writes them in
// the trace event format, which Perfetto and Chrome open, or as a picture.
package trace

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"
)

// Event is something that happened. Events are shown in rows: those of a track in one row,
// and the tracks of a group below each other.
type Event struct {
	Group, Track string
	// Name is what happened, in a few words.
	Name  string
	Begin time.Time
	// End is zero of what has no duration.
	End time.Time
	// Details are shown of an event that is selected.
	Details map[string]string
}

// Recorder collects events. Its methods may be called concurrently.
type Recorder struct {
	mutex  sync.Mutex
	events []Event
}

// Add events in any order.
func (r *Recorder) Add(events ...Event) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.events = append(r.events, events...)
}

// Between returns the events of a period in the order of their begin. What began before or
// ended after it is cut off.
func (r *Recorder) Between(from, to time.Time) []Event {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	var within []Event
	for _, event := range r.events {
		if event.Begin.After(to) || event.End.IsZero() && event.Begin.Before(from) || !event.End.IsZero() && event.End.Before(from) {
			continue
		}
		if event.Begin.Before(from) {
			event.Begin = from
		}
		if event.End.After(to) {
			event.End = to
		}
		within = append(within, event)
	}
	slices.SortStableFunc(within, func(a, b Event) int { return a.Begin.Compare(b.Begin) })
	return within
}

// entry of the trace event format. Times are in microseconds.
type entry struct {
	Name     string         `json:"name"`
	Phase    string         `json:"ph"`
	Time     int64          `json:"ts"`
	Duration int64          `json:"dur,omitempty"`
	Process  int            `json:"pid"`
	Thread   int            `json:"tid"`
	Scope    string         `json:"s,omitempty"`
	Args     map[string]any `json:"args,omitempty"`
}

// The phases of the format that are used here.
const (
	phaseComplete = "X"
	phaseInstant  = "i"
	phaseMetadata = "M"
	threadScope   = "t"
)

// WriteJSON writes the events in the trace event format. Times count from the first event.
func WriteJSON(w io.Writer, events []Event) error {
	entries := []entry{}
	rows := rowsOf(events)
	process := 0
	for i, row := range rows {
		if i == 0 || rows[i-1].group != row.group {
			process++
			entries = append(entries, entry{Name: "process_name", Phase: phaseMetadata, Process: process, Args: map[string]any{"name": row.group}})
		}
		entries = append(entries, entry{Name: "thread_name", Phase: phaseMetadata, Process: process, Thread: i + 1, Args: map[string]any{"name": row.track}})
		for _, event := range row.events {
			one := entry{
				Name: event.Name, Phase: phaseInstant, Scope: threadScope, Process: process, Thread: i + 1,
				Time: event.Begin.Sub(events[0].Begin).Microseconds(), Args: map[string]any{},
			}
			if !event.End.IsZero() {
				one.Phase, one.Scope, one.Duration = phaseComplete, "", event.End.Sub(event.Begin).Microseconds()
			}
			for key, value := range event.Details {
				one.Args[key] = value
			}
			entries = append(entries, one)
		}
	}
	if err := json.NewEncoder(w).Encode(map[string]any{"traceEvents": entries, "displayTimeUnit": "ms"}); err != nil {
		return fmt.Errorf("write trace: %w", err)
	}
	return nil
}

// row has the events of one track.
type row struct {
	group, track string
	events       []Event
}

// rowsOf events that are in the order of their begin: groups and tracks in the order in
// which they begin.
func rowsOf(events []Event) []row {
	var groups []string
	tracks := map[string][]string{}
	of := map[[2]string][]Event{}
	for _, event := range events {
		if !slices.Contains(groups, event.Group) {
			groups = append(groups, event.Group)
		}
		key := [2]string{event.Group, event.Track}
		if len(of[key]) == 0 {
			tracks[event.Group] = append(tracks[event.Group], event.Track)
		}
		of[key] = append(of[key], event)
	}
	var rows []row
	for _, group := range groups {
		for _, track := range tracks[group] {
			rows = append(rows, row{group: group, track: track, events: of[[2]string{group, track}]})
		}
	}
	return rows
}
