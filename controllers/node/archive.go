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

package node

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	nodespec "github.com/capi-samples/cluster-api-provider-container/internal/node"
)

// UploadRegistries into a container, which may not have started. containerd reads them with each pull.
func UploadRegistries(ctx context.Context, to engine.Archiver, container string, files map[string]string) error {
	if len(files) == 0 {
		return nil
	}
	archive, err := pack(files)
	if err != nil {
		return err
	}
	if err := to.Upload(ctx, container, archive); err != nil {
		return fmt.Errorf("upload registry configuration: %w", err)
	}
	return nil
}

// existingRegistries are the files of the node below nodespec.RegistryDirectory, by their paths
// from the root.
func existingRegistries(ctx context.Context, from engine.Archiver, container string) (_ map[string]string, err error) {
	stream, err := from.Download(ctx, container, nodespec.RegistryDirectory)
	if errors.Is(err, engine.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("download registry configuration: %w", err)
	}
	defer func() { err = errors.Join(err, stream.Close()) }()
	existing := map[string]string{}
	for archive := tar.NewReader(io.LimitReader(stream, engine.MaxReadBytes)); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return existing, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read registry configuration: %w", err)
		}
		if header.Typeflag != tar.TypeReg {
			continue
		}
		content, err := io.ReadAll(archive)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", header.Name, err)
		}
		existing[path.Join(path.Dir(nodespec.RegistryDirectory)[1:], header.Name)] = string(content)
	}
}

// pack files, readable by root alone, into an archive.
func pack(files map[string]string) (io.Reader, error) {
	var archive bytes.Buffer
	writer := tar.NewWriter(&archive)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		header := &tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o600, Size: int64(len(files[name]))}
		if err := writer.WriteHeader(header); err != nil {
			return nil, fmt.Errorf("pack %s: %w", name, err)
		}
		if _, err := io.WriteString(writer, files[name]); err != nil {
			return nil, fmt.Errorf("pack %s: %w", name, err)
		}
	}
	if err := writer.Close(); err != nil {
		return nil, fmt.Errorf("pack files: %w", err)
	}
	return &archive, nil
}
