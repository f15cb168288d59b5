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

// Command manifest prints the manifest that installs cert-manager, as its
// releases have it: made of the Helm chart in cert-manager's module.
//
//	go run ./manifest <directory of the module> <version>
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/releaseutil"
)

// kubeVersion is what cert-manager's own releases are rendered for.
const kubeVersion = "1.29.0"

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: manifest <directory of cert-manager's module> <version>")
		os.Exit(2)
	}
	manifest, err := render(os.Args[1], os.Args[2])
	if err != nil {
		fmt.Fprintln(os.Stderr, "manifest:", err)
		os.Exit(1)
	}
	fmt.Print(manifest)
}

// render returns the namespace and the objects of the chart, in the order in
// which they can be created.
func render(module, version string) (string, error) {
	namespace, err := os.ReadFile(filepath.Join(module, "deploy", "manifests", "namespace.yaml"))
	if err != nil {
		return "", fmt.Errorf("read namespace: %w", err)
	}
	files, err := renderChart(filepath.Join(module, "deploy", "charts", "cert-manager"), version)
	if err != nil {
		return "", err
	}
	for name := range files {
		if filepath.Base(name) == "NOTES.txt" { // for users
			delete(files, name)
		}
	}
	hooks, manifests, err := releaseutil.SortManifests(files, nil, releaseutil.InstallOrder)
	if err != nil {
		return "", fmt.Errorf("sort objects: %w", err)
	}
	if len(hooks) > 0 {
		return "", errors.New("the chart has hooks, which only Helm runs: switch them off in its values")
	}
	documents := []string{strings.TrimSpace(string(namespace))}
	for _, object := range manifests {
		documents = append(documents, strings.TrimSpace(object.Content))
	}
	return strings.Join(documents, "\n---\n") + "\n", nil
}

// renderChart returns the chart's files with the values that releases have.
func renderChart(directory, version string) (map[string]string, error) {
	chart, err := loader.Load(directory)
	if err != nil {
		return nil, fmt.Errorf("load chart: %w", err)
	}
	// Of a release, and the tag of its images; in the module both are v0.0.0.
	chart.Metadata.Version, chart.Metadata.AppVersion = version, version
	capabilities := chartutil.DefaultCapabilities.Copy()
	kubernetes, err := chartutil.ParseKubeVersion(kubeVersion)
	if err != nil {
		return nil, fmt.Errorf("parse version of Kubernetes: %w", err)
	}
	capabilities.KubeVersion = *kubernetes
	values, err := chartutil.ToRenderValues(chart, map[string]any{
		"creator":         "static",
		"crds":            map[string]any{"enabled": true},
		"startupapicheck": map[string]any{"enabled": false},
	}, chartutil.ReleaseOptions{Name: "cert-manager", Namespace: "cert-manager", Revision: 1, IsInstall: true}, capabilities)
	if err != nil {
		return nil, fmt.Errorf("put values together: %w", err)
	}
	files, err := engine.Render(chart, values)
	if err != nil {
		return nil, fmt.Errorf("render chart: %w", err)
	}
	return files, nil
}
