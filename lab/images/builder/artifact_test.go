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
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// newTestBuilder has a cache of its own and prints to the test's output.
func newTestBuilder(t *testing.T) *builder {
	t.Helper()
	root := t.TempDir()
	b := &builder{root: root, images: filepath.Join(root, "images"), cache: filepath.Join(root, "cache"), start: time.Now()}
	b.scratch = filepath.Join(b.cache, "scratch")
	succeed(t, os.MkdirAll(b.scratch, 0o755))
	return b
}

func writeFile(t *testing.T, path, text string) string {
	t.Helper()
	succeed(t, os.MkdirAll(filepath.Dir(path), 0o755))
	succeed(t, os.WriteFile(path, []byte(text), 0o644))
	return path
}

func TestKey(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	one := writeFile(t, filepath.Join(directory, "a", "one.go"), "one")
	two := writeFile(t, filepath.Join(directory, "a", "two.go"), "two")
	clone := writeFile(t, filepath.Join(directory, "b", "one.go"), "one")
	changed := writeFile(t, filepath.Join(directory, "c", "one.go"), "changed")
	need := &artifact{name: "need", result: result{key: "1"}}
	base := func() *artifact {
		return &artifact{
			name: "base", needs: []*artifact{need}, files: []string{one, two},
			values: []string{"v1", "v2"}, recipe: []string{"layer.go"},
		}
	}
	cases := map[string]struct {
		reason string
		change func(a *artifact)
		same   bool
	}{
		"Nothing":       {"the same inputs are found again", func(*artifact) {}, true},
		"OrderOfFiles":  {"directories are listed in any order", func(a *artifact) { a.files = []string{two, one} }, true},
		"OtherClone":    {"clones share the cache", func(a *artifact) { a.files = []string{clone, two} }, true},
		"File":          {"a changed source is built", func(a *artifact) { a.files = []string{changed, two} }, false},
		"FewerFiles":    {"a removed source is built", func(a *artifact) { a.files = []string{one} }, false},
		"Value":         {"a changed flag is built", func(a *artifact) { a.values = []string{"v1", "v3"} }, false},
		"OrderOfValues": {"arguments have an order", func(a *artifact) { a.values = []string{"v2", "v1"} }, false},
		"JoinedValues":  {"values do not run into one another", func(a *artifact) { a.values = []string{"v1v2"} }, false},
		"Need": {"what it is made from has changed", func(a *artifact) {
			a.needs = []*artifact{{name: "need", result: result{key: "2"}}}
		}, false},
		"Recipe": {"another way of making it", func(a *artifact) { a.recipe = []string{"debian.go"} }, false},
		"Name":   {"artifacts do not share directories", func(a *artifact) { a.name = "other" }, false},
	}
	b := newTestBuilder(t)
	want := get(b.key(base()))(t)
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := base()
			tc.change(a)
			got := get(b.key(a))(t)
			if (got == want) != tc.same {
				t.Errorf("%s: key %s against %s, want same: %t", tc.reason, got, want, tc.same)
			}
		})
	}
}

func TestKeyOfMissingFile(t *testing.T) {
	t.Parallel()
	_, err := newTestBuilder(t).key(&artifact{files: []string{filepath.Join(t.TempDir(), "absent")}})
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an input that is not there must be an error: %v", err)
	}
}

// counted is an artifact that counts how often it is built.
func counted(value string, count *int) *artifact {
	return &artifact{name: "counted", values: []string{value}, build: func(_ context.Context, w *workspace) error {
		*count++
		return os.WriteFile(filepath.Join(w.dir, "value"), []byte(value), 0o644)
	}}
}

func TestResolve(t *testing.T) {
	t.Parallel()
	b := newTestBuilder(t)
	var first, second int
	for range 2 {
		a := counted("one", &first)
		dependent := &artifact{name: "dependent", needs: []*artifact{a}, build: func(_ context.Context, w *workspace) error {
			_, err := os.Stat(w.of(a, "value"))
			return err
		}}
		get(b.resolve(t.Context(), dependent))(t)
	}
	if first != 1 {
		t.Errorf("built %d times with the same inputs, want once", first)
	}
	dir := get(b.resolve(t.Context(), counted("two", &second)))(t)
	versions := get(os.ReadDir(filepath.Dir(dir)))(t)
	if second != 1 || len(versions) != 1 {
		t.Errorf("changed inputs: built %d times, %d versions kept; want one of each", second, len(versions))
	}
}

// TestMissing: what a build will make is known before it begins.
func TestMissing(t *testing.T) {
	t.Parallel()
	b := newTestBuilder(t)
	var built int
	shared := counted("one", &built)
	need := func(name string) *artifact {
		return &artifact{name: name, needs: []*artifact{shared}, build: func(context.Context, *workspace) error { return nil }}
	}
	first, second := need("first"), need("second")
	if count := get(b.missing([]*artifact{first, second}))(t); count != 3 || built != 0 {
		t.Errorf("%d artifacts are missing, and %d are built; want 3, counted once each, and none", count, built)
	}
	get(b.resolve(t.Context(), first))(t)
	if count := get(b.missing([]*artifact{first, second}))(t); count != 1 {
		t.Errorf("%d artifacts are missing, want the one that was not resolved", count)
	}
	absent := &artifact{name: "absent", files: []string{filepath.Join(b.root, "absent.go")}}
	if _, err := b.missing([]*artifact{absent}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got error %v for an input that is missing, want %v", err, os.ErrNotExist)
	}
}

func TestResolveLeavesNothingOfAFailure(t *testing.T) {
	t.Parallel()
	b := newTestBuilder(t)
	broken := errors.New("broken")
	failing := &artifact{name: "failing", build: func(_ context.Context, w *workspace) error {
		return errors.Join(broken, os.WriteFile(filepath.Join(w.dir, "half"), nil, 0o644))
	}}
	above := &artifact{name: "above", needs: []*artifact{failing}, build: func(context.Context, *workspace) error {
		t.Error("built although what it needs failed")
		return nil
	}}
	if _, err := b.resolve(t.Context(), above); !errors.Is(err, broken) {
		t.Errorf("got error %v, want %v", err, broken)
	}
	for _, directory := range []string{filepath.Join(b.cache, "artifacts", "failing"), b.scratch} {
		entries := get(os.ReadDir(directory))(t)
		if len(entries) != 0 {
			t.Errorf("%s still holds %s", directory, entries[0].Name())
		}
	}
}

func succeed(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// get returns a value, and fails the test if there is an error in its place.
func get[T any](value T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		succeed(t, err)
		return value
	}
}
