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

package docker

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/moby/moby/api/types/events"
	"github.com/moby/moby/client"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/adapter"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/eventstream"
)

// containerEvents are Docker's names of what happens to containers. The engine
// filters by them: what our own reading causes, such as archive-path and
// exec_start, does not even cross the connection.
var containerEvents = map[events.Action]engine.EventKind{
	events.ActionStart:   engine.EventStart,
	events.ActionDie:     engine.EventDie,
	events.ActionOOM:     engine.EventOOM,
	events.ActionPause:   engine.EventPause,
	events.ActionUnPause: engine.EventUnpause,
	events.ActionDestroy: engine.EventDestroy,
	events.ActionRename:  engine.EventRename,
}

var networkEvents = map[events.Action]engine.EventKind{
	events.ActionConnect:    engine.EventConnect,
	events.ActionDisconnect: engine.EventDisconnect,
}

// ownAttributes are those that Docker mixes with the container's labels.
var ownAttributes = []string{"name", "image", "exitCode", "execDuration", "signal", "oldName"}

// Events implements engine.EventSource.
func (e *Engine) Events(ctx context.Context, handle func(engine.Event)) {
	eventstream.Follow(ctx, e.closed.Load, e.stream, handle)
}

// stream follows one connection to its end. It begins at the engine's time
// before the connection: Docker accepts it before it listens for events, and
// what falls between would be lost.
func (e *Engine) stream(ctx context.Context, opened func(), handle func(engine.Event)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	since, err := e.engineTime(ctx)
	if err != nil {
		return fmt.Errorf("get engine time: %w", err)
	}
	stream := e.client.Events(ctx, client.EventsListOptions{Since: since, Filters: eventFilter()})
	select {
	case err := <-stream.Err:
		return fmt.Errorf("open event stream: %w", err)
	default:
	}
	opened()
	labels := labelMemory{}
	for {
		select {
		case err := <-stream.Err:
			return fmt.Errorf("read event stream: %w", err)
		case message := <-stream.Messages:
			labels.observe(message)
			if event, ok := translate(message); ok && ctx.Err() == nil {
				if event.Labels == nil {
					event.Labels = labels[event.ContainerID]
				}
				handle(event)
			}
		}
	}
}

// labelMemory has the labels of the containers that were created during a stream, by
// their IDs: Docker's events of networks name a container by its ID alone, and looking
// at it would be a request for each event of each follower.
type labelMemory map[string]map[string]string

func (m labelMemory) observe(message events.Message) {
	switch {
	case message.Type != events.ContainerEventType:
	case message.Action == events.ActionCreate:
		m[message.Actor.ID] = adapter.Labels(message.Actor.Attributes, ownAttributes)
	case message.Action == events.ActionDestroy:
		delete(m, message.Actor.ID)
	}
}

// engineTime is the engine's clock in the form that Docker takes.
func (e *Engine) engineTime(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, eventstream.OpenTimeout)
	defer cancel()
	if err := e.open(ctx); err != nil {
		return "", err
	}
	answer, err := e.client.Info(ctx, client.InfoOptions{})
	if err != nil {
		return "", err
	}
	at := parseTime(answer.Info.SystemTime)
	return fmt.Sprintf("%d.%09d", at.Unix(), at.Nanosecond()), nil
}

func eventFilter() client.Filters {
	out := client.Filters{}.
		Add("type", string(events.ContainerEventType), string(events.NetworkEventType)).
		Add("event", string(events.ActionCreate))
	for action := range containerEvents {
		out.Add("event", string(action))
	}
	for action := range networkEvents {
		out.Add("event", string(action))
	}
	return out
}

// translate reports false for what is not in the list: the filter for
// "destroy" lets the removal of networks pass too.
func translate(message events.Message) (engine.Event, bool) {
	event := engine.Event{Time: time.Unix(0, message.TimeNano)}
	attributes := message.Actor.Attributes
	var ok bool
	switch message.Type {
	case events.ContainerEventType:
		event.Kind, ok = containerEvents[message.Action]
		event.ContainerID, event.Container = message.Actor.ID, attributes["name"]
		// Docker sends it with EventDie alone, and always as a number.
		event.ExitCode, _ = strconv.Atoi(attributes["exitCode"])
		event.Labels = adapter.Labels(attributes, ownAttributes)
	case events.NetworkEventType:
		event.Kind, ok = networkEvents[message.Action]
		event.ContainerID, event.Network = attributes["container"], attributes["name"]
	}
	return event, ok
}
