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

// Package state is what capcon saves on the user's machine:
// kubeconfigs, and which clusters it made. Everything else lives in the
// management plane and on the engine.
//
//	<root>/<engine>-<id>/management.kubeconfig
//	<root>/<engine>-<id>/node-images/<ID>.json
//	<root>/<engine>-<id>/clusters/<name>/kubeconfig
//	<root>/<engine>-<id>/clusters/<name>/cluster.json
//
// The ID is the beginning of a hash of the engine's own: another Docker context
// may lead to another engine of the same name.
//
// Directories have mode 0700 and files 0600, because kubeconfigs hold keys.
package state

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"

	"github.com/moby/sys/atomicwriter"
)

const (
	directoryMode = 0o700
	fileMode      = 0o600
)

// NoRootError says that the environment names no place for the state.
type NoRootError struct {
	// Variable of the home directory on this system.
	Variable string
}

// Error implements error.
func (e *NoRootError) Error() string {
	return fmt.Sprintf("find the state directory: neither %s nor XDG_STATE_HOME (an absolute path) is set; set one of them in the environment", e.Variable)
}

// Root returns the directory of capcon's state: below XDG_STATE_HOME, or
// .local/state of the home directory, or on Windows %LocalAppData%. Neither is
// set: *NoRootError. Getenv is os.Getenv but for tests.
func Root(getenv func(string) string) (string, error) { return rootOn(runtime.GOOS, getenv) }

func rootOn(system string, getenv func(string) string) (string, error) {
	if base := getenv("XDG_STATE_HOME"); filepath.IsAbs(base) {
		return filepath.Join(base, "capcon"), nil
	}
	variable, below := "HOME", []string{".local", "state", "capcon"}
	if system == "windows" {
		variable, below = "LocalAppData", []string{"capcon"}
	}
	base := getenv(variable)
	if base == "" {
		return "", &NoRootError{Variable: variable}
	}
	return filepath.Join(append([]string{base}, below...)...), nil
}

// directoryName is what For makes.
var directoryName = regexp.MustCompile(`^[a-z]+-[0-9a-f]{12}$`)

// Directory is the state of one engine.
type Directory struct {
	root, path string
}

// idDigits of the hash are more than enough for the engines of one user.
const idDigits = 12

// For returns the state of the engine of that name and ID. Nothing is created.
func For(root, engine, id string) Directory {
	sum := sha256.Sum256([]byte(id))
	return Directory{root: root, path: filepath.Join(root, engine+"-"+hex.EncodeToString(sum[:])[:idDigits])}
}

// All returns the state of every engine. What else lies in the root is skipped.
func All(root string) ([]Directory, error) {
	entries, err := os.ReadDir(root)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list state: %w", err)
	}
	all := make([]Directory, 0, len(entries))
	for _, entry := range entries {
		if entry.IsDir() && directoryName.MatchString(entry.Name()) {
			all = append(all, Directory{root: root, path: filepath.Join(root, entry.Name())})
		}
	}
	return all, nil
}

// KubeconfigPath of a cluster.
func (d Directory) KubeconfigPath(cluster string) string {
	return filepath.Join(d.ClusterPath(cluster), "kubeconfig")
}

// ManagementKubeconfigPath of the management plane.
func (d Directory) ManagementKubeconfigPath() string {
	return filepath.Join(d.path, "management.kubeconfig")
}

// ManagementKubeconfig that was written last; nil where there is none that can be read.
func (d Directory) ManagementKubeconfig() []byte {
	kubeconfig, err := os.ReadFile(d.ManagementKubeconfigPath())
	if err != nil {
		return nil
	}
	return kubeconfig
}

// NodeImage reads into a value what was saved of the image with the ID. found is false where
// nothing was, or what cannot be read.
func (d Directory) NodeImage(id string, into any) (found bool) {
	text, err := os.ReadFile(d.nodeImage(id))
	return err == nil && json.Unmarshal(text, into) == nil
}

// SaveNodeImage saves what an image says about itself, which never changes: its ID is a
// digest.
func (d Directory) SaveNodeImage(id string, image any) error {
	text, err := json.Marshal(image)
	if err != nil {
		return fmt.Errorf("save node image %q: %w", id, err)
	}
	return d.write(d.nodeImage(id), text)
}

// WriteKubeconfig of a cluster, and return its path.
func (d Directory) WriteKubeconfig(cluster string, kubeconfig []byte) (string, error) {
	path := d.KubeconfigPath(cluster)
	return path, d.write(path, kubeconfig)
}

// WriteManagementKubeconfig and return its path.
func (d Directory) WriteManagementKubeconfig(kubeconfig []byte) (string, error) {
	path := d.ManagementKubeconfigPath()
	return path, d.write(path, kubeconfig)
}

// ForgetManagement forgets the management plane and the node images, and leaves no directory
// that would be empty.
func (d Directory) ForgetManagement() error {
	if err := os.Remove(d.ManagementKubeconfigPath()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("delete state of the management plane: %w", err)
	}
	if err := os.RemoveAll(d.nodeImages()); err != nil {
		return fmt.Errorf("delete state of node images: %w", err)
	}
	return removeEmpty(d.path, d.root)
}

func (d Directory) nodeImages() string { return filepath.Join(d.path, "node-images") }

// nodeImage is the file of an image. Its ID contains a colon, which Windows does not allow.
func (d Directory) nodeImage(id string) string {
	return filepath.Join(d.nodeImages(), strings.ReplaceAll(id, ":", "-")+".json")
}

// write puts the file in place in one step, so that a reader never sees half
// of it, and tightens directories that exist with a wider mode.
func (d Directory) write(path string, content []byte) error {
	directory := filepath.Dir(path)
	if err := os.MkdirAll(directory, directoryMode); err != nil {
		return fmt.Errorf("create state directory: %w", err)
	}
	for _, made := range []string{d.root, d.path, directory} {
		if err := os.Chmod(made, directoryMode); err != nil {
			return fmt.Errorf("restrict state directory: %w", err)
		}
	}
	if err := atomicwriter.WriteFile(path, content, fileMode); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// removeEmpty removes the directories that are empty, innermost first.
func removeEmpty(directories ...string) error {
	for _, directory := range directories {
		// One that is not empty "exists".
		err := os.Remove(directory)
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("clean up %s: %w", directory, err)
		}
	}
	return nil
}
