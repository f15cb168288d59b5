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
	"regexp"
	"slices"
	"strings"
	"testing"
)

// creates is a line of a script in which capcon creates or starts a cluster, and so merges its
// context into a kubeconfig. "capcon plane up" does not.
var creates = regexp.MustCompile(`(?m)^[^#\n]*\bcapcon"?\)?(?: "?--?[a-z-]+"?(?:[ =]"?\S+"?)?)* (?:up|start|kubeconfig .*--merge)\b`)

// runs is a literal of a Go program that builds or runs capcon.
var runs = regexp.MustCompile(`"[^"\s]*(?:bin|cmd)/capcon"`)

// setsKubeconfig says that a file names a kubeconfig of its own.
var setsKubeconfig = regexp.MustCompile(`KUBECONFIG=|--kubeconfig`)

// Scripts and tests leave ~/.kube/config as it is.
func TestScriptsSetTheKubeconfig(t *testing.T) {
	t.Parallel()
	// The quick start is what a user asks for, and the release builds the program without running it.
	exempt := []string{"hack/quickstart.sh", "hack/release/programs.go"}
	checked := 0
	for _, path := range slices.Concat(files(t, ".sh"), files(t, ".mk"), files(t, ".go"), []string{"Makefile"}) {
		text, expression := readFile(t, path), creates
		if strings.HasSuffix(path, ".go") {
			expression = runs
		}
		if !expression.MatchString(text) || strings.HasPrefix(path, "test/repository/") {
			continue
		}
		checked++
		if !slices.Contains(exempt, path) && !setsKubeconfig.MatchString(text) {
			t.Errorf("%s runs %q and sets no KUBECONFIG: it would change the ~/.kube/config of its user", path, strings.TrimSpace(expression.FindString(text)))
		}
	}
	const known = 6 // so that the expressions are not outdated
	if checked < known {
		t.Errorf("%d files were checked, want at least %d", checked, known)
	}
}

func TestScriptsThatCreateClusters(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]bool{
		`  bin/capcon up "${cluster}"`:                              true,
		`  capcon --engine "${ENGINE}" up demo`:                     true,
		`step "a worker" on "capcon up ${cluster} --engine docker"`: true,
		`capcon start demo`:                                         true,
		`capcon kubeconfig demo --merge`:                            true,
		`  bin/capcon plane up --engine "${ENGINE}"`:                false,
		`capcon registry up`:                                        false,
		`# compares capcon up with kind`:                            false,
		`capcon kubeconfig demo >file`:                              false,
	} {
		if got := creates.MatchString(line); got != want {
			t.Errorf("%s creates: %t, want %t", line, got, want)
		}
	}
}
