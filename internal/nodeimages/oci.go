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
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

// layout is an OCI image layout in a tar, whose files are read where they lie.
type layout struct {
	archive io.ReadSeeker
	content io.ReaderAt
	files   map[string]section
	// found are the platforms of its images.
	found []string
}

type section struct{ offset, size int64 }

// ociImage is the image of a layout for one platform.
type ociImage struct {
	layout   *layout
	manifest []byte
	config   []byte
}

// readLayout reads an OCI image layout, of which those images count that are for the architecture.
func readLayout(file interface {
	io.ReadSeeker
	io.ReaderAt
}, architecture string,
) (images map[string]v1.Image, err error) {
	l := &layout{archive: file, content: file, files: map[string]section{}}
	if err := l.find(); err != nil {
		return nil, err
	}
	text, err := l.read("index.json")
	if err != nil {
		return nil, ErrNotAnArchive
	}
	index, err := v1.ParseIndexManifest(strings.NewReader(string(text)))
	if err != nil {
		return nil, fmt.Errorf("read index.json: %w", err)
	}
	images = map[string]v1.Image{}
	unnamed := false
	for _, descriptor := range index.Manifests {
		image, err := l.choose(descriptor, architecture)
		if err != nil {
			return nil, err
		}
		if image == nil {
			continue
		}
		reference := nameOf(descriptor.Annotations)
		if reference == "" {
			unnamed = true
			continue
		}
		images[reference] = image
	}
	switch {
	case len(images) > 0:
		return images, nil
	case unnamed:
		return nil, fmt.Errorf("its image has no name, by which Pods could find it; save it with one, such as "+
			"\"docker buildx build --tag app:dev --output type=oci,dest=FILE\" or \"skopeo copy SOURCE oci-archive:FILE:app:dev\": %w", engine.ErrInvalid)
	}
	slices.Sort(l.found)
	return nil, fmt.Errorf("it has no image for linux/%s, but for %s; build it with --platform=linux/%s: %w",
		architecture, strings.Join(slices.Compact(l.found), ", "), architecture, engine.ErrInvalid)
}

// nameOf an image, by its annotations: the one of containerd and BuildKit in full, or the one of the OCI, which
// may be only a tag.
func nameOf(annotations map[string]string) string {
	for _, key := range nameAnnotations {
		if given := annotations[key]; strings.ContainsAny(given, "/:") {
			return given
		}
	}
	return ""
}

// find where the files of the layout begin.
func (l *layout) find() error {
	if _, err := l.archive.Seek(0, io.SeekStart); err != nil {
		return err
	}
	for reader := tar.NewReader(l.archive); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) || errors.Is(err, tar.ErrHeader) {
			return nil
		}
		if err != nil {
			return err
		}
		// The reader has no buffer: the content begins where it is now.
		offset, err := l.archive.Seek(0, io.SeekCurrent)
		if err != nil {
			return err
		}
		if header.Typeflag == tar.TypeReg {
			l.files[cleanName(header.Name)] = section{offset, header.Size}
		}
	}
}

func cleanName(given string) string { return strings.TrimPrefix(path.Clean("/"+given), "/") }

func blob(digest v1.Hash) string { return path.Join("blobs", digest.Algorithm, digest.Hex) }

func (l *layout) open(file string) (*io.SectionReader, error) {
	at, found := l.files[file]
	if !found {
		return nil, fmt.Errorf("%s is missing: %w", file, ErrNotAnArchive)
	}
	return io.NewSectionReader(l.content, at.offset, at.size), nil
}

func (l *layout) read(file string) ([]byte, error) {
	content, err := l.open(file)
	if err != nil {
		return nil, err
	}
	if content.Size() > maxManifestBytes {
		return nil, fmt.Errorf("%s is larger than %d MiB: %w", file, maxManifestBytes>>20, ErrNotAnArchive)
	}
	return io.ReadAll(content)
}

// maxNesting of indexes in indexes, which builders do not exceed.
const maxNesting = 4

// choose the image of a descriptor that is for the architecture; nil = there is none.
func (l *layout) choose(descriptor v1.Descriptor, architecture string) (v1.Image, error) {
	return l.chooseBelow(descriptor, architecture, maxNesting)
}

func (l *layout) chooseBelow(descriptor v1.Descriptor, architecture string, nesting int) (v1.Image, error) {
	switch {
	case nesting == 0:
		return nil, fmt.Errorf("indexes are nested too deep: %w", ErrNotAnArchive)
	case descriptor.MediaType.IsIndex():
		text, err := l.read(blob(descriptor.Digest))
		if err != nil {
			return nil, err
		}
		index, err := v1.ParseIndexManifest(strings.NewReader(string(text)))
		if err != nil {
			return nil, fmt.Errorf("read index %s: %w", descriptor.Digest, err)
		}
		for _, below := range index.Manifests {
			if image, err := l.chooseBelow(below, architecture, nesting-1); image != nil || err != nil {
				return image, err
			}
		}
		return nil, nil
	case !descriptor.MediaType.IsImage():
		return nil, nil
	}
	if platform := descriptor.Platform; platform != nil && !l.matches(platform.OS, platform.Architecture, architecture) {
		return nil, nil
	}
	return l.image(descriptor, architecture)
}

// matches a platform. That of an attestation is unknown.
func (l *layout) matches(os, architecture, desired string) bool {
	if os != "unknown" {
		l.found = append(l.found, os+"/"+architecture)
	}
	return os == "linux" && (architecture == desired || desired == "")
}

func (l *layout) image(descriptor v1.Descriptor, architecture string) (v1.Image, error) {
	text, err := l.read(blob(descriptor.Digest))
	if err != nil {
		return nil, err
	}
	manifest, err := v1.ParseManifest(strings.NewReader(string(text)))
	if err != nil {
		return nil, fmt.Errorf("read manifest %s: %w", descriptor.Digest, err)
	}
	if !manifest.Config.MediaType.IsConfig() {
		return nil, nil // an artifact
	}
	config, err := l.read(blob(manifest.Config.Digest))
	if err != nil {
		return nil, err
	}
	parsed, err := v1.ParseConfigFile(strings.NewReader(string(config)))
	if err != nil {
		return nil, fmt.Errorf("read configuration %s: %w", manifest.Config.Digest, err)
	}
	if descriptor.Platform == nil && !l.matches(parsed.OS, parsed.Architecture, architecture) {
		return nil, nil
	}
	return partial.CompressedToImage(&ociImage{layout: l, manifest: text, config: config})
}

// RawConfigFile implements partial.CompressedImageCore.
func (i *ociImage) RawConfigFile() ([]byte, error) { return i.config, nil }

// RawManifest implements partial.CompressedImageCore.
func (i *ociImage) RawManifest() ([]byte, error) { return i.manifest, nil }

// Manifest implements partial.WithManifest.
func (i *ociImage) Manifest() (*v1.Manifest, error) { return partial.Manifest(i) }

// MediaType implements partial.CompressedImageCore.
func (i *ociImage) MediaType() (types.MediaType, error) { return types.OCIManifestSchema1, nil }

// LayerByDigest implements partial.CompressedImageCore.
func (i *ociImage) LayerByDigest(digest v1.Hash) (partial.CompressedLayer, error) {
	descriptor, err := partial.BlobDescriptor(i, digest)
	if err != nil {
		return nil, err
	}
	return ociLayer{i.layout, *descriptor}, nil
}

// ociLayer is a layer of a layout, as it is compressed there.
type ociLayer struct {
	layout     *layout
	descriptor v1.Descriptor
}

// Digest implements partial.CompressedLayer.
func (o ociLayer) Digest() (v1.Hash, error) { return o.descriptor.Digest, nil }

// Size implements partial.CompressedLayer.
func (o ociLayer) Size() (int64, error) { return o.descriptor.Size, nil }

// MediaType implements partial.CompressedLayer.
func (o ociLayer) MediaType() (types.MediaType, error) { return o.descriptor.MediaType, nil }

// Compressed implements partial.CompressedLayer.
func (o ociLayer) Compressed() (io.ReadCloser, error) {
	content, err := o.layout.open(blob(o.descriptor.Digest))
	if err != nil {
		return nil, err
	}
	return io.NopCloser(content), nil
}

// convert the images to a docker-archive, which is what all engines load, and by the same names.
func convert(images map[string]v1.Image, to io.Writer) error {
	named := make(map[name.Reference]v1.Image, len(images))
	for given, image := range images {
		reference, err := name.ParseReference(given)
		if err != nil {
			return fmt.Errorf("read name %q: %w", given, err)
		}
		named[reference] = image
	}
	return tarball.MultiRefWrite(named, to)
}

// loadConverted loads the images of a layout into the engine.
func loadConverted(ctx context.Context, e engine.Images, images map[string]v1.Image) error {
	reader, writer := io.Pipe()
	go func() { _ = writer.CloseWithError(convert(images, writer)) }()
	err := e.LoadImage(ctx, reader)
	_ = reader.Close() // ends the conversion where the engine does not read all of it
	return err
}
