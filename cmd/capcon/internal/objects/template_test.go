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

package objects

import (
	"bytes"
	"errors"
	"io"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/cluster-api/cmd/clusterctl/client/yamlprocessor"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// TestClusterctlTemplate keeps the flavour for clusterctl the same cluster
// that capcon makes. Two things differ on purpose: a file cannot name
// templates after their content, and the Pod network is left to the user.
func TestClusterctlTemplate(t *testing.T) {
	t.Parallel()
	v := values()
	v.CNIManifest = ""
	v.LoadBalancerImage, v.NodeImage = "haproxy:3.2", "kindest/node:v1.36.3"
	rendered, err := Render(v)
	if err != nil {
		t.Fatal(err)
	}
	byFile := fileObjects(t, map[string]string{
		"CLUSTER_NAME": v.Name, "NAMESPACE": v.Namespace, "KUBERNETES_VERSION": v.KubernetesVersion,
		"CONTROL_PLANE_MACHINE_COUNT": "1", "WORKER_MACHINE_COUNT": "1",
	})
	if diff := cmp.Diff(withoutHashes(t, rendered), byFile); diff != "" {
		t.Errorf("cluster-template.yaml is another cluster than capcon's (-capcon +file):\n%s", diff)
	}
}

func fileObjects(t *testing.T, variables map[string]string) []map[string]any {
	t.Helper()
	raw, err := os.ReadFile("../../../../templates/cluster-template.yaml")
	if err != nil {
		t.Fatal(err)
	}
	processed, err := yamlprocessor.NewSimpleProcessor().Process(raw, func(name string) (string, error) {
		value, known := variables[name]
		if !known {
			return "", errors.New("unknown variable " + name)
		}
		return value, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var found []map[string]any
	decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(processed), 1<<16)
	for {
		var object map[string]any
		if err := decoder.Decode(&object); err != nil {
			if errors.Is(err, io.EOF) {
				return found
			}
			t.Fatal(err)
		}
		found = append(found, object)
	}
}

func withoutHashes(t *testing.T, rendered []client.Object) []map[string]any {
	t.Helper()
	var plain []map[string]any
	for _, object := range rendered {
		text, err := yaml.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		for _, prefix := range []string{ControlPlaneName("demo"), WorkersName("demo")} {
			text = replaceHash(text, prefix)
		}
		var into map[string]any
		if err := yaml.Unmarshal(text, &into); err != nil {
			t.Fatal(err)
		}
		unstructured.RemoveNestedField(into, "metadata", "annotations")
		plain = append(plain, into)
	}
	return plain
}

// replaceHash takes -xxxxxxxx away behind a template's name.
func replaceHash(text []byte, prefix string) []byte {
	const hashLength = 9
	var out []byte
	for {
		before, after, found := bytes.Cut(text, []byte(prefix+"-"))
		out = append(out, before...)
		if !found {
			return out
		}
		out = append(out, prefix...)
		text = after[hashLength-1:]
	}
}
