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

// WaitsGroup has a row for each that a command waited for.
const WaitsGroup = "Waited for"

// What a command waits for, in the order in which a moment is counted: once, for the first
// of those that were at work.
const (
	waitEngine = iota
	waitProvider
	waitNodes
	waitClusterAPI
	waitCommand
)

func waitNames() []string {
	return []string{
		waitEngine:     "container engine",
		waitProvider:   "this provider",
		waitNodes:      "nodes: systemd, kubeadm, kubelet, Pod network",
		waitClusterAPI: "Cluster API and its API server",
		waitCommand:    "capcon",
	}
}

// period from when an owner began to work until it ended.
type period struct{ begin, end time.Time }

// Waits divides a time among those that a command waited for, by events in the order of
// their begin. The provider is at work from when an object of its own is handed over to it,
// or is deleted, until it is provisioned or gone; a Node, from when its container is
// provisioned until it is ready; Cluster API, as long as there is a Cluster; the command
// itself, always.
func Waits(events []Event, from, to time.Time) []Event {
	busy := periodsOf(events, to)
	busy[waitCommand] = []period{{from, to}}
	bounds := []time.Time{from, to}
	for _, periods := range busy {
		for _, each := range periods {
			bounds = append(bounds, each.begin, each.end)
		}
	}
	bounds = slices.DeleteFunc(bounds, func(at time.Time) bool { return at.Before(from) || at.After(to) })
	slices.SortFunc(bounds, time.Time.Compare)
	var waits []Event
	names := waitNames()
	for i := range len(bounds) - 1 {
		begin, end := bounds[i], bounds[i+1]
		if begin.Equal(end) {
			continue
		}
		covers := func(each period) bool { return !each.begin.After(begin) && !each.end.Before(end) }
		who := names[slices.IndexFunc(busy, func(periods []period) bool { return slices.ContainsFunc(periods, covers) })]
		if last := len(waits) - 1; last >= 0 && waits[last].Track == who {
			waits[last].End = end
			continue
		}
		waits = append(waits, Event{Group: WaitsGroup, Track: who, Name: who, Begin: begin, End: end})
	}
	return waits
}

// TotalWaits is the time of each row of Waits, in their fixed order; rows without time are
// left out.
func TotalWaits(waits []Event) []Total {
	var totals []Total
	for _, name := range waitNames() {
		total := Total{Name: name}
		for _, each := range waits {
			if each.Track == name {
				total.Time += each.End.Sub(each.Begin)
			}
		}
		if total.Time > 0 {
			totals = append(totals, total)
		}
	}
	return totals
}

// Total is how long a command waited for something.
type Total struct {
	Name string
	Time time.Duration
}

// observed is who was at work when, as events show it.
type observed struct {
	busy [][]period
	// began has the periods that have not ended, by who and a name.
	began []map[string]time.Time
	// created and not handed over yet are these ContainerClusters.
	created map[string]bool
}

// periodsOf what events show, by what is waited for. What has not ended ends at the end.
func periodsOf(events []Event, to time.Time) [][]period {
	o := observed{busy: make([][]period, waitCommand+1), created: map[string]bool{}}
	for range o.busy {
		o.began = append(o.began, map[string]time.Time{})
	}
	for _, event := range events {
		kind, name, _ := strings.Cut(event.Track, " ")
		switch {
		case event.Group == EngineGroup:
			o.busy[waitEngine] = append(o.busy[waitEngine], period{event.Begin, event.End})
		case event.Group == NodesGroup && event.Name == "Ready=True":
			o.end(waitNodes, name, event.Begin)
		case event.Group == ObjectsGroup && event.Name == "deleted":
			o.deleted(kind, name, event.Begin)
		case event.Group == ObjectsGroup:
			o.changed(kind, name, event)
		}
	}
	for who, names := range o.began {
		for name := range names {
			o.end(who, name, to)
		}
	}
	return o.busy
}

func (o *observed) begin(who int, name string, at time.Time) {
	if _, found := o.began[who][name]; !found {
		o.began[who][name] = at
	}
}

func (o *observed) end(who int, name string, at time.Time) {
	if since, found := o.began[who][name]; found {
		o.busy[who] = append(o.busy[who], period{since, at})
		delete(o.began[who], name)
	}
}

func (o *observed) deleted(kind, name string, at time.Time) {
	switch kind {
	case "Cluster":
		o.end(waitClusterAPI, name, at)
	case "ContainerCluster", "ContainerMachine":
		o.end(waitProvider, kind+name, at)
		o.end(waitNodes, name, at)
	}
}

func (o *observed) changed(kind, name string, event Event) {
	at := event.Begin
	switch kind {
	case "Cluster":
		o.begin(waitClusterAPI, name, at)
	case "Machine":
		if event.changes("spec.bootstrap.dataSecretName") {
			o.begin(waitProvider, "ContainerMachine"+name, at)
		}
	case "ContainerCluster", "ContainerMachine":
		o.created[name] = o.created[name] || kind == "ContainerCluster" && event.Name == "created"
		switch {
		case event.changes("metadata.deletionTimestamp"):
			o.begin(waitProvider, kind+name, at)
		case event.changes("metadata.ownerReferences") && o.created[name]:
			o.begin(waitProvider, kind+name, at)
			delete(o.created, name)
		case event.changes("status.initialization.provisioned"):
			o.end(waitProvider, kind+name, at)
			if kind == "ContainerMachine" {
				o.begin(waitNodes, name, at)
			}
		}
	}
}

// changes reports whether the event is a change of a field, or of one below it.
func (e Event) changes(field string) bool {
	for path := range strings.SplitSeq(e.Details["changed"], "\n") {
		if strings.HasPrefix(path, field) {
			return true
		}
	}
	return false
}
