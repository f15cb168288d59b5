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

package plane

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/input"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/session"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/logs"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane"
)

func logsCommand(a *session.App) *cobra.Command {
	var tail int
	var follow bool
	command := &cobra.Command{
		Use:   "logs",
		Short: "Print the log of the management cluster",
		Long: "Print what etcd, the API server and the controllers of the management cluster have logged, also if it is\n" +
			"stopped. Texts that look like secrets are redacted.",
		Example: "  capcon plane logs\n  capcon plane logs --follow",
		Args:    cobra.NoArgs,
		PreRunE: func(*cobra.Command, []string) error {
			return input.Refuse(input.CheckNotNegative("--tail", tail, "use a number of lines, or 0 for all")...)
		},
		RunE: session.OnEngine(a.Connect, func(ctx context.Context, s *session.Session, _ []string) error {
			return printLog(ctx, s, tail, follow)
		}),
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	const defaultTail = 100
	command.Flags().IntVar(&tail, "tail", defaultTail, "number of last lines; 0 = all")
	command.Flags().BoolVarP(&follow, "follow", "f", false, "follow the log until interrupted")
	return command
}

func printLog(ctx context.Context, s *session.Session, tail int, follow bool) error { //nolint:revive // It is a flag of the command.
	_, err := s.Engine.InspectContainer(ctx, plane.DefaultName)
	if errors.Is(err, engine.ErrNotFound) {
		return fmt.Errorf("no management cluster found on %s; start it with \"%s plane up\"", s.Connected, s.Program)
	}
	if err != nil {
		return err //nolint:wrapcheck // It names the container.
	}
	log := logs.Log{Container: plane.DefaultName, Source: logs.Console}
	if !follow {
		text, err := log.Read(ctx, s.Engine, tail)
		if text != "" {
			s.Printf("%s", strings.TrimSuffix(text, "\n"))
		}
		return err //nolint:wrapcheck // It names the log.
	}
	err = log.Follow(ctx, s.Engine, tail, s.After, func(text string) { s.Printf("%s", strings.TrimSuffix(text, "\n")) })
	if ctx.Err() != nil {
		return session.ErrReported // the user has ended it
	}
	return err //nolint:wrapcheck // It names the log.
}
