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

package build

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

const (
	// What an artifact that is a layer or an image holds.
	LayerFile, ArchiveFile, PublicationFile = "layer.tar", "image.tar", "image.json"
	// epoch is the time of all files and images, in seconds: the same inputs
	// give the same layers. The first day of 2026.
	epoch = 1767225600
)

// PackLayer archives a directory as a layer: sorted, with one time for all
// files, numeric owners, hard links and extended attributes.
func PackLayer(ctx context.Context, directory, layer string) error {
	return Command{Args: []string{
		"tar", "--create", "--file", layer, "--directory", directory,
		"--sort=name", fmt.Sprintf("--mtime=@%d", epoch), "--numeric-owner",
		"--format=posix", "--pax-option=exthdr.name=%d/PaxHeaders/%f,delete=atime,delete=ctime",
		"--xattrs", "--xattrs-include=*", ".",
	}}.Run(ctx)
}

// ImageLayer is one layer of an image and what its history says about it.
type ImageLayer struct{ File, Comment string }

// Assemble makes an image of layers, the first at the bottom. Layers are
// compressed at the given level of gzip when they are written.
func (p Platform) Assemble(layers []ImageLayer, config v1.Config, level int) (v1.Image, error) {
	created := v1.Time{Time: time.Unix(epoch, 0).UTC()}
	addenda := make([]mutate.Addendum, 0, len(layers))
	for _, l := range layers {
		layer, err := tarball.LayerFromFile(l.File, tarball.WithCompressionLevel(level))
		if err != nil {
			return nil, fmt.Errorf("read layer %s: %w", l.File, err)
		}
		addenda = append(addenda, mutate.Addendum{
			Layer:   layer,
			History: v1.History{Created: created, CreatedBy: l.Comment},
		})
	}
	image, err := mutate.Append(empty.Image, addenda...)
	if err != nil {
		return nil, fmt.Errorf("put layers together: %w", err)
	}
	file, err := image.ConfigFile()
	if err != nil {
		return nil, fmt.Errorf("read image configuration: %w", err)
	}
	file = file.DeepCopy()
	file.Architecture, file.OS = string(p), "linux"
	file.Created, file.Config = created, config
	image, err = mutate.ConfigFile(image, file)
	if err != nil {
		return nil, fmt.Errorf("configure image: %w", err)
	}
	return image, nil
}

// WriteImage leaves an image in an artifact's directory as an archive that
// docker and podman load, and its description.
func (p Platform) WriteImage(directory, reference string, layers []ImageLayer, config v1.Config) error {
	// Not compressed: packing and unpacking would take longer than reading.
	image, err := p.Assemble(layers, config, gzip.NoCompression)
	if err != nil {
		return err
	}
	tag, err := name.NewTag(reference, name.WithDefaultRegistry(""))
	if err != nil {
		return fmt.Errorf("parse image name: %w", err)
	}
	if err := tarball.WriteToFile(filepath.Join(directory, ArchiveFile), tag, image); err != nil {
		return fmt.Errorf("write image %s: %w", reference, err)
	}
	id, err := image.ConfigName()
	if err != nil {
		return fmt.Errorf("compute the image's id: %w", err)
	}
	text, err := json.Marshal(Publication{Reference: reference, ID: id.String()})
	if err != nil {
		return fmt.Errorf("describe image: %w", err)
	}
	if err := os.WriteFile(filepath.Join(directory, PublicationFile), text, 0o644); err != nil {
		return fmt.Errorf("write the image's description: %w", err)
	}
	return nil
}

// Tree is a set of files to write below a directory, all owned by root.
type Tree struct {
	Directory string
	Err       error
}

// Write makes a file; mode is set whatever the umask.
func (t *Tree) Write(path, text string, mode os.FileMode) {
	target := t.parent(path)
	if t.Err == nil {
		t.Err = os.WriteFile(target, []byte(text), mode)
	}
	if t.Err == nil {
		t.Err = os.Chmod(target, mode)
	}
}

// Copy makes a file from one of this machine.
func (t *Tree) Copy(from, path string, mode os.FileMode) {
	text, err := os.ReadFile(from)
	if t.Err == nil {
		t.Err = err
	}
	t.Write(path, string(text), mode)
}

// Link makes a symbolic link in place of whatever is there.
func (t *Tree) Link(to, path string) {
	target := t.parent(path)
	if t.Err == nil {
		t.Err = os.RemoveAll(target)
	}
	if t.Err == nil {
		t.Err = os.Symlink(to, target)
	}
}

// Mkdir makes a directory; mode is set whatever the umask.
func (t *Tree) Mkdir(path string, mode os.FileMode) {
	target := t.parent(path)
	if t.Err == nil {
		t.Err = os.MkdirAll(target, 0o755)
	}
	if t.Err == nil {
		t.Err = os.Chmod(target, mode)
	}
}

// Chown gives a file or directory to another user and group.
func (t *Tree) Chown(path string, uid, gid int) {
	if t.Err == nil {
		t.Err = os.Chown(filepath.Join(t.Directory, path), uid, gid)
	}
}

func (t *Tree) parent(path string) string {
	target := filepath.Join(t.Directory, path)
	if t.Err == nil {
		t.Err = os.MkdirAll(filepath.Dir(target), 0o755)
	}
	return target
}

// pack turns the tree into the layer of an artifact.
func (t *Tree) pack(ctx context.Context, w *Workspace) error {
	if t.Err != nil {
		return fmt.Errorf("write files: %w", t.Err)
	}
	return PackLayer(ctx, t.Directory, filepath.Join(w.Dir, LayerFile))
}

// Layer makes a layer of files that fill puts into a tree.
func Layer(a *Artifact, fill func(ctx context.Context, w *Workspace, t *Tree) error) *Artifact {
	a.Recipe = append(a.Recipe, "build/layer.go")
	a.Build = func(ctx context.Context, w *Workspace) error {
		// The layer's own root directory carries an owner and mode too.
		directory := filepath.Join(w.Scratch, "tree")
		if err := os.Mkdir(directory, 0o755); err != nil {
			return fmt.Errorf("create directory: %w", err)
		}
		t := &Tree{Directory: directory}
		if err := fill(ctx, w, t); err != nil {
			return err
		}
		return t.pack(ctx, w)
	}
	return a
}
