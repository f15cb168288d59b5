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
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/images"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/input"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/management"
)

func (a *app) planeCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "plane",
		Short: "Start, stop and remove the management cluster",
		Long: "Start, stop and remove the management plane, a management cluster in one container, to create\n" +
			"clusters with clusterctl and kubectl. \"capcon up\" starts it too if required.",
	}
	command.AddCommand(a.planeUpCommand(), a.planeStopCommand(), a.planeDownCommand())
	return command
}

func (a *app) planeUpCommand() *cobra.Command {
	var request input.Request
	command := &cobra.Command{
		Use:   "up",
		Short: "Start the management cluster, without any workload cluster",
		Long: "Start the management cluster and wait until it is ready. It is kept until \"capcon plane down\", even if\n" +
			"\"capcon down\" deletes the last cluster. One of an earlier release than capcon is upgraded; its clusters stay.",
		Args:    cobra.NoArgs,
		PreRunE: func(*cobra.Command, []string) error { return request.ValidatePlane() },
		RunE: onEngine(a.connect, func(ctx context.Context, s *session, _ []string) error {
			return s.planeUp(ctx, request)
		}),
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	flags := command.Flags()
	flags.StringVar(&request.PlaneImage, "plane-image", "", "image of the management plane")
	flags.StringVar(&request.Registry, "registry", "", "registry HOST:PORT to take the public images from")
	flags.DurationVar(&request.Timeout, "timeout", defaultTimeout, "how long to wait; 0 = no limit")
	return command
}

func (s *session) planeUp(ctx context.Context, request input.Request) error {
	started := s.Now()
	limited, cancel := within(ctx, request.Timeout)
	defer cancel()
	b := s.newBoard("Starting the management cluster")
	b.finished(stepEngine, s.chosenEngine())
	err := s.startPlane(limited, b, request)
	b.close()
	if err != nil {
		return err
	}
	s.say("\nThe %s is ready after %s.\n\nNext:", s.managementCluster(), s.Now().Sub(started).Round(time.Second))
	s.say("%s", s.exportKubeconfig(s.managementFile, "--management"))
	s.say("  clusterctl generate cluster NAME --kubernetes-version %s | kubectl apply --filename -", input.DefaultKubernetes())
	s.say("  %s status", s.Program)
	s.say("  %s plane down", s.Program)
	return nil
}

func (s *session) startPlane(ctx context.Context, b *board, request input.Request) error {
	for {
		err := s.startPlaneOnce(ctx, b, request)
		if !s.replaced(ctx) {
			return err
		}
	}
}

func (s *session) startPlaneOnce(ctx context.Context, b *board, request input.Request) error {
	before, err := s.plane.State(ctx)
	if err != nil {
		return err
	}
	if images.SkewOfPlane(before.Image).Order < 0 && request.PlaneImage == "" {
		before.Image = "" // of an earlier release: that of this program replaces it
	}
	image, err := s.planeImage(ctx, b, request, before)
	if err != nil {
		return err
	}
	if _, err := s.ensurePlane(ctx, b, before, image); err != nil {
		return err
	}
	return s.persist(ctx, func() error {
		return cmp.Or(management.Keep(ctx, s.client), management.EnsureNamedClass(ctx, s.client, namespace))
	})
}

func (a *app) planeDownCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "down",
		Short: "Remove the management cluster, if it has no clusters",
		Long: "Remove the management cluster, its data and the network; images are kept. It is rejected while there are\n" +
			"clusters, which would become unmanaged.",
		Args:              cobra.NoArgs,
		RunE:              onEngine(a.connect, planeDown),
		ValidArgsFunction: cobra.NoFileCompletions,
	}
}

func planeDown(ctx context.Context, s *session, _ []string) error {
	state, err := s.plane.State(ctx)
	if err != nil {
		return err
	}
	if state.ID != "" {
		b := s.newBoard("Removing the management cluster")
		err := s.wakePlane(ctx, b, state) // only it knows its clusters
		b.close()
		if err != nil {
			return err
		}
	}
	// Also what a removal that was interrupted left, such as the network.
	remaining, err := s.removeUnused(ctx)
	if err != nil {
		return fmt.Errorf("remove the management plane: %w", err)
	}
	if len(remaining) > 0 {
		return fmt.Errorf("%s has clusters: %s; delete them (%s down NAME, or kubectl delete cluster), or move them with \"clusterctl move\"",
			s.managementCluster(), strings.Join(remaining, ", "), s.Program)
	}
	if !state.Exists {
		s.say("No management cluster found on %s.", s.connected)
		return nil
	}
	s.say("Removed %s. Images were kept; list them with \"%s images list\".", s.managementCluster(), s.Program)
	return nil
}
