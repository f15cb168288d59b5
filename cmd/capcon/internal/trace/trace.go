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
// the trace event format, which Perfetto and Chrome open.
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
	Start time.Time
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

// Between returns the events of a period in the order of their start. What started before or
// ended after it is cut off.
func (r *Recorder) Between(from, to time.Time) []Event {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	var within []Event
	for _, event := range r.events {
		if event.Start.After(to) || event.End.IsZero() && event.Start.Before(from) || !event.End.IsZero() && event.End.Before(from) {
			continue
		}
		if event.Start.Before(from) {
			event.Start = from
		}
		if event.End.After(to) {
			event.End = to
		}
		within = append(within, event)
	}
	slices.SortStableFunc(within, func(a, b Event) int { return a.Start.Compare(b.Start) })
	return within
}

// entry of the trace event format. Times are in microseconds.
type entry struct {
	Name     string            `json:"name"`
	Phase    string            `json:"ph"`
	Time     int64             `json:"ts"`
	Duration int64             `json:"dur,omitempty"`
	Process  int               `json:"pid"`
	Thread   int               `json:"tid"`
	Scope    string            `json:"s,omitempty"`
	Args     map[string]string `json:"args,omitempty"`
}

// The phases of the format that are used here.
const (
	phaseComplete = "X"
	phaseInstant  = "i"
	phaseMetadata = "M"
	threadScope   = "t"
)

// WriteJSON writes the events in the trace event format. Times count from the first event; groups
// and tracks are shown in the order in which they begin.
func WriteJSON(w io.Writer, events []Event) error {
	entries := []entry{}
	groups, tracks := map[string]int{}, map[[2]string]int{}
	for _, event := range events {
		track := [2]string{event.Group, event.Track}
		if groups[event.Group] == 0 {
			groups[event.Group] = len(groups) + 1
			entries = append(entries, entry{
				Name: "process_name", Phase: phaseMetadata, Process: groups[event.Group], Args: map[string]string{"name": event.Group},
			})
		}
		if tracks[track] == 0 {
			tracks[track] = len(tracks) + 1
			entries = append(entries, entry{
				Name: "thread_name", Phase: phaseMetadata, Process: groups[event.Group], Thread: tracks[track], Args: map[string]string{"name": event.Track},
			})
		}
		one := entry{
			Name: event.Name, Phase: phaseInstant, Scope: threadScope, Process: groups[event.Group], Thread: tracks[track],
			Time: event.Start.Sub(events[0].Start).Microseconds(), Args: event.Details,
		}
		if !event.End.IsZero() {
			one.Phase, one.Scope, one.Duration = phaseComplete, "", event.End.Sub(event.Start).Microseconds()
		}
		entries = append(entries, one)
	}
	if err := json.NewEncoder(w).Encode(map[string]any{"traceEvents": entries, "displayTimeUnit": "ms"}); err != nil {
		return fmt.Errorf("write trace: %w", err)
	}
	return nil
}
