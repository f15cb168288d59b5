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
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

// tree is a file system: absolute, clean paths to entries. Directories are
// entries too, except the root.
type tree map[string]entry

// entry is a file, directory or symbolic link; its header's name is unused.
type entry struct {
	header  tar.Header
	content []byte
}

// linkDepth bounds the symbolic links followed, as Linux does.
const linkDepth = 40

func newTree() tree { return tree{} }

func (t tree) copy() tree { return maps.Clone(t) }

// below returns what lies below a directory as a tree of its own.
func (t tree) below(dir string) tree {
	out := newTree()
	prefix := strings.TrimSuffix(dir, "/") + "/"
	for name, e := range t {
		if rest, ok := strings.CutPrefix(name, prefix); ok {
			out["/"+rest] = e
		}
	}
	return out
}

// resolve follows the symbolic links among the parents of a path.
func (t tree) resolve(name string) (string, error) {
	for range linkDepth {
		name = path.Clean("/" + name)
		link, target, ok := t.firstLink(name)
		if !ok {
			return name, nil
		}
		if !path.IsAbs(target) {
			target = path.Join(path.Dir(link), target)
		}
		name = path.Join(target, strings.TrimPrefix(name, link))
	}
	return "", fmt.Errorf("too many symbolic links at %q", name)
}

// firstLink finds the first parent of name that is a symbolic link.
func (t tree) firstLink(name string) (link, target string, ok bool) {
	for i := 1; i < len(name); i++ {
		if name[i] != '/' {
			continue
		}
		if e, ok := t[name[:i]]; ok && e.header.Typeflag == tar.TypeSymlink {
			return name[:i], e.header.Linkname, true
		}
	}
	return "", "", false
}

// put stores an entry and makes the directories above it.
func (t tree) put(name string, e entry) error {
	name, err := t.resolve(name)
	if err != nil || name == "/" {
		return err
	}
	for dir := path.Dir(name); dir != "/"; dir = path.Dir(dir) {
		if have, ok := t[dir]; ok && have.header.Typeflag == tar.TypeDir {
			break
		}
		t[dir] = entry{header: tar.Header{Typeflag: tar.TypeDir, Mode: 0o755, ModTime: e.header.ModTime}}
	}
	t[name] = e
	return nil
}

func (t tree) putFile(name string, content []byte, now time.Time) error {
	return t.put(name, entry{
		header:  tar.Header{Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(content)), ModTime: now},
		content: bytes.Clone(content),
	})
}

// extract stores the entries of an uncompressed tar, by place.
func extract(archive io.Reader, place func(name string, e entry) error) error {
	reader := tar.NewReader(archive)
	for {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read archive: %w", errors.Join(err, engine.ErrInvalid))
		}
		content, err := io.ReadAll(reader)
		if err != nil {
			return fmt.Errorf("read archive entry %q: %w", header.Name, errors.Join(err, engine.ErrInvalid))
		}
		if err := place(path.Clean("/"+header.Name), entry{header: *header, content: content}); err != nil {
			return err
		}
	}
}

// pack writes the entry at name, and all below it, relative to its parent.
func (t tree) pack(name, base string) ([]byte, error) {
	var buffer bytes.Buffer
	writer := tar.NewWriter(&buffer)
	add := func(as string, e entry) error {
		header := e.header
		header.Name = as
		if header.Typeflag == tar.TypeDir {
			header.Name += "/"
		}
		if err := writer.WriteHeader(&header); err != nil {
			return err
		}
		_, err := writer.Write(e.content)
		return err
	}
	top, ok := t[name]
	if !ok && name == "/" {
		top, ok = entry{header: tar.Header{Typeflag: tar.TypeDir, Mode: 0o755}}, true
	}
	if !ok {
		return nil, absent("path", name)
	}
	if err := add(base, top); err != nil {
		return nil, err
	}
	inside := t.below(name)
	for _, rest := range slices.Sorted(maps.Keys(inside)) {
		if err := add(base+rest, inside[rest]); err != nil {
			return nil, err
		}
	}
	if err := writer.Close(); err != nil {
		return nil, err
	}
	return buffer.Bytes(), nil
}
