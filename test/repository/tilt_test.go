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
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

type tiltConfig struct {
	Image           string   `json:"image"`
	GoMain          string   `json:"go_main"`
	KustomizeFolder string   `json:"kustomize_folder"`
	LiveReloadDeps  []string `json:"live_reload_deps"`
}

func tilt(t *testing.T) tiltConfig {
	t.Helper()
	var providers []struct {
		Config tiltConfig `json:"config"`
	}
	must.Succeed(t, json.Unmarshal([]byte(readFile(t, "tilt-provider.json")), &providers))
	if len(providers) != 1 {
		t.Fatalf("tilt-provider.json has %d providers", len(providers))
	}
	return providers[0].Config
}

func TestTiltProviderNamesWhatIsThere(t *testing.T) {
	t.Parallel()
	config := tilt(t)
	for _, path := range append(config.LiveReloadDeps, config.GoMain, config.KustomizeFolder) {
		if _, err := os.Stat(filepath.Join(root, path)); err != nil {
			t.Errorf("tilt-provider.json names %s, which is not there", path)
		}
	}
	for _, source := range managerSources(t) {
		if !slices.Contains(config.LiveReloadDeps, source) {
			t.Errorf("A change in %s would not rebuild the manager: it is not in live_reload_deps", source)
		}
	}
	if !strings.Contains(readFile(t, "config/manager/kustomization.yaml"), config.Image+"\n") {
		t.Errorf("The image %s is not the one of config/manager", config.Image)
	}
}

// managerSources lists what the manager is built from: files of its own package,
// and top-level directories with packages that it imports.
func managerSources(t *testing.T) []string {
	t.Helper()
	const format = `{{range .GoFiles}}{{.}}{{"\n"}}{{end}}{{range .Deps}}{{.}}{{"\n"}}{{end}}`
	module := output(t, "go", "list", "-m")
	var sources []string
	for line := range strings.Lines(output(t, "go", "list", "-f", format, ".")) {
		name := strings.TrimSpace(line)
		if inModule, isPackage := strings.CutPrefix(name, module+"/"); isPackage {
			name, _, _ = strings.Cut(inModule, "/")
		} else if !strings.HasSuffix(name, ".go") {
			continue
		}
		if !slices.Contains(sources, name) {
			sources = append(sources, name)
		}
	}
	return sources
}

// output of a command in the repository's root.
func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), name, args...)
	command.Dir = root
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", command, err, out)
	}
	return strings.TrimSpace(string(out))
}
