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

package up

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/utils/ptr"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/images"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/management"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/records"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/session"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

// findEngine finds out which engine the cluster is on before anything is checked or created. An engine that is requested is in
// the management plane, which is started if it is stopped; without a request, one that does not respond is left for later.
func (r *run) findEngine(ctx context.Context) error {
	found, err := r.reach(ctx)
	if err != nil {
		return err
	}
	requested := r.requested()
	if requested != "" && found.Exists && !found.Answers {
		if err := r.session.WakePlane(ctx, r.board, found); err != nil {
			return err
		}
	}
	if err := r.findPlace(ctx); err != nil && requested != "" {
		return err
	}
	if r.target == nil {
		return nil
	}
	described := []string{r.engineName + ", " + records.Connected(r.target.Info)}
	err = r.onOthers(ctx, func(on *session.Session) error {
		described = append(described, on.EngineName+", "+records.Connected(on.Info))
		return nil
	})
	r.board.Finished(session.StepEngine, strings.Join(described, "; "))
	return err
}

// findPlace of the cluster, of which the management plane knows if it responds.
func (r *run) findPlace(ctx context.Context) error {
	if r.session.Client == nil {
		if r.requested() == "" {
			return nil
		}
		return r.session.NoEngine(r.requested())
	}
	_, err := r.read(ctx)
	return err
}

// read what the management plane has of the cluster, and place it: on its engine if it exists, and otherwise on the requested one.
// The request of another one for an existing cluster is refused with its plan.
func (r *run) read(ctx context.Context) (management.Present, error) {
	present, err := r.session.Read(ctx, r.request.Name)
	switch {
	case err != nil:
		return present, err
	case present.Exists:
		r.engineName = present.Engine
		r.others = slices.DeleteFunc(slices.Clone(present.Engines), func(name string) bool { return name == present.Engine })
		return present, nil
	}
	r.engineName = r.requested()
	if len(r.request.EngineNames) > 0 {
		r.others = r.request.EngineNames[1:]
	}
	return present, r.checkPlace(ctx)
}

// requested engine: of a cluster over several, the first.
func (r *run) requested() string {
	if len(r.request.EngineNames) > 0 {
		return r.request.EngineNames[0]
	}
	return r.request.EngineName
}

// checkPlace refuses engines on which no cluster can be created.
func (r *run) checkPlace(ctx context.Context) error {
	if r.engineName == "" {
		return nil
	}
	on, err := r.placeOn(ctx, r.engineName)
	if err != nil {
		return err
	}
	for _, name := range r.others {
		if _, err := r.placeOn(ctx, name); err != nil {
			return err
		}
	}
	r.target = on
	return nil
}

func (r *run) placeOn(ctx context.Context, name string) (*session.Session, error) {
	object, err := r.session.ContainerEngine(ctx, name)
	if err != nil {
		return nil, err
	}
	if ptr.Deref(object.Spec.Maintenance, false) {
		return nil, &session.EngineError{
			Name: object.Name, Err: errors.New("no clusters are created on it (spec.maintenance)"),
			Remedy: fmt.Sprintf("use another one, or run \"%s engine drain %s --undo\"", r.session.Program, object.Name),
		}
	}
	return r.session.On(ctx, object)
}

// onOthers calls a function with a session on each further engine of a cluster over several. One that is lost gets no machine: the cluster
// can be changed without it.
func (r *run) onOthers(ctx context.Context, do func(*session.Session) error) error {
	for _, name := range r.others {
		object, err := r.session.ContainerEngine(ctx, name)
		if err != nil {
			return err
		}
		if ptr.Deref(object.Spec.Lost, false) {
			continue
		}
		on, err := r.session.On(ctx, object)
		if err != nil {
			return err
		}
		if err := do(on); err != nil {
			return err
		}
	}
	return nil
}

// on returns the session on the engine of the cluster, which is connected to if it has not been.
func (r *run) on(ctx context.Context) (*session.Session, error) {
	if r.engineName == "" {
		return r.session, nil
	}
	if r.target != nil && r.target.EngineName == r.engineName {
		return r.target, nil
	}
	object, err := r.session.ContainerEngine(ctx, r.engineName)
	if err != nil {
		return nil, err
	}
	r.target, err = r.session.On(ctx, object)
	return r.target, err
}

// sources of the images of the cluster: its engine, and that of the management plane, whose images are copied.
type sources [2]images.Inspector

// InspectImage implements images.Inspector.
func (s sources) InspectImage(ctx context.Context, reference string) (engine.Image, error) {
	image, err := s[0].InspectImage(ctx, reference)
	if errors.Is(err, engine.ErrNotFound) {
		return s[1].InspectImage(ctx, reference) //nolint:wrapcheck // It is the engine's.
	}
	return image, err //nolint:wrapcheck // It is the engine's.
}

// sources of images.
func (r *run) sources(ctx context.Context) (sources, error) {
	on, err := r.on(ctx)
	if err != nil {
		return sources{}, err
	}
	return sources{on.Engine, r.session.Engine}, nil
}

// ensureImage on the engine of the cluster. One that the engine of the management plane has is copied: those that
// are built from source are in no registry.
func (r *run) ensureImage(ctx context.Context, on *session.Session, use images.Use, image string) error {
	if on == r.session {
		return on.EnsureImage(ctx, r.board, use, image)
	}
	_, present, err := images.Find(ctx, on.Engine, image)
	if err == nil && !present {
		if _, present, err = images.Find(ctx, r.session.Engine, image); err == nil && present {
			r.board.Begin(session.StepImages, fmt.Sprintf("copying %s to engine %s", image, on.EngineName))
			err = images.Copy(ctx, r.session.Engine, on.Engine, image)
		}
	}
	if err == nil {
		err = on.EnsureImage(ctx, r.board, use, image)
	}
	if err != nil {
		return fmt.Errorf("engine %q: %w", on.EngineName, err)
	}
	return nil
}
