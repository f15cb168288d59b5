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

package identity_test

import (
	"fmt"

	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
)

// Two clusters of one name have different containers, and each finds its own by labels.
func ExampleOwner() {
	mine := identity.Owner{Namespace: "default", Cluster: "demo", ID: "2f6c"}
	other := identity.Owner{Namespace: "default", Cluster: "demo", ID: "9b1e"}
	labels := mine.ContainerLabels(identity.RoleWorker, "worker-1")

	fmt.Println("same name:", mine.NodeContainer("worker-1") == other.NodeContainer("worker-1"))
	fmt.Println("mine:", mine.Owns(labels))
	fmt.Println("the other's:", other.Owns(labels))
	// Output:
	// same name: false
	// mine: true
	// the other's: false
}
