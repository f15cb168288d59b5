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

package upstream

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sigs.k8s.io/cluster-api/test/framework/clusterctl"
)

const example = "../example"

// The suite of another project compiles in its own module, without internal packages.
func TestExample(t *testing.T) {
	t.Parallel()
	module := t.TempDir()
	run(t, ".", filepath.Join("..", "..", "hack", "example-module.sh"), module)
	// Compiles without linking. -buildvcs=false: the checkout may have another owner.
	run(t, module, "go", "list", "-buildvcs=false", "-test", "-export", ".")
}

// run a command as this test runs, without the network.
func run(t *testing.T, directory, name string, args ...string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), name, args...)
	command.Dir = directory
	command.Env = append(os.Environ(), "GOPROXY=off", "GOWORK=off")
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", command, err, output)
	}
}

// What is prepared for the example is what the suite has: the newest version of each
// provider.
func TestExampleConfigIsTheSuites(t *testing.T) {
	t.Parallel()
	type newest struct{ Name, Type, Version, Value, Contract string }
	of := func(config *clusterctl.E2EConfig) []newest {
		var found []newest
		for _, provider := range config.Providers {
			version := provider.Versions[len(provider.Versions)-1]
			_, value, _ := strings.Cut(version.Value, "_artifacts/e2e/components/")
			found = append(found, newest{provider.Name, provider.Type, version.Name, value, version.Contract})
		}
		return found
	}
	suites, examples := readConfig(t, suiteConfig), readConfig(t, filepath.Join(example, "e2e.yaml"))
	if diff := cmp.Diff(of(suites), of(examples)); diff != "" {
		t.Errorf("Providers (-suite +example):\n%s", diff)
	}
	for name, value := range examples.Variables {
		if suites.Variables[name] != value {
			t.Errorf("%s is %q, want %q", name, value, suites.Variables[name])
		}
	}
}
