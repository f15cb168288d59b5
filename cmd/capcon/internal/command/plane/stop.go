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
	"time"

	"github.com/spf13/cobra"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/session"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane"
)

func stopCommand(a *session.App) *cobra.Command {
	return &cobra.Command{
		Use:   "stop",
		Short: "Stop the management cluster and keep its state",
		Long: "Stop the management cluster. Workload clusters continue to run; nothing is repaired or changed in them.\n" +
			"\"capcon plane up\" starts it again, as do \"capcon up\", \"capcon start\" and \"capcon down\", and a restart of\n" +
			"the engine.",
		Args:              cobra.NoArgs,
		RunE:              session.OnEngine(a.Connect, stop),
		ValidArgsFunction: cobra.NoFileCompletions,
	}
}

func stop(ctx context.Context, s *session.Session, _ []string) error {
	// etcd and the API server end within a second.
	const grace = 30 * time.Second
	err := s.Engine.StopContainer(ctx, plane.DefaultName, grace)
	if errors.Is(err, engine.ErrNotFound) {
		s.Printf("No management cluster found on %s.", s.Connected)
		return nil
	}
	if err != nil {
		return fmt.Errorf("stop the management cluster: %w", err)
	}
	s.Printf("The %s is stopped. Start it with \"%s plane up\".", s.ManagementCluster(), s.Program)
	return nil
}
