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
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/capi-samples/cluster-api-provider-container/internal/plane"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// A management cluster that was created on its own stays until it is removed
// explicitly, and is never removed while it has a cluster.
func TestPlaneUpAndDown(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	must.Succeed(t, w.client.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}}))
	if code, out, errs := w.run("kubeconfig", "--management"); code != 1 || !strings.Contains(errs, "capcon plane up") {
		t.Errorf("kubeconfig of no management cluster ended with %d:\n%s%s", code, out, errs)
	}
	if code, out, errs := w.run("plane", "down"); code != 0 || !strings.Contains(out, "No management cluster") {
		t.Errorf("plane down without one ended with %d:\n%s%s", code, out, errs)
	}
	for range 2 {
		code, out, errs := w.run("plane", "up")
		if code != 0 {
			t.Fatalf("plane up ended with %d:\n%s%s", code, out, errs)
		}
		mustContain(t, out+errs, "management plane: ready", "export KUBECONFIG="+w.state, "clusterctl generate cluster", "capcon plane down")
	}
	must.Succeed(t, w.client.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "container"}, &clusterv1.ClusterClass{}))
	if code, out, _ := w.run("kubeconfig", "--management"); code != 0 || out != "management" {
		t.Errorf("kubeconfig --management ended with %d: %s", code, out)
	}

	other := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "other"}}
	must.Succeed(t, w.client.Create(t.Context(), other))
	code, _, errs := w.run("plane", "down")
	if code != 1 {
		t.Errorf("plane down with a cluster ended with %d", code)
	}
	mustContain(t, errs, "has clusters: team-a/other", "delete them")
	must.Succeed(t, w.client.Delete(t.Context(), other))

	w.controllers = w.become
	if code, out, errs := w.run("up", "demo"); code != 0 {
		t.Fatalf("up ended with %d:\n%s%s", code, out, errs)
	}
	w.controllers = w.vanish
	code, out, errs := w.run("down", "demo")
	if code != 0 || !w.plane.state.Exists {
		t.Errorf("down ended with %d and the plane is there: %t\n%s%s", code, w.plane.state.Exists, out, errs)
	}
	mustContain(t, out+errs, "cluster demo: deleted", `management plane: kept, because it was started with "capcon plane up"`)
	code, out, errs = w.run("plane", "down")
	if code != 0 || w.plane.state.Exists {
		t.Errorf("plane down ended with %d and the plane is there: %t\n%s%s", code, w.plane.state.Exists, out, errs)
	}
	mustContain(t, out, "Removed management cluster capcon-plane")
}

// kubectl needs only the API server: it shows what the controllers wait for.
func TestManagementKubeconfigWithoutControllers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plane.state = plane.State{ID: "plane", Exists: true, Detail: "waiting for controllers", Kubeconfig: []byte("management")}
	if code, out, errs := w.run("kubeconfig", "--management"); code != 0 || out != "management" {
		t.Errorf("kubeconfig --management ended with %d:\n%s%s", code, out, errs)
	}
	w.plane.state = plane.State{ID: "plane", Exists: true, Detail: "waiting for API server"}
	code, out, errs := w.run("kubeconfig", "--management")
	if code != 1 || out != "" {
		t.Errorf("without an API server, kubeconfig --management ended with %d: %s", code, out)
	}
	mustContain(t, errs, "not ready (waiting for API server)", "capcon plane up")
}

func TestPlaneUpRefusesBadInput(t *testing.T) {
	t.Parallel()
	for flag, value := range map[string]string{"--timeout": "-1s", "--plane-image": "A B", "--registry": "http://host"} {
		code, _, errs := newWorld(t).run("plane", "up", flag, value)
		if code != 1 {
			t.Errorf("plane up %s %q ends with exit code %d, want 1", flag, value, code)
		}
		mustContain(t, errs, flag, value)
	}
}
