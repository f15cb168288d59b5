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
	"slices"
	"strings"
	"time"
)

// WaitsGroup has a row for each component that a command waited for.
const WaitsGroup = "Waited for"

// The components that a command waits for.
const (
	waitEngine     = "container engine"
	waitProvider   = "this provider"
	waitNodes      = "nodes: systemd, kubeadm, kubelet, Pod network"
	waitClusterAPI = "Cluster API and its API server"
	waitCommand    = "capcon"
)

// components in the order in which a moment is counted: once, for the first that was active.
func components() []string {
	return []string{waitEngine, waitProvider, waitNodes, waitClusterAPI, waitCommand}
}

// Waits divides a time among those that a command waited for, by events in the order of
// their start. The provider is active from when an object of its own is handed over to it,
// or is deleted, until it is provisioned or gone; a Node, from when its container is
// provisioned until it is ready; Cluster API, as long as there is a Cluster; the command
// itself, always.
func Waits(events []Event, from, to time.Time) []Event {
	a := activity{started: map[[2]string]time.Time{}}
	a.start(waitCommand, "", from)
	for _, event := range events {
		a.observe(event)
	}
	for key := range a.started {
		a.end(key[0], key[1], to)
	}
	bounds := []time.Time{from, to}
	for _, period := range a.periods {
		bounds = append(bounds, period.Start, period.End)
	}
	bounds = slices.DeleteFunc(bounds, func(at time.Time) bool { return at.Before(from) || at.After(to) })
	slices.SortFunc(bounds, time.Time.Compare)
	bounds = slices.CompactFunc(bounds, time.Time.Equal)
	slices.SortFunc(a.periods, func(a, b Event) int {
		return slices.Index(components(), a.Track) - slices.Index(components(), b.Track)
	})
	var waits []Event
	for i := range len(bounds) - 1 {
		start, end := bounds[i], bounds[i+1]
		first := slices.IndexFunc(a.periods, func(period Event) bool { return !period.Start.After(start) && !period.End.Before(end) })
		component := a.periods[first].Track
		if last := len(waits) - 1; last >= 0 && waits[last].Track == component {
			waits[last].End = end
			continue
		}
		waits = append(waits, Event{Group: WaitsGroup, Track: component, Name: component, Start: start, End: end})
	}
	return waits
}

// totalWait is how long a command waited for a component.
func totalWait(waits []Event, component string) time.Duration {
	var total time.Duration
	for _, each := range waits {
		if each.Track == component {
			total += each.End.Sub(each.Start)
		}
	}
	return total
}

// activity is which component was active when, as events show it.
type activity struct {
	periods []Event
	// started has the periods that have not ended, by component and object.
	started map[[2]string]time.Time
}

func (a *activity) start(component, object string, at time.Time) {
	if _, ok := a.started[[2]string{component, object}]; !ok {
		a.started[[2]string{component, object}] = at
	}
}

func (a *activity) end(component, object string, at time.Time) {
	if start, ok := a.started[[2]string{component, object}]; ok {
		a.periods = append(a.periods, Event{Track: component, Start: start, End: at})
		delete(a.started, [2]string{component, object})
	}
}

func (a *activity) observe(event Event) {
	kind, name, _ := strings.Cut(event.Track, " ")
	switch {
	case event.Group == EngineGroup:
		a.periods = append(a.periods, Event{Track: waitEngine, Start: event.Start, End: event.End})
	case event.Group == NodesGroup && event.Name == "Ready=True":
		a.end(waitNodes, name, event.Start)
	case event.Group != ObjectsGroup:
	case kind == "Cluster" && event.Name == "deleted":
		a.end(waitClusterAPI, name, event.Start)
	case kind == "Cluster":
		a.start(waitClusterAPI, name, event.Start)
	case kind == "Machine" && event.changes("spec.bootstrap.dataSecretName"):
		a.start(waitProvider, "ContainerMachine "+name, event.Start)
	case kind == "ContainerCluster" || kind == "ContainerMachine":
		a.observeContainer(kind, name, event)
	}
}

// observeContainer of a ContainerCluster, which its first owner hands over, or a ContainerMachine.
func (a *activity) observeContainer(kind, name string, event Event) {
	switch {
	case event.Name == "deleted":
		a.end(waitProvider, event.Track, event.Start)
		a.end(waitNodes, name, event.Start)
	case event.changes("metadata.deletionTimestamp"), kind == "ContainerCluster" && event.changes("metadata.ownerReferences[0]"):
		a.start(waitProvider, event.Track, event.Start)
	case event.changes("status.initialization.provisioned"):
		a.end(waitProvider, event.Track, event.Start)
		if kind == "ContainerMachine" {
			a.start(waitNodes, name, event.Start)
		}
	}
}

// changes reports whether the event is a change of a field, or of one below it.
func (e Event) changes(field string) bool {
	return strings.Contains("\n"+e.Details["changed"], "\n"+field)
}
