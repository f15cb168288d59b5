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
		Short: "Forget a cluster that was moved to another management cluster",
		Long: "Forget that capcon made a cluster, after \"clusterctl move\" gave it to another management cluster.\n" +
			"The cluster stays as it is. Until then \"down\" and \"gc\" remove what capcon remembers to have made.",
		Example: "  capcon forget demo",
		Args:    oneCluster,
		RunE: onEngine(a.connect, func(ctx context.Context, s *session, args []string) error {
			return s.forget(ctx, args[0])
		}),
		ValidArgsFunction: a.completeNames,
	}
}

func (s *session) forget(ctx context.Context, name string) error {
	_, known, err := s.state.Recall(name)
	if err != nil {
		return err
	}
	if !known {
		names, err := s.state.Clusters()
		if err != nil {
			return err
		}
		s.say("Nothing to forget: capcon has no record of a cluster %s on %s; it has records of %s.", name, s.connected, orNone(names))
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
				Field: "NAME", Value: name, Reason: "the management plane of capcon has this cluster",
				Remedy: fmt.Sprintf("move it with clusterctl first, or delete it: %s down %s", s.Program, name),
			}}}
		}
	}
	if err := s.state.Forget(name); err != nil {
		return err
	}
	s.say("Forgot cluster %s. What there is of it stays.", name)
	return nil
}
