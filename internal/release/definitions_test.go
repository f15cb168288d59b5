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

package release

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/yaml"

	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

func TestLacks(t *testing.T) {
	t.Parallel()
	const needed = `[{name: v1alpha1, served: true, schema: {openAPIV3Schema: {properties: {spec: {properties: {
		ownerID: {type: string},
		domains: {items: {properties: {name: {type: string}}}},
		labels: {additionalProperties: {type: string}}}}}}}}]`
	with := func(fields string) string {
		return `[{name: v1alpha1, served: true, schema: {openAPIV3Schema: {properties: {spec: ` + fields + `}}}}]`
	}
	cases := map[string]struct {
		reason    string
		installed string
		want      []string
	}{
		"Same": {"The definitions of this release are enough.", needed, nil},
		"Newer": {
			"A newer release adds versions and fields.",
			`[{name: v1beta1, served: true, schema: {openAPIV3Schema: {}}},
			{name: v1alpha1, served: true, schema: {openAPIV3Schema: {properties: {spec: {properties: {
			later: {type: string}, ownerID: {type: string},
			domains: {items: {properties: {name: {type: string}, zone: {type: string}}}},
			labels: {additionalProperties: {type: string}}}}}}}}]`, nil,
		},
		"Field": {
			"The API server would drop it from each write.",
			with(`{properties: {domains: {items: {properties: {name: {type: string}}}}, labels: {additionalProperties: {type: string}}}}`),
			[]string{"spec.ownerID"},
		},
		"Fields": {"What is below a missing field is not listed alongside it.", with(`{}`), []string{"spec.domains", "spec.labels", "spec.ownerID"}},
		"FieldOfElements": {
			"Elements of a list have fields too, and a map without a schema of its values keeps none.",
			with(`{properties: {ownerID: {type: string}, domains: {items: {}}, labels: {}}}`),
			[]string{"spec.domains[].name", "spec.labels[]"},
		},
		"KeepsAll":  {"Nothing is dropped below it.", with(`{x-kubernetes-preserve-unknown-fields: true}`), nil},
		"Version":   {"The manager asks for its own version only.", `[{name: v1alpha0, served: true, schema: {openAPIV3Schema: {}}}]`, []string{"version v1alpha1"}},
		"NotServed": {"A version that is only stored cannot be asked for.", `[{name: v1alpha1, schema: {openAPIV3Schema: {}}}]`, []string{"version v1alpha1"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, lacks(versions(t, tc.installed), versions(t, needed))); diff != "" {
				t.Errorf("%s\n(-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func versions(t *testing.T, text string) []apiextensionsv1.CustomResourceDefinitionVersion {
	t.Helper()
	var read []apiextensionsv1.CustomResourceDefinitionVersion
	must.Succeed(t, yaml.UnmarshalStrict([]byte(text), &read))
	return read
}

func TestCheckDefinitions(t *testing.T) {
	t.Parallel()
	const (
		name   = "CustomResourceDefinition containerclusters.infrastructure.cluster.x-k8s.io "
		remedy = `; apply the CRDs of this release, for example with "clusterctl upgrade apply"`
	)
	type all = []apiextensionsv1.CustomResourceDefinition
	for want, installed := range map[string]func(all) all{
		"":                          func(all all) all { return all },
		name + "not found" + remedy: func(all all) all { return all[1:] },
		name + "lacks spec.ownerID (older than this manager)" + remedy: func(all all) all {
			delete(all[0].Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties, "ownerID")
			return all
		},
	} {
		definitions, err := embedded()
		must.Succeed(t, err)
		scheme := runtime.NewScheme()
		must.Succeed(t, apiextensionsv1.AddToScheme(scheme))
		list := &apiextensionsv1.CustomResourceDefinitionList{Items: installed(definitions)}
		err = CheckDefinitions(t.Context(), fake.NewClientBuilder().WithScheme(scheme).WithLists(list).Build())
		var outdated *OutdatedError
		if want == "" && err != nil || want != "" && (!errors.As(err, &outdated) || err.Error() != want) {
			t.Errorf("Got %v, want %q", err, want)
		}
	}
}
