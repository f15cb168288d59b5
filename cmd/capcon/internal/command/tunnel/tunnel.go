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
	"github.com/capi-samples/cluster-api-provider-container/internal/plane/tunnel"
)

// interval lies between looks for clusters that were created meanwhile.
const interval = 2 * time.Second

// Command is capcon tunnel.
func Command(a *session.App) *cobra.Command {
	return &cobra.Command{
		Use:   "tunnel",
		Short: "Forward the ports of clusters in memory, or on an engine of another host",
		Long: "Forward the ports of the management plane and of all clusters from the host of a remote engine\n" +
			"(DOCKER_HOST=ssh://... or tcp://...) to 127.0.0.1, so that the kubeconfigs of \"capcon up\" and \"capcon kubeconfig\"\n" +
			"work here. Those of clusters in memory (\"capcon plane up --memory\") are in the container of the management plane,\n" +
			"also on an engine of this host. Clusters that are created meanwhile are added. The command runs until it is\n" +
			"interrupted. Other commands of capcon do not need it.",
		Example:           "  export DOCKER_HOST=ssh://me@build.example.org\n  capcon up demo\n  capcon tunnel &\n  kubectl get nodes",
		Args:              cobra.NoArgs,
		RunE:              session.OnEngine(a.Connect, run),
		ValidArgsFunction: cobra.NoFileCompletions,
	}
}

// run forwards until ctx ends.
func run(ctx context.Context, s *session.Session, _ []string) error {
	found, err := s.ReachPlane(ctx)
	if err != nil {
		return err
	}
	if s.Tunnels == nil && !found.InMemory {
		return fmt.Errorf("%s is on this host, where kubeconfigs work without a tunnel", s.Connected)
	}
	if s.Tunnels == nil {
		s.Tunnels = tunnel.New(ctx, s.Engine)
	}
	if !found.Answers {
		return cmp.Or(s.PlaneSilent(ctx, found, ""), fmt.Errorf("no management cluster found on %s; create a cluster with \"%s up NAME\"", s.Connected, s.Program))
	}
	s.Printf("Forwarding ports of 127.0.0.1 to %s. Press Ctrl-C to stop.", s.Connected)
	reported, inUse := "", map[uint16]bool{}
	for {
		if err := openTunnels(ctx, s, inUse); err != nil && ctx.Err() == nil {
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

// openTunnels to the clusters that have none yet. Ports that are in use are reported once where nothing but a tunnel leads to a
// cluster.
func openTunnels(ctx context.Context, s *session.Session, inUse map[uint16]bool) error {
	clusters, err := management.ContainerClusters(ctx, s.Client)
	if err != nil {
		return err
	}
	for i := range clusters {
		//nolint:gosec // The API server bounds it.
		endpoint, port := clusters[i].Spec.ControlPlaneEndpoint, uint16(clusters[i].Spec.LoadBalancer.HostPort)
		cluster := session.Shown(clusters[i].Namespace, clusters[i].Name)
		address, err := netip.ParseAddr(endpoint.Host)
		if port == 0 || err != nil {
			continue // not created yet, or an external endpoint
		}
		//nolint:gosec // The API server bounds it.
		opened, err := s.Tunnels.Open(plane.DefaultName, port, netip.AddrPortFrom(address, uint16(endpoint.Port)))
		if err != nil {
			return err
		}
		switch {
		case opened:
			s.Printf("127.0.0.1:%d  cluster %s", port, cluster)
		case s.InMemory && !s.Tunnels.Opened(port) && !inUse[port]:
			inUse[port] = true
			s.Errorf("127.0.0.1:%d is in use by another process, such as another \"%s tunnel\", and does not lead to cluster %s.", port, s.Program, cluster)
		}
	}
	return nil
}
