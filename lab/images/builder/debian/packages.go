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
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/capi-samples/cluster-api-provider-container/images/builder/build"
)

// debPackage is what the control file of a package says about dependencies.
type debPackage struct {
	name, file string
	// depends are alternatives: one of each list is needed.
	depends  [][]string
	provides []string
}

// readPackages reads the control files of all packages in a directory.
func readPackages(ctx context.Context, directory string) (map[string]debPackage, error) {
	debs, err := debFiles(directory)
	if err != nil {
		return nil, err
	}
	packages := map[string]debPackage{}
	for _, deb := range debs {
		control, err := build.Command{Args: []string{"dpkg-deb", "--field", deb}}.Output(ctx)
		if err != nil {
			return nil, err
		}
		p := parsePackage(control)
		p.file = deb
		packages[p.name] = p
	}
	return packages, nil
}

func parsePackage(control string) debPackage {
	fields := controlFields(control)
	p := debPackage{name: fields["package"]}
	for _, key := range []string{"pre-depends", "depends"} {
		p.depends = append(p.depends, parseDependencies(fields[key])...)
	}
	for _, alternatives := range parseDependencies(fields["provides"]) {
		p.provides = append(p.provides, alternatives...)
	}
	return p
}

// parseDependencies reads "a (>= 1), b:any | c" as [[a] [b c]].
func parseDependencies(text string) [][]string {
	var all [][]string
	for group := range strings.SplitSeq(text, ",") {
		var alternatives []string
		for item := range strings.SplitSeq(group, "|") {
			item, _, _ = strings.Cut(strings.TrimSpace(item), " ")
			item, _, _ = strings.Cut(item, ":")
			if item != "" {
				alternatives = append(alternatives, item)
			}
		}
		if len(alternatives) > 0 {
			all = append(all, alternatives)
		}
	}
	return all
}

// closure returns the files of the requested packages and all they depend on,
// sorted. What is in skip is left out with what only it needs: maintainer
// scripts do not run in the small images, so their helpers are not needed.
func closure(packages map[string]debPackage, desired, skip []string) ([]string, error) {
	providers := providersOf(packages)
	chosen := map[string]bool{}
	queue := slices.Clone(desired)
	for len(queue) > 0 {
		name, found := providers[queue[0]]
		if !found {
			return nil, fmt.Errorf("package %s was not fetched", queue[0])
		}
		queue = queue[1:]
		if chosen[name] {
			continue
		}
		chosen[name] = true
		for _, alternatives := range packages[name].depends {
			met := func(a string) bool { return slices.Contains(skip, a) || chosen[providers[a]] }
			if slices.ContainsFunc(alternatives, met) {
				continue
			}
			available := slices.IndexFunc(alternatives, func(a string) bool { return providers[a] != "" })
			if available < 0 {
				return nil, fmt.Errorf("package %s depends on %s, which was not fetched", name, strings.Join(alternatives, " or "))
			}
			queue = append(queue, alternatives[available])
		}
	}
	files := make([]string, 0, len(chosen))
	for name := range chosen {
		files = append(files, packages[name].file)
	}
	slices.Sort(files)
	return files, nil
}

// providersOf says which package has a name, its own or one it provides; a
// real package beats a virtual one.
func providersOf(packages map[string]debPackage) map[string]string {
	providers := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(packages)) {
		for _, provided := range packages[name].provides {
			if _, taken := providers[provided]; !taken {
				providers[provided] = name
			}
		}
	}
	for name := range packages {
		providers[name] = name
	}
	return providers
}
