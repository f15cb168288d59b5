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

package redact_test

import (
	"fmt"

	"github.com/capi-samples/cluster-api-provider-container/internal/redact"
)

// What is known to be secret is removed everywhere, and what looks like a secret too.
func ExampleText() {
	fmt.Println(redact.Text("kubeadm join demo:6443 --token abcdef.0123456789abcdef", "demo"))
	fmt.Println(redact.Text("password=hunter2, user=admin"))
	// Output:
	// kubeadm join [redacted]:6443 --token [redacted]
	// password=[redacted], user=admin
}
