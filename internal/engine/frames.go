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
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// The header before each piece of what a container prints: which stream, three
// zeros, and the length, the most significant byte first. Docker and Podman
// have the same.
const (
	frameHeader = 8
	frameStdin  = 0 // of an input that is echoed
	frameStdout = 1
	frameStderr = 2
)

// Demultiplex writes each piece of a stream of output, in one call, to the
// writer that it is for. Their errors are returned as they are; a piece beyond
// MaxReadBytes is ErrTooLarge.
func Demultiplex(stream io.Reader, stdout, stderr io.Writer) error {
	var header [frameHeader]byte
	var piece bytes.Buffer
	for {
		if _, err := io.ReadFull(stream, header[:]); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		out := stdout
		switch header[0] {
		case frameStdin, frameStdout:
		case frameStderr:
			out = stderr
		default:
			return fmt.Errorf("unknown stream %d in output", header[0])
		}
		length := binary.BigEndian.Uint32(header[4:])
		if length > MaxReadBytes {
			return ErrTooLarge
		}
		// Not allocated in one step: a header may promise more than comes.
		piece.Reset()
		if _, err := io.CopyN(&piece, stream, int64(length)); errors.Is(err, io.EOF) {
			return io.ErrUnexpectedEOF
		} else if err != nil {
			return err
		}
		if _, err := out.Write(piece.Bytes()); err != nil {
			return err
		}
	}
}
