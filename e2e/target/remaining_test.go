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

package target

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

func TestRemaining(t *testing.T) {
	t.Parallel()
	scheme := runtime.NewScheme()
	must.Succeed(t, infrav1.AddToScheme(scheme))
	left := &infrav1.ContainerCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: "e2e", Name: "left"}, Spec: infrav1.ContainerClusterSpec{OwnerID: "0a1b2c3d4e5f"},
	}
	client := fake.NewClientBuilder().WithScheme(scheme).WithObjects(left).Build()
	got := must.Get(remaining(t.Context(), client))(t)
	want := "Cluster e2e/left was not deleted, and its containers keep running: capcon gc --owner 0a1b2c3d4e5f --yes\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got := must.Get(remaining(t.Context(), fake.NewClientBuilder().WithScheme(scheme).Build()))(t); got != "" {
		t.Errorf("Without clusters nothing is said, got %q", got)
	}
}
