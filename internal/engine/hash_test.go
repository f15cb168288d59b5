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

package engine_test

import (
	"testing"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// TestHash: a release that adds a field to the specification finds the containers of
// the release before unchanged.
func TestHash(t *testing.T) {
	t.Parallel()
	hash := must.Get(engine.Spec{Name: "node", Image: "image"}.Hash())(t)
	if want := "da9a45ce285e039052c6a6e317e231ed4f00cb33daac232996ea9908fb28a798"; hash != want {
		t.Errorf("the hash is %s, want %s as before; encode new fields with omitzero", hash, want)
	}
}
