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

// Package imagefiles reads the files of images in docker-archives, and writes layers.
package imagefiles

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// Visit each regular file in the layers of an image.
func Visit(archive string, visit func(header *tar.Header, content io.Reader) error) error {
	image, err := tarball.ImageFromPath(archive, nil)
	if err != nil {
		return fmt.Errorf("read image %s: %w", archive, err)
	}
	layers, err := image.Layers()
	for _, layer := range layers {
		err = errors.Join(err, visitLayer(layer, visit))
	}
	if err != nil {
		return fmt.Errorf("read layers of %s: %w", archive, err)
	}
	return nil
}

// visitLayer collects the errors of visit, and returns others immediately.
func visitLayer(layer v1.Layer, visit func(*tar.Header, io.Reader) error) (err error) {
	content, err := layer.Uncompressed()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, content.Close()) }()
	var failed []error
	for files := tar.NewReader(content); ; {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			return errors.Join(failed...)
		}
		if err != nil {
			return err
		}
		if header.Typeflag == tar.TypeReg {
			failed = append(failed, visit(header, files))
		}
	}
}

// File of a layer; a directory if its path ends with a slash.
type File struct {
	Path string
	Mode int64
	Text []byte
}

// Layer of files.
func Layer(date time.Time, files ...File) (v1.Layer, error) {
	var content bytes.Buffer
	w := tar.NewWriter(&content)
	var errs []error
	for _, file := range files {
		// The writer takes a path that ends with a slash as that of a directory.
		errs = append(errs, w.WriteHeader(&tar.Header{Name: file.Path, Mode: file.Mode, Size: int64(len(file.Text)), ModTime: date}))
		_, err := w.Write(file.Text)
		errs = append(errs, err)
	}
	if err := errors.Join(append(errs, w.Close())...); err != nil {
		return nil, fmt.Errorf("write layer: %w", err)
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content.Bytes())), nil })
}
