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

// Package flavors builds the templates of clusters that the specs want, from the
// repository's templates and the kustomizations in data/infrastructure-container.
//
// A directory with a kustomization.yaml is a template: NAME is the flavor of that name,
// clusterclass-NAME the ClusterClass NAME. A directory without one has steps, which are
// applied one after the other and joined in one template. The flavors of the repository
// that a spec takes as they are need no directory.
package flavors

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

const classPrefix = "clusterclass-"

// Write builds all templates of a repository into a directory, which is created.
func Write(root, directory string) error {
	built, err := Build(root)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(directory, 0o750); err != nil {
		return fmt.Errorf("create the directory of templates: %w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(built)) {
		if err := os.WriteFile(filepath.Join(directory, name), built[name], 0o600); err != nil {
			return fmt.Errorf("write template: %w", err)
		}
	}
	return nil
}

// Build returns the templates of a repository by the names that their files have for
// clusterctl, such as cluster-template-kcp-remediation.yaml.
func Build(root string) (map[string][]byte, error) {
	data := filepath.Join(root, "e2e", "upstream", "data", "infrastructure-container")
	entries, err := os.ReadDir(data)
	if err != nil {
		return nil, fmt.Errorf("list flavors: %w", err)
	}
	built, err := ofRepository(filepath.Join(root, "templates"))
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		if !entry.IsDir() {
			continue
		}
		content, err := kustomize(filepath.Join(data, entry.Name()))
		if err != nil {
			return nil, fmt.Errorf("build flavor %s: %w", entry.Name(), err)
		}
		built[fileName(entry.Name())] = content
	}
	return built, nil
}

// ofRepository are the templates of a release, under their own names.
func ofRepository(directory string) (map[string][]byte, error) {
	paths, err := filepath.Glob(filepath.Join(directory, "cluster*.yaml"))
	if err != nil {
		return nil, fmt.Errorf("list templates: %w", err)
	}
	built := map[string][]byte{}
	for _, path := range paths {
		if built[filepath.Base(path)], err = os.ReadFile(path); err != nil {
			return nil, fmt.Errorf("read template: %w", err)
		}
	}
	return built, nil
}

func fileName(flavor string) string {
	if strings.HasPrefix(flavor, classPrefix) {
		return flavor + ".yaml"
	}
	return "cluster-template-" + flavor + ".yaml"
}

// kustomize builds a kustomization, or all of a directory's.
func kustomize(directory string) ([]byte, error) {
	steps := []string{directory}
	if _, err := os.Stat(filepath.Join(directory, "kustomization.yaml")); err != nil {
		if steps, err = filepath.Glob(filepath.Join(directory, "step*")); err != nil || len(steps) == 0 {
			return nil, cmp.Or(err, fmt.Errorf("%s has neither a kustomization.yaml nor directories step*", directory))
		}
	}
	// As "kustomize build --load-restrictor LoadRestrictionsNone": the templates lie
	// alongside this module.
	options := krusty.MakeDefaultOptions()
	options.LoadRestrictions = types.LoadRestrictionsNone
	var documents [][]byte
	for _, step := range steps {
		resources, err := krusty.MakeKustomizer(options).Run(filesys.MakeFsOnDisk(), step)
		if err != nil {
			return nil, fmt.Errorf("build %s: %w", step, err)
		}
		document, err := resources.AsYaml()
		if err != nil {
			return nil, fmt.Errorf("encode %s: %w", step, err)
		}
		documents = append(documents, document)
	}
	return bytes.Join(documents, []byte("---\n")), nil
}
