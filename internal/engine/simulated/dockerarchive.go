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

package simulated

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"path"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

// described is an image in manifest.json of an archive.
type described struct {
	Config   string
	RepoTags []string
	Layers   []string
}

// configuration of an image, of which only this matters here.
type configuration struct {
	Architecture string `json:"architecture"`
	Config       struct {
		Labels map[string]string
	} `json:"config"`
}

// archive of the image as a docker-archive, under one name.
func (i *image) archive(name string) ([]byte, error) {
	config := i.config
	if config == nil {
		made := configuration{Architecture: i.Architecture}
		made.Config.Labels = i.Labels
		var err error
		if config, err = json.Marshal(made); err != nil {
			return nil, err
		}
	}
	layer, err := i.files.pack("/", ".")
	if err != nil {
		return nil, err
	}
	// As Docker names it: by its digest, which is the image's ID.
	configFile := fmt.Sprintf("%x.json", sha256.Sum256(config))
	manifest, err := json.Marshal([]described{{Config: configFile, RepoTags: []string{name}, Layers: []string{"layer.tar"}}})
	if err != nil {
		return nil, err
	}
	var buffer bytes.Buffer
	writer := tar.NewWriter(&buffer)
	for name, content := range map[string][]byte{configFile: config, "layer.tar": layer, "manifest.json": manifest} {
		header := &tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: int64(len(content))}
		if err := writer.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := writer.Write(content); err != nil {
			return nil, err
		}
	}
	return buffer.Bytes(), writer.Close()
}

// readArchive reads the images of a docker-archive.
func readArchive(archive io.Reader) ([]image, error) {
	files := newTree()
	if err := extract(archive, files.put); err != nil {
		return nil, err
	}
	var manifest []described
	if err := json.Unmarshal(files["/manifest.json"].content, &manifest); err != nil {
		return nil, fmt.Errorf("read manifest.json: %w", err)
	}
	var out []image
	for _, described := range manifest {
		raw := files[path.Clean("/"+described.Config)].content
		var config configuration
		if err := json.Unmarshal(raw, &config); err != nil {
			return nil, fmt.Errorf("read %s: %w", described.Config, err)
		}
		img := image{files: newTree(), config: raw, Image: engine.Image{
			ID: fmt.Sprintf("sha256:%x", sha256.Sum256(raw)), Tags: described.RepoTags,
			Architecture: config.Architecture, Labels: config.Config.Labels,
		}}
		for _, name := range described.Layers {
			content := files[path.Clean("/"+name)].content
			img.SizeBytes += int64(len(content))
			if err := addLayer(img.files, content); err != nil {
				return nil, fmt.Errorf("read layer %s: %w", name, err)
			}
		}
		out = append(out, img)
	}
	return out, nil
}

func addLayer(root tree, content []byte) error {
	var reader io.Reader = bufio.NewReader(bytes.NewReader(content))
	if bytes.HasPrefix(content, []byte{0x1f, 0x8b}) {
		unzipped, err := gzip.NewReader(reader)
		if err != nil {
			return err
		}
		defer func() { _ = unzipped.Close() }()
		reader = unzipped
	}
	return extract(reader, root.put)
}
