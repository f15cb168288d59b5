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

package podman

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/adapter"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/eventstream"
)

const (
	containerType = "container"
	networkType   = "network"
)

// containerEvents are Podman's names of what happens to containers. The service
// filters by them: what our own reading causes, such as exec, does not even cross
// the connection. It has none for a process that is OOMKilled: that shows
// in the container that died.
var containerEvents = map[string]engine.EventKind{
	"start":   engine.EventStart,
	"died":    engine.EventDie,
	"kill":    engine.EventKill,
	"pause":   engine.EventPause,
	"unpause": engine.EventUnpause,
	"remove":  engine.EventDestroy,
	"rename":  engine.EventRename,
}

var networkEvents = map[string]engine.EventKind{
	"connect":    engine.EventConnect,
	"disconnect": engine.EventDisconnect,
}

// ownAttributes are those that Podman mixes with the container's labels.
var ownAttributes = []string{"name", "image", "containerExitCode", "podId", "network", "error"}

// message is an event as Podman sends it. The actor is the container, of network
// events too.
type message struct {
	Type, Action string
	Actor        struct {
		ID         string
		Attributes map[string]string
	}
	TimeNano int64 `json:"timeNano"`
}

// Events implements engine.EventSource.
func (e *Engine) Events(ctx context.Context, handle func(engine.Event)) {
	eventstream.Follow(ctx, e.closed.Load, e.follow, handle)
}

// follow reads one stream to its end; Podman 4.3 ends it when it rotates the file that it
// keeps events in. It begins at the service's time before
// the connection, in full seconds: Podman answers before it listens for events,
// and what falls between would be lost.
func (e *Engine) follow(ctx context.Context, opened func(), handle func(engine.Event)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	since, err := e.engineTime(ctx)
	if err != nil {
		return fmt.Errorf("get engine time: %w", err)
	}
	request := get("/events").with("stream", "true").with("since", strconv.FormatInt(since.Unix(), 10))
	stream, err := e.stream(ctx, request.filtered(eventFilter()))
	if err != nil {
		return fmt.Errorf("open event stream: %w", err)
	}
	defer stream.Close()
	opened()
	err = engine.Messages(stream, func(next message) error {
		if event, ok := translate(next); ok && ctx.Err() == nil {
			handle(event)
		}
		return nil
	})
	return fmt.Errorf("read event stream: %w", cmp.Or(err, io.EOF))
}

// engineTime is the service's clock, which every answer carries.
func (e *Engine) engineTime(ctx context.Context) (time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, eventstream.OpenTimeout)
	defer cancel()
	response, err := e.send(ctx, get("/_ping"))
	if err != nil {
		return time.Time{}, err
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		return time.Time{}, err
	}
	return http.ParseTime(response.Header.Get("Date"))
}

func eventFilter() map[string][]string {
	names := slices.AppendSeq(slices.Collect(maps.Keys(containerEvents)), maps.Keys(networkEvents))
	return map[string][]string{"type": {containerType, networkType}, "event": names}
}

// translate reports false for what is not in the list: the filter for "remove"
// lets the removal of networks pass too.
func translate(from message) (engine.Event, bool) {
	attributes := from.Actor.Attributes
	event := engine.Event{
		Time: time.Unix(0, from.TimeNano), ContainerID: from.Actor.ID, Container: attributes["name"],
	}
	var ok bool
	switch from.Type {
	case containerType:
		event.Kind, ok = containerEvents[from.Action]
		if event.Kind == engine.EventDie {
			// Always a number.
			event.ExitCode, _ = strconv.Atoi(attributes["containerExitCode"])
		}
		event.Labels = adapter.Labels(attributes, ownAttributes)
	case networkType:
		event.Kind, ok = networkEvents[from.Action]
		event.Network = attributes["network"]
	}
	return event, ok
}
