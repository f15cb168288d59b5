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

package kubeconfig

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/input"
)

const (
	// lockPatience is long against how long kubectl and capcon keep a lock.
	lockPatience = 5 * time.Second
	lockInterval = 50 * time.Millisecond

	anotherFile = "use another file with --kubeconfig or KUBECONFIG"
)

func (f Files) refuse(path, reason, remedy string) error {
	return input.Refuse(input.Problem{Field: f.Source, Value: path, Reason: reason, Remedy: remedy})
}

func (f Files) unwritable(path string, err error) error {
	return f.refuse(path, "cannot be written: "+causeOf(err), "make file and directory writable, or "+anotherFile)
}

// causeOf an error, without the path, which the message has already.
func causeOf(err error) string {
	if failed := new(fs.PathError); errors.As(err, &failed) {
		return failed.Err.Error()
	}
	return err.Error()
}

// load all files. One that cannot be parsed is read again: another process may be writing it.
func (f Files) load() (loaded chain, err error) {
	const attempts = 3
	for range attempts {
		if loaded, err = f.loadOnce(); err == nil {
			break
		}
		<-f.After(lockInterval)
	}
	return loaded, err
}

// loadOnce reads all files. One that does not exist is empty, as for kubectl.
func (f Files) loadOnce() (chain, error) {
	loaded := make(chain, 0, len(f.Paths))
	for _, path := range f.Paths {
		one := &file{path: path, files: f}
		info, err := os.Stat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return nil, f.refuse(path, "cannot be read: "+causeOf(err), anotherFile)
		case info.IsDir():
			return nil, f.refuse(path, "is a directory", "use the path of a file")
		case !info.Mode().IsRegular():
			return nil, f.refuse(path, "is not a regular file", anotherFile)
		default:
			one.exists = true
			if one.before, err = os.ReadFile(path); err != nil {
				return nil, f.refuse(path, "cannot be read: "+causeOf(err), "make it readable, or "+anotherFile)
			}
		}
		if one.config, err = clientcmd.Load(one.before); err != nil {
			return nil, f.refuse(path, "is not a kubeconfig: "+err.Error(), "repair it, or "+anotherFile)
		}
		completeMaps(one.config)
		if one.loaded, err = clientcmd.Write(*one.config); err != nil {
			return nil, f.refuse(path, "cannot be written again: "+err.Error(), anotherFile)
		}
		loaded = append(loaded, one)
	}
	return loaded, nil
}

// completeMaps of a file without some of them.
func completeMaps(config *api.Config) {
	if config.Contexts == nil {
		config.Contexts = map[string]*api.Context{}
	}
	if config.Clusters == nil {
		config.Clusters = map[string]*api.Cluster{}
	}
	if config.AuthInfos == nil {
		config.AuthInfos = map[string]*api.AuthInfo{}
	}
}

// write a file that was changed, in place as kubectl does, so that links, owner and mode stay.
func (f Files) write(one *file) error {
	if !one.isChanged() {
		return nil
	}
	err := clientcmd.WriteToFile(*one.config, one.path)
	if err == nil {
		return nil
	}
	if one.exists { // A full disk must not cost the user what the file had.
		const mode = 0o600
		err = errors.Join(err, os.WriteFile(one.path, one.before, mode))
	}
	return f.unwritable(one.path, err)
}

// lock files as kubectl does. The caller unlocks them.
func (f Files) lock(ctx context.Context, paths []string) (unlock func() error, err error) {
	var locks []string
	unlock = func() (err error) {
		for _, lock := range locks {
			if removed := os.Remove(lock); removed != nil {
				err = errors.Join(err, fmt.Errorf("unlock kubeconfig: %w", removed))
			}
		}
		return err
	}
	for _, path := range slices.Sorted(slices.Values(paths)) { // one order for all processes
		lock, err := f.lockFile(ctx, path)
		if err != nil {
			return nil, errors.Join(err, unlock())
		}
		locks = append(locks, lock)
	}
	return unlock, nil
}

func (f Files) lockFile(ctx context.Context, path string) (lock string, err error) {
	const directoryMode = 0o755 // kubectl's
	if err := os.MkdirAll(filepath.Dir(path), directoryMode); err != nil {
		return "", f.unwritable(path, err)
	}
	lock = path + ".lock"
	for waited := time.Duration(0); ; waited += lockInterval {
		created, err := os.OpenFile(lock, os.O_CREATE|os.O_EXCL, 0)
		switch {
		case err == nil:
			return lock, created.Close() //nolint:wrapcheck // Nothing was written to it.
		case !errors.Is(err, fs.ErrExist):
			return "", f.unwritable(path, err)
		case waited >= lockPatience:
			return "", f.refuse(path, "is locked by another process: "+lock+" exists",
				"try again, delete that file if neither kubectl nor capcon is running, or "+anotherFile)
		}
		select {
		case <-ctx.Done():
			return "", fmt.Errorf("lock kubeconfig %s: %w", path, ctx.Err())
		case <-f.After(lockInterval):
		}
	}
}

// checkWritable leaves nothing behind: a directory that does not exist is not created.
func (f Files) checkWritable(ctx context.Context, path string) error {
	directory := filepath.Dir(path)
	if _, err := os.Stat(directory); err == nil {
		unlock, err := f.lock(ctx, []string{path})
		if err == nil {
			err = unlock()
		}
		if err != nil {
			return err
		}
		opened, err := os.OpenFile(path, os.O_WRONLY, 0)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return f.unwritable(path, err)
		}
		return opened.Close() //nolint:wrapcheck // Nothing was written to it.
	}
	for {
		_, err := os.Stat(directory)
		if err == nil {
			break
		}
		if parent := filepath.Dir(directory); errors.Is(err, fs.ErrNotExist) && parent != directory {
			directory = parent
			continue
		}
		return f.unwritable(path, err)
	}
	probe, err := os.MkdirTemp(directory, ".capcon-")
	if err == nil {
		err = os.Remove(probe)
	}
	if err != nil {
		return f.unwritable(path, err)
	}
	return nil
}
