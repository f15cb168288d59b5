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

package target

import (
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/util/version"
	"sigs.k8s.io/yaml"
)

// UseCertManager makes clusterctl install cert-manager from a local manifest instead of
// the release that it downloads. ConfigPath is the clusterctl configuration that
// clusterctl.CreateRepository returns. As clusterctl requires it of local files, the
// manifest lies in a directory named after its version, such as
// cert-manager/v1.21.2/cert-manager.yaml; its other settings of cert-manager stay.
func UseCertManager(configPath, manifest string) error {
	manifest, err := filepath.Abs(manifest)
	if err != nil {
		return fmt.Errorf("find the manifest of cert-manager: %w", err)
	}
	if _, err := os.Stat(manifest); err != nil {
		return fmt.Errorf("find the manifest of cert-manager: %w", err)
	}
	release := filepath.Base(filepath.Dir(manifest))
	if _, err := version.ParseSemantic(release); err != nil {
		return fmt.Errorf("read the version of cert-manager from the directory of %s: %w", manifest, err)
	}
	content, err := os.ReadFile(configPath)
	if err != nil {
		return fmt.Errorf("read clusterctl's configuration: %w", err)
	}
	config := map[string]any{}
	if err := yaml.Unmarshal(content, &config); err != nil {
		return fmt.Errorf("decode clusterctl's configuration %s: %w", configPath, err)
	}
	// A map, which a variable of the framework's E2EConfig cannot be.
	certManager, _ := config["cert-manager"].(map[string]any)
	if certManager == nil {
		certManager = map[string]any{}
	}
	certManager["url"], certManager["version"] = "file://"+manifest, release
	config["cert-manager"] = certManager
	if content, err = yaml.Marshal(config); err != nil {
		return fmt.Errorf("encode clusterctl's configuration: %w", err)
	}
	if err := os.WriteFile(configPath, content, 0o600); err != nil {
		return fmt.Errorf("write clusterctl's configuration: %w", err)
	}
	return nil
}
