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

package debian

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

	"github.com/capi-samples/cluster-api-provider-container/images/builder/build"
)

// ListFile lists the Debian packages in an image: name, version and architecture.
const ListFile = "debian"

// List of an image, for its SBOM.
func List(image *build.Artifact) *build.Artifact {
	return &build.Artifact{
		Name: "debian-" + image.Name, Needs: []*build.Artifact{image}, Recipe: []string{"debian/list.go", "debian/packages.go"},
		Build: func(ctx context.Context, w *build.Workspace) error { return listDebian(ctx, w, image) },
	}
}

// listDebian writes the list of the Debian packages whose files are in an image.
func listDebian(ctx context.Context, w *build.Workspace, image *build.Artifact) error {
	found := map[string]bool{}
	err := visitDebian(ctx, w, image, found)
	if err != nil {
		return fmt.Errorf("list Debian packages: %w", err)
	}
	var list bytes.Buffer
	for _, line := range slices.Sorted(maps.Keys(found)) {
		list.WriteString(line + "\n")
	}
	if err := os.WriteFile(filepath.Join(w.Dir, ListFile), list.Bytes(), 0o644); err != nil {
		return fmt.Errorf("write the list of Debian packages: %w", err)
	}
	return nil
}

// visitDebian collects the packages of an artifact and of all it is made from.
func visitDebian(ctx context.Context, w *build.Workspace, a *build.Artifact, found map[string]bool) error {
	var desired []string
	switch a.Name {
	case "node-root":
		status, err := build.Command{Args: []string{"tar", "--extract", "--to-stdout", "--file", w.Of(a, build.LayerFile), "./var/lib/dpkg/status"}}.Output(ctx)
		for stanza := range strings.SplitSeq(status, "\n\n") {
			if fields := controlFields(stanza); fields["package"] != "" {
				found[fields["package"]+" "+fields["version"]+" "+fields["architecture"]] = true
			}
		}
		return err
	case "userland":
		desired = UserlandPackages()
	case "haproxy-root":
		desired = HaproxyPackages()
	}
	var errs []error
	for _, need := range a.Needs {
		if need.Name == "debs" {
			errs = append(errs, addPackages(ctx, w, need, desired, found))
			continue
		}
		errs = append(errs, visitDebian(ctx, w, need, found))
	}
	return errors.Join(errs...)
}

// addPackages that are unpacked: those that are requested, with what they depend on. Of the
// certificates of authorities only the files are there.
func addPackages(ctx context.Context, w *build.Workspace, debs *build.Artifact, desired []string, found map[string]bool) error {
	packages, err := readPackages(ctx, w.Of(debs))
	if err != nil {
		return err
	}
	files, err := closure(packages, desired, maintainerPackages())
	if err != nil {
		return err
	}
	for _, file := range append(files, packages[CAPackage].file) {
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
