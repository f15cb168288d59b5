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

// Command generate writes the CRDs and webhook configurations of Cluster API
// into the directory capi, one JSON file per object: the plane reads them at
// each start, and JSON is read twenty times faster than YAML.
//
// It does what the providers' kustomizations do, as far as a plane without
// Services and cert-manager needs it: labels, names, and which CRDs have a
// conversion webhook. Addresses and certificates are known at run time only.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// providers by the directory of their kustomization in the module.
var providers = map[string]string{
	"core":         "core/config",
	"bootstrap":    "bootstrap/kubeadm/config",
	"controlplane": "controlplane/kubeadm/config",
}

const (
	module = "sigs.k8s.io/cluster-api"
	output = "capi"
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	list := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Version}} {{.Dir}}", module)
	list.Stderr = os.Stderr
	listed, err := list.Output()
	if err != nil {
		return fmt.Errorf("find module %s: %w", module, err)
	}
	version, dir, _ := strings.Cut(strings.TrimSpace(string(listed)), " ")
	if err := os.RemoveAll(output); err != nil {
		return err
	}
	for name, path := range providers {
		if err := generate(filepath.Join(dir, path), filepath.Join(output, name)); err != nil {
			return fmt.Errorf("generate %s: %w", name, err)
		}
	}
	return writeInventory(dir, version, filepath.Join(output, "inventory"))
}

// writeInventory: clusterctl's own definition, and the version that it records
// of Cluster API's providers.
func writeInventory(dir, version, into string) error {
	if err := os.MkdirAll(into, 0o755); err != nil {
		return err
	}
	objects, err := readObjects(filepath.Join(dir, "cmd", "clusterctl", "config", "manifest", "clusterctl-api.yaml"))
	if err != nil {
		return err
	}
	for _, o := range objects {
		if err := o.write(into, o.name()); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(into, "version"), []byte(version), 0o600)
}

func generate(config, into string) error {
	if err := os.MkdirAll(into, 0o755); err != nil {
		return err
	}
	everything, err := readKustomization(filepath.Join(config, "default", "kustomization.yaml"))
	if err != nil {
		return err
	}
	objects, err := readCRDs(filepath.Join(config, "crd"))
	if err != nil {
		return err
	}
	webhooks, err := readObjects(filepath.Join(config, "webhook", "manifests.yaml"))
	if err != nil {
		return err
	}
	for _, webhook := range webhooks {
		webhook.metadata()["name"] = everything.NamePrefix + webhook.name()
	}
	for _, o := range append(objects, webhooks...) {
		everything.label(o)
		if err := o.write(into, o.name()); err != nil {
			return err
		}
	}
	return nil
}

// readCRDs of a kustomization, with its labels and conversion webhooks.
func readCRDs(dir string) ([]object, error) {
	k, err := readKustomization(filepath.Join(dir, "kustomization.yaml"))
	if err != nil {
		return nil, err
	}
	converted, err := convertedCRDs(dir, k)
	if err != nil {
		return nil, err
	}
	var crds []object
	for _, path := range k.Resources {
		objects, err := readObjects(filepath.Join(dir, path))
		if err != nil {
			return nil, err
		}
		for _, crd := range objects {
			k.label(crd)
			crd.dropOldDescriptions()
			if slices.Contains(converted, crd.name()) {
				crd.setConversion()
			}
		}
		crds = append(crds, objects...)
	}
	return crds, nil
}

// kustomization is what of a kustomization.yaml matters here.
type kustomization struct {
	NamePrefix string   `json:"namePrefix"`
	Resources  []string `json:"resources"`
	Labels     []struct {
		Pairs map[string]string `json:"pairs"`
	} `json:"labels"`
	Patches []struct {
		Path string `json:"path"`
	} `json:"patches"`
}

func readKustomization(path string) (kustomization, error) {
	var k kustomization
	content, err := os.ReadFile(path)
	if err != nil {
		return k, err
	}
	if err := yaml.Unmarshal(content, &k); err != nil {
		return k, fmt.Errorf("read %s: %w", path, err)
	}
	return k, nil
}

func (k kustomization) label(o object) {
	labels, _ := o.metadata()["labels"].(map[string]any)
	if labels == nil {
		labels = map[string]any{}
		o.metadata()["labels"] = labels
	}
	for _, l := range k.Labels {
		for key, value := range l.Pairs {
			labels[key] = value
		}
	}
}

// convertedCRDs names the CRDs that a patch gives a conversion webhook.
func convertedCRDs(dir string, k kustomization) ([]string, error) {
	var names []string
	for _, patch := range k.Patches {
		objects, err := readObjects(filepath.Join(dir, patch.Path))
		if err != nil {
			return nil, err
		}
		for _, o := range objects {
			names = append(names, o.name())
		}
	}
	return names, nil
}

type object map[string]any

func readObjects(path string) ([]object, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var objects []object
	for _, document := range bytes.Split(content, []byte("\n---\n")) {
		var o object
		if err := yaml.Unmarshal(document, &o); err != nil {
			return nil, fmt.Errorf("read %s: %w", path, err)
		}
		if o == nil {
			continue
		}
		if o.metadata() == nil || o.name() == "" {
			return nil, fmt.Errorf("read %s: %w", path, errors.New("object without a name"))
		}
		objects = append(objects, o)
	}
	return objects, nil
}

func (o object) metadata() map[string]any {
	m, _ := o["metadata"].(map[string]any)
	return m
}

func (o object) name() string {
	name, _ := o.metadata()["name"].(string)
	return name
}

// setConversion says that a webhook converts; who it is, is filled in when the
// CRD is installed.
func (o object) setConversion() {
	spec, _ := o["spec"].(map[string]any)
	spec["conversion"] = map[string]any{
		"strategy": "Webhook",
		"webhook": map[string]any{
			"conversionReviewVersions": []any{"v1"},
			"clientConfig":             map[string]any{"service": map[string]any{"path": "/convert"}},
		},
	}
}

// dropOldDescriptions of the versions that are not stored: "kubectl explain" shows the
// stored one unless it is asked for another, and the API server keeps them in memory.
func (o object) dropOldDescriptions() {
	spec, _ := o["spec"].(map[string]any)
	versions, _ := spec["versions"].([]any)
	for _, version := range versions {
		fields, _ := version.(map[string]any)
		if stored, _ := fields["storage"].(bool); !stored {
			dropDescriptions(version)
		}
	}
}

func dropDescriptions(value any) {
	switch value := value.(type) {
	case map[string]any:
		// A property of that name is a map.
		if _, isText := value["description"].(string); isText {
			delete(value, "description")
		}
		for _, nested := range value {
			dropDescriptions(nested)
		}
	case []any:
		for _, nested := range value {
			dropDescriptions(nested)
		}
	}
}

func (o object) write(dir, name string) error {
	content, err := json.MarshalIndent(o, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, name+".json"), append(content, '\n'), 0o644)
}
