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

package gc

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/input"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/management"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/output"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/session"
)

// ForgetCommand is capcon forget.
func ForgetCommand(a *session.App) *cobra.Command {
	return &cobra.Command{
		Use:   "forget NAME",
		Short: "Remove the local record of a cluster that was moved",
		Long: "Remove the local record of a cluster and its context in the kubeconfig of kubectl, after\n" +
			"\"clusterctl move\" to another management cluster. The cluster is not changed. Until then, \"up\" does\n" +
			"not create another cluster of that name.",
		Example: "  capcon forget demo",
		Args:    a.OneCluster,
		RunE: session.OnEngine(a.Connect, func(ctx context.Context, s *session.Session, args []string) error {
			return forget(ctx, s, args[0])
		}),
		ValidArgsFunction: a.CompleteNames,
	}
}

func forget(ctx context.Context, s *session.Session, name string) error {
	record, known := s.Records.Get(name)
	if !known {
		if err := s.Records.Elsewhere(ctx, name); err != nil {
			return err
		}
		s.Printf("No record of cluster %s on %s; there are records of %s.", name, s.Connected, output.OrNone(s.Records.Names()))
		return nil
	}
	plane, err := s.ReachPlane(ctx)
	if err != nil {
		return err
	}
	if plane.Answers {
		present, err := management.Read(ctx, s.Client, management.Namespace, name)
		if err != nil {
			return err
		}
		if present.Exists {
			return &input.Error{Problems: []input.Problem{{
				Field: "NAME", Value: name, Reason: "the cluster is in the management plane",
				Remedy: fmt.Sprintf("move it with \"clusterctl move\" first, or delete it with \"%s down %s\"", s.Program, name),
			}}}
		}
	}
	if err := s.Records.Forget(name); err != nil {
		return err
	}
	s.Printf("Removed the record of cluster %s. Its resources were kept.", name)
	done, err := s.RemoveUserKubeconfig(ctx, "", name, record.OwnerID)
	if done != "" {
		s.Printf("%s", done)
	}
	return err
}
