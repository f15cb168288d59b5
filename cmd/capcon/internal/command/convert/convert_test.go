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

package convert_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/command/commandtest"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

const (
	capdMachine = "apiVersion: infrastructure.cluster.x-k8s.io/v1beta2\nkind: DockerMachine\nmetadata:\n  name: a\nspec:\n  customImage: i\n"
	ourMachine  = "apiVersion: infrastructure.cluster.x-k8s.io/v1beta2\nkind: ContainerMachine\nmetadata:\n  name: a\nspec:\n  image: i\n"
)

func TestConvert(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason, in  string
		files       map[string]string
		args        []string
		code        int
		out, stderr string
		// after are files that changed.
		after map[string]string
	}{
		"StandardInput": {reason: "What is piped is converted.", in: capdMachine, args: []string{"-f", "-"}, out: ourMachine},
		"Files": {
			reason: "Files are printed one after the other.",
			files:  map[string]string{"a.yaml": capdMachine, "b.txt": "kind: A"},
			args:   []string{"-f", "a.yaml", "-f", "b.txt"}, out: ourMachine + "---\nkind: A\n",
		},
		"Directory": {
			reason: "Of a directory only YAML is read, and written where it changed.",
			files:  map[string]string{"d/a.yaml": capdMachine, "d/e/b.yml": "kind:  A", "d/c.txt": capdMachine},
			args:   []string{"-f", "d", "--in-place"}, after: map[string]string{"d/a.yaml": ourMachine},
		},
		"Nothing": {
			reason: "It may be the wrong file.",
			in:     "kind: A\n", args: []string{"-f", "-"}, out: "kind: A\n", stderr: "Nothing to convert",
		},
		"Finding": {
			reason: "What has no equivalent is no failure.",
			in:     capdMachine + "  providerID: p\n", args: []string{"-f", "-"}, out: ourMachine,
			stderr: "standard input:7: DockerMachine/a: spec.providerID: it names a container of CAPD, which cannot be adopted; nothing to do: the provider creates another container\n1 field to check.\n",
		},
		"UnknownKind": {
			reason: "An unknown kind is, and nothing is written.",
			files:  map[string]string{"a.yaml": capdMachine, "b.yaml": "apiVersion: infrastructure.cluster.x-k8s.io/v1beta2\nkind: DockerMachin\n"},
			args:   []string{"-f", ".", "--in-place"}, code: 1, stderr: `b.yaml:2: unknown kind "DockerMachin" of infrastructure.cluster.x-k8s.io; use one of DevCluster,`,
		},
		"InPlaceOfInput":   {reason: "Standard input is no file.", args: []string{"-f", "-", "--in-place"}, code: 1, stderr: "--in-place needs files"},
		"Missing":          {reason: "A file that is missing is named.", args: []string{"-f", "none.yaml"}, code: 1, stderr: "none.yaml: no such file"},
		"EmptyDirectory":   {reason: "A directory without manifests is a mistake.", args: []string{"-f", "."}, code: 1, stderr: "no files .yaml or .yml in "},
		"NothingToConvert": {reason: "The flag is required.", code: 1, stderr: `required flag(s) "file" not set`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			directory := t.TempDir()
			for file, content := range tc.files {
				path := filepath.Join(directory, file)
				must.Succeed(t, os.MkdirAll(filepath.Dir(path), 0o700))
				must.Succeed(t, os.WriteFile(path, []byte(content), 0o600))
			}
			args := []string{"convert"}
			for _, arg := range tc.args {
				if arg != "-" && !strings.HasPrefix(arg, "-") {
					arg = filepath.Join(directory, arg)
				}
				args = append(args, arg)
			}
			world := commandtest.New(t)
			world.Terminal = strings.NewReader(tc.in)
			code, out, stderr := world.Run(args...)
			if code != tc.code || out != tc.out || !strings.Contains(stderr, tc.stderr) || tc.stderr == "" && stderr != "" {
				t.Errorf("%s\nexit code %d, want %d\n%s%s", tc.reason, code, tc.code, cmp.Diff(tc.out, out), cmp.Diff(tc.stderr, stderr))
			}
			for file, before := range tc.files {
				want, changed := tc.after[file]
				if !changed {
					want = before
				}
				if diff := cmp.Diff(want, string(must.Get(os.ReadFile(filepath.Join(directory, file)))(t))); diff != "" {
					t.Errorf("%s (-want +got):\n%s", file, diff)
				}
			}
		})
	}
}
