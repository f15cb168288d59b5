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

// Package command is the command line of capcon. Commands have packages below it; session
// has what a command needs of the world, so that a test can run any of them without an engine,
// a terminal or a clock.
package command

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/command/certs"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/command/convert"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/command/dashboard"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/command/doctor"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/command/down"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/command/engine"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/command/exec"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/command/gc"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/command/get"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/command/image"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/command/logs"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/command/plane"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/command/registry"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/command/status"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/command/stop"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/command/supportbundle"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/command/tunnel"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/command/up"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/command/wait"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/input"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/session"
)

// The exit codes of capcon.
const (
	exitOK          = 0
	exitError       = 1
	exitNoConsent   = 3   // nothing was written because the user has not agreed; 4 is session.ExitNotYet
	exitInterrupted = 130 // as shells have it for SIGINT
)

// Run executes one command line and returns its exit code.
func Run(ctx context.Context, args []string, streams session.Streams, deps session.Deps) int {
	a := session.New(streams, deps)
	root := rootCommand(a)
	root.SetArgs(args)
	root.SetOut(streams.Out)
	root.SetErr(streams.Err)
	understood := false
	root.PersistentPreRunE = func(*cobra.Command, []string) error {
		understood = true
		return a.CheckEngine()
	}
	command, err := root.ExecuteContextC(ctx)
	a.PrintWarnings()
	switch {
	case err == nil:
		return exitOK
	case ctx.Err() != nil:
		if !errors.Is(err, session.ErrReported) {
			a.Errorf("Interrupted.")
		}
		return exitInterrupted
	case !errors.Is(err, session.ErrReported):
		a.Errorf("Error: %v", err)
		if !understood {
			a.Errorf("See \"%s --help\".", strings.Replace(command.CommandPath(), root.Name(), a.Program, 1))
		}
		a.ExplainLate(err)
	}
	if errors.Is(err, up.ErrNoConsent) {
		return exitNoConsent
	}
	if own := new(session.ExitCodeError); errors.As(err, &own) {
		return own.Code
	}
	return exitError
}

func rootCommand(a *session.App) *cobra.Command {
	root := &cobra.Command{
		Use:   "capcon",
		Short: "Create Kubernetes clusters in containers with Cluster API",
		Long: "capcon creates Kubernetes clusters whose machines are containers of Docker or Podman.\n" +
			"The management plane, a management cluster in one container, runs Cluster API.",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	a.AddFlags(root.PersistentFlags())
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return input.ExplainFlag(err) })
	root.AddCommand(
		up.Command(a), down.Command(a), stop.Command(a), stop.StartCommand(a), status.Command(a), dashboard.Command(a), wait.Command(a), get.Command(a), exec.Command(a), get.KubeconfigCommand(a), tunnel.Command(a), get.ListCommand(a), gc.Command(a), gc.ForgetCommand(a),
		logs.Command(a), supportbundle.Command(a), doctor.Command(a), plane.Command(a), engine.Command(a),
		image.Command(a), image.LoadCommand(a), registry.Command(a), certs.Command(a), convert.Command(a), versionCommand(a),
	)
	for _, command := range root.Commands() {
		if command.HasSubCommands() && !command.Runnable() {
			// Otherwise any word is an argument, and the help a success.
			command.Args, command.RunE = cobra.NoArgs, func(command *cobra.Command, _ []string) error { return command.Help() }
		}
	}
	return root
}
