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
	"errors"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/command/commandtest"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// Two up on a fresh engine: the second fails late, and the plane has the
// cluster of the first by then.
func TestUpThatFailsKeepsThePlaneOfAnother(t *testing.T) {
	t.Parallel()
	w := commandtest.New(t)
	w.Plane.Meanwhile = func(call string) {
		if call != "Ensure" {
			return
		}
		must.Get(w.Engine.CreateNetwork(t.Context(), engine.NetworkSpec{Name: "capcon"}))(t)
		w.Create(&clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "other"}})
	}
	commandtest.Contains(t, w.MustFail("up", "demo", "--pod-cidr", "172.18.0.0/16"), "--pod-cidr", "overlaps")
	if w.Plane.Removed != 0 || !w.Plane.Current.Exists {
		t.Errorf("The plane has a cluster of another up and was removed")
	}
}

// An up and a down of the last cluster: the plane that up has found is gone when
// it would use it.
func TestUpBeginsAgainWhenItsPlaneIsRemoved(t *testing.T) {
	t.Parallel()
	for name, removed := range map[string]bool{"another plane": true, "no plane": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := commandtest.New(t)
			w.Controllers = w.Become
			broken := errors.New("x509: certificate signed by unknown authority")
			w.Plane.Meanwhile = func(call string) {
				if w.ReadErrors = nil; call != "Ensure" || len(w.Plane.Ensured) > 1 {
					return
				}
				w.ReadErrors = map[string]error{"": broken}
				w.Plane.Current = plane.State{}
				if removed {
					w.Plane.Current = plane.State{ID: "of another up", Exists: true}
				}
			}
			if w.MustRun("up", "demo"); len(w.Plane.Ensured) != 2 {
				t.Errorf("the plane was ensured %d times, want twice", len(w.Plane.Ensured))
			}
		})
	}
}

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
			w := commandtest.New(t)
			w.Engine.RemoveImage("localhost/capcon/plane:dev")
			for _, reference := range []string{"docker.io/capcon/plane:dev", "r.example/capcon/plane:dev"} {
				w.Engine.AddRegistryImage(reference, engine.Image{}, nil)
			}
			commandtest.Contains(t, w.MustFail(append([]string{"up", "demo"}, tc.args...)...), "management plane", "make images-load ENGINE=", "capcon images load", "--plane-image", "@sha256:")
			if calls := w.Engine.MutatingCalls(); len(calls) > 0 || len(w.Plane.Ensured) > 0 {
				t.Errorf("%s Want nothing pulled or created, got %v, %v", tc.reason, calls, w.Plane.Ensured)
			}
		})
	}
}
