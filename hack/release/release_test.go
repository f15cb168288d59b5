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
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"k8s.io/utils/ptr"

	"github.com/capi-samples/cluster-api-provider-container/hack/imagefiles"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// Users and scripts download these names.
func TestProgramNames(t *testing.T) {
	t.Parallel()
	want := []string{
		"capcon-linux-amd64", "capcon-linux-arm64", "capcon-darwin-amd64", "capcon-darwin-arm64",
		"capcon-windows-amd64.exe", "capcon-windows-arm64.exe",
	}
	var got []string
	for _, platform := range platforms() {
		got = append(got, programName(platform))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
}

func TestSection(t *testing.T) {
	t.Parallel()
	const changelog = "# Changelog\n\n## [Unreleased]\n\nnew\n\n## [0.2.0] - 2026-03-01\n\n### Added\n\n- two\n\n## [v0.1.0]\n\n- one\n\n[Unreleased]: https://r.example\n"
	cases := map[string]struct{ reason, version, want string }{
		"a release":         {"As Keep a Changelog writes it.", "v0.2.0", "### Added\n\n- two"},
		"the last one":      {"Addresses of links are no part of it.", "v0.1.0", "- one"},
		"release candidate": {"It has what is not released.", "v0.3.0-rc.1", "new"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := must.Get(section(changelog, tc.version))(t)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
	if _, err := section("# Changelog\n", "v0.1.0"); err == nil {
		t.Error("a changelog without a section: success, want an error")
	}
}

func TestNotes(t *testing.T) {
	t.Parallel()
	r := release{version: "v0.1.0", commit: "0a1b2c3d4", directory: t.TempDir(), platforms: platforms()}
	changelog := filepath.Join(t.TempDir(), "CHANGELOG.md")
	must.Succeed(t, os.WriteFile(changelog, []byte("\n## [0.1.0]\n\n[a](docs/a.md#b), [c](RELEASE.md), [d](https://r.example/d)\n"), 0o600))
	must.Succeed(t, os.WriteFile(filepath.Join(r.directory, "node-linux-amd64.tar"), nil, 0o600))
	must.Succeed(t, r.writeNotes(changelog))
	got := string(must.Get(os.ReadFile(filepath.Join(r.directory, "release-notes.md")))(t))
	for _, want := range []string{
		"# v0.1.0\n\nBuilt from commit 0a1b2c3d4.\n",
		"[a](https://" + module + "/blob/v0.1.0/docs/a.md#b), [c](https://" + module + "/blob/v0.1.0/RELEASE.md), [d](https://r.example/d)",
		"| `capcon-linux-amd64` | linux/amd64 | yes |", "| `capcon-windows-arm64.exe` | windows/arm64 | no, only compiled |",
		"| `node-linux-amd64.tar` | linux/amd64 | yes |",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("want %q in:\n%s", want, got)
		}
	}
}

func TestContents(t *testing.T) {
	t.Parallel()
	list := filepath.Join(t.TempDir(), "list")
	must.Succeed(t, os.WriteFile(list, []byte("iptables 1.8.9-2 amd64\nlibc6 1:2.36-9+deb12u1 amd64\n"), 0o600))
	c := contents{}
	must.Succeed(t, c.addPackages(list, nil))
	c.addModules(&debug.BuildInfo{
		GoVersion: "go1.26.1", Main: debug.Module{Path: module + "/images/etcd", Version: "(devel)"},
		Deps: []*debug.Module{
			{Path: "a.example/a", Version: "v1.0.0"},
			{Path: "b.example/b", Version: "v1.0.0", Replace: &debug.Module{Path: "c.example/c", Version: "v2.0.0"}},
		},
	}, "v0.1.0")
	want := []string{
		"pkg:deb/debian/iptables@1.8.9-2?arch=amd64", "pkg:deb/debian/libc6@1:2.36-9%2Bdeb12u1?arch=amd64",
		"pkg:golang/a.example/a@v1.0.0", "pkg:golang/c.example/c@v2.0.0",
		"pkg:golang/" + module + "/images/etcd@v0.1.0", "pkg:golang/std@1.26.1",
	}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(c))); diff != "" {
		t.Errorf("components (-want +got):\n%s", diff)
	}
}

// An image has the licenses of the programs in it, here of this test, and its SBOM their
// modules. Both are the same each time.
func TestDescribeImages(t *testing.T) {
	t.Parallel()
	sources := t.TempDir()
	must.Succeed(t, os.WriteFile(filepath.Join(sources, "LICENSE"), must.Get(os.ReadFile("../../LICENSE"))(t), 0o600))
	r := release{
		version: "v0.1.0", date: time.Unix(0, 0).UTC(), directory: t.TempDir(), modules: map[string]*usedModule{},
		licenses: licenses{own: sources, toolchain: sources, moduleDirectory: func(context.Context, string, string) (string, error) { return sources, nil }},
	}
	var first []byte
	for range 2 {
		writeImage(t, filepath.Join(r.directory, "app.tar"), ownProgram(t))
		must.Succeed(t, os.WriteFile(filepath.Join(r.directory, "app.debian"), []byte("dash 0.5 amd64\n"), 0o600))
		must.Succeed(t, r.describeImages(t.Context()))
		content := must.Get(os.ReadFile(filepath.Join(r.directory, "app.cdx.json")))(t)
		if first != nil && !bytes.Equal(first, content) {
			t.Error("two SBOMs of one image differ")
		}
		first = content
	}
	bom := cdx.NewBOM()
	must.Succeed(t, cdx.NewBOMDecoder(bytes.NewReader(first), cdx.BOMFileFormatJSON).Decode(bom))
	for _, want := range []string{"dash", "std", module, "/usr/share/doc/capcon/third-party-licenses.txt"} {
		if !slices.ContainsFunc(*bom.Components, func(c cdx.Component) bool { return c.Name == want }) {
			t.Errorf("the SBOM does not have %s", want)
		}
	}
	names := map[string][]string{}
	for _, component := range *bom.Components {
		for _, choice := range ptr.Deref(component.Licenses, nil) {
			names[component.Name] = append(names[component.Name], choice.License.Name)
		}
	}
	if diff := cmp.Diff([][]string{{"BSD-3-clause", "GPL-2+"}, {"Apache-2.0"}}, [][]string{names["dash"], names["std"]}); diff != "" {
		t.Errorf("licenses of dash and std (-want +got):\n%s", diff)
	}
	files := filesOf(t, must.Get(tarball.ImageFromPath(filepath.Join(r.directory, "app.tar"), nil))(t), 1)
	if text := files[licensesDirectory+"/"+licensesName]; !strings.Contains(text, "- std ") || !strings.Contains(text, "Apache License") {
		t.Errorf("the image does not have the licenses of its modules: %.2000s", text)
	}
	must.Succeed(t, r.writeLicenses())
	text := string(must.Get(os.ReadFile(filepath.Join(r.directory, licensesName)))(t))
	for _, want := range []string{"- std ", ": Apache-2.0; in app.tar", "Apache License"} {
		if !strings.Contains(text, want) {
			t.Errorf("want %q in:\n%.2000s", want, text)
		}
	}
	if strings.Count(text, "TERMS AND CONDITIONS FOR USE") != 1 {
		t.Error("a text that many modules have is there more than once")
	}
	if _, err := os.Stat(filepath.Join(r.directory, "app.debian")); !os.IsNotExist(err) {
		t.Errorf("the list of packages is left: %v", err)
	}
}

// ownProgram is that of this test.
func ownProgram(t *testing.T) []byte {
	t.Helper()
	return must.Get(os.ReadFile(must.Get(os.Executable())(t)))(t)
}

// writeImage with a program in it, and a script.
func writeImage(t *testing.T, path string, program []byte) {
	t.Helper()
	const copyrights = "Files: *\nLicense: BSD-3-clause\n text\n\nFiles: a\nLicense: GPL-2+\n"
	layer := must.Get(imagefiles.Layer(time.Time{},
		imagefiles.File{Path: "app", Mode: 0o755, Text: program}, imagefiles.File{Path: "script", Mode: 0o755, Text: []byte("#!/bin/sh\n")},
		imagefiles.File{Path: "./usr/share/doc/dash/copyright", Mode: 0o644, Text: []byte(copyrights)},
	))(t)
	image := must.Get(mutate.AppendLayers(empty.Image, layer))(t)
	must.Succeed(t, tarball.WriteToFile(path, must.Get(name.NewTag("localhost/app:v1"))(t), image))
}
