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

// Package registry has the commands that start and remove the local registry.
package registry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/images"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/localregistry"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/management"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/progress"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/session"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
)

const step = "registry"

// options of a registry that is started.
type options struct {
	image, network string
	port           uint16
}

// Command is capcon registry.
func Command(a *session.App) *cobra.Command {
	command := &cobra.Command{
		Use:   "registry",
		Short: "Start and remove a local registry for all clusters",
		Long: "Start and remove a registry on this host. Push images to localhost:PORT, and use them in Pods of all clusters\n" +
			"on its network by the same name.",
	}
	command.AddCommand(upCommand(a), downCommand(a))
	return command
}

func upCommand(a *session.App) *cobra.Command {
	var options options
	command := &cobra.Command{
		Use:   "up",
		Short: "Start the local registry and configure it in the nodes of all clusters",
		Long: "Start a registry in a container and configure it in the nodes of all clusters on its network, including those\n" +
			"created later with \"capcon up\". Nodes are not recreated. The registry keeps its port and images\n" +
			"until \"capcon registry down\", and is restarted with the engine.",
		Example: "  capcon registry up\n  docker tag app:dev localhost:5001/app:dev && docker push localhost:5001/app:dev\n" +
			"  kubectl create deployment app --image=localhost:5001/app:dev",
		Args: cobra.NoArgs,
		RunE: session.OnEngine(a.ConnectLocal, func(ctx context.Context, s *session.Session, _ []string) error {
			options.network = cmp.Or(options.network, network.DefaultName)
			return up(ctx, s, options)
		}),
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	flags := command.Flags()
	flags.StringVar(&options.image, "image", "", "image of the registry")
	flags.StringVar(&options.network, "network", "", "network of the engine (default \""+network.DefaultName+"\")")
	flags.Uint16Var(&options.port, "port", 0, fmt.Sprintf("port on 127.0.0.1 (default %d)", localregistry.DefaultPort))
	return command
}

func up(ctx context.Context, s *session.Session, options options) error {
	b := s.NewBoard("Starting the local registry")
	registry, err := ensure(ctx, s, b, options)
	if err == nil {
		b.Finished(step, "listening on "+registry.Host())
		err = eachOnNetwork(ctx, s, registry, func(cluster string) error {
			b.Finished("cluster "+cluster, "configured to pull from "+registry.Host())
			return setRegistry(ctx, s, cluster, registry.Mirrored())
		})
	}
	b.Close()
	if err != nil {
		return err
	}
	program, _, _ := strings.Cut(s.Info.Traits.Push, " ")
	s.Printf("\nNext:")
	s.Printf("  %s tag app:dev %s/app:dev", program, registry.Host())
	s.Printf("  %s %s/app:dev", s.Info.Traits.Push, registry.Host())
	s.Printf("  kubectl create deployment app --image=%s/app:dev", registry.Host())
	return nil
}

func ensure(ctx context.Context, s *session.Session, b *progress.Board, options options) (localregistry.Registry, error) {
	chosen, err := images.Choose(ctx, s.Engine, images.Request{Use: images.Registry, Named: options.image})
	if err != nil {
		return localregistry.Registry{}, err
	}
	if err := s.EnsureImage(ctx, b, images.Registry, chosen); err != nil {
		return localregistry.Registry{}, err
	}
	b.Waiting(step, "starting")
	registry, err := localregistry.Ensure(ctx, s.Engine, chosen, options.network, options.port)
	if engine.IsTaken(err, engine.ResourceHostPort) {
		return registry, fmt.Errorf("%w; use another port with --port", err)
	}
	return registry, err
}

// eachOnNetwork calls a function for each cluster of the management plane that is on the
// registry's network. Without a management plane there is none.
func eachOnNetwork(ctx context.Context, s *session.Session, registry localregistry.Registry, each func(cluster string) error) error {
	reached, err := s.ReachPlane(ctx)
	if err != nil || !reached.Exists {
		return err
	}
	if !reached.Answers {
		s.Errorf("The management plane is not ready: its clusters are not configured. Run the command again when it is ready.")
		return nil
	}
	if reached.InMemory {
		return nil // their nodes pull nothing
	}
	clusters, err := management.ContainerClusters(ctx, s.Client)
	if err != nil {
		return err
	}
	var failed []error
	for i := range clusters {
		if clusters[i].Namespace == management.Namespace && registry.Serves(&clusters[i]) {
			failed = append(failed, each(clusters[i].Labels[clusterv1.ClusterNameLabel]))
		}
	}
	return errors.Join(failed...)
}

func setRegistry(ctx context.Context, s *session.Session, cluster string, registry infrav1.Registry) error {
	return s.RetryTransient(ctx, func() error { return management.SetRegistry(ctx, s.Client, management.Namespace, cluster, registry) })
}

func downCommand(a *session.App) *cobra.Command {
	return &cobra.Command{
		Use:               "down",
		Short:             "Remove the local registry with its images",
		Args:              cobra.NoArgs,
		RunE:              session.OnEngine(a.ConnectLocal, down),
		ValidArgsFunction: cobra.NoFileCompletions,
	}
}

func down(ctx context.Context, s *session.Session, _ []string) error {
	registry, found, err := localregistry.Find(ctx, s.Engine)
	if err != nil && !errors.Is(err, localregistry.ErrIncomplete) {
		return err
	}
	if found {
		err = eachOnNetwork(ctx, s, registry, func(cluster string) error {
			return setRegistry(ctx, s, cluster, infrav1.Registry{Host: registry.Host()})
		})
		if err != nil {
			return err
		}
	}
	// Also where an earlier removal was interrupted.
	removed, err := localregistry.Remove(ctx, s.Engine)
	if err != nil {
		return err
	}
	switch {
	case found:
		s.Printf("Removed local registry %s and its images.", registry.Host())
	case removed:
		s.Printf("Removed the local registry and its images.")
	default:
		s.Printf("No local registry found.")
	}
	return nil
}
