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

package contract_test

import (
	"encoding/xml"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/capi-samples/cluster-api-provider-container/contract"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

const template = "../../template"

// rulesOfMutant is the line of a patch that names the rules that it breaks.
var rulesOfMutant = regexp.MustCompile(`(?m)^Rules: (.+)$`)

// TestIntegrationMutants applies each patch to a copy of the template, and checks that exactly the
// rules that it names fail. MUTANTS is a regular expression for the names of patches; none of them if
// it is "none".
func TestIntegrationMutants(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("runs etcd and kube-apiserver; leave out -short for it")
	}
	chosen := os.Getenv("MUTANTS")
	if chosen == "none" {
		t.Skip("MUTANTS is none")
	}
	patches := must.Get(filepath.Glob(filepath.Join(template, "mutants", "*.patch")))(t)
	patches = slices.DeleteFunc(patches, func(name string) bool {
		return !must.Get(regexp.MatchString(chosen, strings.TrimSuffix(filepath.Base(name), ".patch")))(t)
	})
	if len(patches) == 0 {
		t.Fatalf("no mutant is named like MUTANTS=%q", chosen)
	}
	for _, patch := range patches {
		t.Run(strings.TrimSuffix(filepath.Base(patch), ".patch"), func(t *testing.T) {
			t.Parallel()
			content := string(must.Get(os.ReadFile(patch))(t))
			named := rulesOfMutant.FindStringSubmatch(content)
			if named == nil {
				t.Fatalf("%s has no line that begins with %q", patch, "Rules: ")
			}
			directory := mutate(t, patch)
			if diff := cmp.Diff(strings.Fields(named[1]), failingRules(t, directory)); diff != "" {
				t.Errorf("rules that fail (-want +got):\n%s", diff)
			}
		})
	}
}

// mutate makes a copy of the template with a patch.
func mutate(t *testing.T, patch string) string {
	t.Helper()
	directory := t.TempDir()
	must.Succeed(t, os.CopyFS(directory, os.DirFS(template)))
	module := filepath.Join(directory, "go.mod")
	content := string(must.Get(os.ReadFile(module))(t))
	content = strings.ReplaceAll(content, "=> ../contract", "=> "+must.Get(filepath.Abs(".."))(t))
	must.Succeed(t, os.WriteFile(module, []byte(content), 0o600))
	apply := exec.CommandContext(t.Context(), "git", "apply", must.Get(filepath.Abs(patch))(t))
	apply.Dir = directory
	// Otherwise git takes the paths for those of a repository around the directory.
	apply.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(directory))
	if output, err := apply.CombinedOutput(); err != nil {
		t.Fatalf("apply %s: %v\n%s", patch, err, output)
	}
	return directory
}

// failingRules runs the test of the contract of a provider's module, and reads its report.
func failingRules(t *testing.T, directory string) []string {
	t.Helper()
	report := t.TempDir()
	// Without the path, Go compiles what is not mutated once for all copies.
	test := exec.CommandContext(t.Context(), "go", "test", "-trimpath", "-vet=off", "-count=1", "-timeout=30m", "-run=^TestIntegrationContract$", ".")
	test.Dir = directory
	test.Env = append(os.Environ(), contract.ReportVariable+"="+report)
	output, err := test.CombinedOutput()
	content, readErr := os.ReadFile(filepath.Join(report, "contract.xml"))
	if readErr != nil {
		t.Fatalf("test %s: %v\n%s", directory, err, output)
	}
	var suite struct {
		Cases []struct {
			Name    string    `xml:"name,attr"`
			Failure *struct{} `xml:"failure"`
		} `xml:"testcase"`
	}
	must.Succeed(t, xml.Unmarshal(content, &suite))
	var failing []string
	for _, c := range suite.Cases {
		if c.Failure != nil {
			id, _, _ := strings.Cut(c.Name, " ")
			failing = append(failing, id)
		}
	}
	return failing
}
