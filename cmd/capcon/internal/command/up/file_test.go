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
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/command/commandtest"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

const kindFile = `kind: Cluster
apiVersion: kind.x-k8s.io/v1alpha4
name: demo
featureGates: {AllAlpha: false}
nodes:
- role: control-plane
  image: localhost/capcon/node:v1.36.3
  extraPortMappings: [{containerPort: 80, hostPort: 8080}]
- role: worker
  labels: {tier: front}
- role: worker
`

func saved(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "cluster.yaml")
	must.Succeed(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// TestUpFile: what "get config" prints makes the same cluster as the file of kind, which changes
// nothing when it is applied again.
func TestUpFile(t *testing.T) {
	t.Parallel()
	w := commandtest.New(t)
	w.Controllers = w.Become
	path := saved(t, kindFile)
	w.RunUntilItWaits("up", "-f", path)
	first := w.Cluster()
	if got := len(first.Spec.Topology.Workers.MachineDeployments); got != 2 || first.Name != "demo" {
		t.Fatalf("%d MachineDeployments of %s: %+v", got, first.Name, first.Spec.Topology)
	}
	w.Writes = 0
	w.RunUntilItWaits("up", "-f", path)
	if diff := cmp.Diff(first.Spec, w.Cluster().Spec); diff != "" {
		t.Errorf("the same file changes the Cluster (-before +after):\n%s", diff)
	}
	code, out, errs := w.Run("get", "config", "demo")
	printed := &clusterv1.Cluster{}
	must.Succeed(t, yaml.UnmarshalStrict([]byte(out), printed))
	if code != 0 || printed.Namespace != "" || printed.UID != "" || printed.Spec.InfrastructureRef.IsDefined() {
		t.Errorf("get config ended with %d: %s%s", code, out, errs)
	}
	other := commandtest.New(t)
	other.Controllers = other.Become
	other.RunUntilItWaits("up", "demo", "-f", saved(t, out))
	if diff := cmp.Diff(byName(first), byName(other.Cluster())); diff != "" {
		t.Errorf("the printed manifest makes another cluster (-first +other):\n%s", diff)
	}
}

// byName is what is compared of a topology: variables have no order.
func byName(cluster *clusterv1.Cluster) map[string]any {
	fields := map[string]any{
		"network": cluster.Spec.ClusterNetwork, "version": cluster.Spec.Topology.Version, "class": cluster.Spec.Topology.ClassRef,
		"control plane": cluster.Spec.Topology.ControlPlane, "workers": cluster.Spec.Topology.Workers,
	}
	for _, variable := range cluster.Spec.Topology.Variables {
		var value any
		_ = yaml.Unmarshal(variable.Value.Raw, &value)
		fields[variable.Name] = value
	}
	return fields
}

func TestUpRefusesFiles(t *testing.T) {
	t.Parallel()
	const header = "kind: Cluster\napiVersion: kind.x-k8s.io/v1alpha4\n"
	for name, tc := range map[string]struct {
		reason, file string
		args         []string
		want         string
	}{
		"unknown field": {"It is a typing error.", header + "name: demo\nnods: []\n", nil, `:4 "nods": kind has no such field in Cluster`},
		"missing mount": {
			"The engine would make a directory of it.", header + "name: demo\nnodes:\n- extraMounts: [{hostPath: /none/such, containerPath: /data}]\n", nil,
			`extraMounts "/none/such": not found on this host`,
		},
		"name":         {"The file says it.", header + "name: Demo\n", nil, `cluster.yaml:3: name "Demo": not a valid DNS label`},
		"several":      {"It is not known which is meant.", kindFile, []string{"--workers", "3"}, "the file has 2 MachineDeployments"},
		"other object": {"It is no cluster.", "apiVersion: v1\nkind: Pod\n", nil, "neither that of a configuration of kind nor that of a Cluster"},
		"other class": {
			"Its variables are not known.", "apiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nspec:\n  topology:\n    classRef: {name: quick}\n    version: v1.36.3\n", nil,
			`:5: spec.topology.classRef.name "quick"`,
		},
		"field of a manifest": {
			"It is a typing error.", "apiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nspec:\n  topology:\n    classRef: {name: container}\n    kubernetesVersion: v1.36.3\n", nil,
			`:6: spec.topology.kubernetesVersion`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := commandtest.New(t)
			commandtest.Contains(t, w.MustFail(append([]string{"up", "-f", saved(t, tc.file)}, tc.args...)...), tc.want)
			if w.Plane.Created > 0 || len(w.Clusters()) > 0 {
				t.Errorf("%s Something was created", tc.reason)
			}
		})
	}
	w := commandtest.New(t)
	commandtest.Contains(t, w.MustFail("up", "-f", "/none/such"), "--file", "cannot be read")
}
