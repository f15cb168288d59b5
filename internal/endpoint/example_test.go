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

package endpoint_test

import (
	"fmt"

	"github.com/capi-samples/cluster-api-provider-container/internal/endpoint"
)

// Users of the namespace "team" may have engines of one network. A name is not resolved: it is not in the
// network.
func ExampleAllowed() {
	allowed, err := endpoint.ParseAllowed([]string{"team=tcp://10.0.0.0/8"})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, text := range []string{"tcp://10.1.2.3:2376", "tcp://engine.example.org:2376"} {
		at, err := endpoint.Parse(text)
		fmt.Println(at, allowed.Has("team", at), allowed.Has("default", at), err)
	}
	// Output:
	// tcp://10.1.2.3:2376 true false <nil>
	// tcp://engine.example.org:2376 false false <nil>
}
