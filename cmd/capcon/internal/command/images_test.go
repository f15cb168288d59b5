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

package command

import (
	"testing"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

// What gets the engine's socket is never pulled by a name that others can push
// to, and what is missing is found before anything is created.
func TestUpPullsNoPlaneByTag(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		args   []string
	}{
		"no image":       {"No release has one yet.", nil},
		"registry":       {"Its name there proves nothing.", []string{"--registry", "r.example"}},
		"image by a tag": {"It may be another one tomorrow.", []string{"--plane-image", "capcon/plane:dev"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.engine.RemoveImage("localhost/capcon/plane:dev")
			for _, reference := range []string{"docker.io/capcon/plane:dev", "r.example/capcon/plane:dev"} {
				w.engine.AddRegistryImage(reference, engine.Image{}, nil)
			}
			code, _, errs := w.run(append([]string{"up", "demo"}, tc.args...)...)
			if code != 1 {
				t.Errorf("%s Want exit code 1, got %d", tc.reason, code)
			}
			mustContain(t, errs, "management plane", "make images-load ENGINE=", "capcon images load", "--plane-image", "@sha256:")
			if calls := w.engine.MutatingCalls(); len(calls) > 0 || len(w.plane.ensured) > 0 {
				t.Errorf("%s Want nothing pulled or created, got %v, %v", tc.reason, calls, w.plane.ensured)
			}
		})
	}
}
