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

package up_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/command/commandtest"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
)

// Reading a node image costs a container, so what it says is saved.
func TestNodeImageIsReadOnce(t *testing.T) {
	t.Parallel()
	w := commandtest.New(t)
	for want := range 2 {
		w.Engine.ResetJournal()
		w.Controllers = w.Become
		w.MustRun("up", "demo")
		isProbe := func(call simulated.Call) bool {
			return call.Method == "CreateContainer" && strings.HasPrefix(call.Name, "capcon-image-probe-")
		}
		if read := slices.ContainsFunc(w.Engine.Journal(), isProbe); read != (want == 0) {
			t.Errorf("call %d of up reads the image: %v", want+1, read)
		}
		w.Controllers = w.Vanish
		w.MustRun("down", "demo", "--keep-plane")
	}
}
