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

// Package forward passes the calls of an engine on through one function, which sees each
// before it is made: an engine that measures, bounds or connects is written in that
// function alone.
package forward

import (
	"context"
	"io"
	"strings"
	"time"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

// Call is what is known of a call before it is made.
type Call struct {
	// Method as package engine names it.
	Method string
	// Changes is what kind of object the call may change; empty = none. Object is the
	// name of that object.
	Changes, Object string
	// Details are further pairs of key and value for a log, none of them secret.
	Details []any
	// Long: it may take any time, without any progress that can be seen here.
	Long bool
}

// Through sees a call, and makes it on an engine unless it returns an error instead.
type Through func(ctx context.Context, call Call, do func(context.Context, engine.Engine) error) error

// Engine has all methods of an engine.Engine but Events and Close.
type Engine struct{ through Through }

// New returns an engine whose calls go through the function.
func New(through Through) Engine { return Engine{through: through} }

func changing(kind, object, method string, details ...any) Call {
	return Call{Method: method, Changes: kind, Object: short(object), Details: details}
}

// short is how Docker and Podman print an ID. A complete ID resembles a secret to what
// redacts logs.
func short(object string) string {
	const whole, printed = 64, 12
	if len(object) == whole && strings.Trim(object, "0123456789abcdef") == "" {
		return object[:printed]
	}
	return object
}

// long is of a call that may take any time.
func (c Call) long() Call {
	c.Long = true
	return c
}

func get[R any](ctx context.Context, e Engine, c Call, do func(context.Context, engine.Engine) (R, error)) (R, error) {
	var out R
	err := e.through(ctx, c, func(ctx context.Context, to engine.Engine) (err error) {
		out, err = do(ctx, to)
		return err
	})
	return out, err
}

// query calls a method that has one argument and a result.
func query[A, R any](
	ctx context.Context, e Engine, c Call, method func(engine.Engine, context.Context, A) (R, error), argument A,
) (R, error) {
	return get(ctx, e, c, func(ctx context.Context, to engine.Engine) (R, error) { return method(to, ctx, argument) })
}

// command calls a method that has one argument.
func command[A any](
	ctx context.Context, e Engine, c Call, method func(engine.Engine, context.Context, A) error, argument A,
) error {
	return e.through(ctx, c, func(ctx context.Context, to engine.Engine) error { return method(to, ctx, argument) })
}

// InspectContainer implements engine.ContainerReader.
func (e Engine) InspectContainer(ctx context.Context, name string) (engine.Container, error) {
	return query(ctx, e, Call{Method: "InspectContainer"}, engine.Engine.InspectContainer, name)
}

// ListContainers implements engine.ContainerReader.
func (e Engine) ListContainers(ctx context.Context, selector map[string]string) ([]engine.Container, error) {
	return query(ctx, e, Call{Method: "ListContainers"}, engine.Engine.ListContainers, selector)
}

// CreateContainer implements engine.ContainerWriter.
func (e Engine) CreateContainer(ctx context.Context, spec engine.Spec) (string, error) {
	call := changing("container", spec.Name, "CreateContainer", "image", spec.Image)
	return query(ctx, e, call, engine.Engine.CreateContainer, spec)
}

// StartContainer implements engine.ContainerWriter.
func (e Engine) StartContainer(ctx context.Context, name string) error {
	return command(ctx, e, changing("container", name, "StartContainer"), engine.Engine.StartContainer, name)
}

// StopContainer implements engine.ContainerWriter.
func (e Engine) StopContainer(ctx context.Context, name string, grace time.Duration) error {
	stop := func(ctx context.Context, to engine.Engine) error { return to.StopContainer(ctx, name, grace) }
	return e.through(ctx, changing("container", name, "StopContainer"), stop)
}

// UpdateResources implements engine.ContainerWriter.
func (e Engine) UpdateResources(ctx context.Context, name string, resources engine.Resources) error {
	update := func(ctx context.Context, to engine.Engine) error { return to.UpdateResources(ctx, name, resources) }
	return e.through(ctx, changing("container", name, "UpdateResources"), update)
}

// RemoveContainer implements engine.ContainerWriter.
func (e Engine) RemoveContainer(ctx context.Context, name string) error {
	return command(ctx, e, changing("container", name, "RemoveContainer"), engine.Engine.RemoveContainer, name)
}

// Upload implements engine.Archiver.
func (e Engine) Upload(ctx context.Context, name string, archive io.Reader) error {
	upload := func(ctx context.Context, to engine.Engine) error { return to.Upload(ctx, name, archive) }
	return e.through(ctx, changing("container", name, "Upload"), upload)
}

// Download implements engine.Archiver. The call ends when the stream begins.
func (e Engine) Download(ctx context.Context, name, path string) (io.ReadCloser, error) {
	download := func(ctx context.Context, to engine.Engine) (io.ReadCloser, error) {
		return to.Download(ctx, name, path)
	}
	return get(ctx, e, Call{Method: "Download"}.long(), download)
}

// Exec implements engine.Executor.
func (e Engine) Exec(ctx context.Context, name string, command engine.Command) (engine.Output, error) {
	exec := func(ctx context.Context, to engine.Engine) (engine.Output, error) { return to.Exec(ctx, name, command) }
	call := changing("container", name, "Exec", "program", program(command))
	if command.Stdout != nil && (command.Stdin != nil || command.Stderr != nil) {
		call = call.long() // a conversation, which may be silent
	}
	return get(ctx, e, call, exec)
}

// program of a command, without its arguments, which may be anything.
func program(command engine.Command) string {
	if len(command.Args) == 0 {
		return ""
	}
	return command.Args[0]
}

// ContainerLog implements engine.Logs.
func (e Engine) ContainerLog(ctx context.Context, name string, request engine.LogRequest, out io.Writer) error {
	read := func(ctx context.Context, to engine.Engine) error { return to.ContainerLog(ctx, name, request, out) }
	return e.through(ctx, Call{Method: "ContainerLog", Long: request.Follow}, read)
}

// InspectImage implements engine.Images.
func (e Engine) InspectImage(ctx context.Context, reference string) (engine.Image, error) {
	return query(ctx, e, Call{Method: "InspectImage"}, engine.Engine.InspectImage, reference)
}

// PullImage implements engine.Images.
func (e Engine) PullImage(
	ctx context.Context, reference string, credentials *engine.Credentials, progress func(engine.PullProgress),
) error {
	pull := func(ctx context.Context, to engine.Engine) error {
		return to.PullImage(ctx, reference, credentials, progress)
	}
	return e.through(ctx, changing("image", reference, "PullImage").long(), pull)
}

// LoadImage implements engine.Images.
func (e Engine) LoadImage(ctx context.Context, archive io.Reader) error {
	return command(ctx, e, changing("image", "", "LoadImage").long(), engine.Engine.LoadImage, archive)
}

// SaveImage implements engine.Images. The call ends when the stream begins.
func (e Engine) SaveImage(ctx context.Context, reference string) (io.ReadCloser, error) {
	return query(ctx, e, Call{Method: "SaveImage"}.long(), engine.Engine.SaveImage, reference)
}

// CreateNetwork implements engine.Networks.
func (e Engine) CreateNetwork(ctx context.Context, spec engine.NetworkSpec) (engine.Network, error) {
	return query(ctx, e, changing("network", spec.Name, "CreateNetwork"), engine.Engine.CreateNetwork, spec)
}

// InspectNetwork implements engine.Networks.
func (e Engine) InspectNetwork(ctx context.Context, name string) (engine.Network, error) {
	return query(ctx, e, Call{Method: "InspectNetwork"}, engine.Engine.InspectNetwork, name)
}

// RemoveNetwork implements engine.Networks.
func (e Engine) RemoveNetwork(ctx context.Context, name string) error {
	return command(ctx, e, changing("network", name, "RemoveNetwork"), engine.Engine.RemoveNetwork, name)
}

// ConnectNetwork implements engine.Networks.
func (e Engine) ConnectNetwork(ctx context.Context, network, container string, attachment engine.Attachment) error {
	call := changing("network", network, "ConnectNetwork", "container", container)
	return e.through(ctx, call, func(ctx context.Context, to engine.Engine) error {
		return to.ConnectNetwork(ctx, network, container, attachment)
	})
}

// DisconnectNetwork implements engine.Networks.
func (e Engine) DisconnectNetwork(ctx context.Context, network, container string) error {
	call := changing("network", network, "DisconnectNetwork", "container", container)
	return e.through(ctx, call, func(ctx context.Context, to engine.Engine) error {
		return to.DisconnectNetwork(ctx, network, container)
	})
}

// InspectVolume implements engine.Volumes.
func (e Engine) InspectVolume(ctx context.Context, name string) (engine.Volume, error) {
	return query(ctx, e, Call{Method: "InspectVolume"}, engine.Engine.InspectVolume, name)
}

// CreateVolume implements engine.Volumes.
func (e Engine) CreateVolume(ctx context.Context, name string, labels map[string]string) error {
	create := func(ctx context.Context, to engine.Engine) error { return to.CreateVolume(ctx, name, labels) }
	return e.through(ctx, changing("volume", name, "CreateVolume"), create)
}

// RemoveVolume implements engine.Volumes.
func (e Engine) RemoveVolume(ctx context.Context, name string) error {
	return command(ctx, e, changing("volume", name, "RemoveVolume"), engine.Engine.RemoveVolume, name)
}

// ListNetworks implements engine.Inventory.
func (e Engine) ListNetworks(ctx context.Context, selector map[string]string) ([]engine.Network, error) {
	return query(ctx, e, Call{Method: "ListNetworks"}, engine.Engine.ListNetworks, selector)
}

// ListVolumes implements engine.Inventory.
func (e Engine) ListVolumes(ctx context.Context, selector map[string]string) ([]engine.Volume, error) {
	return query(ctx, e, Call{Method: "ListVolumes"}, engine.Engine.ListVolumes, selector)
}

// Info implements engine.Host.
func (e Engine) Info(ctx context.Context) (engine.Info, error) {
	info := func(ctx context.Context, to engine.Engine) (engine.Info, error) { return to.Info(ctx) }
	return get(ctx, e, Call{Method: "Info"}, info)
}
