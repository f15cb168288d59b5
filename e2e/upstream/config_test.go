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

	"sigs.k8s.io/yaml"

	"sigs.k8s.io/cluster-api/test/framework/clusterctl"

	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

const suiteConfig = "config/container.yaml"

func readConfig(t *testing.T, path string) *clusterctl.E2EConfig {
	t.Helper()
	content, err := os.ReadFile(path)
	must.Succeed(t, err)
	config := &clusterctl.E2EConfig{}
	must.Succeed(t, yaml.UnmarshalStrict(content, config))
	config.Defaults()
	return config
}

// The framework's node drain runs an image that nodes have without a registry.
func TestNodesHaveThePauseImageOfTheFramework(t *testing.T) {
	t.Parallel()
	builder, err := os.ReadFile(filepath.Join("..", "..", "lab", "images", "builder", "recipes", "controlplane.go"))
	must.Succeed(t, err)
	framework, err := os.ReadFile(filepath.Join(moduleDirectory(t, "sigs.k8s.io/cluster-api/test"), "framework", "deployment_helpers.go"))
	must.Succeed(t, err)
	_, tag, _ := strings.Cut(string(builder), `frameworkPause = "`)
	tag, _, _ = strings.Cut(tag, `"`)
	if !strings.Contains(string(framework), `"registry.k8s.io/pause:`+tag+`"`) {
		t.Errorf("the node image has the pause image %q, which the framework does not run", tag)
	}
}

// Of Cluster API, what this module requires is what is installed.
func TestConfigHasClusterAPIOfTheModule(t *testing.T) {
	t.Parallel()
	module, err := os.ReadFile(filepath.Join("..", "go.mod"))
	must.Succeed(t, err)
	_, version, _ := strings.Cut(string(module), "sigs.k8s.io/cluster-api/test ")
	version, _, _ = strings.Cut(version, "\n")
	for _, provider := range readConfig(t, suiteConfig).Providers {
		if provider.Name == "container" {
			continue
		}
		if newest := provider.Versions[len(provider.Versions)-1].Name; newest != version {
			t.Errorf("%s %s is %s, want %s", provider.Type, provider.Name, newest, version)
		}
	}
}

// moduleDirectory is where Go's module cache has the sources of a module.
func moduleDirectory(t *testing.T, module string) string {
	t.Helper()
	directory, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		t.Fatalf("find %s: %v", module, err)
	}
	return strings.TrimSpace(string(directory))
}
