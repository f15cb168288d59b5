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

package engine

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
)

// MaxReadBytes is the limit of what is read back from a container in one piece: a stream of a command's output, a
// file. What runs in a container may print without end.
// +limit
const MaxReadBytes = 16 << 20

// ErrTooLarge is returned for what exceeds MaxReadBytes.
var ErrTooLarge = fmt.Errorf("exceeds the limit of %d MiB for files of containers", MaxReadBytes>>20)

// Buffer keeps what is written to it. A write that exceeds MaxReadBytes is
// ErrTooLarge, and writes what fits.
type Buffer struct {
	content bytes.Buffer
}

// Write implements io.Writer.
func (b *Buffer) Write(p []byte) (int, error) {
	if room := MaxReadBytes - b.content.Len(); len(p) > room {
		n, _ := b.content.Write(p[:room]) // a bytes.Buffer has no errors
		return n, ErrTooLarge
	}
	return b.content.Write(p)
}

// Bytes returns what was written.
func (b *Buffer) Bytes() []byte { return b.content.Bytes() }

// ReadFile returns the content of a file of a container, which may lie where
// Archiver.Download says. Container or file absent: ErrNotFound. Beyond
// MaxReadBytes: ErrTooLarge.
func ReadFile(ctx context.Context, containers Archiver, name, path string) (_ []byte, err error) {
	stream, err := containers.Download(ctx, name, path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, stream.Close()) }()
	content, err := firstFile(stream)
	if err != nil {
		return nil, fmt.Errorf("read %q of container %q: %w", path, name, err)
	}
	return content, nil
}

func firstFile(stream io.Reader) ([]byte, error) {
	archive := tar.NewReader(stream)
	if _, err := archive.Next(); err != nil {
		return nil, fmt.Errorf("read archive: %w", err)
	}
	var content Buffer
	_, err := io.Copy(&content, archive)
	return content.Bytes(), err
}
