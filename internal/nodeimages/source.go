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
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/adapter"
)

// Source is an image of the engine that nodes get. Safe for concurrent use.
type Source struct {
	// Reference of the image as the user gave it, and Name the one in full, by which Pods
	// find it.
	Reference, Name string

	engine engine.Images
	mu     sync.Mutex
	// id is the digest of the image's configuration.
	id string
	// size of the image on the engine, which its archive has too.
	size int64
	// archive that the engine saved the image to; nil before. It is a file, because the engine
	// would save the image again for each node that got a stream of its own, and one stream for
	// all has the pace of the slowest node. Where the engine stores images with containerd, only
	// the archive says which ID the image has in nodes, which is compared before anything is sent.
	archive *os.File
}

// OpenSource finds an image of the engine. The caller closes it.
//
// An image that the engine does not have is engine.ErrNotFound. One for another
// architecture than the engine's, or that is named by a digest or an ID, is
// engine.ErrInvalid.
func OpenSource(ctx context.Context, e engine.Engine, reference string) (*Source, error) {
	if err := refuseID(ctx, e, reference); err != nil {
		return nil, err
	}
	name, err := Name(reference)
	if err != nil {
		return nil, err
	}
	info, err := e.Info(ctx)
	if err != nil {
		return nil, fmt.Errorf("get architecture of the engine: %w", err)
	}
	image, err := e.InspectImage(ctx, reference)
	if errors.Is(err, engine.ErrNotFound) {
		return nil, fmt.Errorf("find image %q on the engine: %w; build or pull it first", reference, engine.ErrNotFound)
	}
	if err != nil {
		return nil, err
	}
	if its, nodes := image.Architecture, info.Architecture; its != "" && nodes != "" && its != nodes {
		return nil, engine.WithKind(fmt.Errorf("image %q has architecture %s, but nodes have %s; build it with --platform=linux/%s", reference, its, nodes, nodes), engine.ErrInvalid)
	}
	return &Source{Reference: reference, Name: name, engine: e, id: image.ID, size: image.SizeBytes}, nil
}

// Name returns the name in full of an image that a node can get: engine.ErrInvalid if there
// is none.
func Name(reference string) (string, error) {
	parsed, err := adapter.ParseReference(reference)
	if err == nil && parsed.Pinned {
		err = fmt.Errorf("image %q has a digest, which is not preserved in nodes; use a tag", reference)
	}
	if err != nil {
		return "", engine.WithKind(err, engine.ErrInvalid)
	}
	return parsed.Name, nil
}

// id is an image's ID, or its beginning as engines print it. A name may look like one.
var id = regexp.MustCompile(`^(sha256:)?[0-9a-f]{12,64}$`)

// refuseID of an image: Pods find images by name only.
func refuseID(ctx context.Context, e engine.Images, reference string) error {
	if !id.MatchString(reference) {
		return nil
	}
	image, err := e.InspectImage(ctx, reference)
	if engine.IgnoreNotFound(err) != nil {
		return err
	}
	named := slices.ContainsFunc(image.Tags, func(tag string) bool { return strings.HasPrefix(path.Base(tag), reference+":") })
	if named {
		return nil
	}
	use := "give it a tag first, such as \"docker tag " + reference + " app:dev\", and use that"
	if len(image.Tags) > 0 {
		use = "use its tag " + image.Tags[0]
	}
	return engine.WithKind(fmt.Errorf("%q looks like the ID of an image, by which Pods cannot find it; %s", reference, use), engine.ErrInvalid)
}

// Close removes what the engine saved.
func (s *Source) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.archive == nil {
		return nil
	}
	err, removed := s.archive.Close(), os.Remove(s.archive.Name())
	s.archive = nil
	if errors.Is(removed, fs.ErrNotExist) {
		return err
	}
	return errors.Join(err, removed)
}

// desired is the image that a node must have.
func (s *Source) desired() nodeImage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return nodeImage{ID: s.id, RepoTags: []string{s.Name}}
}

// open the archive of the image, from its beginning. The engine saves it only once.
func (s *Source) open(ctx context.Context) (io.Reader, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.archive == nil {
		if err := s.save(ctx); err != nil {
			return nil, err
		}
	}
	size, err := s.archive.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, fmt.Errorf("get size of image archive: %w", err)
	}
	return io.NewSectionReader(s.archive, 0, size), nil
}

func (s *Source) save(ctx context.Context) (err error) {
	if err := s.checkSpace(os.TempDir()); err != nil {
		return err
	}
	stream, err := s.engine.SaveImage(ctx, s.Reference)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stream.Close()) }()
	file, err := os.CreateTemp("", "capcon-image-*.tar")
	if err != nil {
		return fmt.Errorf("create image archive: %w", err)
	}
	s.archive = file
	_ = os.Remove(file.Name()) // Gone with this process, even if it is killed. Windows refuses; then Close removes it.
	if _, err := io.Copy(file, stream); err != nil {
		return fmt.Errorf("save image %q: %w", s.Reference, err)
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("read image archive: %w", err)
	}
	archived, err := readArchive(file)
	if err != nil {
		return fmt.Errorf("read archive of image %q: %w", s.Reference, err)
	}
	// Where the engine stores images with containerd, the ID it reports is another digest.
	s.id = archived.Images[0].ID
	return nil
}

// checkSpace before the disk is full, or the memory where the directory is in it.
func (s *Source) checkSpace(directory string) error {
	free, known := freeBytes(directory)
	if !known || s.size < 0 || uint64(s.size) <= free {
		return nil
	}
	return fmt.Errorf("save image %q: it has %d MiB, and %s has %d MiB free; free some, or set TMPDIR to a directory with more space",
		s.Reference, s.size>>20, directory, free>>20) //nolint:mnd // MiB.
}
