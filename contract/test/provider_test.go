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
	"os/exec"
	"path/filepath"
	"testing"
)

const providerWriter = "github.com/capi-samples/cluster-api-provider-container/hack/provider"

// TestIntegrationProvider writes the template out under another name, in a group of its own, and checks
// that it compiles, and that its unit tests and the contract kit find nothing.
func TestIntegrationProvider(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("runs etcd and kube-apiserver; leave out -short for it")
	}
	directory := filepath.Join(t.TempDir(), "frost")
	command(t, "go", "run", providerWriter, "--name=frost", "--kind-prefix=Frost", "--group=infrastructure.frost.test", "--template="+template, directory)
	// "make lint" vets the template.
	test := exec.CommandContext(t.Context(), "go", "test", "-trimpath", "-vet=off", "-short", "-count=1", "./...")
	test.Dir = directory
	if output, err := test.CombinedOutput(); err != nil {
		t.Fatalf("test %s: %v\n%s", directory, err, output)
	}
	if failing := failingRules(t, directory); len(failing) > 0 {
		t.Errorf("rules that fail: %v", failing)
	}
}
