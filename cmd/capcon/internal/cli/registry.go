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
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
)

const stepRegistry = "registry"

func (a *app) registryCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "registry",
		Short: "Start and remove a local registry for all clusters",
		Long: "Start and remove a registry on this host. Push images to localhost:PORT, and use them in Pods of all clusters\n" +
			"on its network by the same name.",
	}
	command.AddCommand(a.registryUpCommand(), a.registryDownCommand())
	return command
}

func (a *app) registryUpCommand() *cobra.Command {
	var image, networkName string
	var port uint16
	command := &cobra.Command{
		Use:   "up",
		Short: "Start the local registry and configure it in the nodes of all clusters",
		Long: "Start a registry in a container and configure it in the nodes of all clusters on its network, including those\n" +
			"created later with \"capcon up\". Nodes are not recreated. The registry keeps its port and images\n" +
			"until \"capcon registry down\", and is restarted with the engine.",
		Example: "  capcon registry up\n  docker tag app:dev localhost:5001/app:dev && docker push localhost:5001/app:dev\n" +
			"  kubectl create deployment app --image=localhost:5001/app:dev",
		Args: cobra.NoArgs,
		RunE: onEngine(a.connectLocal, func(ctx context.Context, s *session, _ []string) error {
			return s.registryUp(ctx, image, cmp.Or(networkName, network.DefaultName), port)
		}),
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	flags := command.Flags()
	flags.StringVar(&image, "image", "", "image of the registry")
	flags.StringVar(&networkName, "network", "", "network of the engine (default \""+network.DefaultName+"\")")
	flags.Uint16Var(&port, "port", 0, fmt.Sprintf("port on 127.0.0.1 (default %d)", localregistry.DefaultPort))
	return command
}

func (s *session) registryUp(ctx context.Context, image, networkName string, port uint16) error {
	b := s.newBoard("Starting the local registry")
	registry, err := s.ensureRegistry(ctx, b, image, networkName, port)
	if err == nil {
		b.finished(stepRegistry, "listening on "+registry.Host())
		err = s.eachOnNetwork(ctx, registry, func(cluster string) error {
			b.finished("cluster "+cluster, "configured to pull from "+registry.Host())
			return s.setRegistry(ctx, cluster, inNodes(registry))
		})
	}
	b.close()
	if err != nil {
		return err
	}
	push := "docker push"
	if strings.HasPrefix(strings.ToLower(s.info.Name), "podman") {
		push = "podman push --tls-verify=false"
	}
	s.say("\nNext:")
	s.say("  %s tag app:dev %s/app:dev", strings.Fields(push)[0], registry.Host())
	s.say("  %s %s/app:dev", push, registry.Host())
	s.say("  kubectl create deployment app --image=%s/app:dev", registry.Host())
	return nil
}

func (s *session) ensureRegistry(ctx context.Context, b *board, image, networkName string, port uint16) (localregistry.Registry, error) {
	chosen, err := images.Choose(ctx, s.engine, images.Wish{Use: images.Registry, Named: image})
	if err != nil {
		return localregistry.Registry{}, err
	}
	if err := s.ensureImage(ctx, b, images.Registry, chosen); err != nil {
		return localregistry.Registry{}, err
	}
	b.waiting(stepRegistry, "starting")
	registry, err := localregistry.Ensure(ctx, s.engine, chosen, networkName, port)
	if engine.IsTaken(err, engine.ResourceHostPort) {
		return registry, fmt.Errorf("%w; use another port with --port", err)
	}
	return registry, err
}

// eachOnNetwork calls a function for each cluster of the management plane that is on the
// registry's network. Without a management plane there is none.
func (s *session) eachOnNetwork(ctx context.Context, registry localregistry.Registry, each func(cluster string) error) error {
	reached, err := s.reachPlane(ctx)
	if err != nil || !reached.Exists {
		return err
	}
	if !reached.Answers {
		s.complain("The management plane is not ready: its clusters are not configured. Run the command again when it is ready.")
		return nil
	}
	clusters, err := management.ContainerClusters(ctx, s.client)
	if err != nil {
		return err
	}
	var failed []error
	for i := range clusters {
		if clusters[i].Namespace == namespace && isOn(&clusters[i], registry) {
			failed = append(failed, each(clusters[i].Labels[clusterv1.ClusterNameLabel]))
		}
	}
	return errors.Join(failed...)
}

func isOn(cluster *infrav1.ContainerCluster, registry localregistry.Registry) bool {
	return cmp.Or(cluster.Spec.Network.Name, network.DefaultName) == registry.Network
}

// inNodes is how nodes pull from the local registry.
func inNodes(registry localregistry.Registry) infrav1.Registry {
	return infrav1.Registry{Host: registry.Host(), Mirrors: []infrav1.RegistryMirror{{URL: registry.URL()}}}
}

func (s *session) setRegistry(ctx context.Context, cluster string, registry infrav1.Registry) error {
	return s.persist(ctx, func() error { return management.SetRegistry(ctx, s.client, namespace, cluster, registry) })
}

func (a *app) registryDownCommand() *cobra.Command {
	return &cobra.Command{
		Use:               "down",
		Short:             "Remove the local registry with its images",
		Args:              cobra.NoArgs,
		RunE:              onEngine(a.connectLocal, registryDown),
		ValidArgsFunction: cobra.NoFileCompletions,
	}
}

func registryDown(ctx context.Context, s *session, _ []string) error {
	registry, found, err := localregistry.Find(ctx, s.engine)
	if err != nil && !errors.Is(err, localregistry.ErrIncomplete) {
		return err
	}
	if found {
		err = s.eachOnNetwork(ctx, registry, func(cluster string) error {
			return s.setRegistry(ctx, cluster, infrav1.Registry{Host: registry.Host()})
		})
		if err != nil {
			return err
		}
	}
	// Also where an earlier removal was interrupted.
	removed, err := localregistry.Remove(ctx, s.engine)
	if err != nil {
		return err
	}
	switch {
	case found:
		s.say("Removed local registry %s and its images.", registry.Host())
	case removed:
		s.say("Removed the local registry and its images.")
	default:
		s.say("No local registry found.")
	}
	return nil
}
