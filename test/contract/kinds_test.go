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
	"encoding/json"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/external"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// kinds of the provider, as a program that registers them has them.
func kinds(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	must.Succeed(t, infrav1.AddToScheme(scheme))
	return scheme
}

// objects returns an empty object of each kind.
func objects(t *testing.T) map[string]client.Object {
	t.Helper()
	scheme := kinds(t)
	found := map[string]client.Object{}
	for kind := range scheme.KnownTypes(infrav1.GroupVersion) {
		made := must.Get(scheme.New(infrav1.GroupVersion.WithKind(kind)))(t)
		if object, ok := made.(client.Object); ok {
			found[kind] = object
		}
	}
	return found
}

// TestKinds: Cluster API reads and writes each kind without knowing its type,
// and lists it; a template is called as what is made from it.
func TestKinds(t *testing.T) {
	t.Parallel()
	scheme := kinds(t)
	found := objects(t)
	if len(found) != 7 {
		t.Errorf("there are %d kinds", len(found))
	}
	for kind, object := range found {
		if !scheme.Recognizes(infrav1.GroupVersion.WithKind(kind + "List")) {
			t.Errorf("%s has no list", kind)
		}
		if made := strings.TrimSuffix(kind, "Template"); found[made] == nil {
			t.Errorf("%s is to make a %s, which there is not", kind, made)
		}
		given := `{"apiVersion":"infrastructure.cluster.x-k8s.io/v1beta2","kind":"` + kind + `","metadata":{"name":"a","namespace":"b","labels":{"c":"d"}}}`
		must.Succeed(t, json.Unmarshal([]byte(given), object))
		if object.GetName() != "a" || object.GetLabels()["c"] != "d" || object.GetObjectKind().GroupVersionKind().Kind != kind {
			t.Errorf("%s loses its metadata: %+v", kind, object)
		}
	}
}

// TestEmptyFieldsAreAbsent: who applies an object owns the fields it writes,
// and an empty field that is written is fought over, as the endpoint would be
// between the topology controller and ours.
func TestEmptyFieldsAreAbsent(t *testing.T) {
	t.Parallel()
	for kind, object := range objects(t) {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			content := must.Get(json.Marshal(object))(t)
			var written map[string]any
			must.Succeed(t, json.Unmarshal(content, &written))
			for _, field := range []string{"spec", "status"} {
				if value, found := written[field]; found {
					t.Errorf("an empty %s is written with the %s %v", kind, field, value)
				}
			}
		})
	}
	pool := must.Get(json.Marshal(infrav1.ContainerMachinePoolStatus{Ready: ptr.To(true)}))(t)
	if !strings.Contains(string(pool), `"replicas":0`) {
		t.Errorf("a pool of no replicas does not say so: %s", pool)
	}
}

// TestTemplatesMakeTheirKind has Cluster API make an object from each
// template.
func TestTemplatesMakeTheirKind(t *testing.T) {
	t.Parallel()
	metadata := clusterv1.ObjectMeta{Labels: map[string]string{"l": "1"}, Annotations: map[string]string{"a": "2"}}
	cluster, machine, pool := &infrav1.ContainerClusterTemplate{}, &infrav1.ContainerMachineTemplate{}, &infrav1.ContainerMachinePoolTemplate{}
	cluster.Spec.Template.ObjectMeta, cluster.Spec.Template.Spec.Network.Name = metadata, "mine"
	machine.Spec.Template.ObjectMeta, machine.Spec.Template.Spec.Image = metadata, "example.test/node:1"
	pool.Spec.Template.ObjectMeta, pool.Spec.Template.Spec.Template.Spec.Image = metadata, "example.test/node:1"
	for kind, c := range map[string]struct {
		template client.Object
		// path of a field that must have come along.
		path []string
		want string
	}{
		"ContainerCluster":     {cluster, []string{"spec", "network", "name"}, "mine"},
		"ContainerMachine":     {machine, []string{"spec", "image"}, "example.test/node:1"},
		"ContainerMachinePool": {pool, []string{"spec", "template", "spec", "image"}, "example.test/node:1"},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			c.template.SetNamespace(builders.Namespace)
			c.template.SetName("template")
			// So that they are there where the kind itself is not known.
			template := must.Get(runtime.DefaultUnstructuredConverter.ToUnstructured(c.template))(t)
			from := &unstructured.Unstructured{Object: template}
			from.SetGroupVersionKind(infrav1.GroupVersion.WithKind(kind + "Template"))
			api := fake.NewClientBuilder().WithScheme(runtime.NewScheme()).WithObjects(from).Build()
			made, _, err := external.CreateFromTemplate(t.Context(), &external.CreateFromTemplateInput{
				Client: api, Namespace: builders.Namespace, Name: "made", ClusterName: builders.Cluster,
				TemplateRef: &corev1.ObjectReference{APIVersion: infrav1.GroupVersion.String(), Kind: kind + "Template", Namespace: builders.Namespace, Name: "template"},
			})
			must.Succeed(t, err)
			if made.GetKind() != kind || made.GetLabels()["l"] != "1" || made.GetAnnotations()["a"] != "2" {
				t.Errorf("made was the %s %+v", made.GetKind(), made.Object["metadata"])
			}
			typed := objects(t)[kind]
			if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(made.Object, typed, true); err != nil {
				t.Errorf("what was made is no %s: %v", kind, err)
			}
			if got, _, err := unstructured.NestedString(made.Object, c.path...); err != nil || got != c.want {
				t.Errorf("%v is %q, want %q", c.path, got, c.want)
			}
		})
	}
}
