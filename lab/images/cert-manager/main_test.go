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

package main

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// TestManifest: each Deployment of the manifest runs an image that is built here,
// whose program knows all flags that it gets.
func TestManifest(t *testing.T) {
	t.Parallel()
	module, version, _ := strings.Cut(printed(t, "go", "list", "-m", "-f", "{{.Dir}} {{.Version}}", "github.com/cert-manager/cert-manager"), " ")
	objects := decode(t, printed(t, "go", "run", "./manifest", module, version))
	if first := objects[0]; first.GetKind() != "Namespace" || first.GetName() != "cert-manager" {
		t.Errorf("The first object is %s %s, and not the namespace of the others", first.GetKind(), first.GetName())
	}
	definitions, images := 0, map[string]string{}
	for _, object := range objects {
		switch object.GetKind() {
		case "CustomResourceDefinition":
			definitions++
		case "Job":
			t.Errorf("Job %s needs an image that is not built here", object.GetName())
		case "Deployment":
			deployment := &appsv1.Deployment{}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, deployment); err != nil {
				t.Fatal(err)
			}
			container := deployment.Spec.Template.Spec.Containers[0]
			images[deployment.Name] = container.Image
			parse(t, container.Image, container.Args)
		}
	}
	if definitions != 6 {
		t.Errorf("%d CustomResourceDefinitions, want 6", definitions)
	}
	want := map[string]string{
		"cert-manager":            "quay.io/jetstack/cert-manager-controller:" + version,
		"cert-manager-cainjector": "quay.io/jetstack/cert-manager-cainjector:" + version,
		"cert-manager-webhook":    "quay.io/jetstack/cert-manager-webhook:" + version,
	}
	if diff := cmp.Diff(want, images); diff != "" {
		t.Errorf("images (-want, +got):\n%s", diff)
	}
}

// parse the flags of the program of an image.
func parse(t *testing.T, image string, flags []string) {
	t.Helper()
	repository, _, _ := strings.Cut(image, ":")
	program := repository[strings.LastIndex(repository, "-")+1:]
	c, err := newCommand(program)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.flags.Parse(flags); err != nil {
		t.Errorf("%s with %q: %v", program, flags, err)
	}
}

func TestRunRefuses(t *testing.T) {
	t.Parallel()
	for name, arguments := range map[string][]string{
		"no program":           nil,
		"an unknown program":   {"acmesolver"},
		"an unknown flag":      {"cainjector", "--controllers=*"},
		"flags before program": {"--v=2", "controller"},
	} {
		if err := run(t.Context(), arguments); err == nil {
			t.Errorf("%s: no error for %q", name, arguments)
		}
	}
}

// printed returns what a command prints.
func printed(t *testing.T, name string, arguments ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), name, arguments...)
	command.Stderr = os.Stderr
	text, err := command.Output()
	if err != nil {
		t.Fatalf("%s %s: %v", name, strings.Join(arguments, " "), err)
	}
	return strings.TrimSpace(string(text))
}

func decode(t *testing.T, manifest string) []*unstructured.Unstructured {
	t.Helper()
	var objects []*unstructured.Unstructured
	decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(manifest), 4096)
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(object)
		if errors.Is(err, io.EOF) {
			return objects
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(object.Object) > 0 {
			objects = append(objects, object)
		}
	}
}
