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
	"errors"
	"syscall"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// Two up on a fresh engine: the second fails late, and the plane has the
// cluster of the first by then.
func TestUpThatFailsKeepsThePlaneOfAnother(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plane.meanwhile = func(call string) {
		if call != "Ensure" {
			return
		}
		network := must.Get(w.engine.CreateNetwork(t.Context(), engine.NetworkSpec{Name: "capcon"}))(t)
		t.Log(network.Subnets[0].Prefix)
		other := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "other"}}
		must.Succeed(t, w.client.Create(t.Context(), other))
	}
	code, _, errs := w.run("up", "demo", "--pod-cidr", "172.18.0.0/16")
	if code != 1 {
		t.Errorf("Want exit code 1, got %d", code)
	}
	mustContain(t, errs, "--pod-cidr", "overlaps")
	if w.plane.removed != 0 || !w.plane.state.Exists {
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
			w := newWorld(t)
			w.controllers = w.become
			broken := errors.New("x509: certificate signed by unknown authority")
			w.plane.meanwhile = func(call string) {
				if w.clientError = nil; call != "Ensure" || len(w.plane.ensured) > 1 {
					return
				}
				w.clientError = broken
				w.plane.state = plane.State{}
				if removed {
					w.plane.state = plane.State{ID: "of another up", Exists: true}
				}
			}
			code, out, errs := w.run("up", "demo")
			if code != 0 || len(w.plane.ensured) != 2 {
				t.Errorf("up ended with %d after ensuring the plane %d times, want twice:\n%s%s", code, len(w.plane.ensured), out, errs)
			}
		})
	}
}

// A down waits for its cluster while another down, of the last one, removes the
// plane: then its own cluster is gone too.
func TestDownEndsWhenAnotherRemovesThePlane(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.controllers = w.become
	if code, out, errs := w.run("up", "demo"); code != 0 {
		t.Fatalf("up ended with %d:\n%s%s", code, out, errs)
	}
	w.controllers = func() {
		w.vanish()
		w.clientError = syscall.ECONNREFUSED
		w.plane.state = plane.State{}
	}
	code, out, errs := w.run("down", "demo")
	if code != 0 {
		t.Errorf("down ended with %d:\n%s%s", code, out, errs)
	}
}

// A cluster is created while down removes the plane behind the last one.
func TestDownKeepsAPlaneThatGotACluster(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.controllers = w.become
	if code, out, errs := w.run("up", "demo"); code != 0 {
		t.Fatalf("up ended with %d:\n%s%s", code, out, errs)
	}
	w.controllers = w.vanish
	w.plane.meanwhile = func(string) {
		other := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "other"}}
		if err := w.client.Create(t.Context(), other); err != nil {
			t.Error(err)
		}
	}
	code, out, errs := w.run("down", "demo")
	if code != 0 || w.plane.removed != 0 {
		t.Errorf("down ended with %d and removed the plane %d times:\n%s%s", code, w.plane.removed, out, errs)
	}
	mustContain(t, out+errs, "kept for clusters default/other")
}
