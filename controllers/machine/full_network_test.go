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

package machine_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
	"github.com/capi-samples/cluster-api-provider-container/test/world"
)

// fullNetwork makes the network "small", whose static addresses are taken.
func fullNetwork(t *testing.T, w *world.World) {
	t.Helper()
	must.Get(w.Engine.CreateNetwork(t.Context(), engine.NetworkSpec{Name: "small", Subnets: prefixes("10.9.0.0/29")}))(t)
	for i := range 8 {
		name := fmt.Sprintf("filler-%d", i)
		spec := engine.Spec{
			Name: name, Image: builders.NodeImage, Attachment: engine.Attachment{Network: "small", Addresses: addresses(fmt.Sprintf("10.9.0.%d", i))},
			Labels: map[string]string{labelNetwork: "small", labelAddress: fmt.Sprintf("10.9.0.%d", i)},
		}
		if _, err := w.Engine.CreateContainer(t.Context(), spec); err != nil && !strings.Contains(err.Error(), "in use") {
			t.Fatal(err)
		}
	}
}
