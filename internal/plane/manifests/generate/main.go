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
// Services and cert-manager needs it: labels and names. The plane adds the conversion
// webhooks: addresses and certificates are known at run time only.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"

	utilyaml "sigs.k8s.io/cluster-api/util/yaml"
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
	objects, err := readObjects(filepath.Join(dir, "cmd", "clusterctl", "config", "manifest", "clusterctl-api.yaml"))
	if err != nil {
		return err
	}
	if err := write(into, objects); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(into, "version"), []byte(version), 0o600)
}

func generate(config, into string) error {
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
	for i := range webhooks {
		webhooks[i].SetName(everything.NamePrefix + webhooks[i].GetName())
	}
	objects = append(objects, webhooks...)
	everything.label(objects)
	return write(into, objects)
}

// readCRDs of a kustomization, with its labels.
func readCRDs(dir string) ([]unstructured.Unstructured, error) {
	k, err := readKustomization(filepath.Join(dir, "kustomization.yaml"))
	if err != nil {
		return nil, err
	}
	var crds []unstructured.Unstructured
	for _, path := range k.Resources {
		objects, err := readObjects(filepath.Join(dir, path))
		if err != nil {
			return nil, err
		}
		crds = append(crds, objects...)
	}
	k.label(crds)
	for _, crd := range crds {
		dropOldDescriptions(crd)
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

func (k kustomization) label(objects []unstructured.Unstructured) {
	for _, o := range objects {
		for _, l := range k.Labels {
			o.SetLabels(labels.Merge(o.GetLabels(), l.Pairs))
		}
	}
}

func readObjects(path string) ([]unstructured.Unstructured, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	objects, err := utilyaml.ToUnstructured(content)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return objects, nil
}

// dropOldDescriptions of the versions that are not stored: "kubectl explain" shows the
// stored one unless it is asked for another, and the API server keeps them in memory.
func dropOldDescriptions(crd unstructured.Unstructured) {
	spec, _ := crd.Object["spec"].(map[string]any)
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

// write the objects into a directory, which is made.
func write(into string, objects []unstructured.Unstructured) error {
	if err := os.MkdirAll(into, 0o755); err != nil {
		return err
	}
	for _, o := range objects {
		content, err := json.MarshalIndent(o.Object, "", " ")
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(into, o.GetName()+".json"), append(content, '\n'), 0o644); err != nil {
			return err
		}
	}
	return nil
}
