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
	"context"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

// Upload implements engine.Archiver. What lies below a mount is stored where
// the mount hides it: no caller may rely on anything there.
func (e *Engine) Upload(ctx context.Context, name string, archive io.Reader) error {
	return e.doTo(ctx, Call{Method: "Upload", Name: name, Mutating: true}, func(c *container) error {
		return extract(archive, c.root.put)
	})
}

// Download implements engine.Archiver.
func (e *Engine) Download(ctx context.Context, name, target string) (io.ReadCloser, error) {
	var packed []byte
	err := e.doTo(ctx, Call{Method: "Download", Name: name}, func(c *container) error {
		if !path.IsAbs(target) {
			return invalid("path %q is not absolute", target)
		}
		files, inside, kind, err := c.locate(target)
		if err != nil {
			return err
		}
		if kind == engine.MountTmpfs {
			return absent("path", target)
		}
		packed, err = files.pack(inside, path.Base(path.Clean(target)))
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("download %q: %w", target, err)
	}
	return io.NopCloser(bytes.NewReader(packed)), nil
}

// locate finds the file system a path lies in and its path in it.
func (c *container) locate(name string) (tree, string, engine.MountType, error) {
	name, err := c.root.resolve(name)
	if err != nil {
		return nil, "", "", err
	}
	var best *mounted
	for _, m := range c.mounts {
		if (name == m.Target || strings.HasPrefix(name, strings.TrimSuffix(m.Target, "/")+"/")) &&
			(best == nil || len(m.Target) > len(best.Target)) {
			best = m
		}
	}
	if best == nil {
		return c.root, name, "", nil
	}
	inside, err := best.files.resolve(strings.TrimPrefix(name, best.Target))
	return best.files, inside, best.Type, err
}

// WriteFile writes a file as a process in the container would: seen through
// its mounts. Missing directories are made, mode 0644, owner root.
func (e *Engine) WriteFile(containerName, name string, content []byte) error {
	return e.with(containerName, func(c *container) error {
		files, inside, _, err := c.locate(name)
		if err != nil {
			return err
		}
		return files.putFile(inside, content, e.now())
	})
}

// ReadFile reads a file as a process in the container would: a symbolic link
// is followed. Absent: engine.ErrNotFound.
func (e *Engine) ReadFile(containerName, name string) ([]byte, error) {
	var content []byte
	err := e.with(containerName, func(c *container) error {
		existing, err := c.lookup(name)
		content = bytes.Clone(existing.content)
		return err
	})
	return content, err
}

// Files reads all files below a directory of a container, by their paths relative to it.
func (e *Engine) Files(containerName, directory string) (map[string][]byte, error) {
	files := map[string][]byte{}
	err := e.with(containerName, func(c *container) error {
		all, inside, _, err := c.locate(directory)
		for name, existing := range all.below(inside) {
			if existing.header.Typeflag == tar.TypeReg {
				files[strings.TrimPrefix(name, "/")] = bytes.Clone(existing.content)
			}
		}
		return err
	})
	return files, err
}

// FileHeader returns owner, mode and kind of a file, or of the symbolic link
// that it is.
func (e *Engine) FileHeader(containerName, name string) (tar.Header, error) {
	var header tar.Header
	err := e.with(containerName, func(c *container) error {
		existing, err := c.entry(name)
		header = existing.header
		return err
	})
	return header, err
}

// entry at a path, which is not followed where it is a symbolic link.
func (c *container) entry(name string) (entry, error) {
	files, inside, _, err := c.locate(name)
	if err != nil {
		return entry{}, err
	}
	existing, ok := files[inside]
	if !ok {
		return entry{}, absent("path", name)
	}
	return existing, nil
}

// lookup returns the entry that a path leads to.
func (c *container) lookup(name string) (entry, error) {
	for range linkDepth {
		existing, err := c.entry(name)
		if err != nil || existing.header.Typeflag != tar.TypeSymlink {
			return existing, err
		}
		target := existing.header.Linkname
		if !path.IsAbs(target) {
			target = path.Join(path.Dir(name), target)
		}
		name = target
	}
	return entry{}, fmt.Errorf("too many symbolic links at %q", name)
}

// WriteHostFile puts a file below a path of the host, for bind mounts of
// hostPath to show.
func (e *Engine) WriteHostFile(hostPath, name string, content []byte) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.hostPaths[hostPath] == nil {
		e.hostPaths[hostPath] = newTree()
	}
	return e.hostPaths[hostPath].putFile(name, content, e.now())
}

// AddCDIDevice makes the engine know a CDI device. It knows no other.
func (e *Engine) AddCDIDevice(name string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.cdiDevices[name] = true
}

// RemoveHostPath makes the host lack a path: containers that bind it are
// refused. Every other path exists.
func (e *Engine) RemoveHostPath(hostPath string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.missingPaths[hostPath] = true
}
