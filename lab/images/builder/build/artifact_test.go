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

package build

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/capi-samples/cluster-api-provider-container/images/builder/internal/must"
)

// NewTestBuilder has a cache of its own and prints to the test's output.
func NewTestBuilder(t *testing.T) *Builder {
	t.Helper()
	root := t.TempDir()
	b := must.Value(New(t.Context(), Options{Root: root, Cache: filepath.Join(root, "cache"), Sources: os.DirFS("..")}))(t)
	t.Cleanup(b.Close)
	return b
}

func TestKey(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	one := must.WriteFile(t, filepath.Join(directory, "a", "one.go"), "one")
	two := must.WriteFile(t, filepath.Join(directory, "a", "two.go"), "two")
	clone := must.WriteFile(t, filepath.Join(directory, "b", "one.go"), "one")
	changed := must.WriteFile(t, filepath.Join(directory, "c", "one.go"), "changed")
	need := &Artifact{Name: "need", result: result{key: "1"}}
	base := func() *Artifact {
		return &Artifact{
			Name: "base", Needs: []*Artifact{need}, Files: []string{one, two},
			Values: []string{"v1", "v2"}, Recipe: []string{"build/layer.go"},
		}
	}
	cases := map[string]struct {
		reason string
		change func(a *Artifact)
		same   bool
	}{
		"Nothing":       {"the same inputs are found again", func(*Artifact) {}, true},
		"OrderOfFiles":  {"directories are listed in any order", func(a *Artifact) { a.Files = []string{two, one} }, true},
		"OtherClone":    {"clones share the cache", func(a *Artifact) { a.Files = []string{clone, two} }, true},
		"File":          {"a changed source is built", func(a *Artifact) { a.Files = []string{changed, two} }, false},
		"FewerFiles":    {"a removed source is built", func(a *Artifact) { a.Files = []string{one} }, false},
		"Value":         {"a changed flag is built", func(a *Artifact) { a.Values = []string{"v1", "v3"} }, false},
		"OrderOfValues": {"arguments have an order", func(a *Artifact) { a.Values = []string{"v2", "v1"} }, false},
		"JoinedValues":  {"values do not run into one another", func(a *Artifact) { a.Values = []string{"v1v2"} }, false},
		"Need": {"what it is made from has changed", func(a *Artifact) {
			a.Needs = []*Artifact{{Name: "need", result: result{key: "2"}}}
		}, false},
		"Recipe": {"another way of making it", func(a *Artifact) { a.Recipe = []string{"debian/debian.go"} }, false},
		"Name":   {"artifacts do not share directories", func(a *Artifact) { a.Name = "other" }, false},
	}
	b := NewTestBuilder(t)
	want := must.Value(b.key(base()))(t)
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := base()
			tc.change(a)
			got := must.Value(b.key(a))(t)
			if (got == want) != tc.same {
				t.Errorf("%s: key %s against %s, want same: %t", tc.reason, got, want, tc.same)
			}
		})
	}
}

func TestKeyOfMissingFile(t *testing.T) {
	t.Parallel()
	_, err := NewTestBuilder(t).key(&Artifact{Files: []string{filepath.Join(t.TempDir(), "absent")}})
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an input that is not there must be an error: %v", err)
	}
}

// counted is an artifact that counts how often it is built.
func counted(value string, count *int) *Artifact {
	return &Artifact{Name: "counted", Values: []string{value}, Build: func(_ context.Context, w *Workspace) error {
		*count++
		return os.WriteFile(filepath.Join(w.Dir, "value"), []byte(value), 0o644)
	}}
}

func TestResolve(t *testing.T) {
	t.Parallel()
	b := NewTestBuilder(t)
	var first, second int
	for range 2 {
		a := counted("one", &first)
		dependent := &Artifact{Name: "dependent", Needs: []*Artifact{a}, Build: func(_ context.Context, w *Workspace) error {
			_, err := os.Stat(w.Of(a, "value"))
			return err
		}}
		must.Value(b.Resolve(t.Context(), dependent))(t)
	}
	if first != 1 {
		t.Errorf("built %d times with the same inputs, want once", first)
	}
	dir := must.Value(b.Resolve(t.Context(), counted("two", &second)))(t)
	versions := must.Value(os.ReadDir(filepath.Dir(dir)))(t)
	if second != 1 || len(versions) != 1 {
		t.Errorf("changed inputs: built %d times, %d versions kept; want one of each", second, len(versions))
	}
}

// TestMissing: what a build will make is known before it begins.
func TestMissing(t *testing.T) {
	t.Parallel()
	b := NewTestBuilder(t)
	var built int
	shared := counted("one", &built)
	need := func(name string) *Artifact {
		return &Artifact{Name: name, Needs: []*Artifact{shared}, Build: func(context.Context, *Workspace) error { return nil }}
	}
	first, second := need("first"), need("second")
	if count := must.Value(b.missing([]*Artifact{first, second}))(t); count != 3 || built != 0 {
		t.Errorf("%d artifacts are missing, and %d are built; want 3, counted once each, and none", count, built)
	}
	must.Value(b.Resolve(t.Context(), first))(t)
	if count := must.Value(b.missing([]*Artifact{first, second}))(t); count != 1 {
		t.Errorf("%d artifacts are missing, want the one that was not resolved", count)
	}
	absent := &Artifact{Name: "absent", Files: []string{filepath.Join(b.Root, "absent.go")}}
	if _, err := b.missing([]*Artifact{absent}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got error %v for an input that is missing, want %v", err, os.ErrNotExist)
	}
}

func TestResolveLeavesNothingOfAFailure(t *testing.T) {
	t.Parallel()
	b := NewTestBuilder(t)
	broken := errors.New("broken")
	failing := &Artifact{Name: "failing", Build: func(_ context.Context, w *Workspace) error {
		return errors.Join(broken, os.WriteFile(filepath.Join(w.Dir, "half"), nil, 0o644))
	}}
	above := &Artifact{Name: "above", Needs: []*Artifact{failing}, Build: func(context.Context, *Workspace) error {
		t.Error("built although what it needs failed")
		return nil
	}}
	if _, err := b.Resolve(t.Context(), above); !errors.Is(err, broken) {
		t.Errorf("got error %v, want %v", err, broken)
	}
	for _, directory := range []string{filepath.Join(b.Cache, "artifacts", "failing"), b.scratch} {
		entries := must.Value(os.ReadDir(directory))(t)
		if len(entries) != 0 {
			t.Errorf("%s still holds %s", directory, entries[0].Name())
		}
	}
}
