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

package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/images"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/input"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/management"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/state"
	"github.com/capi-samples/cluster-api-provider-container/internal/node"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane"
	"github.com/capi-samples/cluster-api-provider-container/internal/release"
)

func (a *app) kubeconfigCommand() *cobra.Command {
	var managementPlane bool
	command := &cobra.Command{
		Use:     "kubeconfig NAME",
		Short:   "Print the kubeconfig of a cluster for this host",
		Example: "  capcon kubeconfig demo > demo.kubeconfig\n  capcon kubeconfig --management",
		PreRunE: func(_ *cobra.Command, args []string) error {
			if !managementPlane && len(args) == 0 {
				return a.nameMissing("use the name of one cluster, or --management")
			}
			if managementPlane != (len(args) == 0) || len(args) > 1 {
				return &input.Error{Problems: []input.Problem{{
					Field: "NAME", Value: strings.Join(args, " "), Reason: "more than one kubeconfig requested",
					Remedy: "use the name of one cluster, or --management",
				}}}
			}
			return nil
		},
		RunE: onEngine(a.connect, func(ctx context.Context, s *session, args []string) error {
			if managementPlane {
				return s.managementKubeconfig(ctx)
			}
			return s.kubeconfig(ctx, args[0])
		}),
		ValidArgsFunction: a.completeNames,
	}
	command.Flags().BoolVar(&managementPlane, "management", false, "print the kubeconfig of the management plane")
	return command
}

func (s *session) managementKubeconfig(ctx context.Context) error {
	plane, err := s.plane.State(ctx)
	if err != nil {
		return err
	}
	if !plane.Exists {
		return fmt.Errorf("no management cluster found on %s; start it with \"%s plane up\"", s.connected, s.Program)
	}
	if !plane.Answers {
		return s.planeSilent(ctx, plane, "")
	}
	return s.print(plane.Kubeconfig)
}

// kubeconfig of a cluster from the management plane or, where that does not
// answer, as it was last: the cluster itself may well be there.
func (s *session) kubeconfig(ctx context.Context, name string) error {
	plane, err := s.reachPlane(ctx)
	if err != nil {
		return err
	}
	if !plane.Answers {
		return s.storedKubeconfig(ctx, plane, name)
	}
	kubeconfig, err := management.Kubeconfig(ctx, s.client, namespace, name)
	if errors.Is(err, management.ErrNoKubeconfig) {
		if present, read := management.Read(ctx, s.client, namespace, name); read == nil && !present.Exists {
			return s.notFound(ctx, name)
		}
	}
	if err != nil {
		return fmt.Errorf("%w; see \"%s status %s\"", err, s.Program, name)
	}
	return s.print(kubeconfig)
}

func (s *session) storedKubeconfig(ctx context.Context, plane plane.State, name string) error {
	stored, err := os.ReadFile(s.state.KubeconfigPath(name))
	if errors.Is(err, fs.ErrNotExist) {
		return s.planeSilent(ctx, plane, name)
	}
	if err != nil {
		return fmt.Errorf("read stored kubeconfig: %w", err)
	}
	s.complain("The management plane is not ready; printing the last known kubeconfig.")
	return s.print(stored)
}

func (a *app) print(content []byte) error {
	if _, err := a.Out.Write(content); err != nil {
		return fmt.Errorf("print kubeconfig: %w", err)
	}
	return nil
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version, and the known Kubernetes versions with their node images",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			a.say("capcon %s\n", release.Program())
			lines := []string{"KUBERNETES\tNODE IMAGE\tSOURCE"}
			for _, version := range node.KnownVersions() {
				image, err := node.Image(version)
				if err != nil {
					return err
				}
				source := "pulled from its registry"
				switch {
				case version == node.DefaultVersion:
					source = "default; " + images.LoadCommand(images.Node, release.Version())
				case image == node.BuiltImage(version):
					source = "built from source; " + images.BuildCommand(version)
				}
				name, _, _ := strings.Cut(image, "@")
				lines = append(lines, strings.Join([]string{version, name, source}, "\t"))
			}
			return a.table(lines)
		},
	}
}

// nameMissing refuses a command without the name of a cluster, and says which there are.
func (a *app) nameMissing(remedy string) error {
	reason := "missing"
	if names, err := a.savedNames(); err == nil && len(names) > 0 {
		reason += "; clusters: " + strings.Join(names, ", ")
	}
	return input.Refuse(input.Problem{Field: "NAME", Reason: reason, Remedy: remedy})
}

// savedNames are those of clusters of any engine.
func (a *app) savedNames() ([]string, error) {
	root, err := state.Root(a.Getenv)
	if err != nil {
		return nil, err
	}
	engines, err := state.All(root)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, directory := range engines {
		found, _, err := directory.Clusters()
		if err != nil {
			return nil, err
		}
		names = append(names, found...)
	}
	return names, nil
}
