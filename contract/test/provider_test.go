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
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

const providerWriter = "github.com/capi-samples/cluster-api-provider-container/hack/provider"

// TestIntegrationProvider writes the template out under another name, in a group of its own, and checks
// that it compiles, and that its tests and the contract kit find nothing.
func TestIntegrationProvider(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("runs etcd and kube-apiserver; leave out -short for it")
	}
	directory := filepath.Join(t.TempDir(), "frost")
	command(t, "go", "run", providerWriter, "--name=frost", "--kind-prefix=Frost", "--group=infrastructure.frost.test", "--template="+template, directory)
	for _, args := range [][]string{{"vet", "./..."}, {"test", "-short", "-count=1", "./..."}} {
		run := exec.CommandContext(t.Context(), "go", args...)
		run.Dir = directory
		if output, err := run.CombinedOutput(); err != nil {
			t.Fatalf("go %v: %v\n%s", args, err, output)
		}
	}
	// It is vetted, not compiled: it runs on kind.
	vet := exec.CommandContext(t.Context(), "go", "vet", "./...")
	vet.Dir, vet.Env = filepath.Join(directory, "e2e"), append(os.Environ(), "GOWORK=off")
	if output, err := vet.CombinedOutput(); err != nil {
		t.Fatalf("go vet in e2e: %v\n%s", err, output)
	}
	if diff := cmp.Diff([]string(nil), failingRules(t, directory)); diff != "" {
		t.Errorf("rules that fail (-want +got):\n%s", diff)
	}
	_ = must.Get(os.Stat(filepath.Join(directory, "config/crd/bases/infrastructure.frost.test_frostmachines.yaml")))(t)
}
