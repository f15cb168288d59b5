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

package down_test

import (
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/command/commandtest"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane"
)

func TestDownStartsAPlaneThatIsDown(t *testing.T) {
	t.Parallel()
	w := commandtest.Created(t)
	w.Plane.Current.Answers = false
	w.Plane.Ensured = nil
	w.Controllers = w.Vanish
	w.MustRun("down", "demo")
	if len(w.Plane.Ensured) != 1 || w.Plane.Removed != 1 {
		t.Errorf("The plane is started to finish the job and then removed, got %v, %d", w.Plane.Ensured, w.Plane.Removed)
	}
}

func TestDownRemovesWhatALostPlaneLeft(t *testing.T) {
	t.Parallel()
	w := commandtest.Created(t)
	w.AddContainer("other", "demo", "another-owner", identity.RoleControlPlane)
	w.Plane.Current = plane.State{} // container and volume were removed
	commandtest.Contains(t, w.MustFail("status"), "no management cluster", "demo", "capcon down", "demo-a-1234 of cluster demo is running")
	commandtest.Contains(t, w.MustFail("down", "--all"), `cluster "demo" was not deleted`, "kubectl --kubeconfig FILE delete cluster demo", "capcon down demo --force")
	if len(w.Containers()) != 2 {
		t.Error("another management cluster may have it")
	}
	w.MustRun("down", "--all", "--force")
	if diff := cmp.Diff([]string{"other"}, w.Containers()); diff != "" {
		t.Errorf("containers of another owner (-want +got):\n%s", diff)
	}
}

// A down waits for its cluster while another down, of the last one, removes the
// plane: then its own cluster is gone too.
func TestDownEndsWhenAnotherRemovesThePlane(t *testing.T) {
	t.Parallel()
	w := commandtest.Created(t)
	w.Controllers = func() {
		w.Vanish()
		w.ReadErrors = map[string]error{"": syscall.ECONNREFUSED}
		w.Plane.Current = plane.State{}
	}
	w.MustRun("down", "demo")
}

// A cluster is created while down removes the plane behind the last one.
func TestDownKeepsAPlaneThatGotACluster(t *testing.T) {
	t.Parallel()
	w := commandtest.Created(t)
	w.Controllers = w.Vanish
	w.Plane.Meanwhile = func(string) {
		other := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "other"}}
		w.Create(other)
	}
	commandtest.Contains(t, w.MustRun("down", "demo"), "kept for clusters default/other")
	if w.Plane.Removed != 0 {
		t.Error("the plane was removed")
	}
}
