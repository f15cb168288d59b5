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

package get

import (
	"context"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/clusterfile"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/input"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/objects"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/session"
)

// configCommand is capcon get config.
func configCommand(a *session.App) *cobra.Command {
	return &cobra.Command{
		Use:   "config NAME",
		Short: "Print the Cluster manifest of a cluster, for capcon up -f",
		Long: "Print a Cluster manifest without what belongs to this cluster alone, such as its status. \"capcon up -f\"\n" +
			"makes a cluster like this one of it.",
		Example: "  capcon get config demo > demo.yaml\n  capcon up copy -f demo.yaml",
		Args:    cobra.ExactArgs(1),
		PreRunE: func(_ *cobra.Command, args []string) error { return input.Refuse(input.CheckName(args[0])...) },
		RunE: session.OnEngine(a.Connect, func(ctx context.Context, s *session.Session, args []string) error {
			return printConfig(ctx, s, args[0])
		}),
		ValidArgsFunction: a.CompleteNames,
	}
}

func printConfig(ctx context.Context, s *session.Session, name string) error {
	found, err := s.ReachPlane(ctx)
	if err != nil {
		return err
	}
	if !found.Answers {
		return s.PlaneSilent(ctx, found, name)
	}
	present, err := s.Read(ctx, name)
	if err != nil {
		return err
	}
	if !present.Exists {
		return s.NotFound(ctx, name)
	}
	if !present.Cluster.Spec.Topology.IsDefined() {
		return input.Refuse(input.Problem{
			Field: "NAME", Value: name, Reason: "the Cluster has no topology", Remedy: "print its objects with kubectl",
		})
	}
	_, withoutPodNetwork := present.Cluster.Annotations[objects.NoCNIAnnotation]
	text, err := yaml.Marshal(clusterfile.Manifest(present.Cluster, !withoutPodNetwork))
	if err != nil {
		return err
	}
	return printBytes(s.App, text)
}
