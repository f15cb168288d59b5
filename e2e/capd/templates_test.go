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

package capd

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	coreadmission "sigs.k8s.io/cluster-api/core/webhooks/admission"
	"sigs.k8s.io/cluster-api/feature"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/config/crd"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane/manifests"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// variables as the specs of Cluster API have them.
func variables() map[string]string {
	return map[string]string{
		"CLUSTER_NAME": "demo", "NAMESPACE": "default", "KUBERNETES_VERSION": "v1.36.3",
		"CONTROL_PLANE_MACHINE_COUNT": "1", "WORKER_MACHINE_COUNT": "1",
		"DOCKER_SERVICE_CIDRS": "10.128.0.0/12", "DOCKER_POD_CIDRS": "192.168.0.0/16", "DOCKER_SERVICE_DOMAIN": "cluster.local",
		"DOCKER_SERVICE_IPV6_CIDRS": "fd00:100:64::/108", "DOCKER_POD_IPV6_CIDRS": "fd00:100:96::/48",
		"CNI_RESOURCES": "{}", "TOKEN": "token", "SERVER": "https://example.com", "EXTENSION_CONFIG_NAME": "extension",
	}
}

// schemas of the API server, by version and kind.
type schemas map[string]*apiextensions.JSONSchemaProps

func readSchemas(t *testing.T) schemas {
	t.Helper()
	definitions, err := manifests.Objects(manifests.Server{URL: "https://example.com"}, crd.FS)
	must.Succeed(t, err)
	found := schemas{}
	for _, object := range definitions {
		if object.GetKind() != "CustomResourceDefinition" {
			continue
		}
		definition := &apiextensionsv1.CustomResourceDefinition{}
		must.Succeed(t, runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, definition))
		for _, version := range definition.Spec.Versions {
			internal := &apiextensions.JSONSchemaProps{}
			must.Succeed(t, apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(version.Schema.OpenAPIV3Schema, internal, nil))
			found[definition.Spec.Group+"/"+version.Name+" "+definition.Spec.Names.Kind] = internal
		}
	}
	return found
}

// check an object as the API server does when it is created with strict validation.
func (s schemas) check(object *unstructured.Unstructured) error {
	properties, found := s[object.GetAPIVersion()+" "+object.GetKind()]
	switch {
	case !found && (strings.Contains(object.GetAPIVersion(), "cluster.x-k8s.io/")):
		return fmt.Errorf("there is no %s %s", object.GetAPIVersion(), object.GetKind())
	case !found:
		return nil // a ConfigMap, a Deployment
	}
	structural, err := schema.NewStructural(properties)
	if err != nil {
		return fmt.Errorf("read schema: %w", err)
	}
	defaulting.PruneNonNullableNullsWithoutDefaults(object.Object, structural)
	defaulting.Default(object.Object, structural)
	if unknown := pruning.PruneWithOptions(object.Object, structural, true, schema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true}); len(unknown) > 0 {
		return fmt.Errorf("unknown fields %v", unknown)
	}
	validator, _, err := validation.NewSchemaValidator(properties)
	if err != nil {
		return fmt.Errorf("read schema: %w", err)
	}
	return validation.ValidateCustomResource(nil, object.Object, validator).ToAggregate()
}

func decode(t *testing.T, text string) []*unstructured.Unstructured {
	t.Helper()
	var objects []*unstructured.Unstructured
	for decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader([]byte(text)), 4096); ; {
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

// validate a converted template.
func validate(t *testing.T, schemas schemas, template string) {
	t.Helper()
	filled, err := Fill(template, variables())
	must.Succeed(t, err)
	for _, object := range decode(t, filled) {
		name := object.GetKind() + " " + object.GetName()
		if err := schemas.check(object); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if text := fmt.Sprint(object.Object); strings.Contains(text, "DockerM") || strings.Contains(text, "DevM") || strings.Contains(text, "DevCluster") {
			t.Errorf("%s still names a kind of CAPD: %s", name, text)
		}
		if object.GetAPIVersion() == infrav1.GroupVersion.String() {
			scheme := runtime.NewScheme()
			must.Succeed(t, infrav1.AddToScheme(scheme))
			typed := must.Get(scheme.New(object.GroupVersionKind()))(t)
			must.Succeed(t, runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object.Object, typed, true))
		}
		if object.GroupVersionKind() == clusterv1.GroupVersion.WithKind("ClusterClass") {
			admit(t, object)
		}
	}
}

// admit a ClusterClass by Cluster API's webhook.
func admit(t *testing.T, object *unstructured.Unstructured) {
	t.Helper()
	class := &clusterv1.ClusterClass{}
	must.Succeed(t, runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, class))
	scheme := runtime.NewScheme()
	must.Succeed(t, clusterv1.AddToScheme(scheme))
	class.Namespace = "default"
	webhook := &coreadmission.ClusterClass{Client: fake.NewClientBuilder().WithScheme(scheme).Build()}
	if _, err := webhook.ValidateCreate(t.Context(), class); err != nil {
		t.Errorf("ClusterClass %s: %v", class.Name, err)
	}
}

// positional are kustomizations that patch a ClusterClass by the positions of its patches, of
// which the conversion adds and removes some: they are built first.
var positional = []string{"clusterclass-quick-start-kcp-only"}

// Every template is converted to what the API server accepts, built before or after.
func TestTemplates(t *testing.T) { //nolint:tparallel // the gates of Cluster API are of the process
	must.Succeed(t, feature.MutableGates.Set("ClusterTopology=true,RuntimeSDK=true"))
	directory := must.Get(Module(t.Context()))(t)
	files, directories, err := Templates(directory)
	must.Succeed(t, err)
	if len(files) < 15 || len(directories) < 20 {
		t.Fatalf("%d files, %d kustomizations", len(files), len(directories))
	}
	schemas := readSchemas(t)
	tree := t.TempDir()
	must.Get(ConvertTree(directory, tree))(t)
	for _, file := range files {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			content := must.Get(os.ReadFile(filepath.Join(directory, file)))(t)
			converted, _, err := Convert(file, string(content))
			must.Succeed(t, err)
			validate(t, schemas, converted)
		})
	}
	for _, name := range directories {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			built := must.Get(Build(filepath.Join(directory, name)))(t)
			converted, _, err := Convert(name, built)
			must.Succeed(t, err)
			validate(t, schemas, converted)
			for _, other := range positional {
				if filepath.Base(name) == other {
					return
				}
			}
			later := must.Get(Build(filepath.Join(tree, name)))(t)
			if diff := cmp.Diff(decode(t, later), decode(t, converted)); diff != "" {
				t.Errorf("What is built of converted files is another (-built later +built first):\n%s", diff)
			}
		})
	}
}
