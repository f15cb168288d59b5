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

package nodeimages

import (
	"os"
	"testing"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// A command that is killed leaves no archive: it has no name while it is on the disk.
func TestSourceLeavesNoFile(t *testing.T) {
	directory := t.TempDir()
	t.Setenv("TMPDIR", directory)
	e := simulated.New()
	e.AddImage(engine.Image{Tags: []string{"app:dev"}}, nil)
	source := must.Get(OpenSource(t.Context(), e, "app:dev"))(t)
	must.Get(source.open(t.Context()))(t)
	if left := must.Get(os.ReadDir(directory))(t); source.archive == nil || len(left) > 0 {
		t.Errorf("temporary files: %v", left)
	}
	must.Succeed(t, source.Close())
}
