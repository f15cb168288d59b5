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
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

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

// ErrNotAnArchive says that a file is no archive of images.
var ErrNotAnArchive = errors.New("not a docker-archive or OCI archive; create it with \"docker save\" (gzip is supported)")

// Archive has images. The caller closes it.
type Archive struct {
	// Path of the file, or a name for it.
	Path string
	// Images in it.
	Images []Archived
	// Names are all that an engine may give to the images: some of them read other lists
	// than manifest.json.
	Names []string

	// content is a file that can be read again; temporary, it is removed.
	content   *os.File
	temporary bool
	// layout has the images of an OCI archive, by their names; nil for a docker-archive.
	layout map[string]v1.Image
}

// ReadArchive reads what is in a docker-archive or OCI archive, which may be compressed with gzip. Of an
// image for several platforms, the one for the architecture counts. Any other file is ErrNotAnArchive.
func ReadArchive(file, architecture string) (Archive, error) {
	content, err := os.Open(file)
	if err != nil {
		return Archive{}, fmt.Errorf("read image archive %s: %w", file, err)
	}
	if info, err := content.Stat(); err == nil && info.IsDir() {
		return Archive{}, errors.Join(fmt.Errorf("read image archive %s: it is a directory; use the path of an archive", file), content.Close())
	}
	return read(file, content, architecture)
}

// ReadStream is ReadArchive of a stream, which messages call by a name.
func ReadStream(name string, stream io.Reader, architecture string) (Archive, error) {
	return read(name, io.NopCloser(stream), architecture)
}

func read(name string, source io.ReadCloser, architecture string) (_ Archive, err error) {
	fail := func(err error) error { return fmt.Errorf("read image archive %s: %w", name, err) }
	content, err := rewindable(source)
	if content != source {
		err = errors.Join(err, source.Close())
	}
	if err != nil {
		return Archive{}, fail(err)
	}
	archive := Archive{content: content, temporary: content != source}
	defer func() {
		if err != nil {
			err = errors.Join(err, archive.Close())
		}
	}()
	lists, err := readArchive(content)
	if errors.Is(err, errNoManifest) {
		err = archive.readLayout(architecture)
	} else {
		archive.Images, archive.Names = lists.Images, lists.Names
	}
	if err != nil {
		return Archive{}, fail(err)
	}
	archive.Path = name
	return archive, nil
}

func (a *Archive) readLayout(architecture string) (err error) {
	if a.layout, err = readLayout(a.content, architecture); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(a.layout)) {
		id, err := a.layout[name].ConfigName()
		if err != nil {
			return err
		}
		a.Images = append(a.Images, Archived{ID: id.String(), Tags: []string{name}})
		a.Names = append(a.Names, name)
	}
	return nil
}

// Close releases the file.
func (a Archive) Close() error {
	err := a.content.Close()
	if !a.temporary {
		return err
	}
	return errors.Join(err, removeTemporary(a.content))
}

// removeTemporary removes a file that may be gone already.
func removeTemporary(file *os.File) error {
	if err := os.Remove(file.Name()); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Load the images into the engine, unless it has them all; loaded is false then.
func (a Archive) Load(ctx context.Context, e engine.Images) (loaded bool, err error) {
	there, err := hasAll(ctx, e, a.Images)
	if err != nil || there {
		return false, err
	}
	if a.layout != nil {
		err = loadConverted(ctx, e, a.layout)
	} else if _, err = a.content.Seek(0, io.SeekStart); err == nil {
		err = e.LoadImage(ctx, a.content)
	}
	if err != nil {
		return false, fmt.Errorf("load image archive %s: %w", a.Path, err)
	}
	return true, nil
}

// compressions by the bytes that their files begin with, and the program that decompresses them.
var compressions = map[string]string{"BZh": "bunzip2", "\xfd7zXZ\x00": "unxz", "\x28\xb5\x2f\xfd": "unzstd"}

const gzipMagic = "\x1f\x8b"

// rewindable returns the source itself if it is a file that can be read again, and otherwise a temporary file
// with its content. What is compressed is decompressed: not all engines do.
func rewindable(source io.Reader) (_ *os.File, err error) {
	buffered := bufio.NewReader(source)
	begin, err := buffered.Peek(6) //nolint:mnd // The longest of them.
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	for magic, program := range compressions {
		if bytes.HasPrefix(begin, []byte(magic)) {
			return nil, fmt.Errorf("its compression is not supported; run \"%s\" first, or use gzip: %w", program, ErrNotAnArchive)
		}
	}
	plain := io.Reader(buffered)
	if bytes.HasPrefix(begin, []byte(gzipMagic)) {
		if plain, err = gzip.NewReader(buffered); err != nil {
			return nil, explainCopy(err)
		}
	} else if file, ok := source.(*os.File); ok {
		if info, err := file.Stat(); err == nil && info.Mode().IsRegular() {
			_, err = file.Seek(0, io.SeekStart)
			return file, err
		}
	}
	file, err := os.CreateTemp("", "capcon-archive-*.tar")
	if err != nil {
		return nil, fmt.Errorf("create temporary file: %w", err)
	}
	_ = os.Remove(file.Name()) // Gone with this process, even if it is killed. Windows refuses; then Close removes it.
	if _, err := io.Copy(file, plain); err != nil {
		return nil, errors.Join(explainCopy(err), file.Close(), removeTemporary(file))
	}
	_, err = file.Seek(0, io.SeekStart)
	return file, err
}

// explainCopy of an archive to a temporary file: either can be the reason.
func explainCopy(err error) error {
	var corrupt flate.CorruptInputError
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, gzip.ErrChecksum) || errors.Is(err, gzip.ErrHeader) || errors.As(err, &corrupt) {
		return fmt.Errorf("decompress: %w: %w", err, errBroken)
	}
	return fmt.Errorf("copy to a temporary file, in the directory of TMPDIR: %w", err)
}

// errBroken says that an archive has an end or contents that no program writes.
var errBroken = errors.New("the file is incomplete or damaged; create it again")

// errNoManifest says that a file has no list of images of a docker-archive.
var errNoManifest = fmt.Errorf("it has no manifest.json: %w", ErrNotAnArchive)

// readArchive reads all lists of images. Layers are skipped, by seeking where that is possible.
func readArchive(file io.Reader) (Archive, error) {
	var content Archive
	entries := 0
	for archive := tar.NewReader(file); ; entries++ {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) || errors.Is(err, tar.ErrHeader) {
			break
		}
		if err != nil {
			return Archive{}, explainRead(err, entries)
		}
		name := cleanName(header.Name)
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
		return Archive{}, errNoManifest
	}
	slices.Sort(content.Names)
	content.Names = slices.Compact(content.Names)
	return content, nil
}

// explainRead of the entries of an archive, of which some were read before.
func explainRead(err error, entries int) error {
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	if entries == 0 { // shorter than one header
		return ErrNotAnArchive
	}
	return fmt.Errorf("%w: %w", err, errBroken)
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

// nameAnnotations of an image in an index, the one in full first.
var nameAnnotations = []string{"io.containerd.image.name", "org.opencontainers.image.ref.name"}

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
		for _, key := range nameAnnotations {
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
