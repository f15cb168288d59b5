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
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

func frame(stream byte, length int, text string) string {
	header := [frameHeader]byte{stream}
	binary.BigEndian.PutUint32(header[4:], uint32(length)) //nolint:gosec // Of a test.
	return string(header[:]) + text
}

func TestDemultiplex(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("x", MaxReadBytes)
	cases := map[string]struct {
		reason         string
		stream         string
		stdout, stderr string
		err            error
	}{
		"pieces":    {reason: "The streams are kept apart.", stream: frame(1, 3, "out") + frame(2, 3, "err") + frame(0, 0, "") + frame(1, 3, "put"), stdout: "output", stderr: "err"},
		"header":    {reason: "A header is cut off.", stream: "\x01\x00", err: io.ErrUnexpectedEOF},
		"piece":     {reason: "A piece is cut off.", stream: frame(1, 3, "o"), err: io.ErrUnexpectedEOF},
		"no piece":  {reason: "A piece is missing.", stream: frame(1, 3, ""), err: io.ErrUnexpectedEOF},
		"at most":   {reason: "The limit is inclusive.", stream: frame(1, len(large), large), stdout: large},
		"too large": {reason: "A container may print without end.", stream: frame(2, len(large), large) + frame(2, 1, "x"), stderr: large, err: ErrTooLarge},
		"promise":   {reason: "A header may promise anything.", stream: frame(1, 1<<32-1, ""), err: ErrTooLarge},
	}
	for name, tc := range cases {
		var stdout, stderr Buffer
		err := Demultiplex(strings.NewReader(tc.stream), &stdout, &stderr)
		if !errors.Is(err, tc.err) {
			t.Errorf("%s: %s\nerror %v, want %v", name, tc.reason, err, tc.err)
		}
		if got := [2]string{string(stdout.Bytes()), string(stderr.Bytes())}; got != [2]string{tc.stdout, tc.stderr} {
			t.Errorf("%s: %s\n%d and %d bytes, want %d and %d", name, tc.reason, len(got[0]), len(got[1]), len(tc.stdout), len(tc.stderr))
		}
	}
	if err := Demultiplex(strings.NewReader(frame(7, 1, "x")), io.Discard, io.Discard); err == nil {
		t.Error("a stream of unknown number: success, want an error")
	}
}

// download is an Archiver whose every file is the same archive.
type download struct {
	Archiver

	archive io.Reader
}

func (d download) Download(context.Context, string, string) (io.ReadCloser, error) {
	return io.NopCloser(d.archive), nil
}

func archive(tb testing.TB, size int64, content string) []byte {
	tb.Helper()
	var out bytes.Buffer
	writer := tar.NewWriter(&out)
	if err := writer.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "file", Size: size}); err != nil {
		tb.Fatal(err)
	}
	if _, err := writer.Write([]byte(content)); err != nil {
		tb.Fatal(err)
	}
	return out.Bytes()
}

func TestReadFile(t *testing.T) {
	t.Parallel()
	got, err := ReadFile(t.Context(), download{archive: bytes.NewReader(archive(t, 5, "hello"))}, "node", "/file")
	if diff := cmp.Diff("hello", string(got)); err != nil || diff != "" {
		t.Errorf("error %v, -want +got:\n%s", err, diff)
	}
	endless := &endless{}
	_, err = ReadFile(t.Context(), download{archive: io.MultiReader(bytes.NewReader(archive(t, 1<<40, "")), endless)}, "node", "/file")
	if !errors.Is(err, ErrTooLarge) || endless.read > 2*MaxReadBytes {
		t.Errorf("error %v after %d bytes, want ErrTooLarge", err, endless.read)
	}
}

// letters never end.
type letters struct{ endless }

func (l *letters) Read(p []byte) (int, error) {
	copy(p, bytes.Repeat([]byte("x"), len(p)))
	return l.endless.Read(p)
}

// endless has more than anything may read.
type endless struct{ read int }

func (e *endless) Read(p []byte) (int, error) {
	if e.read > 4*MaxReadBytes {
		return 0, errors.New("it is read to its end")
	}
	e.read += len(p)
	return len(p), nil
}

func TestMessages(t *testing.T) {
	t.Parallel()
	brokenOff := errors.New("connection reset")
	cases := map[string]struct {
		stream io.Reader
		want   []int
		err    error
	}{
		"lines":     {stream: strings.NewReader("1\r\n2 3"), want: []int{1, 2, 3}},
		"broken":    {stream: io.MultiReader(strings.NewReader("1\n{"), iotest.ErrReader(brokenOff)), want: []int{1}, err: brokenOff},
		"too large": {stream: io.MultiReader(strings.NewReader("1\n\""), &letters{}), want: []int{1}, err: ErrMessageTooLarge},
	}
	for name, tc := range cases {
		var got []int
		err := Messages(tc.stream, func(message int) error {
			got = append(got, message)
			return nil
		})
		if diff := cmp.Diff(tc.want, got); !errors.Is(err, tc.err) || diff != "" {
			t.Errorf("%s: error %v, want %v, -want +got:\n%s", name, err, tc.err, diff)
		}
	}
	if err := Messages(strings.NewReader("{"), func(int) error { return nil }); err == nil {
		t.Error("a message that is cut off: success, want an error")
	}
}
