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

package logs

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

// MaxBytes is the limit of a log that is read in one piece. Of a longer one, the newest lines are kept.
// +limit
const MaxBytes = 16 << 20

// omitted is the first line of a log whose older lines are not there.
const omitted = "[older lines are omitted: the log exceeds 16 MiB]\n"

// Buffer keeps the newest lines of a log that is written to it. The zero value is empty.
type Buffer struct {
	// kept is the end of the log, up to twice the limit, so that it is rarely moved.
	kept []byte
	// size of all that was written.
	size int
}

// Write implements io.Writer. It never fails.
func (b *Buffer) Write(piece []byte) (int, error) {
	b.size += len(piece)
	b.kept = append(b.kept, piece[max(0, len(piece)-MaxBytes):]...)
	if len(b.kept) > 2*MaxBytes {
		b.kept = append(b.kept[:0], b.kept[len(b.kept)-MaxBytes:]...)
	}
	return len(piece), nil
}

// Text of the log. If its older lines are missing, its first line says so.
func (b *Buffer) Text() string { return b.after(0) }

// after returns what was written after that many bytes. If more than the limit was, it
// begins with a whole line: the rest of a secret is not recognized as one.
func (b *Buffer) after(offset int) string {
	from := max(offset, b.size-MaxBytes)
	text := b.kept[len(b.kept)-(b.size-from):]
	if from == offset {
		return string(text)
	}
	return omitted + string(text[bytes.IndexByte(text, '\n')+1:])
}

// wholeLines is the size of all that was written up to the end of its last line.
func (b *Buffer) wholeLines() int {
	return b.size - (len(b.kept) - 1 - bytes.LastIndexByte(b.kept, '\n'))
}

// readFile reads the newest lines of a file of a container, also of one that does not run.
// Absent: nothing.
func readFile(ctx context.Context, e engine.Archiver, container, path string) (_ *Buffer, err error) {
	content := &Buffer{}
	stream, err := e.Download(ctx, container, path)
	if err != nil {
		return content, engine.IgnoreNotFound(err)
	}
	defer func() { err = errors.Join(err, stream.Close()) }()
	archive := tar.NewReader(stream)
	if _, err := archive.Next(); err != nil {
		return content, fmt.Errorf("read archive: %w", err)
	}
	if _, err := io.Copy(content, archive); err != nil {
		return content, fmt.Errorf("read %q: %w", path, err)
	}
	return content, nil
}

func lastLines(text string, lines int) string {
	if lines == 0 {
		return text
	}
	at := len(strings.TrimSuffix(text, "\n"))
	for range lines {
		if at = strings.LastIndexByte(text[:at], '\n'); at < 0 {
			return text
		}
	}
	return text[at+1:]
}
