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
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/capi-samples/cluster-api-provider-container/hack/imagefiles"
)

// licensesDirectory of an image is in the same place as the licenses of Debian packages.
const licensesDirectory = "usr/share/doc/capcon"

// packImage turns a docker-archive into an image as others get it: with the licenses of its
// Go modules, if there are any, as an OCI layout in a tar archive, with compressed layers, and the manifest
// of a docker-archive for engines that read no layouts.
func (r release) packImage(ctx context.Context, archive, licenses string) (err error) {
	image, reference, err := readArchive(archive)
	if err == nil && licenses != "" {
		image, err = r.addFile(image, licensesDirectory+"/"+licensesName, licenses)
	}
	if err != nil {
		return fmt.Errorf("add licenses to image %s: %w", archive, err)
	}
	if image, err = compress(image); err != nil {
		return fmt.Errorf("compress image %s: %w", archive, err)
	}
	directory, err := os.MkdirTemp("", "layout-")
	if err != nil {
		return fmt.Errorf("create directory: %w", err)
	}
	defer func() { _ = os.RemoveAll(directory) }() // below the temporary directory
	if err := writeLayout(image, reference, directory); err != nil {
		return err
	}
	return r.packLayout(ctx, directory, archive)
}

// readArchive reads the image of a docker-archive, and its name.
func readArchive(archive string) (v1.Image, string, error) {
	manifest, err := tarball.LoadManifest(func() (io.ReadCloser, error) { return os.Open(archive) })
	if err != nil {
		return nil, "", err
	}
	if len(manifest) != 1 || len(manifest[0].RepoTags) != 1 {
		return nil, "", fmt.Errorf("the archive has %d images, or not one name", len(manifest))
	}
	image, err := tarball.ImageFromPath(archive, nil)
	return image, manifest[0].RepoTags[0], err
}

// addFile to an image, in a layer of its own: the layers below are those of the image that
// the tests run.
func (r release) addFile(image v1.Image, path, text string) (v1.Image, error) {
	var files []imagefiles.File
	for at, character := range path {
		if character == '/' {
			files = append(files, imagefiles.File{Path: path[:at+1], Mode: 0o755})
		}
	}
	layer, err := imagefiles.Layer(r.date, append(files, imagefiles.File{Path: path, Mode: 0o644, Text: []byte(text)})...)
	if err != nil {
		return nil, err
	}
	return mutate.Append(image, mutate.Addendum{Layer: layer, History: v1.History{Created: v1.Time{Time: r.date}, CreatedBy: "licenses"}})
}

// compress returns the image with the media types of OCI and layers that are compressed. It
// keeps its configuration, and with it its id.
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

// writeLayout of an image, and the manifest of a docker-archive.
func writeLayout(image v1.Image, reference, directory string) error {
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
		err = os.WriteFile(filepath.Join(directory, "manifest.json"), text, 0o644)
	}
	if err != nil {
		return fmt.Errorf("write the manifest of a docker-archive: %w", err)
	}
	return nil
}

// packLayout archives a layout. What engines look for first is first.
func (r release) packLayout(ctx context.Context, directory, archive string) error {
	pack := exec.CommandContext(ctx, "tar", "--create", "--file", archive, "--directory", directory,
		"--sort=name", "--mtime="+r.date.Format(time.RFC3339), "--owner=0", "--group=0", "--numeric-owner", "--mode=u=rwX,go=rX", "--format=ustar",
		"oci-layout", "index.json", "manifest.json", "blobs")
	if output, err := pack.CombinedOutput(); err != nil {
		return fmt.Errorf("pack image %s: %w: %s", archive, err, output)
	}
	return nil
}
