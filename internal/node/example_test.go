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

package node_test

import (
	"fmt"

	"github.com/capi-samples/cluster-api-provider-container/internal/node"
)

// The controller and the webhook check parameters with the same function, before any call of the engine.
func ExampleCheckMounts() {
	mounts := []node.Mount{
		{HostPath: "/srv/data", ContainerPath: "/data"},
		{HostPath: "/srv/keys", ContainerPath: "/etc/kubernetes/pki"},
	}
	for _, refused := range node.CheckMounts(mounts, nil) {
		fmt.Println(refused.Index, refused.Path, refused.Reason)
	}
	// Output:
	// 1 /etc/kubernetes/pki is used by the node: kubeadm writes keys there
}
