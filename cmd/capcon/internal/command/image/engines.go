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

package image

import (
	"context"
	"fmt"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/images"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/progress"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/session"
	"github.com/capi-samples/cluster-api-provider-container/internal/nodeimages"
)

// checkArchitecture refuses engines of another one: the images of this engine do not run there.
func checkArchitecture(s *session.Session, others []*session.Session) error {
	for _, on := range others {
		if its, ours := on.Info.Architecture, s.Info.Architecture; its != "" && ours != "" && its != ours {
			return fmt.Errorf("engine %q has architecture %s, and the images of %s have %s; use a registry", on.EngineName, its, s.Connected, ours)
		}
	}
	return nil
}

// copyToEngine copies an image to an engine that has another one of its name, or none: nodes that join there later get it from
// that engine.
func copyToEngine(ctx context.Context, s *session.Session, board *progress.Board, source *nodeimages.Source, on *session.Session) error {
	ours, _, err := images.Find(ctx, s.Engine, source.Reference)
	if err != nil {
		return err
	}
	its, found, err := images.Find(ctx, on.Engine, source.Reference)
	if err != nil || found && its.ID == ours.ID {
		return err
	}
	board.Waiting(source.Reference, "copying to engine "+on.EngineName)
	return images.Copy(ctx, s.Engine, on.Engine, source.Reference)
}
