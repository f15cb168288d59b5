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
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/imageref"
)

// archiveSuffix of an argument that is a file, and no image of the engine.
const archiveSuffix = ".tar"

// Source is where images for nodes come from: an image of the engine, or a docker-archive.
// Safe for concurrent use.
type Source struct {
	// Argument as the user gave it.
	Argument string

	engine engine.Images
	mu     sync.Mutex
	images []Archived
	// file is the archive; nil until the engine has saved its image.
	file *os.File
	// temporary says that the file is removed in the end.
	temporary bool
}

// OpenSource finds what an argument names: the path of an archive, which ends with .tar, or
// an image of the engine. The caller closes it.
//
// An image that the engine does not have is engine.ErrNotFound. One for another
// architecture than the engine's, or that has no tag, is engine.ErrInvalid.
func OpenSource(ctx context.Context, e engine.Engine, argument string) (*Source, error) {
	source := &Source{Argument: argument, engine: e}
	info, err := e.Info(ctx)
	if err != nil {
		return nil, fmt.Errorf("ask the engine for its architecture: %w", err)
	}
	if strings.HasSuffix(argument, archiveSuffix) {
		if err := source.openFile(argument, info.Architecture); err != nil {
			return nil, errors.Join(err, source.Close())
		}
		return source, nil
	}
	reference, err := imageref.Parse(argument)
	if err == nil && reference.Pinned {
		err = fmt.Errorf("image %q is named by a digest, which it loses when it is copied: give its tag", argument)
	}
	if err != nil {
		return nil, errors.Join(engine.ErrInvalid, err)
	}
	image, err := e.InspectImage(ctx, argument)
	if errors.Is(err, engine.ErrNotFound) {
		return nil, fmt.Errorf("the engine has no image %q; build or pull it first: %w", argument, engine.ErrNotFound)
	}
	if err != nil {
		return nil, err
	}
	if err := checkArchitecture(argument, image.Architecture, info.Architecture); err != nil {
		return nil, err
	}
	source.images = []Archived{{ID: image.ID, Tags: []string{reference.Name}}}
	return source, nil
}

// openFile checks the images of an archive and keeps it open, also with an error.
func (s *Source) openFile(path, architecture string) (err error) {
	if s.file, err = os.Open(path); err != nil {
		return fmt.Errorf("open image archive: %w", err)
	}
	if s.images, err = readArchive(s.file); err != nil {
		return fmt.Errorf("read image archive %s: %w", path, err)
	}
	for _, image := range s.images {
		if len(image.Tags) == 0 {
			return fmt.Errorf("image archive %s: image %s has no tag, so no Pod can name it; save it by its tag: %w", path, image.ID, engine.ErrInvalid)
		}
		for i, text := range image.Tags {
			if image.Tags[i], err = checkArchived(path, text, architecture); err != nil {
				return fmt.Errorf("image %s of archive %s: %w", text, path, err)
			}
		}
	}
	return nil
}

// checkArchived checks an image that an archive has, and returns its name in full.
func checkArchived(path, text, architecture string) (string, error) {
	reference, err := imageref.Parse(text)
	if err != nil {
		return "", err
	}
	tag, err := name.NewTag(text)
	if err != nil {
		return "", err
	}
	image, err := tarball.ImageFromPath(path, &tag)
	if err != nil {
		return "", err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return "", err
	}
	return reference.Name, checkArchitecture(text, config.Architecture, architecture)
}

func checkArchitecture(image, its, nodes string) error {
	if its == "" || nodes == "" || its == nodes {
		return nil
	}
	return fmt.Errorf("image %q is for %s and the nodes are %s; build it with --platform=linux/%s: %w", image, its, nodes, nodes, engine.ErrInvalid)
}

// Names that Pods find the images by, in full.
func (s *Source) Names() []string {
	var names []string
	for _, image := range s.wanted() {
		names = append(names, image.Tags...)
	}
	return names
}

// Close the archive.
func (s *Source) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil {
		return nil
	}
	err := s.file.Close()
	if s.temporary {
		err = errors.Join(err, os.Remove(s.file.Name()))
	}
	s.file = nil
	return err
}

func (s *Source) wanted() []Archived {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.images
}

// archive to read from its beginning. The engine saves its image once, however many nodes
// read it: they read at different speeds.
func (s *Source) archive(ctx context.Context) (io.Reader, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil {
		if err := s.save(ctx); err != nil {
			return nil, err
		}
	}
	size, err := s.file.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, fmt.Errorf("read the size of the image archive: %w", err)
	}
	return io.NewSectionReader(s.file, 0, size), nil
}

func (s *Source) save(ctx context.Context) (err error) {
	stream, err := s.engine.SaveImage(ctx, s.Argument)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stream.Close()) }()
	file, err := os.CreateTemp("", "capcon-image-*.tar")
	if err != nil {
		return fmt.Errorf("create the image archive: %w", err)
	}
	s.file, s.temporary = file, true
	if _, err := io.Copy(file, stream); err != nil {
		return fmt.Errorf("save image %q: %w", s.Argument, err)
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("read the image archive: %w", err)
	}
	archived, err := readArchive(file)
	if err != nil {
		return fmt.Errorf("read the archive of image %q: %w", s.Argument, err)
	}
	// Where the engine is containerd, the ID it tells is another digest.
	s.images = []Archived{{ID: archived[0].ID, Tags: s.images[0].Tags}}
	return nil
}
