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

package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// debianFile lists the Debian packages in an image: name, version and architecture.
const debianFile = "debian"

// ociArchive is an image as others get it: an OCI layout in a tar archive, with compressed
// layers, and the manifest of a docker-archive for engines that read no layouts.
func ociArchive(image *artifact) *artifact {
	return &artifact{
		name: "oci-" + image.name, needs: []*artifact{image}, recipe: []string{"oci.go", "packages.go"},
		build: func(ctx context.Context, w *workspace) error {
			p, err := readPublication(image.name, w.of(image, publicationFile))
			if err != nil {
				return err
			}
			w.say("compressing")
			if err := writeLayout(w.of(image, archiveFile), p.Reference, w.scratch); err != nil {
				return err
			}
			if err := packLayout(ctx, w.scratch, filepath.Join(w.dir, archiveFile)); err != nil {
				return err
			}
			return w.listDebian(ctx, image)
		},
	}
}

// writeLayout makes a layout, and the manifest of a docker-archive, of a docker-archive.
// The image keeps its configuration, and with it its id.
func writeLayout(archive, reference, directory string) error {
	image, err := tarball.ImageFromPath(archive, nil)
	if err != nil {
		return fmt.Errorf("read image archive: %w", err)
	}
	image, err = compress(image)
	if err != nil {
		return fmt.Errorf("compress image: %w", err)
	}
	_, tag, _ := strings.Cut(reference, ":")
	path, err := layout.Write(directory, mutate.IndexMediaType(empty.Index, types.OCIImageIndex))
	if err == nil {
		err = path.AppendImage(image, layout.WithAnnotations(map[string]string{
			"io.containerd.image.name": reference, "org.opencontainers.image.ref.name": tag,
		}))
	}
	if err != nil {
		return fmt.Errorf("write layout: %w", err)
	}
	return writeDockerManifest(image, reference, filepath.Join(directory, "manifest.json"))
}

// compress returns the image with the media types of OCI and layers that are compressed.
func compress(image v1.Image) (v1.Image, error) {
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	layers, err := image.Layers()
	if err != nil {
		return nil, err
	}
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	addenda := make([]mutate.Addendum, 0, len(layers))
	for _, layer := range layers {
		compressed, err := tarball.LayerFromOpener(layer.Uncompressed, tarball.WithCompressionLevel(gzip.BestSpeed),
			tarball.WithCompressedCaching, tarball.WithMediaType(types.OCILayer))
		if err != nil {
			return nil, err
		}
		addenda = append(addenda, mutate.Addendum{Layer: compressed})
	}
	if image, err = mutate.Append(base, addenda...); err != nil {
		return nil, err
	}
	return mutate.ConfigFile(image, config)
}

func writeDockerManifest(image v1.Image, reference, path string) error {
	manifest, err := image.Manifest()
	if err != nil {
		return fmt.Errorf("read the image's manifest: %w", err)
	}
	blob := func(digest v1.Hash) string { return "blobs/" + digest.Algorithm + "/" + digest.Hex }
	entry := tarball.Descriptor{Config: blob(manifest.Config.Digest), RepoTags: []string{reference}}
	for _, layer := range manifest.Layers {
		entry.Layers = append(entry.Layers, blob(layer.Digest))
	}
	text, err := json.Marshal([]tarball.Descriptor{entry})
	if err == nil {
		err = os.WriteFile(path, text, 0o644)
	}
	if err != nil {
		return fmt.Errorf("write the manifest of a docker-archive: %w", err)
	}
	return nil
}

// packLayout archives a layout. What engines look for first is first.
func packLayout(ctx context.Context, directory, archive string) error {
	return command{args: []string{
		"tar", "--create", "--file", archive, "--directory", directory, "--sort=name", fmt.Sprintf("--mtime=@%d", epoch),
		"--owner=0", "--group=0", "--numeric-owner", "--mode=u=rwX,go=rX", "--format=ustar",
		"oci-layout", "index.json", "manifest.json", "blobs",
	}}.run(ctx)
}

// listDebian writes the list of the Debian packages whose files are in an image.
func (w *workspace) listDebian(ctx context.Context, image *artifact) error {
	found := map[string]bool{}
	err := w.visitDebian(ctx, image, found)
	if err != nil {
		return fmt.Errorf("list Debian packages: %w", err)
	}
	var list bytes.Buffer
	for _, line := range slices.Sorted(maps.Keys(found)) {
		list.WriteString(line + "\n")
	}
	if err := os.WriteFile(filepath.Join(w.dir, debianFile), list.Bytes(), 0o644); err != nil {
		return fmt.Errorf("write the list of Debian packages: %w", err)
	}
	return nil
}

// visitDebian collects the packages of an artifact and of all it is made from.
func (w *workspace) visitDebian(ctx context.Context, a *artifact, found map[string]bool) error {
	var wanted []string
	switch a.name {
	case "node-root":
		status, err := command{args: []string{"tar", "--extract", "--to-stdout", "--file", w.of(a, layerFile), "./var/lib/dpkg/status"}}.output(ctx)
		for stanza := range strings.SplitSeq(status, "\n\n") {
			if fields := controlFields(stanza); fields["package"] != "" {
				found[fields["package"]+" "+fields["version"]+" "+fields["architecture"]] = true
			}
		}
		return err
	case "userland":
		wanted = userlandPackages()
	case "haproxy-root":
		wanted = haproxyPackages()
	}
	var errs []error
	for _, need := range a.needs {
		if need.name == "debs" {
			errs = append(errs, w.addPackages(ctx, need, wanted, found))
			continue
		}
		errs = append(errs, w.visitDebian(ctx, need, found))
	}
	return errors.Join(errs...)
}

// addPackages that are unpacked: those that are wanted, with what they depend on. Of the
// certificates of authorities only the files are there.
func (w *workspace) addPackages(ctx context.Context, debs *artifact, wanted []string, found map[string]bool) error {
	packages, err := readPackages(ctx, w.of(debs))
	if err != nil {
		return err
	}
	files, err := closure(packages, wanted, maintainerPackages())
	if err != nil {
		return err
	}
	for _, file := range append(files, packages[caPackage].file) {
		line, err := packageOfFile(file)
		if err != nil {
			return err
		}
		found[line] = true
	}
	return nil
}

// packageOfFile reads name, version and architecture from a name such as
// "a_1%3a2-3_amd64.deb".
func packageOfFile(file string) (string, error) {
	name, err := url.PathUnescape(strings.TrimSuffix(filepath.Base(file), ".deb"))
	if parts := strings.Split(name, "_"); err == nil && len(parts) == 3 {
		return strings.Join(parts, " "), nil
	}
	return "", errors.Join(fmt.Errorf("%s is not named like a Debian package", file), err)
}
