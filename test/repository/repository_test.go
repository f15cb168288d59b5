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

package repository

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/yaml"

	"github.com/capi-samples/cluster-api-provider-container/internal/node"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// root is the repository's root, seen from this package.
const root = "../.."

func TestMetadataHasTheSeriesOfTheContract(t *testing.T) {
	t.Parallel()
	content := must.Get(os.ReadFile(filepath.Join(root, "metadata.yaml")))(t)
	var got clusterctlv1.Metadata
	if err := yaml.UnmarshalStrict(content, &got); err != nil {
		t.Fatalf("metadata.yaml is what clusterctl would refuse: %v", err)
	}
	want := []clusterctlv1.ReleaseSeries{{Major: 0, Minor: 1, Contract: contract}}
	if diff := cmp.Diff(want, got.ReleaseSeries); diff != "" {
		t.Errorf("Release series (-want +got):\n%s", diff)
	}
	if got.APIVersion != clusterctlv1.GroupVersion.String() || got.Kind != "Metadata" {
		t.Errorf("metadata.yaml is a %s %s", got.APIVersion, got.Kind)
	}
}

// What runs by default is what is built from source.
func TestDefaultVersionIsBuilt(t *testing.T) {
	t.Parallel()
	match := regexp.MustCompile(`(?m)^\s*(?:require )?k8s\.io/kubernetes (v\S+)`).FindStringSubmatch(readFile(t, "lab/images/kubernetes/go.mod"))
	if len(match) != 2 || match[1] != node.DefaultVersion {
		t.Errorf("lab/images/kubernetes/go.mod has %q, and the default version is %s", match, node.DefaultVersion)
	}
}

// Links of the documentation to files of the repository: [text](path#anchor).
var link = regexp.MustCompile(`\]\(([^)\s]+)\)`)

func TestLinksInDocumentationLeadSomewhere(t *testing.T) {
	t.Parallel()
	for _, path := range files(t, ".md") {
		for _, match := range link.FindAllStringSubmatch(readFile(t, path), -1) {
			target, _, _ := strings.Cut(match[1], "#")
			if target == "" || strings.Contains(target, "://") {
				continue
			}
			if _, err := os.Stat(filepath.Join(root, filepath.Dir(path), target)); err != nil {
				t.Errorf("%s links to %s, which is not there", path, match[1])
			}
		}
	}
}

// The site's navigation is made from docs/README.md.
func TestDocumentationListsAllItsPages(t *testing.T) {
	t.Parallel()
	listed := []string{"docs/README.md"}
	for _, match := range link.FindAllStringSubmatch(readFile(t, "docs/README.md"), -1) {
		listed = append(listed, filepath.Join("docs", match[1]))
	}
	for _, path := range files(t, ".md") {
		if strings.HasPrefix(path, "docs/") && !slices.Contains(listed, path) {
			t.Errorf("docs/README.md does not link to %s", path)
		}
	}
}

// Targets named in the documentation as commands, and suites and benchmarks: `make target RUN=name`.
var makeCommand = regexp.MustCompile("(?m)(?:`|^ {4})make ([a-z][a-z0-9-]*)(?: RUN=(\"[^\"]*\"|[A-Za-z-]+))?")

func TestDocumentationNamesTargetsOfTheMakefile(t *testing.T) {
	t.Parallel()
	targets := readFile(t, "Makefile")
	names := readFile(t, "hack/e2e.mk") + readFile(t, "lab/bench/bench.mk")
	ofProvider := readFile(t, "template/Makefile")
	for _, path := range files(t, ".md") {
		// Readers of these pages are in the directory of a provider.
		inProvider := strings.HasPrefix(path, "template/") || strings.HasPrefix(path, "docs/book/") || path == "docs/contract-kit.md"
		for _, match := range makeCommand.FindAllStringSubmatch(readFile(t, path), -1) {
			if !hasTarget(targets, match[1]) && (!inProvider || !hasTarget(ofProvider, match[1])) {
				t.Errorf("%s names make %s, which the Makefile does not have", path, match[1])
			}
			for _, name := range strings.Fields(strings.Trim(match[2], `"`)) {
				if !hasTarget(names, name) {
					t.Errorf("%s names RUN=%s, which is neither a suite nor a benchmark", path, name)
				}
			}
		}
	}
}

func hasTarget(makefile, name string) bool {
	return regexp.MustCompile(`(?m)^` + name + `:`).MatchString(makefile)
}

// files lists the repository's files of one extension by their path from the
// root, without those of hidden and of build directories.
func files(t *testing.T, extension string) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if relative != "." && (strings.HasPrefix(entry.Name(), ".") || relative == "bin" || relative == "_artifacts") {
				return filepath.SkipDir
			}
			return nil
		}
		if filepath.Ext(path) == extension {
			found = append(found, relative)
		}
		return nil
	})
	must.Succeed(t, err)
	if len(found) == 0 {
		t.Fatalf("no file *%s found below %s", extension, root)
	}
	return found
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	content := must.Get(os.ReadFile(filepath.Join(root, path)))(t)
	return string(content)
}

// Each clone downloads all files of the history, also a program that was committed by mistake
// and removed.
func TestFilesAreSmall(t *testing.T) {
	t.Parallel()
	const limit = 1 << 20
	list := exec.CommandContext(t.Context(), "git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	files := strings.FieldsFunc(string(must.Get(list.Output())(t)), func(r rune) bool { return r == 0 })
	if len(files) == 0 {
		t.Fatal("git lists no files")
	}
	for _, file := range files {
		info, err := os.Lstat(filepath.Join(root, file))
		if err == nil && info.Size() > limit {
			t.Errorf("%s has %d MiB; no file of the sources may have more than one", file, info.Size()>>20)
		}
	}
}
