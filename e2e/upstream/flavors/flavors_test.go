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

package flavors

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/drone/envsubst/v2"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"

	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

var root = filepath.Join("..", "..", "..")

// rendered is a template with its variables filled in, as clusterctl does it.
func rendered(t *testing.T, template []byte) []*unstructured.Unstructured {
	t.Helper()
	variables := map[string]string{
		"CLUSTER_NAME": "demo", "NAMESPACE": "spec", "KUBERNETES_VERSION": "v1.36.3",
		"CONTROL_PLANE_MACHINE_COUNT": "3", "WORKER_MACHINE_COUNT": "2",
		"TOKEN": "token", "SERVER": "https://plane:6443",
		"CONTAINER_E2E_SOCKET": "/run/podman", "CONTAINER_E2E_SOCKET_IN_NODE": "/run/podman", "CONTAINER_E2E_IMAGES": "/images",
	}
	text, err := envsubst.Eval(string(template), func(name string) string { return variables[name] })
	must.Succeed(t, err)
	var objects []*unstructured.Unstructured
	for decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader([]byte(text)), 4096); ; {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(object)
		if errors.Is(err, io.EOF) {
			return objects
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		if len(object.Object) > 0 {
			objects = append(objects, object)
		}
	}
}

func build(t *testing.T) map[string][]byte {
	t.Helper()
	built, err := Build(root)
	must.Succeed(t, err)
	return built
}

// Each flavor holds objects that the API knows, with no field misspelt.
func TestFlavorsAreValid(t *testing.T) {
	t.Parallel()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clusterv1.AddToScheme, bootstrapv1.AddToScheme, controlplanev1.AddToScheme, infrav1.AddToScheme,
	} {
		must.Succeed(t, add(scheme))
	}
	for name, template := range build(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, object := range rendered(t, template) {
				typed, err := scheme.New(object.GroupVersionKind())
				if err != nil {
					t.Errorf("%s %s: %v", object.GetKind(), object.GetName(), err)
					continue
				}
				if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object.Object, typed, true); err != nil {
					t.Errorf("%s %s: %v", object.GetKind(), object.GetName(), err)
				}
			}
		})
	}
}

// kinds of the objects in a flavor that have a label; all where it is empty.
func kinds(t *testing.T, template []byte, label string) []string {
	t.Helper()
	var found []string
	for _, object := range rendered(t, template) {
		if _, has := object.GetLabels()[label]; has || label == "" {
			found = append(found, object.GetKind())
		}
	}
	slices.Sort(found)
	return found
}

// Adoption applies by label what is there first, and then what adopts it.
func TestAdoptionHasTwoSteps(t *testing.T) {
	t.Parallel()
	template := build(t)["cluster-template-kcp-adoption.yaml"]
	for label, want := range map[string][]string{
		"kcp-adoption.step1": {"Cluster", "ContainerCluster", "ContainerMachine", "KubeadmConfig", "Machine"},
		"kcp-adoption.step2": {"Cluster", "ContainerMachineTemplate", "KubeadmControlPlane"},
	} {
		if diff := cmp.Diff(want, kinds(t, template, label)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", label, diff)
		}
	}
	var config, controlPlane any
	for _, object := range rendered(t, template) {
		switch object.GetKind() {
		case "KubeadmConfig":
			config = object.Object["spec"]
		case "KubeadmControlPlane":
			controlPlane, _, _ = unstructured.NestedFieldNoCopy(object.Object, "spec", "kubeadmConfigSpec")
		}
	}
	if diff := cmp.Diff(controlPlane, config); config == nil || diff != "" {
		t.Errorf("The Machine is not what the KubeadmControlPlane would create (-control plane +machine):\n%s", diff)
	}
}

// A cluster on two engines is the one that it is made of, but for the engines and their network.
func TestTwoEngines(t *testing.T) {
	t.Parallel()
	built := build(t)
	spec := func(flavor string) map[string]any {
		for _, object := range rendered(t, built[fileName(flavor)]) {
			if object.GetKind() == "ContainerCluster" {
				return object.Object["spec"].(map[string]any) //nolint:forcetypeassert // A test ends here otherwise.
			}
		}
		t.Fatalf("flavor %s has no ContainerCluster", flavor)
		return nil
	}
	for flavor, of := range map[string]string{"two-engines": "kcp-md-taints", "kcp-remediation-two-engines": "kcp-remediation"} {
		want := spec(of)
		want["engineNames"], want["network"] = []any{"a", "b"}, map[string]any{"name": "lan"}
		if diff := cmp.Diff(want, spec(flavor)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", flavor, diff)
		}
	}
	if diff := cmp.Diff(kinds(t, built[fileName("kcp-remediation")], ""), kinds(t, built[fileName("kcp-remediation-two-engines")], "")); diff != "" {
		t.Errorf("Kinds (-remediation +two engines):\n%s", diff)
	}
}

func TestWrite(t *testing.T) {
	t.Parallel()
	directory := filepath.Join(t.TempDir(), "templates")
	must.Succeed(t, Write(root, directory))
	entries, err := os.ReadDir(directory)
	must.Succeed(t, err)
	var written []string
	for _, entry := range entries {
		written = append(written, entry.Name())
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(build(t))), written); diff != "" {
		t.Errorf("Files (-built +written):\n%s", diff)
	}
}
