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
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/command/commandtest"
	"github.com/capi-samples/cluster-api-provider-container/internal/endpoint"
	kinds "github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane"
	"github.com/capi-samples/cluster-api-provider-container/test/engineobjects"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// newWorld has controllers that connect to engines, and the flags of credentials.
func newWorld(t *testing.T, status metav1.ConditionStatus, reason string) (w *commandtest.World, credentials []string) {
	t.Helper()
	w = commandtest.New(t)
	w.Engines = map[string]*simulated.Engine{"a": simulated.New(), "big.example.org": simulated.New(), "build.example.org": simulated.New()}
	w.Create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}})
	w.Controllers = func() {
		list := &infrav1.ContainerEngineList{}
		must.Succeed(t, w.Client.List(t.Context(), list))
		for i := range list.Items {
			engine := &list.Items[i]
			engine.Status.Clusters, engine.Status.Machines, engine.Status.Product = ptr.To[int32](0), ptr.To[int32](0), "Docker"
			engine.Status.Conditions = nil
			for _, conditionType := range []string{infrav1.EngineReadyCondition, infrav1.EngineReachableCondition} {
				engine.Status.Conditions = append(engine.Status.Conditions, metav1.Condition{
					Type: conditionType, Status: status, Reason: reason, Message: "as the test says", ObservedGeneration: engine.Generation,
				})
			}
			must.Succeed(t, w.Client.Update(t.Context(), engine))
		}
	}
	key, known := engineobjects.Key(t)
	directory := t.TempDir()
	for name, content := range map[string][]byte{"key": key, "known": known} {
		must.Succeed(t, os.WriteFile(filepath.Join(directory, name), content, 0o600))
	}
	return w, []string{"--ssh-key", filepath.Join(directory, "key"), "--known-hosts", filepath.Join(directory, "known")}
}

// allows checks which endpoints the management plane was requested with.
func allows(t *testing.T, w *commandtest.World, want ...string) {
	t.Helper()
	allowed := must.Get(endpoint.ParseAllowed(strings.Split(w.Options.AllowedEngines, ",")))(t)
	for _, at := range want {
		if parsed := must.Get(endpoint.Parse(at))(t); !allowed.Has("default", parsed) || allowed.Has("team", parsed) {
			t.Errorf("the management plane allows %q, want %s in namespace default", w.Options.AllowedEngines, at)
		}
	}
	if got := strings.Split(w.Options.AllowedEngines, ","); len(got) != len(want) {
		t.Errorf("the management plane allows %v, want %v", got, want)
	}
}

// TestEngines: an engine is added, drained and removed, and the management plane allows the endpoints of those that it has.
func TestEngines(t *testing.T) {
	t.Parallel()
	const build, big = "ssh://me@build.example.org", "ssh://me@big.example.org:2222/run/podman/podman.sock"
	w, credentials := newWorld(t, metav1.ConditionTrue, "Ready")
	commandtest.Contains(t, w.MustFail("engine", "list"), "capcon plane up")
	add := func(name, at string, more ...string) string {
		return w.MustRun(append(append([]string{"engine", "add", name, at}, credentials...), more...)...)
	}
	commandtest.Contains(t, add("build", build, "--advertise-address", "10.0.0.7", "--label", "zone=a"), "engine responds: Docker", "Engine build is ready")
	allows(t, w, build)
	add("big", big)
	allows(t, w, build, big)
	add("build", build)
	allows(t, w, build, big)

	engine, secret := &infrav1.ContainerEngine{}, &corev1.Secret{}
	w.Get("build", engine)
	w.Get("build-credentials", secret)
	if spec := engine.Spec; spec.CredentialsSecretName != "build-credentials" || spec.AdvertiseAddress != "10.0.0.7" || engine.Labels["zone"] != "a" {
		t.Errorf("engine %v, labels %v", spec, engine.Labels)
	}
	if _, isMoved := secret.Labels[clusterctlv1.ClusterctlMoveLabel]; !isMoved || len(secret.Data) != 2 {
		t.Errorf("the Secret has labels %v and %d keys", secret.Labels, len(secret.Data))
	}
	commandtest.Contains(t, w.MustRun("engine", "list"), "build", "big", "ssh://me@build.example.org", "Ready")

	cluster := &infrav1.ContainerCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "demo-x", Labels: map[string]string{clusterv1.ClusterNameLabel: "demo"}},
		Spec:       infrav1.ContainerClusterSpec{EngineName: "build"},
	}
	w.Create(cluster)
	commandtest.Contains(t, w.MustRun("engine", "drain", "build"), "no machines of clusters over several engines", "It has cluster demo.")
	w.Get("build", engine)
	if !ptr.Deref(engine.Spec.Maintenance, false) {
		t.Error("drained, and not in maintenance")
	}
	commandtest.Contains(t, w.MustRun("engine", "list"), "Ready,Drained")
	commandtest.Contains(t, w.MustFail("engine", "remove", "build"), "has cluster demo", "capcon engine drain build")
	w.Get("build", engine)
	commandtest.Contains(t, w.MustRun("engine", "drain", "build", "--undo"), "again")
	must.Succeed(t, w.Client.Delete(t.Context(), cluster))
	commandtest.Contains(t, w.MustRun("engine", "remove", "build"), "Removed engine build")
	allows(t, w, big)
	for _, command := range []string{"remove", "drain"} {
		out := w.MustFail("engine", command, "build")
		commandtest.Contains(t, out, "not found", "which has big", `see "capcon engine list"`)
		commandtest.Lacks(t, out, "engine add")
	}
	w.MustRun("engine", "remove", "big")
	if w.Options.AllowedEngines != plane.NoEngines {
		t.Errorf("the management plane allows %q", w.Options.AllowedEngines)
	}
	if err := w.Client.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "build-credentials"}, secret); err == nil {
		t.Error("the credentials are kept")
	}
}

// TestAddRefuses: before anything is started or written.
func TestAddRefuses(t *testing.T) {
	t.Parallel()
	w, credentials := newWorld(t, metav1.ConditionTrue, "Ready")
	for want, args := range map[string][]string{
		"--ssh-key: missing":          {"build", "ssh://me@a"},
		"--tls-ca: missing":           append([]string{"build", "tcp://a"}, credentials...),
		"ENDPOINT: has a scheme":      {"build", "unix:///var/run/docker.sock"},
		"NAME \"A_\"":                 {"A_", "ssh://me@a"},
		"credentials: ssh-privatekey": {"build", "ssh://me@a", "--ssh-key", credentials[3], "--known-hosts", credentials[3]},
	} {
		commandtest.Contains(t, w.MustFail(append([]string{"engine", "add"}, args...)...), want)
	}
	if len(w.Plane.Ensured) > 0 || w.Writes > 0 {
		t.Errorf("started %v, and %d writes", w.Plane.Ensured, w.Writes)
	}
}

// TestAddUnreachable: the object stays, for its message and for the correction.
func TestAddUnreachable(t *testing.T) {
	t.Parallel()
	w, credentials := newWorld(t, metav1.ConditionFalse, "Unreachable")
	commandtest.Contains(t, w.MustFail(append([]string{"engine", "add", "build", "ssh://me@a"}, credentials...)...),
		"is added, and not reached: Unreachable: as the test says", "capcon engine remove build")
	w.Get("build", &infrav1.ContainerEngine{})
}

// TestAddAgain: the manager may write the object at the same time.
func TestAddAgain(t *testing.T) {
	t.Parallel()
	w, credentials := newWorld(t, metav1.ConditionTrue, "Ready")
	add := append([]string{"engine", "add", "build", "ssh://me@a"}, credentials...)
	w.MustRun(add...)
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "containerengines"}, "build", errors.New("the object has been modified"))
	w.UpdateErrors = []error{conflict, conflict}
	w.MustRun(append(add, "--failure-domain", "a")...)
	engine := &infrav1.ContainerEngine{}
	w.Get("build", engine)
	if engine.Spec.FailureDomain != "a" || len(w.UpdateErrors) > 0 {
		t.Errorf("engine %v, %d conflicts left", engine.Spec, len(w.UpdateErrors))
	}
	// The management plane still has a connection with the credentials of before.
	w.Engines["a"].FailNext("Info", kinds.ErrUnauthorized)
	commandtest.Contains(t, w.MustFail(add...), "engine is added, and one side does not trust the other", `engine "build"`, "capcon engine add build")
	w.MustRun(add...)
}
