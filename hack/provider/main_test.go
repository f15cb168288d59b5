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
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

const templateDirectory = "../../template"

func frost(t *testing.T) provider {
	t.Helper()
	p := provider{name: "frost", kindPrefix: "Frost", group: templateGroup}
	must.Succeed(t, p.complete(templateDirectory))
	return p
}

// TestProvider checks that nothing of the template's name is left, and that a reader can own the rest.
func TestProvider(t *testing.T) {
	t.Parallel()
	directory := filepath.Join(t.TempDir(), "frost")
	p := frost(t)
	p.module, p.group = "example.test/frost", "infrastructure.frost.test"
	count := must.Get(p.write(os.DirFS(templateDirectory), directory))(t)
	const limit = 1500
	if count > limit {
		t.Errorf("%d lines are more than %d", count, limit)
	}
	must.Succeed(t, filepath.WalkDir(directory, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Base(name) == "go.sum" {
			return err
		}
		text := strings.ReplaceAll(string(must.Get(os.ReadFile(name))(t)), "capi-samples", "")
		for _, left := range []string{"sample", "Sample", templateGroup, "infrastructure-cluster-x-k8s-io", "container/template"} {
			if strings.Contains(strings.TrimPrefix(name, directory)+text, left) {
				t.Errorf("%s has %q", name, left)
			}
		}
		return nil
	}))
	if _, err := os.Stat(filepath.Join(must.Get(filepath.EvalSymlinks(directory))(t), p.contract, "go.mod")); err != nil {
		t.Errorf("the contract kit at %q: %v", p.contract, err)
	}
	for _, name := range []string{
		"api/v1alpha1/frostcluster_types.go", "config/crd/bases/infrastructure.frost.test_frostmachines.yaml", "tilt-provider.json", "e2e/e2e_test.go",
	} {
		if _, err := os.Stat(filepath.Join(directory, name)); err != nil {
			t.Error(err)
		}
	}
	if _, err := p.write(os.DirFS(templateDirectory), directory); !errors.Is(err, errNotEmpty) {
		t.Errorf("a second time: %v", err)
	}
}

func TestReplacer(t *testing.T) {
	t.Parallel()
	p := provider{name: "big-frost", kindPrefix: "Frost", module: "example.test/provider", group: "infra.test", contract: "/kit"}
	got := p.replacer().Replace(strings.Join([]string{
		"kind: SampleMachine", "resources: samplemachines", "labels: infrastructure-sample", "group: " + templateGroup,
		`"` + project + `/template/servers"`, project + "/contract v1", project + "/contract => ../contract",
		"/validate-infrastructure-cluster-x-k8s-io-v1alpha1-samplemachinetemplate",
	}, "\n"))
	want := strings.Join([]string{
		"kind: FrostMachine", "resources: frostmachines", "labels: infrastructure-big-frost", "group: infra.test",
		`"example.test/provider/servers"`, project + "/contract v1", project + "/contract => /kit",
		"/validate-infra-test-v1alpha1-frostmachinetemplate",
	}, "\n")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestComplete(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		provider provider
		want     error
	}{
		"Defaults":  {provider{name: "frost", group: templateGroup}, nil},
		"NoName":    {provider{group: templateGroup}, errName},
		"UpperCase": {provider{name: "Frost", group: templateGroup}, errName},
		"Prefix":    {provider{name: "frost", kindPrefix: "frost", group: templateGroup}, errKindPrefix},
		"Group":     {provider{name: "frost", group: "frost"}, errGroup},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := c.provider.complete(templateDirectory); !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
		})
	}
	p := frost(t)
	p.contract = ""
	if diff := cmp.Diff(provider{"frost", "Frost", "example.com/cluster-api-provider-frost", templateGroup, ""}, p, cmp.AllowUnexported(provider{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
