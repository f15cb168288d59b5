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

package get_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/yaml"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/command/commandtest"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// withNode is a world with a ready cluster whose API server has a Node.
func withNode(t *testing.T) *commandtest.World {
	t.Helper()
	w := commandtest.Created(t)
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "demo-a", Labels: map[string]string{"node-role.kubernetes.io/control-plane": ""}},
		Status: corev1.NodeStatus{
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
			Addresses:  []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "172.18.0.3"}},
			NodeInfo:   corev1.NodeSystemInfo{KubeletVersion: "v1.36.3"},
		},
	}
	w.Workload = fake.NewClientBuilder().WithScheme(w.Client.Scheme()).WithObjects(node).Build()
	return w
}

func TestGetTables(t *testing.T) {
	t.Parallel()
	w := withNode(t)
	for name, tc := range map[string]struct {
		args  []string
		words []string
	}{
		"Clusters": {[]string{"clusters"}, []string{"NAME  KUBERNETES  CONTROL PLANES  WORKERS  STATE  AGE", "demo  v1.36.3  1/1  1/1  starting"}},
		"Wide":     {[]string{"cluster", "demo", "-o", "wide"}, []string{"NETWORK  API SERVER  CLASS", "capcon  127.0.0.1:40123"}},
		"Machines": {[]string{"machines", "demo"}, []string{"NAME  CLUSTER  ROLE  VERSION  STATE  AGE", "demo-a  demo  control-plane  <none>  ready", "demo-worker-0  demo  worker"}},
		"Nodes":    {[]string{"nodes", "-o", "wide"}, []string{"NAME  CLUSTER  STATUS  ROLES  AGE  VERSION  INTERNAL-IP", "demo-a  demo  Ready  control-plane", "v1.36.3  172.18.0.3"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			commandtest.Contains(t, w.MustRun(append([]string{"get"}, tc.args...)...), tc.words...)
		})
	}
}

// TestGetOnEngines: the engine of a cluster, and those of its machines.
func TestGetOnEngines(t *testing.T) {
	t.Parallel()
	w, _, _ := commandtest.Spread(t)
	machine := commandtest.ReadyMachine("demo-b", clusterv1.MachineDeploymentNameLabel, "workers")
	machine.Spec.InfrastructureRef.Name = "demo-b"
	w.Create(machine)
	commandtest.Contains(t, w.MustRun("get", "clusters", "-o", "wide"), "CLASS   ENGINE", "<none>  build")
	commandtest.Contains(t, w.MustRun("get", "machines", "-o", "wide"), "CONTAINER  ENGINE", "demo-b     other")
	commandtest.Contains(t, commandtest.WithNodes(t).MustRun("get", "clusters", "-o", "wide"), "CLASS   ENGINE\n", "<none>  <none>\n")
}

// Scripts get nothing but what they asked for.
func TestGetForScripts(t *testing.T) {
	t.Parallel()
	w := withNode(t)
	for resource, names := range map[string]string{"clusters": "demo\n", "machines": "demo-a\ndemo-worker-0\n", "nodes": "demo-a\n"} {
		if code, out, errs := w.Run("get", resource, "-o", "name"); code != 0 || out != names || errs != "" {
			t.Errorf("%s: exit code %d, standard output %q, want %q; standard error %q", resource, code, out, names, errs)
		}
		for format, parse := range map[string]func([]byte, any) error{
			"json": json.Unmarshal, "yaml": func(text []byte, into any) error { return yaml.Unmarshal(text, into) },
		} {
			var list struct {
				APIVersion, Kind string
				Items            []struct {
					APIVersion, Kind string
					Metadata         metav1.ObjectMeta
				}
			}
			_, out, _ := w.Run("get", resource, "-o", format)
			must.Succeed(t, parse([]byte(out), &list))
			kinds := map[string]string{"clusters": "cluster.x-k8s.io/v1beta2 Cluster", "machines": "cluster.x-k8s.io/v1beta2 Machine", "nodes": "v1 Node"}
			if list.APIVersion+list.Kind != "v1List" || len(list.Items) == 0 || list.Items[0].APIVersion+" "+list.Items[0].Kind != kinds[resource] {
				t.Errorf("%s as %s: not a List of %s:\n%s", resource, format, kinds[resource], out)
			}
		}
	}
}

func TestGetNothing(t *testing.T) {
	t.Parallel()
	w := commandtest.New(t)
	for _, existing := range []bool{false, true} {
		if existing {
			w.Plane.Current = commandtest.Running("plane")
		}
		code, out, errs := w.Run("get", "clusters")
		if diff := cmp.Diff([]any{0, "", "No clusters found.\n"}, []any{code, out, errs}); diff != "" {
			t.Errorf("with a plane: %v; exit code and output (-want +got):\n%s", existing, diff)
		}
	}
	commandtest.Contains(t, w.MustFail("get", "machines", "dmeo"), `cluster "dmeo" not found`)
	commandtest.Contains(t, w.MustFail("get", "nodes", "-o", "text"), "table, wide, name, json or yaml")
	w.Plane.Current = plane.State{ID: "plane", Exists: true, Detail: "is starting"}
	commandtest.Contains(t, w.MustFail("get", "clusters"), "is starting")
}

// A cluster whose API server does not answer does not hide the others, and is an error.
func TestGetNodesOfAClusterThatIsDown(t *testing.T) {
	t.Parallel()
	w := withNode(t)
	w.Workload = nil
	commandtest.Contains(t, w.MustFail("get", "nodes"), `nodes of cluster "demo"`, "connection refused", "capcon status demo")
	w.ReadErrors = map[string]error{"ClusterList": errors.New("broken")}
	commandtest.Contains(t, w.MustFail("get", "nodes"), "broken")
}
