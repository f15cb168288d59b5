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
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/input"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/management"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/nextsteps"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/session"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane"
)

// KubeconfigCommand is capcon kubeconfig.
func KubeconfigCommand(a *session.App) *cobra.Command {
	var managementPlane bool
	var options kubeconfigOptions
	command := &cobra.Command{
		Use:   "kubeconfig NAME",
		Short: "Print the kubeconfig of a cluster for this host, or merge it into that of kubectl",
		Long: "Print the kubeconfig of a cluster for this host. With --merge, or with the FILE of --kubeconfig, merge it into\n" +
			"the kubeconfig of kubectl instead, as \"capcon up\" does: as context capcon-NAME.",
		Example: "  capcon kubeconfig demo > demo.kubeconfig\n  capcon kubeconfig demo --merge\n  capcon kubeconfig demo --internal\n  capcon kubeconfig --management",
		PreRunE: func(command *cobra.Command, args []string) error {
			if err := options.validate(command, managementPlane); err != nil {
				return err
			}
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
			return options.run(ctx, s, args[0])
		}),
		ValidArgsFunction: a.CompleteNames,
	}
	command.Flags().BoolVar(&managementPlane, "management", false, "print the kubeconfig of the management plane")
	command.Flags().BoolVar(&options.merge, "merge", false, "merge it into the kubeconfig of kubectl")
	command.Flags().BoolVar(&options.internal, "internal", false, "with the address in the engine's network, for clients in containers there")
	options.user.AddFlags(command)
	return command
}

type kubeconfigOptions struct {
	merge, internal bool
	user            session.UserKubeconfig
}

func (o kubeconfigOptions) merges() bool { return o.merge || o.user.File != "" }

func (o kubeconfigOptions) validate(command *cobra.Command, managementPlane bool) error {
	switch {
	case managementPlane && (o.merges() || o.internal):
		return input.Refuse(input.Problem{
			Field: "--management", Reason: "must not be set together with --merge, --kubeconfig or --internal", Remedy: "use it alone",
		})
	case !o.merges() && command.Flags().Changed("switch-context"):
		return input.Refuse(input.Problem{
			Field: "--switch-context", Value: strconv.FormatBool(o.user.Switch), Reason: "is for a context that is merged", Remedy: "add --merge, or omit it",
		})
	}
	return nil
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

// run prints or merges the kubeconfig.
func (o kubeconfigOptions) run(ctx context.Context, s *session.Session, name string) error {
	kubeconfig, ownerID, err := o.read(ctx, s, name)
	if err != nil || len(kubeconfig) == 0 {
		return err
	}
	if s.InMemory {
		s.Errorf("The API server of the cluster is in memory. Reach it through \"%s tunnel\", in another terminal.", s.Program)
	}
	if !o.merges() {
		return printBytes(s.App, kubeconfig)
	}
	written, err := s.MergeUserKubeconfig(ctx, o.user, name, ownerID, kubeconfig)
	if err != nil {
		return err
	}
	nextsteps.PrintWritten(s.App, written)
	return nil
}

// read the kubeconfig of a cluster from the management plane or, where that does not
// answer, as it was last: the cluster itself may well be there.
func (o kubeconfigOptions) read(ctx context.Context, s *session.Session, name string) (kubeconfig []byte, ownerID string, err error) {
	plane, err := s.ReachPlane(ctx)
	if err != nil {
		return nil, "", err
	}
	if !plane.Answers {
		record, _ := s.Records.Get(name)
		kubeconfig, err = o.stored(ctx, s, plane, name)
		return kubeconfig, record.OwnerID, err
	}
	get := management.Kubeconfig
	if o.internal {
		get = management.InternalKubeconfig
	}
	present, err := management.Read(ctx, s.Client, management.Namespace, name)
	if err != nil {
		return nil, "", err
	}
	kubeconfig, err = get(ctx, s.Client, management.Namespace, name)
	switch {
	case errors.Is(err, management.ErrNoKubeconfig) && !present.Exists:
		return nil, "", s.NotFound(ctx, name)
	case err != nil:
		return nil, "", fmt.Errorf("%w; see \"%s status %s\"", err, s.Program, name)
	}
	return kubeconfig, present.OwnerID, nil
}

// stored kubeconfig of a cluster, which has the address for this host.
func (o kubeconfigOptions) stored(ctx context.Context, s *session.Session, plane plane.State, name string) ([]byte, error) {
	if o.internal {
		return nil, s.PlaneSilent(ctx, plane, name)
	}
	stored, err := os.ReadFile(s.Records.KubeconfigPath(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, s.PlaneSilent(ctx, plane, name)
	}
	if err != nil {
		return nil, fmt.Errorf("read stored kubeconfig: %w", err)
	}
	s.Errorf("The management plane is not ready; using the last known kubeconfig.")
	return stored, nil
}

func printBytes(a *session.App, content []byte) error {
	if _, err := a.Out.Write(content); err != nil {
		return fmt.Errorf("print kubeconfig: %w", err)
	}
	return nil
}
