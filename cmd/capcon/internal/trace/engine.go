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
	"path"
	"regexp"
	"strings"
	"time"
)

// EngineGroup has the calls of the container engine.
const EngineGroup = "Container engine"

// A line of the manager's log about a call that may have changed something: its time, and
// its pairs of key and value.
var (
	callLine = regexp.MustCompile(`I(\d{4} \d\d:\d\d:\d\d\.\d+).*"Called the container engine" (.*)$`)
	logPair  = regexp.MustCompile(`([A-Za-z]+)="([^"]*)"`)
)

// EngineCalls finds the calls of a cluster in the log of the management plane. A log has
// times without a year, which is that of the given time.
func EngineCalls(log, cluster string, now time.Time) []Event {
	var calls []Event
	for line := range strings.Lines(log) {
		match := callLine.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		if match == nil {
			continue
		}
		values := map[string]string{}
		for _, pair := range logPair.FindAllStringSubmatch(match[2], -1) {
			values[pair[1]] = pair[2]
		}
		end, err := time.Parse("2006 0102 15:04:05.000000", now.UTC().Format("2006 ")+match[1])
		if err != nil || !strings.HasSuffix(values["Cluster"], "/"+cluster) {
			continue
		}
		took, err := time.ParseDuration(values["duration"])
		if err != nil {
			continue
		}
		// Not the container, which has a name before it is created and an ID afterwards.
		track := "other"
		for _, kind := range []string{"ContainerMachine", "ContainerCluster"} {
			if object := values[kind]; object != "" {
				track = kind + " " + path.Base(object)
			}
		}
		calls = append(calls, Event{
			Group: EngineGroup, Track: track, Name: values["method"], Start: end.Add(-took), End: end, Details: values,
		})
	}
	return calls
}
