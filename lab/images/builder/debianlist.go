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

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// debianFile lists the Debian packages in an image: name, version and architecture.
const debianFile = "debian"

// debianList of an image, for its SBOM.
func debianList(image *artifact) *artifact {
	return &artifact{
		name: "debian-" + image.name, needs: []*artifact{image}, recipe: []string{"debianlist.go", "packages.go"},
		build: func(ctx context.Context, w *workspace) error { return w.listDebian(ctx, image) },
	}
}

// listDebian writes the list of the Debian packages whose files are in an image.
func (w *workspace) listDebian(ctx context.Context, image *artifact) error {
	found := map[string]bool{}
	err := w.visitDebian(ctx, image, found)
	if err != nil {
		return fmt.Errorf("list Debian packages: %w", err)
	}
	var list bytes.Buffer
	for _, line := range slices.Sorted(maps.Keys(found)) {
		list.WriteString(line + "\n")
	}
	if err := os.WriteFile(filepath.Join(w.dir, debianFile), list.Bytes(), 0o644); err != nil {
		return fmt.Errorf("write the list of Debian packages: %w", err)
	}
	return nil
}

// visitDebian collects the packages of an artifact and of all it is made from.
func (w *workspace) visitDebian(ctx context.Context, a *artifact, found map[string]bool) error {
	var desired []string
	switch a.name {
	case "node-root":
		status, err := command{args: []string{"tar", "--extract", "--to-stdout", "--file", w.of(a, layerFile), "./var/lib/dpkg/status"}}.output(ctx)
		for stanza := range strings.SplitSeq(status, "\n\n") {
			if fields := controlFields(stanza); fields["package"] != "" {
				found[fields["package"]+" "+fields["version"]+" "+fields["architecture"]] = true
			}
		}
		return err
	case "userland":
		desired = userlandPackages()
	case "haproxy-root":
		desired = haproxyPackages()
	}
	var errs []error
	for _, need := range a.needs {
		if need.name == "debs" {
			errs = append(errs, w.addPackages(ctx, need, desired, found))
			continue
		}
		errs = append(errs, w.visitDebian(ctx, need, found))
	}
	return errors.Join(errs...)
}

// addPackages that are unpacked: those that are requested, with what they depend on. Of the
// certificates of authorities only the files are there.
func (w *workspace) addPackages(ctx context.Context, debs *artifact, desired []string, found map[string]bool) error {
	packages, err := readPackages(ctx, w.of(debs))
	if err != nil {
		return err
	}
	files, err := closure(packages, desired, maintainerPackages())
	if err != nil {
		return err
	}
	for _, file := range append(files, packages[caPackage].file) {
		line, err := packageOfFile(file)
		if err != nil {
			return err
		}
		found[line] = true
	}
	return nil
}

// packageOfFile reads name, version and architecture from a name such as
// "a_1%3a2-3_amd64.deb".
func packageOfFile(file string) (string, error) {
	name, err := url.PathUnescape(strings.TrimSuffix(filepath.Base(file), ".deb"))
	if parts := strings.Split(name, "_"); err == nil && len(parts) == 3 {
		return strings.Join(parts, " "), nil
	}
	return "", errors.Join(fmt.Errorf("%s is not named like a Debian package", file), err)
}
