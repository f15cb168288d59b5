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

package get

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/input"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/management"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/session"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane"
)

// KubeconfigCommand is capcon kubeconfig.
func KubeconfigCommand(a *session.App) *cobra.Command {
	var managementPlane bool
	command := &cobra.Command{
		Use:     "kubeconfig NAME",
		Short:   "Print the kubeconfig of a cluster for this host",
		Example: "  capcon kubeconfig demo > demo.kubeconfig\n  capcon kubeconfig --management",
		PreRunE: func(_ *cobra.Command, args []string) error {
			if !managementPlane && len(args) == 0 {
				return a.NameMissing("use the name of one cluster, or --management")
			}
			if managementPlane != (len(args) == 0) || len(args) > 1 {
				return &input.Error{Problems: []input.Problem{{
					Field: "NAME", Value: strings.Join(args, " "), Reason: "more than one kubeconfig requested",
					Remedy: "use the name of one cluster, or --management",
				}}}
			}
			return nil
		},
		RunE: session.OnEngine(a.Connect, func(ctx context.Context, s *session.Session, args []string) error {
			if managementPlane {
				return managementKubeconfig(ctx, s)
			}
			return printKubeconfig(ctx, s, args[0])
		}),
		ValidArgsFunction: a.CompleteNames,
	}
	command.Flags().BoolVar(&managementPlane, "management", false, "print the kubeconfig of the management plane")
	return command
}

func managementKubeconfig(ctx context.Context, s *session.Session) error {
	plane, err := s.Plane.State(ctx)
	if err != nil {
		return err
	}
	if !plane.Exists {
		return fmt.Errorf("no management cluster found on %s; start it with \"%s plane up\"", s.Connected, s.Program)
	}
	if len(plane.Kubeconfig) == 0 {
		return s.PlaneSilent(ctx, plane, "")
	}
	return printBytes(s.App, plane.Kubeconfig)
}

// printKubeconfig of a cluster from the management plane or, where that does not
// answer, as it was last: the cluster itself may well be there.
func printKubeconfig(ctx context.Context, s *session.Session, name string) error {
	plane, err := s.ReachPlane(ctx)
	if err != nil {
		return err
	}
	if !plane.Answers {
		return storedKubeconfig(ctx, s, plane, name)
	}
	kubeconfig, err := management.Kubeconfig(ctx, s.Client, management.Namespace, name)
	if errors.Is(err, management.ErrNoKubeconfig) {
		if present, read := management.Read(ctx, s.Client, management.Namespace, name); read == nil && !present.Exists {
			return s.NotFound(ctx, name)
		}
	}
	if err != nil {
		return fmt.Errorf("%w; see \"%s status %s\"", err, s.Program, name)
	}
	return printBytes(s.App, kubeconfig)
}

func storedKubeconfig(ctx context.Context, s *session.Session, plane plane.State, name string) error {
	stored, err := os.ReadFile(s.Records.KubeconfigPath(name))
	if errors.Is(err, fs.ErrNotExist) {
		return s.PlaneSilent(ctx, plane, name)
	}
	if err != nil {
		return fmt.Errorf("read stored kubeconfig: %w", err)
	}
	s.Errorf("The management plane is not ready; printing the last known kubeconfig.")
	return printBytes(s.App, stored)
}

func printBytes(a *session.App, content []byte) error {
	if _, err := a.Out.Write(content); err != nil {
		return fmt.Errorf("print kubeconfig: %w", err)
	}
	return nil
}
