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

// Package tunnel is the command that forwards the ports of clusters from an engine on another host.
package tunnel

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/spf13/cobra"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/management"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/session"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane"
)

// interval lies between looks for clusters that were created meanwhile.
const interval = 2 * time.Second

// Command is capcon tunnel.
func Command(a *session.App) *cobra.Command {
	return &cobra.Command{
		Use:   "tunnel",
		Short: "Forward the ports of clusters from an engine on another host",
		Long: "Forward the ports of the management plane and of all clusters from the host of a remote engine\n" +
			"(DOCKER_HOST=ssh://... or tcp://...) to 127.0.0.1, so that the kubeconfigs of \"capcon up\" and \"capcon kubeconfig\"\n" +
			"work here. Clusters that are created meanwhile are added. The command runs until it is interrupted. Other\n" +
			"commands of capcon do not need it.",
		Example:           "  export DOCKER_HOST=ssh://me@build.example.org\n  capcon up demo\n  capcon tunnel &\n  kubectl get nodes",
		Args:              cobra.NoArgs,
		RunE:              session.OnEngine(a.Connect, run),
		ValidArgsFunction: cobra.NoFileCompletions,
	}
}

// run forwards until ctx ends.
func run(ctx context.Context, s *session.Session, _ []string) error {
	if s.Tunnels == nil {
		return fmt.Errorf("%s is on this host, where kubeconfigs work without a tunnel", s.Connected)
	}
	found, err := s.ReachPlane(ctx)
	if err != nil {
		return err
	}
	if !found.Answers {
		return cmp.Or(s.PlaneSilent(ctx, found, ""), fmt.Errorf("no management cluster found on %s; create a cluster with \"%s up NAME\"", s.Connected, s.Program))
	}
	s.Printf("Forwarding ports of 127.0.0.1 to %s. Press Ctrl-C to stop.", s.Connected)
	reported := ""
	for {
		if err := openTunnels(ctx, s); err != nil && ctx.Err() == nil {
			// It restarts, or was removed, and another one has another port.
			_, missing := s.ReachPlane(ctx)
			if text := management.OneLine(errors.Join(err, missing).Error()); text != reported {
				s.Errorf("The management plane does not respond; trying again: %s", text)
				reported = text
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-s.After(interval):
		}
	}
}

// openTunnels to the clusters that have none yet.
func openTunnels(ctx context.Context, s *session.Session) error {
	clusters, err := management.ContainerClusters(ctx, s.Client)
	if err != nil {
		return err
	}
	for i := range clusters {
		endpoint, port := clusters[i].Spec.ControlPlaneEndpoint, clusters[i].Spec.LoadBalancer.HostPort
		address, err := netip.ParseAddr(endpoint.Host)
		if port == 0 || err != nil {
			continue // not created yet, or an external endpoint
		}
		//nolint:gosec // The API server bounds both ports.
		opened, err := s.Tunnels.Open(plane.DefaultName, uint16(port), netip.AddrPortFrom(address, uint16(endpoint.Port)))
		if err != nil {
			return err
		}
		if opened {
			s.Printf("127.0.0.1:%d  cluster %s", port, session.Shown(clusters[i].Namespace, clusters[i].Name))
		}
	}
	return nil
}
