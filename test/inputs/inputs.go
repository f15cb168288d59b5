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

// Package inputs has invalid objects, and valid and invalid changes, with the expected
// errors. The tests of the webhooks and of the API server that calls them read the tables.
package inputs

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
)

// Input is an object that is refused.
type Input struct {
	// Reason why it is rejected.
	Reason string
	// Kind of the object, and what it has alongside its name, as YAML.
	Kind, Object string
	// Field that is at fault, and the error that the user sees.
	Field, Message string
}

// Change is an object that is changed.
type Change struct {
	// Reason why it may be changed so, or not.
	Reason string
	// Kind of the object, and what it has before and after, as YAML.
	Kind, Before, After string
	// TopologyAsks says that the topology controller requests it in a dry run.
	TopologyAsks bool
	// IsOlder says that what it was before is refused now: it is
	// from before there were webhooks.
	IsOlder bool
	// Field that is at fault, and the error that the user sees; empty where
	// the change is allowed.
	Field, Message string
}

// Decode makes an object of a kind, with this name, from YAML.
func Decode(tb testing.TB, kind, name, body string) client.Object {
	tb.Helper()
	scheme := runtime.NewScheme()
	if err := infrav1.AddToScheme(scheme); err != nil {
		tb.Fatal(err)
	}
	empty, err := scheme.New(infrav1.GroupVersion.WithKind(kind))
	if err != nil {
		tb.Fatal(err)
	}
	object, ok := empty.(client.Object)
	if !ok {
		tb.Fatalf("%s is a %T", kind, empty)
	}
	if err := yaml.UnmarshalStrict([]byte(body), object); err != nil {
		tb.Fatalf("read %s: %v\n%s", kind, err, body)
	}
	object.GetObjectKind().SetGroupVersionKind(infrav1.GroupVersion.WithKind(kind))
	object.SetNamespace(metav1.NamespaceDefault)
	object.SetName(name)
	return object
}
