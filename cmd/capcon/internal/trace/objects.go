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

package trace

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
)

// The groups of objects and of Nodes.
const (
	ObjectsGroup = "Management plane"
	NodesGroup   = "Workload cluster"
)

// Objects turns changes of objects into events: a span for each value of an object's Ready
// or Available condition, and an instant for each change. No value of an object gets into
// an event, except those of its conditions.
type Objects struct {
	recorder *Recorder
	group    string
	known    map[string]*object
}

// object as it was seen last.
type object struct {
	fields map[string]string
	// state is the value of its main condition, and since when it has it.
	state string
	since time.Time
}

// NewObjects records the objects of one API server in a group.
func NewObjects(recorder *Recorder, group string) *Objects {
	return &Objects{recorder: recorder, group: group, known: map[string]*object{}}
}

// Observe a change.
func (o *Objects) Observe(at time.Time, change watch.EventType, u *unstructured.Unstructured) {
	track := u.GetKind() + " " + u.GetName()
	before, existed := o.known[track]
	if !existed {
		before = &object{}
	}
	if change == watch.Deleted {
		o.recorder.Add(Event{Group: o.group, Track: track, Name: "deleted", Start: at})
		o.end(track, before, at)
		delete(o.known, track)
		return
	}
	after := &object{fields: fieldsOf(u), state: before.state, since: before.since}
	changed := changedFields(before.fields, after.fields)
	if existed && len(changed) == 0 {
		return
	}
	name, details := describe(changed, after.fields), map[string]string{"changed": strings.Join(changed, "\n")}
	if !existed {
		name, details = "created", map[string]string{}
	}
	if change == listed {
		name = "exists"
	}
	if writer := lastWriter(u); writer != "" {
		details["by"] = writer
	}
	o.recorder.Add(Event{Group: o.group, Track: track, Name: name, Start: at, Details: details})
	if state := stateOf(after.fields); state != before.state {
		o.end(track, before, at)
		after.state, after.since = state, at
	}
	o.known[track] = after
}

// End the spans of all objects.
func (o *Objects) End(at time.Time) {
	for track, last := range o.known {
		o.end(track, last, at)
	}
	clear(o.known)
}

func (o *Objects) end(track string, last *object, at time.Time) {
	if last.state != "" {
		o.recorder.Add(Event{Group: o.group, Track: track, Name: last.state, Start: last.since, End: at})
	}
}

// conditionPrefix of the fields that fieldsOf makes of conditions.
const conditionPrefix = "status.conditions["

// stateOf the condition that says whether an object works: True, or False and why.
func stateOf(fields map[string]string) string {
	for _, kind := range []string{"Ready", "Available"} {
		if value, ok := fields[conditionPrefix+kind+"]"]; ok {
			return kind + "=" + value
		}
	}
	return ""
}

// describe changed fields in a line: conditions with their values, others by their names.
func describe(changed []string, fields map[string]string) string {
	const most = 3
	words := make([]string, 0, most+1)
	for i, path := range changed {
		if i == most {
			words = append(words, fmt.Sprintf("and %d more", len(changed)-most))
			break
		}
		if name, isCondition := strings.CutPrefix(path, conditionPrefix); isCondition {
			words = append(words, strings.TrimSuffix(name, "]")+"="+fields[path])
			continue
		}
		words = append(words, path)
	}
	return strings.Join(words, ", ")
}

// changedFields are those that differ, conditions and status last.
func changedFields(before, after map[string]string) []string {
	var changed []string
	for path := range after {
		if value, ok := before[path]; !ok || value != after[path] {
			changed = append(changed, path)
		}
	}
	for path := range before {
		if _, ok := after[path]; !ok {
			changed = append(changed, path)
		}
	}
	slices.Sort(changed)
	return changed
}

// fieldsOf an object by their paths, without those that change with each write.
func fieldsOf(u *unstructured.Unstructured) map[string]string {
	content := maps.Clone(u.Object)
	if metadata, ok := content["metadata"].(map[string]any); ok {
		metadata = maps.Clone(metadata)
		for _, each := range []string{"managedFields", "resourceVersion", "generation"} {
			delete(metadata, each)
		}
		content["metadata"] = metadata
	}
	fields := map[string]string{}
	flatten("", content, fields)
	return fields
}

func flatten(path string, value any, into map[string]string) {
	switch value := value.(type) {
	case map[string]any:
		for key, each := range value {
			flatten(strings.TrimPrefix(path+"."+key, "."), each, into)
		}
	case []any:
		for i, each := range value {
			if kind, state, ok := condition(each); ok {
				into[path+"["+kind+"]"] = state
				continue
			}
			flatten(fmt.Sprintf("%s[%d]", path, i), each, into)
		}
	default:
		into[path] = fmt.Sprint(value)
	}
}

// condition is an element of status.conditions: its status, and the reason unless it is True.
func condition(value any) (kind, state string, ok bool) {
	element, _ := value.(map[string]any)
	kind, isKind := element["type"].(string)
	state, isState := element["status"].(string)
	if !isKind || !isState {
		return "", "", false
	}
	if reason, _ := element["reason"].(string); state != "True" && reason != "" {
		state += " (" + reason + ")"
	}
	return kind, state, true
}

// lastWriter is the manager of the newest write; empty where two wrote in one second.
func lastWriter(u *unstructured.Unstructured) string {
	var writer string
	var newest time.Time
	for _, field := range u.GetManagedFields() {
		switch {
		case field.Time == nil || field.Time.Time.Before(newest):
		case field.Time.Time.Equal(newest) && writer != field.Manager:
			writer = ""
		default:
			writer, newest = field.Manager, field.Time.Time
		}
	}
	return writer
}
