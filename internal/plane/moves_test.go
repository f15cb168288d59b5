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

package plane

import (
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

func TestMoves(t *testing.T) {
	t.Parallel()
	c := fake.NewClientBuilder().Build()
	if got := must.Get(ReadMoves(t.Context(), c))(t); got.Recorded || got.Has("a") {
		t.Errorf("A plane of an earlier version records nothing, got %+v", got)
	}
	for range 2 { // each start of the manager, and each attempt of clusterctl
		must.Succeed(t, BeginMoves(t.Context(), c))
		must.Succeed(t, AddMove(t.Context(), c, "a", "default/demo"))
	}
	must.Succeed(t, AddMove(t.Context(), c, "b", "default/lab"))
	if got := must.Get(ReadMoves(t.Context(), c))(t); !got.Recorded || !got.Has("a") || !got.Has("b") || got.Has("c") {
		t.Errorf("got %+v", got)
	}
}

// Before the manager has created the record.
func TestAddBegins(t *testing.T) {
	t.Parallel()
	c := fake.NewClientBuilder().Build()
	must.Succeed(t, AddMove(t.Context(), c, "a", "default/demo"))
	if got := must.Get(ReadMoves(t.Context(), c))(t); !got.Recorded || !got.Has("a") {
		t.Errorf("got %+v", got)
	}
}
