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

package clusterfilter_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/internal/clusterfilter"
)

func TestNew(t *testing.T) {
	t.Parallel()
	accepts := clusterfilter.New()
	stopped := map[string]string{infrav1.StoppedAnnotation: ""}
	for i, look := range []struct {
		namespace, name string
		uid             types.UID
		annotations     map[string]string
		want            bool
	}{
		{"a", "demo", "1", nil, true},
		{"a", "demo", "1", nil, true},
		{"b", "demo", "2", nil, true},
		{"a", "demo", "3", nil, false}, // Created again: the connection is dropped, once.
		{"a", "demo", "3", nil, true},
		{"b", "demo", "2", nil, true},
		{"b", "demo", "2", stopped, false}, // For as long as it is stopped.
		{"b", "demo", "2", stopped, false},
		{"a", "demo", "3", nil, true},
		{"b", "demo", "2", nil, true}, // Started again.
	} {
		cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{
			Namespace: look.namespace, Name: look.name, UID: look.uid, Annotations: look.annotations,
		}}
		if got := accepts(cluster); got != look.want {
			t.Errorf("look %d at %s/%s with UID %s: accepted %t, want %t", i, look.namespace, look.name, look.uid, got, look.want)
		}
	}
}
