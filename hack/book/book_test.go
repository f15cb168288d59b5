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
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// root is the repository's root, seen from this package.
const root = "../.."

func TestPagesQuoteTheTemplateAsItIs(t *testing.T) {
	t.Parallel()
	for _, page := range pages(t) {
		text := must.Get(os.ReadFile(page))(t)
		want, err := write(os.DirFS(root), text)
		if err != nil {
			t.Errorf("%s: %v", page, err)
			continue
		}
		if diff := cmp.Diff(string(want), string(text)); diff != "" {
			t.Errorf("%s quotes what has changed: read the text around it, and run \"make generate\" (-want +got):\n%s", page, diff)
		}
	}
}

func TestEachRuleOfTheKitHasAChapter(t *testing.T) {
	t.Parallel()
	var taught []string
	for _, page := range pages(t) {
		for _, match := range rulesMarker.FindAllStringSubmatch(string(must.Get(os.ReadFile(page))(t)), -1) {
			taught = append(taught, strings.Fields(match[1])...)
		}
	}
	for _, rule := range must.Get(rules(os.DirFS(root)))(t) {
		if !slices.Contains(taught, rule.id) {
			t.Errorf("No chapter of docs/book lists %s: %s", rule.id, rule.title)
		}
	}
}

func TestEachChapterHasItsParts(t *testing.T) {
	t.Parallel()
	for _, page := range pages(t) {
		text := string(must.Get(os.ReadFile(page))(t))
		parts := []string{"## Rules", "## Break it", "<!-- quote template/mutants/", "## For real", "## In your provider"}
		if filepath.Base(page) == "introduction.md" {
			parts = nil
		}
		for _, part := range parts {
			if !strings.Contains(text, "\n"+part) {
				t.Errorf("%s has no %q", page, part)
			}
		}
	}
}

func pages(t *testing.T) []string {
	t.Helper()
	found := must.Get(filepath.Glob(filepath.Join(root, "docs", "book", "*.md")))(t)
	if len(found) == 0 {
		t.Fatal("docs/book has no pages")
	}
	return found
}

const goFile = `package example

// Size of a server.
type Size struct {
	// Name of the size.
	Name string

	Gigabytes int
}

var zone = "a"

func (s *Size) Big() bool {
	if s.Name == "" {
		return false
	}
	// As of today.
	return s.Gigabytes > 8
}
`

const yamlFile = `# The first.
labels:
  - pairs:
      a: b

resources:
  - one.yaml
`

func TestWrite(t *testing.T) {
	t.Parallel()
	const code = "```"
	tests := map[string]struct{ page, want, err string }{
		"a type with its comment": {
			page: "<!-- quote a/size.go Size -->\n",
			want: code + "go\n// Size of a server.\ntype Size struct {\n\t// Name of the size.\n\tName string\n\n\tGigabytes int\n}\n" + code + "\n",
		},
		"a variable": {
			page: "<!-- quote a/size.go zone -->\n",
			want: code + "go\nvar zone = \"a\"\n" + code + "\n",
		},
		"a field of a type": {
			page: "<!-- quote a/size.go Size `// Name` -->\n",
			want: code + "go\n// Name of the size.\nName string\n" + code + "\n",
		},
		"a statement of a method, instead of what was there": {
			page: "<!-- quote a/size.go Size.Big `if s.Name` -->\n" + code + "go\nif s.Name == \"old\" {\n}\n" + code + "\n\nText.\n",
			want: code + "go\nif s.Name == \"\" {\n\treturn false\n}\n" + code + "\n\nText.\n",
		},
		"several statements": {
			page: "<!-- quote a/size.go Size.Big `if s.Name` `// As of` -->\n",
			want: code + "go\nif s.Name == \"\" {\n\treturn false\n}\n// As of today.\nreturn s.Gigabytes > 8\n" + code + "\n",
		},
		"a block of another file": {
			page: "<!-- quote a.yaml `# The first.` -->\n",
			want: code + "yaml\n# The first.\nlabels:\n  - pairs:\n      a: b\n" + code + "\n",
		},
		"a patch without its description": {
			page: "<!-- quote one.patch -->\n",
			want: code + "diff\n--- a/size.go\n+++ b/size.go\n-\tuse `a`\n" + code + "\n",
		},
		"rules, instead of others": {
			page: "<!-- rules IM1 C1 -->\n| C3 |\n\nText.\n",
			want: "| Rule | Level | |\n|---|---|---|\n| IM1 | MUST | It is a string. |\n| C1 | CODE | All are namespaced. |\n\nText.\n",
		},
		"no file":             {page: "<!-- quote b.go Size -->\n", err: "quote b.go Size: read"},
		"no declaration":      {page: "<!-- quote a/size.go Size.Small -->\n", err: "Size.Small is not declared"},
		"no such line":        {page: "<!-- quote a.yaml `images:` -->\n", err: `0 lines start with "images:"`},
		"several such lines":  {page: "<!-- quote a/size.go `//` -->\n", err: `3 lines start with "//"`},
		"no rule":             {page: "<!-- rules C9 -->\n", err: "no rule C9"},
		"not a marker of us":  {page: "<!-- Tested. -->\n", want: "-"},
		"a marker with typos": {page: "<!-- quote a/size.go 'if s.Name' -->\n", err: "1 of 1 markers are not understood"},
	}
	repository := fstest.MapFS{
		"a/size.go": {Data: []byte(goFile)},
		"a.yaml":    {Data: []byte(yamlFile)},
		"one.patch": {Data: []byte("No size.\n\nRules: IM1\n\n--- a/size.go\n+++ b/size.go\n-\tuse `a`\n")},
		rulesFile: {Data: []byte(`package contract
func rules() []Rule { return []Rule{
	{"C1", Code, page, section, "All are namespaced."},
	{"IM1", Must, page, section, "It is a string."},
} }`)},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := write(repository, []byte(test.page))
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Errorf("Want %q, got: %v", test.err, err)
				}
				return
			}
			must.Succeed(t, err)
			marker, _, _ := strings.Cut(test.page, "\n")
			want := marker + "\n" + strings.TrimPrefix(test.want, "-")
			if diff := cmp.Diff(want, string(got)); diff != "" {
				t.Errorf("Page (-want +got):\n%s", diff)
			}
			if again := must.Get(write(repository, got))(t); !bytes.Equal(again, got) {
				t.Errorf("Written a second time, it is another page:\n%s", again)
			}
		})
	}
}
