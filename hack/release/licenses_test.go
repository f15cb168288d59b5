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
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// modulesWith files, by path and version.
func modulesWith(t *testing.T, files ...string) licenses {
	t.Helper()
	directory := t.TempDir()
	for _, file := range files {
		path := filepath.Join(directory, file)
		must.Succeed(t, os.MkdirAll(filepath.Dir(path), 0o700))
		must.Succeed(t, os.WriteFile(path, []byte("text of "+file+"\n"), 0o600))
	}
	return licenses{own: directory, toolchain: directory, moduleDirectory: func(context.Context, string, string) (string, error) { return directory, nil }}
}

func TestLicensesOfAModule(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason string
		files  []string
		path   string
		want   []string
	}{
		"Module": {
			"Code of others has its license next to it; what is not compiled has none here.",
			[]string{
				"LICENSE", "NOTICE.txt", "COPYING", "license.go", "LICENSES/vendor/x/LICENSE", "README.md",
				"third_party/forked/LICENSE", "vendor/x/LICENSE", "a/testdata/LICENSE",
			},
			"a.example/a", []string{"COPYING", "LICENSE", "NOTICE.txt", "third_party/forked/LICENSE"},
		},
		"Toolchain": {"Its sources have many that are in no program.", []string{"LICENSE", "PATENTS", "src/cmd/vendor/x/LICENSE", "misc/LICENSE"}, "std", []string{"LICENSE", "PATENTS"}},
		"Own":       {"The clone has tools and caches too.", []string{"LICENSE", "_artifacts/LICENSE"}, module + "/images/etcd", []string{"LICENSE"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, text := range must.Get(modulesWith(t, tc.files...).of(t.Context(), tc.path, "v1.0.0"))(t) {
				got = append(got, text.name)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
	_, err := modulesWith(t, "README.md").of(t.Context(), "a.example/a", "v1.0.0")
	if err == nil || !strings.Contains(err.Error(), "a.example/a v1.0.0: it has no license") {
		t.Errorf("a module without a license: %v", err)
	}
}
