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

// Package cli is capcon's commands. Each command is a method of app, which
// holds what the command needs of the world, so that a test can run any of
// them without an engine, a terminal or a clock.
package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/input"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/connect"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/metered"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane/tunnel"
)

// Streams are where a command reads and writes.
type Streams struct {
	// In is where answers are read from; it is asked only where Interactive says so.
	In       io.Reader
	Out, Err io.Writer
}

// Deps are what the commands need of the world. All are required.
type Deps struct {
	// Program is the command as the user typed it, for hints.
	Program string
	// Connect to the engine of that name, "auto" for the one that is there.
	Connect func(ctx context.Context, name string) (engine.Engine, error)
	// Plane of an engine.
	Plane func(e engine.Engine, options plane.Options) Plane
	// Client of a kubeconfig.
	Client func(kubeconfig []byte) (client.WithWatch, error)
	// Getenv and LookPath are those of os and os/exec.
	Getenv   func(string) string
	LookPath func(string) (string, error)
	// Systemd runs systemctl or loginctl and returns what it prints; empty if systemd is not
	// the init of this host.
	Systemd func(ctx context.Context, name string, args ...string) string
	// HostNetworks are the address ranges that this host has routes to or name servers in.
	HostNetworks func() []input.UsedRange
	// Size of the terminal that a stream is; 0 columns = it is none.
	Size func(stream io.Writer) (columns, rows int)
	// Interactive reports whether In and Out are a terminal, so that the user can be asked.
	Interactive func() bool
	// Now and After are those of time.
	Now   func() time.Time
	After func(time.Duration) <-chan time.Time
}

// Plane is the management plane of one engine.
type Plane interface {
	// Ensure that it runs and answers. Progress is one line.
	Ensure(ctx context.Context, image string, progress func(string)) (plane.Ready, error)
	// State as it is. Nothing is started. An engine that does not answer is
	// an error, a plane that does not is a state.
	State(ctx context.Context) (plane.State, error)
	// Remove it with all it keeps, unless it has a Cluster: then it stays, and
	// these are returned, "namespace/name". It succeeds if there is none.
	Remove(ctx context.Context) (clusters []string, err error)
}

// The exit codes of capcon.
const (
	exitOK          = 0
	exitError       = 1
	exitNoConsent   = 3   // nothing was written because the user has not agreed
	exitInterrupted = 130 // as shells have it for SIGINT
)

// errReported ends a command that has already printed its error.
var errReported = errors.New("reported")

type app struct {
	Streams
	Deps
	// engineName is the value of --engine, engineSocket that of --engine-socket.
	engineName, engineSocket string
	// connected is the engine that answered, for messages; empty until then.
	connected string
	// warnings that are printed at the end.
	warnings []string
	// stateFailed: the state directory cannot be changed, which was reported.
	stateFailed bool
	// tunnels to the engine's host; nil where it is this one.
	tunnels *tunnel.Tunnels
}

// Run executes one command line and returns its exit code.
func Run(ctx context.Context, args []string, streams Streams, deps Deps) int {
	a := &app{Streams: streams, Deps: deps}
	root := a.rootCommand()
	root.SetArgs(args)
	root.SetOut(streams.Out)
	root.SetErr(streams.Err)
	understood := false
	root.PersistentPreRunE = func(*cobra.Command, []string) error {
		understood = true
		return a.checkEngine()
	}
	command, err := root.ExecuteContextC(ctx)
	a.printWarnings()
	switch {
	case err == nil:
		return exitOK
	case ctx.Err() != nil:
		if !errors.Is(err, errReported) {
			a.complain("Interrupted.")
		}
		return exitInterrupted
	case !errors.Is(err, errReported):
		a.complain("Error: %v", err)
		if !understood {
			a.complain("See \"%s --help\".", strings.Replace(command.CommandPath(), root.Name(), a.Program, 1))
		}
		a.explainLate(err)
	}
	if errors.Is(err, errNoConsent) {
		return exitNoConsent
	}
	return exitError
}

// checkEngine refuses an engine that there is none of by this name, before anything is reported.
func (a *app) checkEngine() error {
	if slices.Contains(connect.Names(), a.engineName) {
		return nil
	}
	return input.Refuse(input.Problem{
		Field: "--engine", Value: a.engineName, Reason: "unknown engine", Remedy: "use one of " + strings.Join(connect.Names(), ", "),
	})
}

// explainLate names the engine that stopped answering, and the remedy.
func (a *app) explainLate(err error) {
	if late := new(metered.LateError); errors.As(err, &late) {
		a.complain("%s did not respond to %s within %s.\n"+
			"Restart it if other commands hang too (such as docker ps or podman ps), or select another engine: --engine, DOCKER_HOST, CONTAINER_HOST.",
			cmp.Or(a.connected, "The container engine"), late.Call, late.Limit)
	}
}

func (a *app) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "capcon",
		Short: "Create Kubernetes clusters in containers with Cluster API",
		Long: "capcon creates Kubernetes clusters whose machines are containers of Docker or Podman.\n" +
			"The management plane, a management cluster in one container, runs Cluster API.",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.PersistentFlags().StringVar(&a.engineName, "engine", connect.Auto, connect.Help())
	root.PersistentFlags().StringVar(&a.engineSocket, "engine-socket", "",
		"path of the engine's socket on the engine's host, for the management plane (default: the one of the connection, or\n"+
			"/var/run/docker.sock or /run/podman/podman.sock if the engine runs in a virtual machine)")
	root.AddCommand(
		a.upCommand(), a.downCommand(), a.stopCommand(), a.startCommand(), a.statusCommand(), a.kubeconfigCommand(), a.tunnelCommand(), a.listCommand(), a.gcCommand(), a.forgetCommand(),
		a.logsCommand(), a.supportBundleCommand(), a.doctorCommand(), a.planeCommand(),
		a.imagesCommand(), a.loadCommand(), a.registryCommand(), a.certsCommand(), a.versionCommand(),
	)
	return root
}

// say prints a line for users. An error of the output has nowhere to go but
// the output.
func (a *app) say(format string, values ...any) {
	_, _ = fmt.Fprintf(a.Out, format+"\n", values...)
}

// complain prints a line about an error.
func (a *app) complain(format string, values ...any) {
	_, _ = fmt.Fprintf(a.Err, format+"\n", values...)
}

// pause waits for pollInterval, or returns the error of ctx when that ends first.
func (a *app) pause(ctx context.Context) error { return a.pauseFor(ctx, pollInterval, nil) }
