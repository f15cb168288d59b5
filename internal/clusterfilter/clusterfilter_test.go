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

	"github.com/capi-samples/cluster-api-provider-container/internal/clusterfilter"
)

func TestNew(t *testing.T) {
	t.Parallel()
	accepts := clusterfilter.New()
	for i, look := range []struct {
		namespace, name string
		uid             types.UID
		want            bool
	}{
		{"a", "demo", "1", true},
		{"a", "demo", "1", true},
		{"b", "demo", "2", true},
		{"a", "demo", "3", false}, // Created again: the connection is dropped, once.
		{"a", "demo", "3", true},
		{"b", "demo", "2", true},
	} {
		cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: look.namespace, Name: look.name, UID: look.uid}}
		if got := accepts(cluster); got != look.want {
			t.Errorf("look %d at %s/%s with UID %s: accepted %t, want %t", i, look.namespace, look.name, look.uid, got, look.want)
		}
	}
}
