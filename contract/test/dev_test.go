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
	"strings"
	"testing"

	"github.com/capi-samples/cluster-api-provider-container/contract"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

const (
	devModule  = "sigs.k8s.io/cluster-api/test"
	devManager = devModule + "/infrastructure/docker"
)

// TestIntegrationDev tests Cluster API's DevCluster and DevMachine in memory. Their manager runs as a
// process; nothing says what exists behind their objects.
func TestIntegrationDev(t *testing.T) {
	t.Parallel()
	directory := strings.TrimSpace(command(t, "go", "list", "-m", "-f", "{{.Dir}}", devModule))
	manager := filepath.Join(t.TempDir(), "manager")
	command(t, "go", "build", "-o", manager, devManager)
	contract.Run(t, contract.Provider{
		Name:      "dev",
		Manifests: []string{filepath.Join(directory, "infrastructure", "docker", "config", "default")},
		Command: []string{
			manager, "--webhook-port=${WEBHOOK_PORT}", "--webhook-cert-dir=${WEBHOOK_CERT_DIR}",
			"--health-addr=127.0.0.1:0", "--diagnostics-address=127.0.0.1:0", "--insecure-diagnostics",
			"--feature-gates=ClusterTopology=true",
		},
		Environment: []string{"POD_IP=127.0.0.1"},
		Objects:     must.Get(contract.ReadObjects("testdata/dev.yaml"))(t),
		Exceptions:  devExceptions(),
	})
}

// devExceptions are what a backend for tests leaves out.
func devExceptions() map[string]string {
	return map[string]string{
		"IC9":  "a DevCluster in memory has no condition Ready",
		"IC11": "a DevMachine in memory needs what the controller of its DevCluster creates",
		"IM4":  "a DevMachine in memory has no addresses",
	}
}

func command(t *testing.T, name string, args ...string) string {
	t.Helper()
	output, err := exec.CommandContext(t.Context(), name, args...).Output()
	if err != nil {
		t.Fatalf("%s %s: %v", name, strings.Join(args, " "), err)
	}
	return string(output)
}
