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

package command_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/command/commandtest"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

const own = `apiVersion: v1
kind: Config
current-context: dev
clusters: [{name: dev, cluster: {server: "https://dev:6443"}}]
users: [{name: dev, user: {token: own}}]
contexts: [{name: dev, context: {cluster: dev, user: dev}}]
`

// withOwn is a world whose user has a kubeconfig.
func withOwn(t *testing.T) *commandtest.World {
	t.Helper()
	w := commandtest.New(t)
	w.Controllers = w.Become
	must.Succeed(t, os.WriteFile(w.Kubeconfig, []byte(own), 0o600))
	return w
}

func load(t *testing.T, path string) *api.Config {
	t.Helper()
	return must.Get(clientcmd.LoadFromFile(path))(t)
}

func TestContextOfACluster(t *testing.T) {
	t.Parallel()
	w := withOwn(t)
	w.MustRun("up", "demo")
	config := load(t, w.Kubeconfig)
	if config.CurrentContext != "capcon-demo" || config.Clusters["capcon-demo"].Server != "https://127.0.0.1:40123" || len(config.Contexts) != 2 {
		t.Errorf("after up: %+v", config)
	}
	w.Controllers = w.Vanish
	commandtest.Contains(t, w.MustRun("down", "demo"), "Removed context capcon-demo; the current one of kubectl is dev.")
	if config := load(t, w.Kubeconfig); config.CurrentContext != "dev" || len(config.Contexts) != 1 || len(config.Clusters) != 1 || len(config.AuthInfos) != 1 {
		t.Errorf("after down: %+v", config)
	}
}

// TestContextOfAClusterThatIsGone: whatever removes its record removes its context.
func TestContextOfAClusterThatIsGone(t *testing.T) {
	t.Parallel()
	for _, command := range [][]string{{"forget", "demo"}, {"gc", "--yes", "--all"}} {
		t.Run(command[0], func(t *testing.T) {
			t.Parallel()
			w := withOwn(t)
			w.MustRun("up", "demo")
			must.Get(w.Engine.CreateContainer(t.Context(), engine.Spec{
				Name: "demo-a", Image: commandtest.NodeImage,
				Labels: identity.Owner{Namespace: "default", Cluster: "demo", ID: w.Record().OwnerID}.ContainerLabels(identity.RoleWorker, "a"),
			}))(t)
			must.Succeed(t, w.Client.DeleteAllOf(t.Context(), &clusterv1.Cluster{}, client.InNamespace("default")))
			w.VanishObjects()
			commandtest.Contains(t, w.MustRun(command...), "Removed context capcon-demo; the current one of kubectl is dev.")
			if config := load(t, w.Kubeconfig); config.CurrentContext != "dev" || len(config.Contexts) != 1 {
				t.Errorf("after %v: %+v", command, config)
			}
		})
	}
}

func TestContextIsNotSwitched(t *testing.T) {
	t.Parallel()
	w := withOwn(t)
	commandtest.Contains(t, w.MustRun("up", "demo", "--switch-context=false"),
		"Its context of kubectl is capcon-demo, in "+w.Kubeconfig, "kubectl --context capcon-demo get nodes")
	if config := load(t, w.Kubeconfig); config.CurrentContext != "dev" || config.Contexts["capcon-demo"] == nil {
		t.Errorf("after up: %+v", config)
	}
	w.Controllers = w.Vanish
	commandtest.Contains(t, w.MustRun("down", "demo"), "Removed context capcon-demo; the current one of kubectl is dev.")
}

func TestContextInAFile(t *testing.T) {
	t.Parallel()
	w := withOwn(t)
	file := filepath.Join(t.TempDir(), "new", "config")
	commandtest.Contains(t, w.MustRun("up", "demo", "--kubeconfig", file), "capcon-demo, in "+file, "kubectl --kubeconfig "+file+" get nodes")
	if config := load(t, file); config.CurrentContext != "capcon-demo" {
		t.Errorf("after up: %+v", config)
	}
	w.Controllers = w.Vanish
	commandtest.Contains(t, w.MustRun("down", "demo", "--kubeconfig", file), "Removed context capcon-demo; kubectl has no current one.")
	if got := string(must.Get(os.ReadFile(w.Kubeconfig))(t)); got != own {
		t.Errorf("the user's kubeconfig became %s", got)
	}
}

// What is wrong with the kubeconfig is found before anything is created or started.
func TestKubeconfigIsCheckedFirst(t *testing.T) {
	t.Parallel()
	const foreign = "contexts: [{name: capcon-demo, context: {cluster: a, user: b}}]"
	cases := map[string]struct {
		reason  string
		command []string
		write   string
		words   []string
	}{
		"Broken":  {"Nothing of the user's may be lost.", []string{"up", "demo"}, "a: [", []string{"invalid arguments", "KUBECONFIG", "is not a kubeconfig", "repair it"}},
		"Foreign": {"It is the user's.", []string{"up", "demo"}, foreign, []string{`has a context "capcon-demo" that capcon did not write`, "kubectl config delete-context capcon-demo"}},
		"Start":   {"It is the same for a cluster that is started.", []string{"start", "demo"}, foreign, []string{"that capcon did not write"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := commandtest.New(t)
			must.Succeed(t, os.WriteFile(w.Kubeconfig, []byte(tc.write), 0o600))
			commandtest.Contains(t, w.MustFail(tc.command...), tc.words...)
			if w.Plane.Created > 0 || w.Writes > 0 || len(w.Containers()) > 0 {
				t.Errorf("%s Created were %d planes, %d objects, containers %v", tc.reason, w.Plane.Created, w.Writes, w.Containers())
			}
			if got := string(must.Get(os.ReadFile(w.Kubeconfig))(t)); got != tc.write {
				t.Errorf("the file became %s", got)
			}
		})
	}
}

// The cluster is there, and what continues with kubectl does not.
func TestKubeconfigBreaksMeanwhile(t *testing.T) {
	t.Parallel()
	w := withOwn(t)
	w.Controllers = func() {
		w.Become()
		must.Succeed(t, os.WriteFile(w.Kubeconfig, []byte("a: ["), 0o600))
	}
	saved := w.Directory().KubeconfigPath("demo")
	commandtest.Contains(t, w.MustFail("up", "demo"), "Cluster demo is ready after", "export KUBECONFIG="+saved,
		`cluster "demo" is ready, but kubectl has no context for it`, "is not a kubeconfig", `Then run "capcon kubeconfig demo --merge"`)
	must.Succeed(t, os.WriteFile(w.Kubeconfig, []byte(own), 0o600))
	commandtest.Contains(t, w.MustRun("kubeconfig", "demo", "--merge"), "The current context of kubectl is capcon-demo, in "+w.Kubeconfig)

	w.Controllers = func() {
		w.Vanish()
		must.Succeed(t, os.WriteFile(w.Kubeconfig, []byte("a: ["), 0o600))
	}
	commandtest.Contains(t, w.MustFail("down", "demo"), "cluster demo: deleted", "management plane: removed", `cluster "demo" was removed, but not its context capcon-demo`)
	// The next one finishes it.
	must.Succeed(t, os.WriteFile(w.Kubeconfig, []byte(own), 0o600))
	w.MustRun("down", "demo")
}

func TestKubeconfigCommand(t *testing.T) {
	t.Parallel()
	w := withOwn(t)
	w.MustRun("up", "demo", "--kubeconfig", filepath.Join(t.TempDir(), "other"))
	if out := w.MustRun("kubeconfig", "demo", "--internal"); out != commandtest.Kubeconfig {
		t.Errorf("internal is not Cluster API's: %s", out)
	}
	if got := string(must.Get(os.ReadFile(w.Kubeconfig))(t)); got != own {
		t.Errorf("printing changed the user's kubeconfig: %s", got)
	}
	file := filepath.Join(t.TempDir(), "file")
	w.MustRun("kubeconfig", "demo", "--kubeconfig", file, "--internal")
	if server := load(t, file).Clusters["capcon-demo"].Server; server != "https://172.18.0.9:6443" {
		t.Errorf("the server in the file is %s", server)
	}
	w.MustRun("kubeconfig", "demo", "--merge", "--switch-context=false")
	if config := load(t, w.Kubeconfig); config.CurrentContext != "dev" || config.Contexts["capcon-demo"] == nil {
		t.Errorf("after --merge: %+v", config)
	}
	for problem, command := range map[string]string{
		"must not be set together with --merge": "--management --merge",
		"--kubeconfig or --internal":            "--management --internal",
		"add --merge":                           "demo --switch-context=false",
	} {
		commandtest.Contains(t, w.MustFail(append([]string{"kubeconfig"}, strings.Fields(command)...)...), problem)
	}

	// Without the plane, the saved one is merged.
	w.Plane.Current = plane.State{ID: "plane-1", Exists: true, Detail: "frozen"}
	must.Succeed(t, os.WriteFile(w.Kubeconfig, []byte(own), 0o600))
	commandtest.Contains(t, w.MustRun("kubeconfig", "demo", "--merge"), "using the last known kubeconfig", "capcon-demo")
	commandtest.Contains(t, w.MustFail("kubeconfig", "demo", "--internal"), "frozen", "capcon plane up")
}
