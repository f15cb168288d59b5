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
	"strings"
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

func TestUpWarnsOfTags(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"no version": {[]string{"--image", "my/node:latest"}, "the tag of image my/node:latest is no Kubernetes version: that of the cluster is assumed, for a new one v1."},
		"another":    {[]string{"--image", "my/node:v1.35.4", "--kubernetes-version", "v1.36.3"}, "the tag of image my/node:v1.35.4 is another Kubernetes version than v1.36.3"},
	} {
		w := commandtest.New(t)
		code, _, errs := w.Run(append([]string{"up", "demo", "--dry-run"}, tc.args...)...)
		if code != 0 {
			t.Errorf("%s: exit code %d", name, code)
		}
		commandtest.Contains(t, errs, tc.want)
	}
}

// TestUpRefusesChanges of a file that the cluster was created with.
func TestUpRefusesChanges(t *testing.T) {
	t.Parallel()
	const file = kindFile + "networking:\n  apiServerPort: 6444\n  podSubnet: 10.99.0.0/16\n"
	w := commandtest.New(t)
	w.Controllers = w.Become
	w.RunUntilItWaits("up", "-f", saved(t, file))
	for name, tc := range map[string]struct{ file, want string }{
		"port":       {strings.Replace(file, "6444", "6445", 1), `cluster.yaml:13: networking.apiServerPort "6445": immutable, kubeconfigs contain it: the cluster was created with 6444; keep that, or create another cluster`},
		"no port":    {strings.Replace(file, "  apiServerPort: 6444\n", "", 1), `cluster.yaml:13: networking.apiServerPort: immutable`},
		"Pod subnet": {strings.Replace(file, "10.99", "10.98", 1), `cluster.yaml:14: networking.podSubnet "10.98.0.0/16": immutable, the cluster has 10.99.0.0/16; keep that, or create another cluster`},
	} {
		w.Writes = 0
		path := saved(t, tc.file)
		commandtest.Contains(t, w.MustFail("up", "-f", path), tc.want)
		commandtest.Contains(t, w.MustFail("up", "-f", path, "--dry-run"), tc.want)
		if w.Writes > 0 {
			t.Errorf("%s: something was written", name)
		}
	}
}

func TestUpRefusesFiles(t *testing.T) {
	t.Parallel()
	const (
		header   = "kind: Cluster\napiVersion: kind.x-k8s.io/v1alpha4\n"
		manifest = "apiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nmetadata: {name: demo}\nspec:\n  topology:\n    classRef: {name: container}\n    version: v1.36.3\n    variables:\n"
	)
	for name, tc := range map[string]struct {
		reason, file string
		args         []string
		want         string
	}{
		"unknown field": {"It is a typing error.", header + "name: demo\nnods: []\n", nil, `:4 "nods": kind has no such field in Cluster`},
		"missing mount": {
			"The engine would make a directory of it.", header + "name: demo\nnodes:\n- extraMounts: [{hostPath: /none/such, containerPath: /data}]\n", nil,
			`cluster.yaml:5: nodes[0].extraMounts[0].hostPath "/none/such": not found on this host`,
		},
		"relative mount": {
			"A node has no working directory.", header + "nodes:\n- extraMounts:\n  - {hostPath: /tmp, containerPath: data}\n", nil,
			`cluster.yaml:5: nodes[0].extraMounts[0].containerPath "data": is not absolute; use a path that begins with a slash`,
		},
		"nested mounts": {
			"The engine decides their order.", header + "nodes:\n- role: control-plane\n- role: worker\n  extraMounts:\n  - {hostPath: /tmp, containerPath: /data}\n  - {hostPath: /tmp, containerPath: /data/a}\n", nil,
			`cluster.yaml:8: nodes[1].extraMounts[1].containerPath "/data/a": overlaps /data of mount 0; use paths that do not contain each other`,
		},
		"label": {
			"The kubelet would not start.", header + "nodes:\n- labels:\n    -bad-/x: y z\n", nil,
			`cluster.yaml:5: nodes[0].labels.-bad-/x "y z": is not a valid label value; use at most 63`,
		},
		"reserved label": {
			"The kubelet would not start.", header + "nodes:\n- labels:\n    kubernetes.io/team: a\n", nil,
			`cluster.yaml:5: nodes[0].labels: a kubelet may not set labels of kubernetes.io and k8s.io`,
		},
		"unknown variable": {
			"It is a typing error.", manifest + "    - {name: nosuch, value: 1}\n", nil,
			`cluster.yaml:9: spec.topology.variables[nosuch]: the ClusterClass has no such variable; correct or remove it`,
		},
		"unknown key": {
			"It is a typing error.", manifest + "    - name: resources\n      value:\n        cpu: 2\n        memroy: 4Gi\n", nil,
			`cluster.yaml:12: spec.topology.variables[resources].value.memroy: the ClusterClass has no such field; correct or remove it`,
		},
		"limits of a role": {
			"No node gets through its bootstrap.", manifest + "    - name: roleResources\n      value:\n        workers:\n          memory: 100Mi\n", nil,
			`cluster.yaml:12: spec.topology.variables[roleResources].value.workers.memory "100Mi": it is less than a node requires; use at least 1Gi`,
		},
		"limits of machines": {
			"The engine would refuse each container.", manifest + "    - name: resources\n      value:\n        memory: 100Ti\n", nil,
			`cluster.yaml:11: spec.topology.variables[resources].value.memory "100Ti": it is 102400Gi, but the engine's host has only`,
		},
		"value of a variable": {
			"It has another type.", manifest + "    - name: limits\n      value: {persistentVolumes: many}\n", nil,
			`cluster.yaml:10: spec.topology.variables[limits].value.persistentVolumes: must be of type integer: "string"`,
		},
		"Pod network of a manifest": {
			"There is no such one.", manifest + "    - {name: cni, value: flannel}\n", nil,
			`cluster.yaml:9: spec.topology.variables[cni].value "flannel": is no Pod network; use default or none`,
		},
		"mount of a worker in a manifest": {
			"It would be a directory of nowhere.", manifest + "    workers:\n      machineDeployments:\n      - class: worker\n        name: a\n        variables:\n          overrides:\n" +
				"          - name: extraMounts\n            value:\n            - {hostPath: tmp, containerPath: /data}\n", nil,
			`cluster.yaml:17: spec.topology.workers.machineDeployments[a].variables.overrides[extraMounts].value[0].hostPath "tmp": is not absolute`,
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
			args := append([]string{"up", "-f", saved(t, tc.file)}, tc.args...)
			commandtest.Contains(t, w.MustFail(args...), tc.want)
			commandtest.Contains(t, w.MustFail(append(args, "--dry-run")...), tc.want)
			if w.Plane.Created > 0 || len(w.Clusters()) > 0 {
				t.Errorf("%s Something was created", tc.reason)
			}
		})
	}
	w := commandtest.New(t)
	commandtest.Contains(t, w.MustFail("up", "-f", "/none/such"), "--file", "cannot be read")
}
