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

// Package kubeconfig keeps the contexts of capcon's clusters in the kubeconfig files of a user, by
// kubectl's conventions: which files there are, which one gets a new entry, and how they are
// locked. It changes only entries that capcon wrote.
//
//	files, err := kubeconfig.Locate(flag, os.Getenv)
//	files.Check(ctx, owner)          // before anything is created
//	files.Merge(ctx, owner, content) // once the cluster is ready
//	files.Remove(ctx, owner)         // after it was deleted
package kubeconfig

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/input"
)

// Files of a user, as kubectl reads them.
type Files struct {
	// Source says what named them: --kubeconfig, KUBECONFIG, or the default of kubectl.
	Source string
	// Paths in order of precedence, at least one.
	Paths []string
	// Switch makes a context that is merged the current one.
	Switch bool
	// After is time.After but for tests.
	After func(time.Duration) <-chan time.Time
}

// Locate the files: the one of the flag, or those of KUBECONFIG, or ~/.kube/config. Getenv is
// os.Getenv but for tests.
func Locate(flag string, getenv func(string) string) (Files, error) {
	if flag != "" {
		return Files{Source: "--kubeconfig", Paths: []string{flag}}, nil
	}
	var paths []string
	for _, path := range filepath.SplitList(getenv(clientcmd.RecommendedConfigPathEnvVar)) {
		if path != "" && !slices.Contains(paths, path) {
			paths = append(paths, path)
		}
	}
	if len(paths) > 0 {
		return Files{Source: "KUBECONFIG", Paths: paths}, nil
	}
	home := getenv("HOME")
	if runtime.GOOS == "windows" {
		home = cmp.Or(home, getenv("USERPROFILE"))
	}
	if home == "" {
		return Files{}, input.Refuse(input.Problem{
			Field: "KUBECONFIG", Reason: "not set, and there is no home directory", Remedy: "set it, or use --kubeconfig",
		})
	}
	path := filepath.Join(home, clientcmd.RecommendedHomeDir, clientcmd.RecommendedFileName)
	return Files{Source: "kubeconfig", Paths: []string{path}}, nil
}

// Written is what Merge wrote.
type Written struct {
	// Path of the file that has the context.
	Path    string
	Context string
	// Changed says that a file was changed.
	Changed bool
	// Current says that it is the current context.
	Current bool
}

// Check that Merge can write, before there is a cluster: the files can be read and written, and no
// entry of the name is another's. The error is an *input.Error.
func (f Files) Check(ctx context.Context, owner Owner) error {
	loaded, err := f.load()
	if err == nil {
		_, err = loaded.merge(owner, entry{isCurrent: f.Switch})
	}
	if err != nil {
		return err
	}
	for _, path := range loaded.changed() {
		if err := f.checkWritable(ctx, path); err != nil {
			return err
		}
	}
	return nil
}

// Merge the current context of a kubeconfig.
func (f Files) Merge(ctx context.Context, owner Owner, kubeconfig []byte) (written Written, err error) {
	source, err := clientcmd.Load(kubeconfig)
	if err != nil {
		return written, fmt.Errorf("parse kubeconfig of cluster %q: %w", owner.Cluster, err)
	}
	made, err := entryOf(source)
	if err != nil {
		return written, fmt.Errorf("kubeconfig of cluster %q: %w", owner.Cluster, err)
	}
	made.isCurrent = f.Switch
	err = f.change(ctx, func(loaded chain) error {
		written, err = loaded.merge(owner, made)
		written.Changed = len(loaded.changed()) > 0
		return err
	})
	return written, err
}

// Has reports whether there is a context that capcon wrote for the cluster.
func (f Files) Has(owner Owner) (bool, error) {
	loaded, err := f.load()
	if err != nil {
		return false, err
	}
	_, found := loaded.find(owner)
	return found, nil
}

// Remove what capcon wrote for a cluster. If its context is the current one, the one that was
// current before becomes it again.
func (f Files) Remove(ctx context.Context, owner Owner) (removed bool, current string, err error) {
	err = f.change(ctx, func(loaded chain) error {
		removed = loaded.remove(owner)
		current = loaded.current()
		return nil
	})
	return removed, current, err
}

// change the files: what a function changes in them is written while they are locked.
func (f Files) change(ctx context.Context, change func(chain) error) error {
	const attempts = 5 // for changes that need other files after another process wrote some
	for range attempts {
		planned, err := f.load()
		if err == nil {
			err = change(planned)
		}
		if err != nil {
			return err
		}
		if changed, err := f.changeLocked(ctx, planned.changed(), change); err != nil || changed {
			return err
		}
	}
	return errors.New("the kubeconfig files keep changing; run the command again")
}

// changeLocked locks the files that are to be changed and changes them, unless others are to be changed by now.
func (f Files) changeLocked(ctx context.Context, paths []string, change func(chain) error) (changed bool, err error) {
	unlock, err := f.lock(ctx, paths)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	loaded, err := f.load()
	if err == nil {
		err = change(loaded)
	}
	if err != nil {
		return false, err
	}
	if slices.ContainsFunc(loaded.changed(), func(path string) bool { return !slices.Contains(paths, path) }) {
		return false, nil
	}
	for _, file := range loaded {
		if err := f.write(file); err != nil {
			return false, err
		}
	}
	return true, nil
}

// entry is what a context consists of.
type entry struct {
	cluster *api.Cluster
	user    *api.AuthInfo
	// isCurrent makes it the current one.
	isCurrent bool
}

// entryOf the current context of a kubeconfig.
func entryOf(config *api.Config) (entry, error) {
	context := config.Contexts[config.CurrentContext]
	if context == nil {
		return entry{}, errors.New("it has no current context")
	}
	found := entry{cluster: config.Clusters[context.Cluster], user: config.AuthInfos[context.AuthInfo]}
	if found.cluster == nil || found.user == nil {
		return entry{}, fmt.Errorf("its context %q has no cluster or no user", config.CurrentContext)
	}
	return found, nil
}
