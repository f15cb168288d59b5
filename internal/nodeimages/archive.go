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
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
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
var ErrNotAnArchive = errors.New("not a docker-archive; create it with \"docker save\" (gzip is supported)")

// Archive is a file with images.
type Archive struct {
	// Path of the file.
	Path string
	// Images in it.
	Images []Archived
	// Names are all that an engine may give to the images: some of them read other lists
	// than manifest.json.
	Names []string
}

// ReadArchive reads what is in a docker-archive, which may be compressed with gzip. Any
// other file is ErrNotAnArchive.
func ReadArchive(file string) (_ Archive, err error) {
	fail := func(err error) error { return fmt.Errorf("read image archive %s: %w", file, err) }
	content, err := open(file)
	if err != nil {
		return Archive{}, fail(err)
	}
	defer func() { err = errors.Join(err, content.Close()) }()
	archive, err := readArchive(content)
	if err != nil {
		return Archive{}, fail(err)
	}
	archive.Path = file
	return archive, nil
}

// Load the images into the engine, unless it has them all; loaded is false then.
func (a Archive) Load(ctx context.Context, e engine.Images) (loaded bool, err error) {
	there, err := hasAll(ctx, e, a.Images)
	if err != nil || there {
		return false, err
	}
	fail := func(err error) (bool, error) { return false, fmt.Errorf("load image archive %s: %w", a.Path, err) }
	content, err := open(a.Path)
	if err != nil {
		return fail(err)
	}
	defer func() { err = errors.Join(err, content.Close()) }()
	if err := e.LoadImage(ctx, content); err != nil {
		return fail(err)
	}
	return true, nil
}

// compressions by the bytes that their files begin with, and the program that decompresses them.
var compressions = map[string]string{"BZh": "bunzip2", "\xfd7zXZ\x00": "unxz", "\x28\xb5\x2f\xfd": "unzstd"}

const gzipMagic = "\x1f\x8b"

// open an archive and decompress it: not all engines do.
func open(path string) (_ io.ReadCloser, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, file.Close())
		}
	}()
	begin := make([]byte, 6) //nolint:mnd // The longest of them.
	if _, err := io.ReadFull(file, begin); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	for magic, program := range compressions {
		if bytes.HasPrefix(begin, []byte(magic)) {
			return nil, fmt.Errorf("its compression is not supported; run \"%s\" first, or use gzip: %w", program, ErrNotAnArchive)
		}
	}
	if !bytes.HasPrefix(begin, []byte(gzipMagic)) {
		return file, nil // which can be skipped by seeking
	}
	plain, err := gzip.NewReader(file)
	if err != nil {
		return nil, fmt.Errorf("decompress: %w", err)
	}
	return struct {
		io.Reader
		io.Closer
	}{plain, file}, nil
}

// readArchive reads all lists of images. Layers are skipped, by seeking where that is possible.
func readArchive(file io.Reader) (Archive, error) {
	var content Archive
	for archive := tar.NewReader(file); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) || errors.Is(err, tar.ErrHeader) {
			break
		}
		if err != nil {
			return Archive{}, err
		}
		name := strings.TrimPrefix(path.Clean("/"+header.Name), "/")
		read, isList := lists[name]
		if !isList {
			continue
		}
		// An engine would follow a link to a list that is not looked at here.
		if header.Typeflag != tar.TypeReg {
			return Archive{}, fmt.Errorf("%s is not a regular file: %w", name, ErrNotAnArchive)
		}
		if err := read(&content, archive); err != nil {
			return Archive{}, fmt.Errorf("read %s: %w", name, err)
		}
	}
	if len(content.Images) == 0 {
		return Archive{}, ErrNotAnArchive
	}
	slices.Sort(content.Names)
	content.Names = slices.Compact(content.Names)
	return content, nil
}

// lists of images in an archive: Docker's, that of an OCI layout, and Docker's before 1.10.
var lists = map[string]func(*Archive, io.Reader) error{
	"manifest.json": (*Archive).readManifest, "index.json": (*Archive).readIndex, "repositories": (*Archive).readRepositories,
}

func (a *Archive) readManifest(file io.Reader) error {
	var entries []struct {
		Config   string
		RepoTags []string
	}
	if err := readList(file, &entries); err != nil {
		return err
	}
	for _, entry := range entries {
		// "<digest>.json", "blobs/sha256/<digest>" in newer ones, and
		// "sha256:<digest>" in those that are not made by Docker.
		digest := strings.TrimPrefix(strings.TrimSuffix(path.Base(entry.Config), ".json"), "sha256:")
		a.Images = append(a.Images, Archived{ID: "sha256:" + digest, Tags: entry.RepoTags})
		a.Names = append(a.Names, entry.RepoTags...)
	}
	return nil
}

func (a *Archive) readIndex(file io.Reader) error {
	var index struct {
		Manifests []struct {
			Annotations map[string]string
		}
	}
	if err := readList(file, &index); err != nil {
		return err
	}
	for _, manifest := range index.Manifests {
		for _, key := range []string{"io.containerd.image.name", "org.opencontainers.image.ref.name"} {
			if name := manifest.Annotations[key]; name != "" {
				a.Names = append(a.Names, name)
			}
		}
	}
	return nil
}

func (a *Archive) readRepositories(file io.Reader) error {
	var repositories map[string]map[string]string
	if err := readList(file, &repositories); err != nil {
		return err
	}
	for repository, tags := range repositories {
		for tag := range tags {
			a.Names = append(a.Names, repository+":"+tag)
		}
	}
	return nil
}

func readList(file io.Reader, into any) error {
	content, err := io.ReadAll(io.LimitReader(file, maxManifestBytes+1))
	if err != nil {
		return err
	}
	if len(content) > maxManifestBytes {
		return fmt.Errorf("larger than %d MiB: %w", maxManifestBytes>>20, ErrNotAnArchive)
	}
	return json.Unmarshal(content, into)
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
