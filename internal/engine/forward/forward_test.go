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

package forward_test

import (
	"context"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/forward"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
)

// callEach method by reflection, with one text for all texts.
func callEach(t *testing.T, eng forward.Engine, called func(method string, err error)) {
	t.Helper()
	methods := reflect.TypeOf(eng)
	for i := range methods.NumMethod() {
		method := methods.Method(i)
		arguments := []reflect.Value{reflect.ValueOf(eng), reflect.ValueOf(t.Context())}
		for n := len(arguments); n < method.Type.NumIn(); n++ {
			switch in := method.Type.In(n); in.String() {
			case "string":
				arguments = append(arguments, reflect.ValueOf("name"))
			case "io.Reader":
				arguments = append(arguments, reflect.ValueOf(strings.NewReader("")))
			case "io.Writer":
				arguments = append(arguments, reflect.ValueOf(io.Discard))
			default:
				arguments = append(arguments, reflect.Zero(in))
			}
		}
		results := method.Func.Call(arguments)
		err, _ := results[len(results)-1].Interface().(error)
		called(method.Name, err)
	}
}

// Each method reaches the same of the engine behind, and is known by what it does there.
func TestEachCallGoesThrough(t *testing.T) {
	t.Parallel()
	inner := simulated.New()
	var seen forward.Call
	eng := forward.New(func(ctx context.Context, call forward.Call, do func(context.Context, engine.Engine) error) error {
		seen = call
		return do(ctx, inner)
	})
	methods := 0
	callEach(t, eng, func(method string, _ error) {
		methods++
		journal := inner.Journal()
		made := journal[len(journal)-1]
		if len(journal) != methods || made.Method != method || seen.Method != method {
			t.Errorf("%s is seen as %s, and %s is call %d of the engine", method, seen.Method, made.Method, len(journal))
		}
		if changes := seen.Changes != ""; changes != made.Mutating || changes && seen.Object != made.Name {
			t.Errorf("%s: seen as a change of %q %q, made as %+v", method, seen.Changes, seen.Object, made)
		}
		if made.Name != "" && made.Name != "name" {
			t.Errorf("%s: the engine receives %q", method, made.Name)
		}
	})
	if want := reflect.TypeFor[engine.Engine]().NumMethod() - len([]string{"Events", "Close"}); methods != want {
		t.Errorf("%d methods, want %d", methods, want)
	}
}

func TestRefusedCallIsNotMade(t *testing.T) {
	t.Parallel()
	refused := errors.New("not now")
	eng := forward.New(func(context.Context, forward.Call, func(context.Context, engine.Engine) error) error { return refused })
	callEach(t, eng, func(method string, err error) {
		if !errors.Is(err, refused) {
			t.Errorf("%s: %v, want %v", method, err, refused)
		}
	})
}

// A whole ID looks like a secret, so a log would have [redacted] in its place.
func TestIDIsShort(t *testing.T) {
	t.Parallel()
	var seen []string
	eng := forward.New(func(_ context.Context, call forward.Call, _ func(context.Context, engine.Engine) error) error {
		seen = append(seen, call.Object)
		return nil
	})
	id := strings.Repeat("0123456789abcdef", 4)
	for _, name := range []string{id, id[1:], "demo-" + id[5:]} {
		if err := eng.StartContainer(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{id[:12], id[1:], "demo-" + id[5:]}, seen); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
}
