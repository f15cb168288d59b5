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

package contract_test

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	infrav1alpha1 "github.com/capi-samples/cluster-api-provider-container/api/v1alpha1"
	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/config/crd"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// definitions returns the schemas that an API server is given, by kind.
func definitions(t *testing.T) map[string]apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	files := must.Get(fs.Glob(crd.FS, "bases/*.yaml"))(t)
	found := map[string]apiextensionsv1.CustomResourceDefinition{}
	for _, file := range files {
		content := must.Get(fs.ReadFile(crd.FS, file))(t)
		var definition apiextensionsv1.CustomResourceDefinition
		must.Succeed(t, yaml.UnmarshalStrict(content, &definition))
		found[definition.Spec.Names.Kind] = definition
	}
	return found
}

// TestVersions: they are the same for all kinds, as Cluster API looks for the machines
// of a pool in the pool's version. The older one is served for old clients, which know no engines.
func TestVersions(t *testing.T) {
	t.Parallel()
	type version struct {
		Name                        string
		Served, Storage, Deprecated bool
	}
	all := []version{
		{Name: infrav1alpha1.GroupVersion.Version, Served: true, Deprecated: true},
		{Name: infrav1.GroupVersion.Version, Served: true, Storage: true},
	}
	for kind, definition := range definitions(t) {
		want := all
		if kind == "ContainerEngine" {
			want = all[1:]
		}
		var got []version
		for _, v := range definition.Spec.Versions {
			got = append(got, version{v.Name, v.Served, v.Storage, v.Deprecated})
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("versions of %s (-want +got):\n%s", kind, diff)
		}
		if definition.Spec.Group != infrav1.GroupVersion.Group {
			t.Errorf("%s is of the group %s", kind, definition.Spec.Group)
		}
	}
}

// TestFields compares the fields that the contract is about with what it says
// of them.
func TestFields(t *testing.T) {
	t.Parallel()
	type schema = apiextensionsv1.JSONSchemaProps
	text := func(maxLength int64) func(schema) bool {
		return func(s schema) bool {
			return s.Type == "string" && ptr.Deref(s.MinLength, 0) == 1 && ptr.Deref(s.MaxLength, 0) == maxLength
		}
	}
	isStruct := func(s schema) bool { return s.Type == "object" && ptr.Deref(s.MinProperties, 0) == 1 }
	isBool := func(s schema) bool { return s.Type == "boolean" }
	isPort := func(s schema) bool {
		return s.Type == "integer" && s.Format == "int32" && ptr.Deref(s.Minimum, 0) == 1 && ptr.Deref(s.Maximum, 0) == 65535
	}
	listMap := func(key string, most int64) func(schema) bool {
		return func(s schema) bool {
			return ptr.Deref(s.XListType, "") == "map" && len(s.XListMapKeys) == 1 && s.XListMapKeys[0] == key && ptr.Deref(s.MaxItems, 0) == most
		}
	}
	isAbsent := func(s schema) bool { return s.Type == "" }
	inAll := map[string]func(schema) bool{
		"status.conditions":                 listMap("type", 32),
		"status.initialization":             isStruct,
		"status.initialization.provisioned": isBool,
		"status.failureReason":              isAbsent,
		"status.failureMessage":             isAbsent,
		"spec.failureDomain":                isAbsent,
	}
	for kind, fields := range map[string]map[string]func(schema) bool{
		"ContainerCluster": {
			"spec.controlPlaneEndpoint":      isStruct,
			"spec.controlPlaneEndpoint.host": text(512),
			"spec.controlPlaneEndpoint.port": isPort,
			"status.failureDomains":          listMap("name", 100),
		},
		"ContainerMachine": {
			"spec.providerID":      text(512),
			"status.failureDomain": text(256),
			"status.addresses":     func(s schema) bool { return s.Type == "array" },
		},
		"ContainerMachinePool": {
			"spec.providerIDList": func(s schema) bool {
				return ptr.Deref(s.XListType, "") == "atomic" && ptr.Deref(s.MaxItems, 0) == 10000 && text(512)(*s.Items.Schema)
			},
			"status.ready":                     isBool,
			"status.replicas":                  func(s schema) bool { return s.Type == "integer" && s.Format == "int32" },
			"status.infrastructureMachineKind": text(63),
		},
	} {
		definition := definitions(t)[kind]
		if definition.Spec.Versions[0].Subresources == nil || definition.Spec.Versions[0].Subresources.Status == nil {
			t.Errorf("%s has no subresource for its status", kind)
		}
		for _, table := range []map[string]func(schema) bool{inAll, fields} {
			for path, isRight := range table {
				if field := property(definition, path); !isRight(field) {
					t.Errorf("%s has %s as %+v", kind, path, field)
				}
			}
		}
	}
}

// property returns the schema of a field, an empty one where there is none.
func property(definition apiextensionsv1.CustomResourceDefinition, path string) apiextensionsv1.JSONSchemaProps {
	schema := *definition.Spec.Versions[0].Schema.OpenAPIV3Schema
	for name := range strings.SplitSeq(path, ".") {
		schema = schema.Properties[name]
	}
	return schema
}

// TestTemplatesAreNotImmutableBySchema: the topology controller asks in a dry
// run what a template would become, and a rule of the schema refuses that too.
func TestTemplatesAreNotImmutableBySchema(t *testing.T) {
	t.Parallel()
	templates := 0
	for kind, definition := range definitions(t) {
		if !strings.HasSuffix(kind, "Template") {
			continue
		}
		templates++
		content := must.Get(yaml.Marshal(definition.Spec.Versions[0].Schema))(t)
		if strings.Contains(string(content), "oldSelf") {
			t.Errorf("%s has a rule about what it was before", kind)
		}
	}
	if templates != 3 {
		t.Errorf("there are %d templates", templates)
	}
}
