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

package enginetest

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

func imageChecks() map[string]check {
	return map[string]check{
		"inspect": {
			contract: "a local image by reference or ID; absent: ErrNotFound",
			run: func(t *testing.T, c *fixture) {
				found, err := c.InspectImage(t.Context(), imageName)
				succeed(t, "inspect image", err)
				digest, err := c.image.ConfigName()
				succeed(t, "read the image's ID", err)
				config, err := c.image.ConfigFile()
				succeed(t, "read the image's configuration", err)
				if found.ID != digest.String() || found.SizeBytes == 0 || found.Labels[imageLabel] != "yes" || found.Architecture != config.Architecture {
					t.Errorf("image %+v, want ID %s, a size, its label and architecture %s", found, digest, config.Architecture)
				}
				byID, err := c.InspectImage(t.Context(), found.ID)
				if err != nil || byID.ID != found.ID {
					t.Errorf("by ID: %q, %v, want the same image", byID.ID, err)
				}
				_, err = c.InspectImage(t.Context(), "localhost/capcon/absent:v1")
				wantKind(t, "absent image", err, engine.ErrNotFound)
			},
		},
		"load again": {
			contract: "LoadImage of what is there succeeds",
			run: func(t *testing.T, c *fixture) {
				wantNoError(t, "load", c.LoadImage(t.Context(), bytes.NewReader(saved(t, c.image))))
			},
		},
		"save": {
			contract: "a local image as a docker-archive with its name, which gives the same image when it is loaded; absent: ErrNotFound",
			run: func(t *testing.T, c *fixture) {
				found, err := c.InspectImage(t.Context(), imageName)
				succeed(t, "inspect image", err)
				stream, err := c.SaveImage(t.Context(), imageName)
				succeed(t, "save image", err)
				archive, err := io.ReadAll(stream)
				succeed(t, "read archive", errors.Join(err, stream.Close()))
				manifest, err := tarball.LoadManifest(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(archive)), nil })
				succeed(t, "read the archive's manifest", err)
				if len(manifest) != 1 || !slices.Equal(manifest[0].RepoTags, []string{imageName}) {
					t.Errorf("the archive has %+v, want one image with the name %s", manifest, imageName)
				}
				succeed(t, "load what was saved", c.LoadImage(t.Context(), bytes.NewReader(archive)))
				again, err := c.InspectImage(t.Context(), imageName)
				if err != nil || again.ID != found.ID {
					t.Errorf("loaded again: %q, %v, want %q", again.ID, err, found.ID)
				}
				_, err = c.SaveImage(t.Context(), "localhost/capcon/absent:v1")
				wantKind(t, "save an absent image", err, engine.ErrNotFound)
			},
		},
		"registry not reachable": {
			contract: "Registry not reachable: ErrUnavailable",
			run: func(t *testing.T, c *fixture) {
				err := c.PullImage(t.Context(), c.UnreachableImage(t), nil, nil)
				wantKind(t, "pull", err, engine.ErrUnavailable)
			},
		},
		"pull": {
			contract:  "fetches an image and calls progress as it goes",
			processes: true,
			run:       pulls,
		},
		"pull by digest": {
			contract:  "Digests are the registry digests it is known by",
			processes: true,
			run:       pullsByDigest,
		},
		"pull what is absent": {
			contract:  "No such image: ErrNotFound",
			processes: true,
			run: func(t *testing.T, c *fixture) {
				registry := c.registry(t, nil)
				err := c.PullImage(t.Context(), registry.host+"/absent:v1", nil, nil)
				wantKind(t, "pull", err, engine.ErrNotFound)
			},
		},
		"pull a broken layer": {
			contract:  "An error within the stream is an error of the call",
			processes: true,
			run:       reportsBrokenLayer,
		},
		"pull with credentials": {
			contract:  "Credentials refused: ErrUnauthorized",
			processes: true,
			run:       pullsWithCredentials,
		},
	}
}
