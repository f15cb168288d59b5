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

package session

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/input"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/output"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/progress"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/connect"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/metered"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane/tunnel"
)

// ErrReported ends a command that has already printed its error.
var ErrReported = errors.New("reported")

// App is one command line: what it needs of the world, and the flags of all commands.
type App struct {
	*output.Printer
	Deps
	// In is where answers are read from.
	In io.Reader
	// engineName is the value of --engine, engineSocket that of --engine-socket.
	engineName, engineSocket string
	// Connected is the engine that answered, for messages; empty until then.
	Connected string
	// Tunnels to the engine's host; nil where it is this one.
	Tunnels *tunnel.Tunnels
}

// New command line.
func New(streams Streams, deps Deps) *App {
	return &App{Printer: &output.Printer{Out: streams.Out, Err: streams.Err}, In: streams.In, Deps: deps}
}

// AddFlags of all commands.
func (a *App) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&a.engineName, "engine", connect.Auto, connect.Help())
	flags.StringVar(&a.engineSocket, "engine-socket", "",
		"path of the engine's socket on the engine's host, for the management plane (default: the one of the connection, or\n"+
			"/var/run/docker.sock or /run/podman/podman.sock if the engine runs in a virtual machine)")
}

// CheckEngine refuses an engine that there is none of by this name, before anything is reported.
func (a *App) CheckEngine() error {
	if slices.Contains(connect.Names(), a.engineName) {
		return nil
	}
	return input.Refuse(input.Problem{
		Field: "--engine", Value: a.engineName, Reason: "unknown engine", Remedy: "use one of " + strings.Join(connect.Names(), ", "),
	})
}

// ExplainLate names the engine that stopped answering, and the remedy.
func (a *App) ExplainLate(err error) {
	if late := new(metered.LateError); errors.As(err, &late) {
		if late.Engine != "" {
			a.Errorf("Engine %s did not respond to %s within %s. See \"%s engine list -o wide\".", late.Engine, late.Call, late.Limit, a.Program)
			return
		}
		a.Errorf("%s did not respond to %s within %s.\n"+
			"Restart it if other commands hang too (such as docker ps or podman ps), or select another engine: --engine, DOCKER_HOST, CONTAINER_HOST.",
			cmp.Or(a.Connected, "The container engine"), late.Call, late.Limit)
	}
}

// NewBoard shows the steps of a command on standard error, so that standard output has the
// results alone.
func (a *App) NewBoard(title string) *progress.Board { return a.NewBoardOn(a.Err, title) }

// NewBoardOn shows the steps on a stream.
func (a *App) NewBoardOn(stream io.Writer, title string) *progress.Board {
	return progress.NewBoard(title, progress.Terminal{
		Out: stream, Size: func() (columns, rows int) { return a.Size(stream) }, Getenv: a.Getenv, Now: a.Now, After: a.After,
	})
}

// ConnectEngine connects to the engine alone. The caller closes it.
func (a *App) ConnectEngine(ctx context.Context) (engine.Engine, error) {
	return a.ConnectTo(ctx, a.engineName)
}
