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

package target_test

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/capi-samples/cluster-api-provider-container/e2e/target"
)

// framework.ValidateOwnerReferencesResilience takes these assertions; a test of your own calls
// the one of a kind.
func ExampleOwnerReferenceAssertions() {
	assert := target.OwnerReferenceAssertions(true)["ContainerMachine"]
	name := types.NamespacedName{Namespace: "default", Name: "demo-abcde"}
	owner := metav1.OwnerReference{APIVersion: clusterv1.GroupVersion.String(), Kind: "Machine", Name: name.Name, Controller: ptr.To(true)}
	fmt.Println("its Machine:", assert(name, []metav1.OwnerReference{owner}))
	fmt.Println("no owner is an error:", assert(name, nil) != nil)
	// Output:
	// its Machine: <nil>
	// no owner is an error: true
}
