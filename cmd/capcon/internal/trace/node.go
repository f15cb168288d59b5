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
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

// The tracks of a node.
const (
	BootstrapTrack = "bootstrap"
	systemdTrack   = "systemd"
)

// bootstrapIdentifier is that of the unit that bootstraps a node.
const bootstrapIdentifier = "cluster-api-bootstrap"

// step is a line of a bootstrap's log that names what is done: kubeadm's phases, and the
// steps of the bootstrap data. The rest of a line may hold secrets.
var step = regexp.MustCompile(`^(?:\[([a-z-]+)\]|bootstrap: ([a-z_.]+\[\d+\]))`)

// Node reads the steps in a node since a time from its journal.
func Node(ctx context.Context, e engine.Executor, container, name string, since time.Time) ([]Event, error) {
	output, err := e.Exec(ctx, container, engine.Command{Args: []string{
		"journalctl", "--no-pager", "--quiet", "--output=json", "--output-fields=MESSAGE,SYSLOG_IDENTIFIER",
		"--identifier=" + bootstrapIdentifier, "--identifier=systemd", fmt.Sprintf("--since=@%d", since.Unix()),
	}})
	if err != nil {
		return nil, fmt.Errorf("read journal of container %q: %w", container, err)
	}
	return stepsOf(string(output.Stdout), "Node "+name), nil
}

// stepName of a line of a bootstrap's log; empty if it names none.
func stepName(message string) string {
	const groups = 3 // The match, kubeadm's phase, and the step of the bootstrap data.
	if match := step.FindStringSubmatch(message); len(match) == groups {
		return match[1] + match[2]
	}
	return ""
}

// stepsOf a journal in JSON. A step of the bootstrap lasts until the next one begins, or
// until the last line.
func stepsOf(journal, group string) []Event {
	var events []Event
	var current *Event
	end := func() {
		if current != nil {
			events = append(events, *current)
		}
		current = nil
	}
	for text := range strings.Lines(journal) {
		line, ok := parseLine(text)
		switch {
		case !ok:
		case line.identifier == bootstrapIdentifier:
			if current != nil {
				current.End = line.at
			}
			name := stepName(line.message)
			if name == "" || current != nil && current.Name == name {
				continue
			}
			end()
			current = &Event{Group: group, Track: BootstrapTrack, Name: name, Start: line.at, End: line.at}
		case strings.HasPrefix(line.message, "Started "), strings.HasPrefix(line.message, "Finished "):
			events = append(events, Event{Group: group, Track: systemdTrack, Name: line.message, Start: line.at})
		}
	}
	end()
	return events
}

// journalLine is what a line says.
type journalLine struct {
	at                  time.Time
	identifier, message string
}

// parseLine fails for what is no whole line, or whose message is no text.
func parseLine(text string) (journalLine, bool) {
	var entry struct {
		Time       string `json:"__REALTIME_TIMESTAMP"`
		Identifier string `json:"SYSLOG_IDENTIFIER"`
		Message    any    `json:"MESSAGE"` // A list of numbers, where it is no text.
	}
	if json.Unmarshal([]byte(text), &entry) != nil {
		return journalLine{}, false
	}
	microseconds, err := strconv.ParseInt(entry.Time, 10, 64)
	message, isText := entry.Message.(string)
	return journalLine{time.UnixMicro(microseconds), entry.Identifier, message}, err == nil && isText
}
