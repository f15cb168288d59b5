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

// Package plane has the commands that start, stop and remove the management cluster.
package plane

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
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/nextsteps"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/progress"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/session"
)

// Command is capcon plane.
func Command(a *session.App) *cobra.Command {
	command := &cobra.Command{
		Use:   "plane",
		Short: "Start, stop, inspect and remove the management cluster",
		Long: "Start, stop, inspect and remove the management plane, a management cluster in one container, to create\n" +
			"clusters with clusterctl and kubectl. \"capcon up\" starts it too if required.",
	}
	command.AddCommand(upCommand(a), statusCommand(a), logsCommand(a), stopCommand(a), downCommand(a))
	return command
}

func upCommand(a *session.App) *cobra.Command {
	var request input.Request
	var inMemory bool
	command := &cobra.Command{
		Use:   "up",
		Short: "Start the management cluster, without any workload cluster",
		Long: "Start the management cluster and wait until it is ready. It is kept until \"capcon plane down\", even if\n" +
			"\"capcon down\" deletes the last cluster. One of an earlier release than capcon is upgraded; its clusters stay.\n\n" +
			"With --memory, its clusters have no containers: their API servers are simulated in the management cluster, for\n" +
			"who develops controllers of Cluster API; see docs/how-to/in-memory.md. A management cluster is one of them\n" +
			"until it is removed.",
		Args: cobra.NoArgs,
		PreRunE: func(command *cobra.Command, _ []string) error {
			if command.Flags().Changed("memory") {
				request.InMemory = &inMemory
			}
			return request.ValidatePlane()
		},
		RunE: session.OnEngine(a.Connect, func(ctx context.Context, s *session.Session, _ []string) error {
			return up(ctx, s, request)
		}),
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	flags := command.Flags()
	flags.StringVar(&request.PlaneImage, "plane-image", "", "image of the management plane")
	flags.StringVar(&request.FeatureGates, "feature-gates", "",
		"feature gates of Cluster API, such as RuntimeSDK=true,InPlaceUpdates=true; kept until others are given")
	flags.BoolVar(&inMemory, "memory", false, "clusters in memory, without containers (default: as an existing management cluster has them)")
	flags.StringVar(&request.Registry, "registry", "", "registry HOST:PORT to take the public images from")
	session.AddTimeout(command, &request.Timeout)
	return command
}

func up(ctx context.Context, s *session.Session, request input.Request) error {
	started := s.Now()
	s.SetFeatureGates(request.FeatureGates)
	s.SetMode(request.InMemory)
	limited, cancel := session.Within(ctx, request.Timeout)
	defer cancel()
	b := s.NewBoard("Starting the management cluster")
	b.Finished(session.StepEngine, s.ChosenEngine())
	err := start(limited, s, b, request)
	b.Close()
	if err != nil {
		return err
	}
	s.Printf("\nThe %s is ready after %s.\n\nNext:", s.ManagementCluster(), s.Now().Sub(started).Round(time.Second))
	s.Printf("%s", nextsteps.Export(s.App, s.ManagementFile, "--management"))
	if s.InMemory {
		s.Printf("  %s up NAME", s.Program)
		s.Printf("  %s tunnel    # in another terminal: forwards the ports of clusters in memory", s.Program)
	} else {
		s.Printf("  clusterctl generate cluster NAME --kubernetes-version %s | kubectl apply --filename -", input.DefaultKubernetes())
	}
	s.Printf("  %s status", s.Program)
	s.Printf("  %s plane down", s.Program)
	return nil
}

func start(ctx context.Context, s *session.Session, b *progress.Board, request input.Request) error {
	for {
		err := startOnce(ctx, s, b, request)
		if !s.PlaneReplaced(ctx) {
			return err
		}
	}
}

func startOnce(ctx context.Context, s *session.Session, b *progress.Board, request input.Request) error {
	before, err := s.Plane.State(ctx)
	if err != nil {
		return err
	}
	if err := before.CheckMode(request.InMemory); err != nil {
		return err
	}
	if images.SkewOfPlane(before.Image).Order < 0 && request.PlaneImage == "" {
		before.Image = "" // of an earlier release: that of this program replaces it
	}
	image, err := s.PlaneImage(ctx, b, request, before)
	if err != nil {
		return err
	}
	if _, err := s.EnsurePlane(ctx, b, before, image); err != nil {
		return err
	}
	return s.RetryTransient(ctx, func() error {
		return cmp.Or(management.Keep(ctx, s.Client), management.EnsureNamedClass(ctx, s.Client, management.Namespace))
	})
}

func downCommand(a *session.App) *cobra.Command {
	return &cobra.Command{
		Use:   "down",
		Short: "Remove the management cluster, if it has no clusters",
		Long: "Remove the management cluster, its data and the network; images are kept. It is rejected while there are\n" +
			"clusters, which would become unmanaged.",
		Args:              cobra.NoArgs,
		RunE:              session.OnEngine(a.Connect, down),
		ValidArgsFunction: cobra.NoFileCompletions,
	}
}

func down(ctx context.Context, s *session.Session, _ []string) error {
	state, err := s.Plane.State(ctx)
	if err != nil {
		return err
	}
	if state.ID != "" {
		b := s.NewBoard("Removing the management cluster")
		err := s.WakePlane(ctx, b, state) // only it knows its clusters
		b.Close()
		if err != nil {
			return err
		}
	}
	// Also what a removal that was interrupted left, such as the network.
	remaining, err := s.RemoveUnused(ctx)
	if err != nil {
		return fmt.Errorf("remove the management plane: %w", err)
	}
	if len(remaining) > 0 {
		return fmt.Errorf("%s has clusters: %s; delete them (%s down NAME, or kubectl delete cluster), or move them with \"clusterctl move\"",
			s.ManagementCluster(), strings.Join(remaining, ", "), s.Program)
	}
	if !state.Exists {
		s.Printf("No management cluster found on %s.", s.Connected)
		return nil
	}
	s.Printf("Removed %s. Images were kept; list them with \"%s images list\".", s.ManagementCluster(), s.Program)
	return nil
}
