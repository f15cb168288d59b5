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

package readyourwrites_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/capi-samples/cluster-api-provider-container/config/crd"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane/manifests"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// TestResourceNames: informers know kinds, and paths have resources.
func TestResourceNames(t *testing.T) {
	t.Parallel()
	objects := must.Get(manifests.Objects(manifests.Server{}, crd.FS))(t)
	definitions := 0
	for _, object := range objects {
		kind, plural := field(object, "kind"), field(object, "plural")
		if object.GetKind() != "CustomResourceDefinition" {
			continue
		}
		definitions++
		if guessed, _ := meta.UnsafeGuessKindToResource(schema.GroupVersionKind{Kind: kind}); guessed.Resource != plural {
			t.Errorf("%s is taken for the resource %s, want %s", kind, guessed.Resource, plural)
		}
	}
	if definitions < 20 {
		t.Errorf("%d CustomResourceDefinitions are checked, want those of Cluster API and of this provider", definitions)
	}
}

func field(definition *unstructured.Unstructured, name string) string {
	value, _, _ := unstructured.NestedString(definition.Object, "spec", "names", name)
	return value
}
