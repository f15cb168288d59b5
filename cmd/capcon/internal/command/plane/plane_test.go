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

package plane_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/command/commandtest"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// A management cluster that was created on its own stays until it is removed
// explicitly, and is never removed while it has a cluster.
func TestPlaneUpAndDown(t *testing.T) {
	t.Parallel()
	w := commandtest.New(t)
	w.Create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}})
	commandtest.Contains(t, w.MustFail("kubeconfig", "--management"), "capcon plane up")
	commandtest.Contains(t, w.MustRun("plane", "down"), "No management cluster found on")
	commandtest.Contains(t, w.MustRun("plane", "stop"), "No management cluster found on")
	if errs := w.MustFail("plane", "logs"); !strings.HasSuffix(errs, "; start it with \"capcon plane up\"\n") {
		t.Errorf("plane logs: %s", errs)
	}
	for range 2 {
		commandtest.Contains(t, w.MustRun("plane", "up"), "management plane: ready", "export KUBECONFIG="+w.StateHome, "clusterctl generate cluster", "capcon plane down")
	}
	w.Get("container", &clusterv1.ClusterClass{})
	if out := w.MustRun("kubeconfig", "--management"); out != "management" {
		t.Errorf("kubeconfig --management printed %s", out)
	}

	other := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "other"}}
	w.Create(other)
	commandtest.Contains(t, w.MustFail("plane", "down"), "has clusters: team-a/other", "delete them")
	must.Succeed(t, w.Client.Delete(t.Context(), other))

	w.Controllers = w.Become
	w.MustRun("up", "demo")
	w.Controllers = w.Vanish
	commandtest.Contains(t, w.MustRun("down", "demo"), "cluster demo: deleted", `management plane: kept, because it was started with "capcon plane up" or "capcon engine add"`)
	if !w.Plane.Current.Exists {
		t.Error("down removed the plane")
	}
	commandtest.Contains(t, w.MustRun("plane", "down"), "Removed management cluster capcon-plane")
}

// The gates are checked before the plane is touched, and are the plane's, not a cluster's.
func TestPlaneUpFeatureGates(t *testing.T) {
	t.Parallel()
	w := commandtest.New(t)
	w.Create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}})
	commandtest.Contains(t, w.MustFail("plane", "up", "--feature-gates", "Teleportation=true"), "--feature-gates", "Teleportation")
	commandtest.Contains(t, w.MustFail("plane", "up", "--feature-gates", "InPlaceUpdates=true"), "InPlaceUpdates needs RuntimeSDK")
	if len(w.Plane.Ensured) > 0 {
		t.Errorf("the plane was started: %v", w.Plane.Ensured)
	}
	const gates = "RuntimeSDK=true,InPlaceUpdates=true"
	w.MustRun("plane", "up", "--feature-gates", gates)
	if w.Options.FeatureGates != gates {
		t.Errorf("the plane has the feature gates %q, want %q", w.Options.FeatureGates, gates)
	}
	w.MustRun("plane", "up")
	if w.Options.FeatureGates != "" {
		t.Errorf("the plane is requested with %q, want what it has", w.Options.FeatureGates)
	}
}

// kubectl needs only the API server: it shows what the controllers wait for.
func TestManagementKubeconfigWithoutControllers(t *testing.T) {
	t.Parallel()
	w := commandtest.New(t)
	w.Plane.Current = plane.State{ID: "plane", Exists: true, Detail: "waiting for controllers", Kubeconfig: []byte("management")}
	if out := w.MustRun("kubeconfig", "--management"); out != "management" {
		t.Errorf("kubeconfig --management printed %s", out)
	}
	w.Plane.Current = plane.State{ID: "plane", Exists: true, Detail: "waiting for API server"}
	code, out, errs := w.Run("kubeconfig", "--management")
	if code != 1 || out != "" {
		t.Errorf("without an API server, kubeconfig --management ended with %d: %s", code, out)
	}
	commandtest.Contains(t, errs, "not ready (waiting for API server)", "capcon plane up")
}

func TestPlaneUpRefusesBadInput(t *testing.T) {
	t.Parallel()
	for flag, value := range map[string]string{"--timeout": "-1s", "--plane-image": "A B", "--registry": "http://host", "--feature-gates": "RuntimeSDK"} {
		commandtest.Contains(t, commandtest.New(t).MustFail("plane", "up", flag, value), flag, value)
	}
}
