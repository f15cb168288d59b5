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
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

func TestCheckSource(t *testing.T) {
	t.Parallel()
	day := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	for name, tc := range map[string]struct {
		reason, version string
		change          func(*source)
		// want is in the error; none = no error.
		want []string
	}{
		"Release": {reason: "Others make the same files from it.", version: "v0.1.0"},
		"Dirty": {
			reason: "No commit has what was built.", version: "v0.1.0",
			change: func(s *source) { s.changes = []string{" M main.go", "?? new.go"} },
			want:   []string{"has changes", "main.go", "new.go", "VERSION=v0.1.0-dirty"},
		},
		"Untagged": {
			reason: "The version does not lead to the commit.", version: "v0.1.0",
			change: func(s *source) { s.tags = []string{"v0.0.9"} }, want: []string{"tag v0.1.0", "git tag"},
		},
		"OtherGo": {
			reason: "It was tested with another.", version: "v0.1.0",
			change: func(s *source) { s.toolchain = "go1.27.0" }, want: []string{"go1.27.0 would build", "GOTOOLCHAIN=go1.26.8"},
		},
		"OldPackages": {
			reason: "Debian has fixed vulnerabilities since.", version: "v0.1.0",
			change: func(s *source) { s.packages = s.committed.Add(-packagesAge - time.Hour) }, want: []string{"packagesDate", "2026-02-14"},
		},
		"NoVersion": {reason: "It is the name of a directory, which is emptied.", version: "../v0.1.0-dirty", want: []string{"../v0.1.0-dirty", "such as v0.1.0"}},
		"Trial": {
			reason: "Its version says what it is.", version: "v0.1.0-dirty",
			change: func(s *source) {
				*s = source{changes: []string{" M main.go"}, toolchain: "go1.27.0", pinned: "go1.26.8"}
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := source{tags: []string{"v0.1.0"}, toolchain: "go1.26.8", pinned: "go1.26.8", committed: day, packages: day.Add(-packagesAge)}
			if tc.change != nil {
				tc.change(&s)
			}
			err := s.check(tc.version)
			if (err != nil) != (tc.want != nil) {
				t.Fatalf("%s Got %v", tc.reason, err)
			}
			for _, want := range tc.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%s Want %q in: %v", tc.reason, want, err)
				}
			}
		})
	}
}

func TestCheckPlatforms(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason, version string
		platforms       []string
		// want is in the error; empty = no error.
		want string
	}{
		"Release": {"Users have all of them.", "v0.1.0", platforms(), ""},
		"Part":    {"A file that users look for would be missing.", "v0.1.0", []string{"linux/amd64"}, "VERSION=v0.1.0-dirty"},
		"Trial":   {"Only the program that it runs is needed.", "v0.1.0-dirty", []string{"linux/amd64"}, ""},
		"Unknown": {"Nothing shows that capcon can be built for it.", "v0.1.0-dirty", []string{"plan9/amd64"}, "not built for plan9/amd64"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := checkPlatforms(tc.version, tc.platforms)
			if (err != nil) != (tc.want != "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s Got %v, want %q", tc.reason, err, tc.want)
			}
		})
	}
}

func TestReadSource(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	git := func(args ...string) {
		t.Helper()
		identity := []string{"-C", directory, "-c", "user.name=a", "-c", "user.email=a@example.test", "-c", "commit.gpgsign=false", "-c", "tag.gpgsign=false"}
		if output, err := exec.CommandContext(t.Context(), "git", append(identity, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v: %s", args[0], err, output)
		}
	}
	write := func(path, text string) {
		t.Helper()
		path = filepath.Join(directory, path)
		must.Succeed(t, os.MkdirAll(filepath.Dir(path), 0o700))
		must.Succeed(t, os.WriteFile(path, []byte(text), 0o600))
	}
	git("init", "--quiet")
	write("go.mod", "module a\n\ngo 1.26.0\n")
	write("lab/images/b/go.mod", "module b\n\ngo 1.26.10\n")
	write("lab/images/c/go.mod", "module c\n\ngo 1.26.9\n")
	write(packagesFile, "package main\n\nconst packagesDate = \"2026-03-01\"\n")
	git("add", ".")
	git("commit", "--quiet", "--message=a")
	git("tag", "v0.1.0")
	write("new.go", "package new")
	got := must.Get(readSource(t.Context(), directory))(t)
	if age := time.Since(got.committed); age < 0 || age > time.Hour {
		t.Errorf("committed %s ago", age)
	}
	got.committed = time.Time{}
	want := source{packages: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), changes: []string{"?? new.go"}, tags: []string{"v0.1.0"}, toolchain: runtime.Version(), pinned: "go1.26.10"}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(source{})); diff != "" {
		t.Errorf("source (-want +got):\n%s", diff)
	}
}
