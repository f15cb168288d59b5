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
	"fmt"

	"github.com/spf13/cobra"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/input"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/management"
)

func (a *app) forgetCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "forget NAME",
		Short: "Remove the local record of a cluster that was moved",
		Long: "Remove the local record of a cluster, after \"clusterctl move\" to another management cluster.\n" +
			"The cluster is not changed. Until then, \"up\" does not create another cluster of that name.",
		Example: "  capcon forget demo",
		Args:    a.oneCluster,
		RunE: onEngine(a.connect, func(ctx context.Context, s *session, args []string) error {
			return s.forget(ctx, args[0])
		}),
		ValidArgsFunction: a.completeNames,
	}
}

func (s *session) forget(ctx context.Context, name string) error {
	if _, known := s.recorded(name); !known {
		if err := s.elsewhere(ctx, name); err != nil {
			return err
		}
		s.say("No record of cluster %s on %s; there are records of %s.", name, s.connected, orNone(s.recordedNames()))
		return nil
	}
	plane, err := s.reachPlane(ctx)
	if err != nil {
		return err
	}
	if plane.Answers {
		present, err := management.Read(ctx, s.client, namespace, name)
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
	if err := s.state.Forget(name); err != nil {
		return err
	}
	s.say("Removed the record of cluster %s. Its resources were kept.", name)
	return nil
}
