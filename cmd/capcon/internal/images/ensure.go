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

package images

import (
	"context"
	"fmt"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/adapter"
	"github.com/capi-samples/cluster-api-provider-container/internal/imagepull"
)

// Engine is what having an image takes.
type Engine interface {
	engine.Images
	// Info of the engine, as engine.Host has it.
	Info(ctx context.Context) (engine.Info, error)
}

// ArchitectureError says that the programs of an image do not run on the engine.
type ArchitectureError struct {
	Use       Use
	Reference string
	// Image is the architecture of the image, and Engine that of the engine.
	Image, Engine string
}

// Error implements error.
func (e *ArchitectureError) Error() string {
	return fmt.Sprintf("image %q of the %s has architecture %s, but the engine has %s; "+
		"build it on a machine of that architecture with \"make images-load\", or use another image with %s",
		e.Reference, e.Use, e.Image, e.Engine, sources[e.Use].flag)
}

// Ensure makes sure that the engine has the image, and pulls it if not, that of
// the plane by digest only. Progress may be nil. Where it cannot be had: a
// *MissingError. It is for another architecture than the engine's: an
// *ArchitectureError.
func Ensure(ctx context.Context, e Engine, use Use, image string, progress func(engine.PullProgress)) error {
	present, found, err := Find(ctx, e, image)
	if err != nil {
		return err
	}
	if !found {
		if err := pull(ctx, e, use, image, progress); err != nil {
			return err
		}
		if present, _, err = Find(ctx, e, image); err != nil {
			return err
		}
	}
	info, err := e.Info(ctx)
	if err != nil {
		return fmt.Errorf("get architecture of the engine: %w", err)
	}
	if its, wanted := present.Architecture, info.Architecture; its != "" && wanted != "" && its != wanted {
		return &ArchitectureError{Use: use, Reference: image, Image: its, Engine: wanted}
	}
	return nil
}

func pull(ctx context.Context, e engine.Images, use Use, image string, progress func(engine.PullProgress)) error {
	parsed, err := adapter.ParseReference(image)
	if err != nil {
		return err
	}
	if use.isPlane() && !parsed.Pinned && !parsed.LocalOnly() {
		return &MissingError{Use: use, Reference: image, Err: errNotPinned}
	}
	credentials, err := storedCredentials(parsed.Registry)
	if err != nil {
		return err
	}
	err = imagepull.Pull(ctx, e, image, credentials, progress)
	if err != nil && ctx.Err() == nil {
		return &MissingError{Use: use, Reference: image, Err: err}
	}
	return err
}

// Absent says what Ensure would have to do for an image that the engine lacks; empty where it has it.
func Absent(ctx context.Context, e Inspector, use Use, image string) (string, error) {
	_, found, err := Find(ctx, e, image)
	if found || err != nil {
		return "", err
	}
	parsed, err := adapter.ParseReference(image)
	if err != nil {
		return "", err
	}
	if parsed.LocalOnly() {
		return (&MissingError{Use: use, Reference: image, Err: imagepull.ErrLocalOnly}).Error(), nil
	}
	return fmt.Sprintf("image %q of the %s not found on the engine; it has to be pulled from %s", image, use, parsed.Registry), nil
}
