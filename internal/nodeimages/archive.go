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

package nodeimages

import (
	"archive/tar"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

// maxManifestBytes is the limit of the list of images in an archive: thousands of
// images, of which Docker writes some hundred bytes each.
const maxManifestBytes = 4 << 20

// Archived is one image of a docker-archive.
type Archived struct {
	// ID is the digest of its configuration, "sha256:…".
	ID string
	// Tags it is loaded under.
	Tags []string
}

// ErrNotAnArchive says that a file is no docker-archive.
var ErrNotAnArchive = errors.New("not a docker-archive; create it with \"docker save\"")

// Load loads the images of a docker-archive, unless the engine has them all.
// It returns what is in the archive and whether it was loaded.
func Load(ctx context.Context, e engine.Images, file string) (content []Archived, loaded bool, err error) {
	opened, err := os.Open(file)
	if err != nil {
		return nil, false, fmt.Errorf("open image archive: %w", err)
	}
	defer func() { err = errors.Join(err, opened.Close()) }()

	content, err = readArchive(opened)
	if err != nil {
		return nil, false, fmt.Errorf("read image archive %s: %w", file, err)
	}
	there, err := hasAll(ctx, e, content)
	if err != nil || there {
		return content, false, err
	}
	if _, err := opened.Seek(0, io.SeekStart); err != nil {
		return nil, false, fmt.Errorf("read image archive %s: %w", file, err)
	}
	if err := e.LoadImage(ctx, opened); err != nil {
		return nil, false, fmt.Errorf("load image archive %s: %w", file, err)
	}
	return content, true, nil
}

// readArchive reads the list of images. The layers are skipped, by seeking.
func readArchive(file io.ReadSeeker) ([]Archived, error) {
	archive := tar.NewReader(file)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) || errors.Is(err, tar.ErrHeader) {
			return nil, ErrNotAnArchive
		}
		if err != nil {
			return nil, err
		}
		if path.Clean(header.Name) == "manifest.json" {
			return parseManifest(archive)
		}
	}
}

func parseManifest(file io.Reader) ([]Archived, error) {
	var entries []struct {
		Config   string
		RepoTags []string
	}
	content, err := io.ReadAll(io.LimitReader(file, maxManifestBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read manifest.json: %w", err)
	}
	if len(content) > maxManifestBytes {
		return nil, fmt.Errorf("manifest.json is larger than %d MiB: %w", maxManifestBytes>>20, ErrNotAnArchive)
	}
	if err := json.Unmarshal(content, &entries); err != nil {
		return nil, fmt.Errorf("parse manifest.json: %w", err)
	}
	archived := make([]Archived, 0, len(entries))
	for _, entry := range entries {
		// "<digest>.json", "blobs/sha256/<digest>" in newer ones, and
		// "sha256:<digest>" in those that are not made by Docker.
		digest := strings.TrimPrefix(strings.TrimSuffix(path.Base(entry.Config), ".json"), "sha256:")
		archived = append(archived, Archived{ID: "sha256:" + digest, Tags: entry.RepoTags})
	}
	if len(archived) == 0 {
		return nil, ErrNotAnArchive
	}
	return archived, nil
}

// hasAll reports whether the engine has all images of an archive under their tags.
func hasAll(ctx context.Context, e engine.Images, content []Archived) (bool, error) {
	for _, image := range content {
		for _, tag := range image.Tags {
			present, err := e.InspectImage(ctx, tag)
			if err != nil || present.ID != image.ID {
				return false, engine.IgnoreNotFound(err)
			}
		}
	}
	return true, nil
}
