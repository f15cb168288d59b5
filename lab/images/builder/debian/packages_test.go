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
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/capi-samples/cluster-api-provider-container/images/builder/internal/must"
)

func TestFindMirror(t *testing.T) {
	t.Parallel()
	const stanzas = `Types: deb
# a comment
URIs: http://deb.example/debian
Suites: bookworm bookworm-updates
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Types: deb
URIs: http://security.example/debian-security
Suites: bookworm-security
Components: main
`
	cases := map[string]struct {
		reason string
		files  map[string]string
		want   string
	}{
		"Stanzas":    {"the style of new installations", map[string]string{"sources.list.d/debian.sources": stanzas}, "http://deb.example/debian"},
		"Lines":      {"the old style", map[string]string{"sources.list": "deb http://old.example/debian bookworm main contrib\n"}, "http://old.example/debian"},
		"Options":    {"options stand in brackets", map[string]string{"sources.list": "deb [arch=amd64 signed-by=/a b] http://old.example/debian bookworm main\n"}, "http://old.example/debian"},
		"OtherSuite": {"a mirror of another release may not have ours", map[string]string{"sources.list": "deb http://u.example/ubuntu noble main\n"}, ""},
		"Vendor":     {"a vendor's packages are not Debian", map[string]string{"sources.list.d/x.list": "deb http://v.example/apt bookworm stable\n"}, ""},
		"Disabled":   {"apt does not read such files either", map[string]string{"sources.list.d/debian.sources.bak": stanzas}, ""},
		"Security":   {"the suite of security updates is elsewhere", map[string]string{"sources.list.d/debian.sources": strings.ReplaceAll(stanzas, "bookworm bookworm-updates", "trixie")}, ""},
		"None":       {"debootstrap has a default", nil, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			directory := fstest.MapFS{}
			for path, text := range tc.files {
				directory[path] = &fstest.MapFile{Data: []byte(text)}
			}
			got := must.Value(FindMirror(directory, "bookworm"))(t)
			if got != tc.want {
				t.Errorf("%s: got %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

func TestParsePackage(t *testing.T) {
	t.Parallel()
	got := parsePackage("Package: iptables\nPre-Depends: libc6\nDepends: libip4tc2 (= 1.8.9-2), netbase (>= 6.0),\n libxtables12:any | other\nProvides: a-filter (= 1)\n")
	want := debPackage{
		name:     "iptables",
		depends:  [][]string{{"libc6"}, {"libip4tc2"}, {"netbase"}, {"libxtables12", "other"}},
		provides: []string{"a-filter"},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(debPackage{})); diff != "" {
		t.Errorf("parsePackage (-want, +got):\n%s", diff)
	}
}

func TestClosure(t *testing.T) {
	t.Parallel()
	packages := map[string]debPackage{}
	for _, p := range []debPackage{
		{name: "app", depends: [][]string{{"lib"}, {"absent", "shell"}, {"helper"}}},
		{name: "lib", depends: [][]string{{"app"}}},
		{name: "dash", provides: []string{"shell"}},
		{name: "helper", depends: [][]string{{"perl"}}},
		{name: "perl"},
		{name: "broken", depends: [][]string{{"absent"}}},
	} {
		p.file = p.name + ".deb"
		packages[p.name] = p
	}
	cases := map[string]struct {
		reason        string
		desired, skip []string
		want          []string
		failure       bool
	}{
		"Everything": {"circles end, alternatives and provided names are found", []string{"app"}, nil,
			[]string{"app.deb", "dash.deb", "helper.deb", "lib.deb", "perl.deb"}, false},
		"Skip":    {"what only a skipped package needs goes too", []string{"app"}, []string{"helper"}, []string{"app.deb", "dash.deb", "lib.deb"}, false},
		"Missing": {"an image without a library would not run", []string{"broken"}, nil, nil, true},
		"Unknown": {"asked for and not fetched", []string{"unknown"}, nil, nil, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := closure(packages, tc.desired, tc.skip)
			if (err != nil) != tc.failure {
				t.Fatalf("%s: error %v", tc.reason, err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want, +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// A package that the security suite has replaced is not used any more.
func TestReplacements(t *testing.T) {
	t.Parallel()
	const list = "Package: libssl3\nVersion: 3.0.17\n\nPackage: libssl3\nVersion: 3.0.18\n\nPackage: tzdata\nVersion: 2025a\n\nPackage: other\nVersion: 9\n\nPackage: bash\nVersion: 5\n"
	fetched := map[string]string{"libssl3": "3.0.16", "tzdata": "2025b", "bash": "5", "dash": "1"}
	got := replacements(fetched, list, func(a, b string) bool { return a > b })
	if diff := cmp.Diff([]string{"libssl3=3.0.18"}, got); diff != "" {
		t.Errorf("packages (-want +got):\n%s", diff)
	}
}

func TestDebFiles(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	must.Succeed(t, os.Mkdir(filepath.Join(directory, securityDirectory), 0o700))
	for _, name := range []string{"a_1_amd64.deb", "b_1%3a1_amd64.deb", "ab_1_all.deb", securityDirectory + "/a_2_amd64.deb"} {
		must.Succeed(t, os.WriteFile(filepath.Join(directory, name), nil, 0o600))
	}
	files := must.Value(debFiles(directory))(t)
	want := []string{filepath.Join(directory, "ab_1_all.deb"), filepath.Join(directory, "b_1%3a1_amd64.deb"), filepath.Join(directory, securityDirectory, "a_2_amd64.deb")}
	if diff := cmp.Diff(want, files); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if file, err := debFile(directory, "a"); err != nil || file != want[2] {
		t.Errorf("file of a: %s, %v", file, err)
	}
	if _, err := debFile(directory, "c"); err == nil {
		t.Error("file of a package that was not fetched: success, want an error")
	}
}

func TestPackageOfFile(t *testing.T) {
	t.Parallel()
	got, err := packageOfFile("/debs/libc6_1%3a2.36-9+deb12u1_amd64.deb")
	if want := "libc6 1:2.36-9+deb12u1 amd64"; err != nil || got != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	if _, err := packageOfFile("/debs/surprise.deb"); err == nil {
		t.Error("another file: success, want an error")
	}
}
