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

package update

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/clusterfile"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/input"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/objects"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

const kindFile = `
kind: Cluster
apiVersion: kind.x-k8s.io/v1alpha4
name: demo
networking: {apiServerPort: 6444}
nodes:
- role: control-plane
- role: worker
  labels: {tier: front}
  extraMounts: [{hostPath: /srv, containerPath: /srv}]
- role: worker
`

// TestFile: the same file changes nothing; another one changes what differs, once.
func TestFile(t *testing.T) {
	t.Parallel()
	replace := func(old, fresh string) string { return strings.Replace(kindFile, old, fresh, 1) }
	const workers = "spec.topology.workers.machineDeployments"
	for name, tc := range map[string]struct {
		reason, file string
		// changes are fields, gone Machines that are replaced or deleted; refused is a field.
		changes, gone []string
		refused       string
	}{
		"the same":       {reason: "Defaults that Cluster API adds are no difference.", file: kindFile},
		"another worker": {"It is like the last.", kindFile + "- role: worker\n", []string{workers + "[worker-2].replicas"}, nil, ""},
		"no label": {
			"The file describes all of it.", replace("  labels: {tier: front}\n", ""),
			[]string{workers + "[worker].variables.overrides[nodeLabels].value"}, []string{"worker-0"}, "",
		},
		"unequal worker": {
			"It has its own MachineDeployment.", kindFile + "- {role: worker, labels: {a: b}}\n",
			[]string{workers + "[worker-3]"}, nil, "",
		},
		"no second worker": {
			"Its MachineDeployment goes.", strings.TrimSuffix(kindFile, "- role: worker\n"),
			[]string{workers + "[worker-2]"}, []string{"worker-2-0"}, "",
		},
		"kubelet": {
			"All nodes have one.", kindFile + "kubeadmConfigPatches: ['{kind: KubeletConfiguration, maxPods: 20}']\n",
			[]string{"spec.topology.variables[kubelet].value"}, []string{"control-plane-0", "worker-0", "worker-2-0"}, "",
		},
		"API server": {
			"Only control planes have one.", kindFile + "runtimeConfig: {api/all: 'true'}\n",
			[]string{"spec.topology.variables[apiServer].value"}, []string{"control-plane-0"}, "",
		},
		"port of the control plane": {
			"The load balancer alone changes, and keeps its image.", replace("- role: control-plane\n", "- role: control-plane\n  extraPortMappings: [{containerPort: 80, hostPort: 8080}]\n"),
			[]string{"spec.topology.variables[loadBalancer].value"}, nil, "",
		},
		"API server's port": {"kubeconfigs have it.", replace("6444", "6445"), nil, nil, "spec.topology.variables[loadBalancer].value.hostPort"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			present := createdFrom(t, kindFile)
			plan, err := Compute(present, requestOf(t, tc.file), Chosen{})
			if refused := new(input.Error); errors.As(err, &refused) {
				if refused.Problems[0].Field != tc.refused {
					t.Errorf("%s Refused: %v", tc.reason, err)
				}
				return
			}
			must.Succeed(t, err)
			var changes, gone []string
			for _, change := range plan.Changes {
				changes = append(changes, change.Field)
			}
			for _, replaced := range plan.Replaced {
				gone = append(gone, replaced.Name)
			}
			for _, deleted := range plan.Deleted {
				gone = append(gone, names(append(deleted.Machines, deleted.candidates...))...)
			}
			if diff := cmp.Diff(tc.changes, changes); diff != "" {
				t.Errorf("%s Changes (-want +got):\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.gone, gone); diff != "" {
				t.Errorf("%s Machines (-want +got):\n%s", tc.reason, diff)
			}
			if tc.refused != "" {
				t.Error("it is not refused")
			}
			present.Cluster = patched(t, present.Cluster, plan)
			again := must.Get(Compute(present, requestOf(t, tc.file), Chosen{}))(t)
			if !again.IsEmpty() {
				t.Errorf("%s The second time: %s", tc.reason, again)
			}
			var balancer map[string]any
			must.Succeed(t, json.Unmarshal(value(present.Cluster.Spec.Topology.Variables, objects.LoadBalancerVariable), &balancer))
			if balancer["image"] != "haproxy" || balancer["type"] != "HAProxy" {
				t.Errorf("the load balancer became %v", balancer)
			}
		})
	}
}

func requestOf(t *testing.T, text string) input.Request {
	t.Helper()
	request, _, err := clusterfile.Read("kind.yaml", []byte(text), input.Request{})
	must.Succeed(t, err)
	return request
}

// createdFrom a file, with a default that Cluster API adds.
func createdFrom(t *testing.T, text string) Present {
	t.Helper()
	request := requestOf(t, text)
	rendered := must.Get(objects.Render(objects.Values{
		Namespace: "default", Name: "demo", KubernetesVersion: "v1.36.3", ControlPlanes: 1, NodeImage: "node", LoadBalancerImage: "haproxy",
		Network: "capcon", PodCIDR: "10.244.0.0/16", ServiceCIDR: "10.96.0.0/16", CNIManifest: "kind: x", Topology: request.Topology,
	}))(t)
	present := read(t, must.Get(yaml.Marshal(rendered.Cluster))(t))
	for i, override := range present.Cluster.Spec.Topology.Workers.MachineDeployments[0].Variables.Overrides {
		text := strings.Replace(string(override.Value.Raw), `"hostPath"`, `"readOnly":false,"hostPath"`, 1)
		present.Cluster.Spec.Topology.Workers.MachineDeployments[0].Variables.Overrides[i].Value.Raw = []byte(text)
	}
	present.PodNetwork = "kind: x"
	return present
}

func patched(t *testing.T, cluster *clusterv1.Cluster, plan Plan) *clusterv1.Cluster {
	t.Helper()
	patch := must.Get(plan.Patch())(t)
	if patch == nil {
		return cluster
	}
	after := must.Get(must.Get(jsonpatch.DecodePatch(patch))(t).Apply(must.Get(json.Marshal(cluster))(t)))(t)
	result := &clusterv1.Cluster{}
	must.Succeed(t, json.Unmarshal(after, result))
	return result
}

// TestStorage: nodes mount the volume of a cluster when they are created, and its data stays in it.
// TestFileOfWorkers: what a file changes about workers besides variables may replace or delete their Machines.
func TestFileOfWorkers(t *testing.T) {
	t.Parallel()
	const pools = "      machinePools:\n      - {name: pool, class: worker, replicas: 3}\n"
	const deployment = "      - {name: worker, class: worker, replicas: 3}\n"
	for name, tc := range map[string]struct {
		reason, before, after string
		replaced, deleted     int
		wantConsent           bool
	}{
		"pool goes":       {"Its Machines are deleted.", sized("") + pools, sized(""), 0, 3, true},
		"pool shrinks":    {"As by any other way.", sized("") + pools, strings.Replace(sized("")+pools, "pool, class: worker, replicas: 3", "pool, class: worker, replicas: 1", 1), 0, 2, true},
		"pool overrides":  {"Its Machines are created with it.", sized("") + pools, sized("") + strings.Replace(pools, "3}", "3, variables: {overrides: [{name: kubelet, value: {maxPods: 20}}]}}", 1), 3, 0, false},
		"failure domain":  {"A Machine has it for life.", sized(""), strings.Replace(sized(""), deployment, strings.Replace(deployment, "3}", "3, failureDomain: a}", 1), 1), 3, 0, false},
		"rollout":         {"It asks for it.", sized(""), strings.Replace(sized(""), deployment, strings.Replace(deployment, "3}", `3, rollout: {after: "2026-01-01T00:00:00Z"}}`, 1), 1), 3, 0, false},
		"control plane":   {"So does it there.", sized(""), strings.Replace(sized(""), "{replicas: 3}", `{replicas: 3, rollout: {after: "2026-01-01T00:00:00Z"}}`, 1), 3, 0, false},
		"deletion policy": {"Cluster API changes it in place.", sized(""), strings.Replace(sized(""), deployment, strings.Replace(deployment, "3}", "3, deletion: {order: Oldest}}", 1), 1), 0, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			present, request := withResources(t, tc.before, ""), requestOf(t, tc.after)
			request.CNI, request.ControlPlanes = "", nil
			plan := must.Get(Compute(present, request, Chosen{}))(t)
			deleted := 0
			for _, deletion := range plan.Deleted {
				deleted += deletion.Count
			}
			if len(plan.Replaced) != tc.replaced || deleted != tc.deleted || plan.NeedsConsent != tc.wantConsent {
				t.Errorf("%s Want %d replaced and %d deleted, consent %t, got %d, %d, %t:\n%s",
					tc.reason, tc.replaced, tc.deleted, tc.wantConsent, len(plan.Replaced), deleted, plan.NeedsConsent, plan)
			}
		})
	}
}

func TestStorage(t *testing.T) {
	t.Parallel()
	file := func(storage string) string {
		return `
kind: Cluster
apiVersion: cluster.x-k8s.io/v1beta2
metadata: {name: demo}
spec:
  topology:
    classRef: {name: container}
    version: v1.36.3
    controlPlane: {replicas: 1}
    workers:
      machineDeployments: [{class: worker, name: worker, replicas: 1}]
    variables: [` + storage + `]
`
	}
	const (
		nodeLocal, none, ofCluster = `{name: storage, value: {type: NodeLocal}}`, `{name: storage, value: {type: None}}`, `{name: storage, value: {type: Cluster}}`
		field                      = "spec.topology.variables[storage].value"
	)
	all := []string{"control-plane-0", "worker-0"}
	for name, tc := range map[string]struct {
		reason, before, after string
		changes, replaced     []string
		refused               string
	}{
		"default":             {reason: "New clusters have the type Cluster.", before: "", after: ofCluster},
		"removed":             {reason: "A file without the variable keeps what there is.", before: nodeLocal, after: ""},
		"None":                {"Nothing of a node changes.", nodeLocal, none, []string{field}, nil, ""},
		"Cluster":             {"Nodes are replaced.", nodeLocal, ofCluster, []string{field}, all, ""},
		"NodeLocal afterward": {"The data would stay behind.", ofCluster, nodeLocal, nil, nil, field + ".type"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			present, request := createdFrom(t, file(tc.before)), requestOf(t, file(tc.after))
			request.CNI = ""
			plan, err := Compute(present, request, Chosen{})
			refused := new(input.Error)
			if errors.As(err, &refused) != (tc.refused != "") || tc.refused != "" && refused.Problems[0].Field != tc.refused {
				t.Fatalf("%s Compute: %v, want %q refused", tc.reason, err, tc.refused)
			}
			var changes, replaced []string
			for _, change := range plan.Changes {
				changes = append(changes, change.Field)
			}
			for _, machine := range plan.Replaced {
				replaced = append(replaced, machine.Name)
			}
			if diff := cmp.Diff(tc.changes, changes); tc.refused == "" && diff != "" {
				t.Errorf("%s Changes (-want +got):\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.replaced, replaced); tc.refused == "" && diff != "" {
				t.Errorf("%s Machines (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestLimitsThatAreNull are none.
func TestLimitsThatAreNull(t *testing.T) {
	t.Parallel()
	present := createdFrom(t, kindFile)
	topology := &present.Cluster.Spec.Topology
	topology.Variables = append(topology.Variables, clusterv1.ClusterVariable{
		Name: objects.RoleResourcesVariable, Value: apiextensionsv1.JSON{Raw: []byte(`{"workers":null}`)},
	})
	plan := must.Get(Compute(present, input.Request{Memory: "3Gi"}, Chosen{}))(t)
	if len(plan.InPlace) != 3 || len(plan.Replaced) != 0 {
		t.Errorf("Plan: %s", plan)
	}
}
