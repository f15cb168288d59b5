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

package reader

import (
	"bytes"
	"compress/gzip"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

// canary stands for a private key in broken data: no error may repeat it.
const canary = "TOPSECRET"

// values are one of each kind that a Reader reads.
type values struct {
	Text, Line, Account string
	Lines, Groups       []string
	Flag                bool
	List                []string
	Object              *values
}

func (v *values) fields(r *Reader) Fields {
	return Fields{
		"text":    Into(&v.Text, r.Text),
		"line":    Into(&v.Line, r.Line),
		"account": Into(&v.Account, r.Account("a valid name")),
		"lines":   Into(&v.Lines, r.Lines),
		"groups":  Into(&v.Groups, r.Groups),
		"flag":    Into(&v.Flag, r.Flag),
		"list":    Into(&v.List, ListOf(r, r.Text)),
		"object": func(node *yaml.Node, path string) error {
			v.Object = &values{}
			return r.Object(node, path, v.Object.fields(r), r.RefuseField)
		},
	}
}

func read(text string) (v values, err error) {
	r := &Reader{LineOffset: 10}
	root, err := r.YAML(text)
	if err != nil || root == nil {
		return v, err
	}
	err = r.Root(root, "the document", v.fields(r), func(node *yaml.Node, path string) error {
		if !IsNull(node) {
			r.Refuse(path, "", "(remove it)")
		}
		return nil
	})
	return v, errors.Join(err, r.Refused())
}

func TestRead(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason, yaml string
		want         values
	}{
		"nothing": {reason: "no document has no values", yaml: "# comment\n"},
		"null":    {reason: "null is like missing", yaml: "text:\nlist: null\nobject: ~\nflag:\nunknown:\n", want: values{Object: &values{}}},
		"numbers": {reason: "scalars stay as they were written", yaml: "text: 0644\nlist: [1, true]", want: values{Text: "0644", List: []string{"1", "true"}}},
		"binary":  {reason: "!!binary is decoded", yaml: "line: !!binary YW I=", want: values{Line: "ab"}},
		"lines":   {reason: "empty lines are left out", yaml: "lines: [a, '', ' b ']", want: values{Lines: []string{"a", "b"}}},
		"line":    {reason: "a list may be a string", yaml: "lines: a", want: values{Lines: []string{"a"}}},
		"groups":  {reason: "names in a list or with commas", yaml: "groups: [a, 'b, c,']\naccount: d", want: values{Groups: []string{"a", "b", "c"}, Account: "d"}},
		"on":      {reason: "booleans of YAML 1.1", yaml: "flag: On", want: values{Flag: true}},
		"off":     {reason: "booleans of YAML 1.1", yaml: "flag: no"},
		"merge": {
			reason: "merge keys are expanded, and what is written out wins",
			yaml:   "unknown:\nobject: {<<: [&a {text: a, line: a}, {line: b, flag: true}], text: c}\n",
			want:   values{Object: &values{Text: "c", Line: "a", Flag: true}},
		},
		"aliases": {reason: "aliases are values", yaml: "text: &a x\nlist: [*a, *a]", want: values{Text: "x", List: []string{"x", "x"}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := read(tc.yaml)
			if err != nil {
				t.Fatalf("%s: %v", tc.reason, err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestReadInvalid(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason, yaml string
		line         int
		want         string
	}{
		"broken":         {"the line the broken part begins at is named", "\na:\n - b\n c: " + canary, 12, "not valid YAML"},
		"unknown anchor": {"the library quotes the anchor", "text: *" + canary, 0, "not valid YAML"},
		"tabs":           {"tabs do not indent", "\nlist:\n\t- " + canary, 13, "not valid YAML"},
		"many values":    {"the limit comes before the parser", strings.Repeat("[", maxNodes), 0, "exceeds the limit"},
		"root":           {"a list at the top", "- " + canary, 11, "the document is not a mapping"},
		"object":         {"a scalar is no mapping", "object: " + canary, 11, "object is not a mapping"},
		"key":            {"a list as a key", "? [" + canary + "]\n: 1", 11, "a key that is not a string"},
		"duplicate":      {"one of them would be lost", "line: a\nline: " + canary, 12, "a duplicate key"},
		"merge":          {"only mappings can be merged", "<<: [" + canary + "]", 11, "not a mapping"},
		"list":           {"a mapping is no list", "list: {a: " + canary + "}", 11, "list is not a list"},
		"string":         {"a list is no string", "list: [[" + canary + "]]", 11, "list[0] is not a string"},
		"binary":         {"!!binary is base64", "line: !!binary " + canary + "!", 11, "line is not valid base64"},
		"NUL":            {"no command line holds it", "text: \"a\\0" + canary + "\"", 11, "text contains a NUL"},
		"line":           {"it would end the line", "line: \"a\\n" + canary + "\"", 11, "line contains a control"},
		"lines":          {"each is on one line", "lines: [\"a\\n" + canary + "\"]", 11, "lines contains a control"},
		"flag":           {"neither true nor false", "flag: " + canary, 11, "flag is not true or false"},
		"flag list":      {"neither true nor false", "flag: [true]", 11, "flag is not true or false"},
		"account":        {"a flag is no name", "account: --" + canary, 11, "account is not a valid name"},
		"group":          {"a blank in a group", "groups: ['" + canary + " b']", 11, "groups has an invalid group name"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := read(tc.yaml)
			var invalid *InvalidError
			if !errors.As(err, &invalid) || invalid.Line != tc.line || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s: got error %v, want an *InvalidError in line %d: %s", tc.reason, err, tc.line, tc.want)
			}
			if err != nil && strings.Contains(err.Error(), canary) {
				t.Errorf("%s: the error repeats the data: %v", tc.reason, err)
			}
		})
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	_, err := read("other: " + canary + "\nobject: {b: 1, a: 2}\n" + canary + " with a blank: 1\n")
	var unsupported *UnsupportedError
	if !errors.As(err, &unsupported) {
		t.Fatalf("got error %v, want an *UnsupportedError", err)
	}
	want := []string{"(invalid module name) (remove it)", "object.a", "object.b", "other (remove it)"}
	if !strings.HasSuffix(err.Error(), "not supported in containers: "+strings.Join(want, ", ")) {
		t.Errorf("the error lists them: %v", err)
	}
	if diff := cmp.Diff(want, unsupported.Modules); diff != "" {
		t.Errorf("all of them are listed (-want +got):\n%s", diff)
	}
}

// TestLimits: what is decoded from one Secret is counted together.
func TestLimits(t *testing.T) {
	t.Parallel()
	var zipped bytes.Buffer
	writer := gzip.NewWriter(&zipped)
	_, err := writer.Write(make([]byte, MaxDecodedBytes/2+1))
	if err := errors.Join(err, writer.Close()); err != nil {
		t.Fatal(err)
	}
	r := &Reader{}
	if content, err := r.Gunzip(zipped.Bytes()); err != nil || len(content) != MaxDecodedBytes/2+1 {
		t.Errorf("the first: %d bytes, %v", len(content), err)
	}
	if _, err := r.Gunzip(zipped.Bytes()); !errors.Is(err, ErrTooLarge) {
		t.Errorf("the second: got error %v, want ErrTooLarge", err)
	}
	for _, broken := range []string{canary, zipped.String()[:20]} {
		if _, err := (&Reader{}).Gunzip([]byte(broken)); err == nil || strings.Contains(err.Error(), canary) {
			t.Errorf("broken data: got error %v", err)
		}
	}
	if err := CheckStreams([]byte("a: 1\n---\n%TAG !a! b\n--- {}\n")); err != nil {
		t.Error(err)
	}
	many := []byte(strings.Repeat("\n---", maxNodes/heavyNodes/2))
	var invalid *InvalidError
	if err := CheckStreams(many, many); !errors.As(err, &invalid) {
		t.Errorf("got error %v, want an *InvalidError", err)
	}
	if _, err := read("list: &l [" + strings.Repeat("a,", maxEntries/2) + "]\nlines: *l"); !errors.As(err, &invalid) {
		t.Errorf("got error %v, want an *InvalidError", err)
	}
}

func TestJSON(t *testing.T) {
	t.Parallel()
	root, err := JSON([]byte(`{"a": [null, true, false, "x", 1, 1.5]}`))
	if err != nil {
		t.Fatal(err)
	}
	var tags []string
	for _, node := range Lookup(root, "a").Content {
		tags = append(tags, node.ShortTag()+" "+node.Value)
	}
	want := []string{"!!null ", "!!bool true", "!!bool false", "!!str x", "!!int 1", "!!float 1.5"}
	if diff := cmp.Diff(want, tags); diff != "" {
		t.Errorf("values have the tags of YAML (-want +got):\n%s", diff)
	}
	for data, want := range map[string]string{
		canary:                               "line 1: not valid JSON",
		"{\n\"" + canary + "\": }":           "line 2: not valid JSON",
		"{} {}":                              "not valid JSON",
		`{"a": {"b": 1`:                      "not valid JSON",
		strings.Repeat("[", 100_000):         "not valid JSON",
		"[" + strings.Repeat("1,", maxNodes): "exceeds the limit",
	} {
		_, err := JSON([]byte(data))
		var invalid *InvalidError
		if !errors.As(err, &invalid) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), canary) {
			t.Errorf("got error %v, want an *InvalidError: %s", err, want)
		}
	}
}
