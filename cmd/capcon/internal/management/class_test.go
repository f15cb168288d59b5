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

package management

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// The class of the documentation is there, with templates that no other class has, and one that
// exists is not changed: that would replace the Machines of its clusters.
func TestEnsureNamedClass(t *testing.T) {
	t.Parallel()
	c := fake.NewClientBuilder().WithScheme(must.Get(Scheme())(t)).Build()
	key := client.ObjectKey{Namespace: "default", Name: "container"}
	must.Succeed(t, EnsureNamedClass(t.Context(), c, "default"))
	class := &clusterv1.ClusterClass{}
	must.Succeed(t, c.Get(t.Context(), key, class))
	template := class.Spec.Infrastructure.TemplateRef.Name
	must.Succeed(t, c.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: template}, &infrav1.ContainerClusterTemplate{}))

	// An earlier release had other content.
	class.Spec.Variables = nil
	must.Succeed(t, c.Update(t.Context(), class))
	must.Succeed(t, EnsureNamedClass(t.Context(), c, "default"))
	after := &clusterv1.ClusterClass{}
	must.Succeed(t, c.Get(t.Context(), key, after))
	if diff := cmp.Diff(class, after); diff != "" {
		t.Errorf("the class has been changed (-before +after):\n%s", diff)
	}
}
