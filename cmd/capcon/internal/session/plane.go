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

package session

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/images"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/input"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/progress"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane"
)

// The first steps of commands.
const (
	StepEngine = "engine"
	StepPlane  = "management plane"
	StepImages = "images"
	StepProxy  = "proxy"
)

// ChosenEngine says which engine it is and why that one.
func (s *Session) ChosenEngine() string {
	if s.Info.ChosenBy != "" {
		return s.Connected + " (" + s.Info.ChosenBy + ")"
	}
	return s.Connected
}

// PlaneNamed is the management plane whose container has the name. Its last kubeconfig may
// be nil.
func (s *Session) PlaneNamed(name string, last []byte) Plane {
	return s.NewPlane(s.Engine, plane.Options{
		Name: name, EngineSocket: s.engineSocket, FeatureGates: s.featureGates, AllowedEngines: s.allowedEngines, InMemory: s.inMemory,
		Tunnels: s.Tunnels, Info: s.Info, LastKubeconfig: last,
	})
}

// SetFeatureGates of Cluster API for the management plane; empty = it keeps its own.
func (s *Session) SetFeatureGates(gates string) {
	s.featureGates = gates
	s.Plane = s.PlaneNamed(plane.DefaultName, s.Records.ManagementKubeconfig())
}

// SetMode of the management plane: its clusters are in memory or containers; nil = as it has them.
func (s *Session) SetMode(inMemory *bool) {
	s.inMemory = inMemory
	s.Plane = s.PlaneNamed(plane.DefaultName, s.Records.ManagementKubeconfig())
}

// SetAllowedEngines of the management plane, as patterns of endpoints; none = it allows none from now on.
func (s *Session) SetAllowedEngines(patterns []string) {
	s.allowedEngines = cmp.Or(strings.Join(patterns, ","), plane.NoEngines)
	s.Plane = s.PlaneNamed(plane.DefaultName, s.Records.ManagementKubeconfig())
}

// EnsurePlane makes sure of the management plane, which was in this state before, connects to it,
// and reports whether this call created it.
func (m *ManagementPlane) EnsurePlane(ctx context.Context, b *progress.Board, before plane.State, image string) (created bool, err error) {
	if !before.Answers {
		b.Waiting(StepPlane, "starting")
	}
	ready, err := m.Plane.Ensure(ctx, image, func(detail string) { b.Waiting(StepPlane, detail) })
	if err != nil {
		return false, fmt.Errorf("start the management plane: %w", err)
	}
	b.Finished(StepPlane, "ready")
	m.PlaneID, m.InMemory = ready.ID, ready.InMemory
	return ready.Created, m.Use(ready.Kubeconfig)
}

// PlaneImage keeps the image of an existing plane, unless another is requested:
// other clusters depend on it. The engine has the image afterwards.
func (s *Session) PlaneImage(ctx context.Context, b *progress.Board, request input.Request, present plane.State) (string, error) {
	image, use := present.Image, images.Plane
	if present.ID == "" && request.InMemory != nil {
		image, present.InMemory = "", *request.InMemory // that of one that is being removed may be of the other kind
	}
	if present.InMemory {
		use = images.MemoryPlane
	}
	if image == "" || request.PlaneImage != "" {
		chosen, err := images.Choose(ctx, s.Engine, images.Request{
			Use: use, Named: request.PlaneImage, Registry: request.Registry,
		})
		if err != nil {
			return "", err
		}
		image = chosen
	}
	return image, s.EnsureImage(ctx, b, use, image)
}

// EnsureImage pulls an image that the engine does not have.
func (s *Session) EnsureImage(ctx context.Context, b *progress.Board, use images.Use, image string) error {
	return images.Ensure(ctx, s.Engine, use, image, func(p engine.PullProgress) {
		const megabyte = 1 << 20
		b.Figure(StepImages, fmt.Sprintf("pulling %s: %d of %d MiB, %d of %d layers",
			image, p.CurrentBytes/megabyte, p.TotalBytes/megabyte, p.LayersDone, p.LayersTotal))
	})
}

// WakePlane starts a plane that does not answer: only it can delete what
// belongs to a cluster in order.
func (s *Session) WakePlane(ctx context.Context, b *progress.Board, state plane.State) error {
	s.InMemory = state.InMemory
	if state.Answers {
		b.Finished(StepPlane, "ready")
		return s.Use(state.Kubeconfig)
	}
	image, err := s.PlaneImage(ctx, b, input.Request{}, state)
	if err != nil {
		return err
	}
	_, err = s.EnsurePlane(ctx, b, state, image)
	return err
}

// RemoveUnused removes the management plane if it has no cluster, and returns
// those it has.
func (m *ManagementPlane) RemoveUnused(ctx context.Context) (clusters []string, err error) {
	clusters, err = m.Plane.Remove(ctx)
	if err != nil || len(clusters) > 0 {
		return clusters, err
	}
	m.PlaneID = ""
	m.Records.Unsaved(m.Records.ForgetManagement())
	return nil, nil
}

// PlaneLogLines is the limit of the lines of the management plane's log in a support bundle, the last ones.
// +limit
const PlaneLogLines = 20_000
