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
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/input"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/objects"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// sized is a cluster with three control planes and three workers, and the variables.
func sized(variables string) string {
	return `
kind: Cluster
apiVersion: cluster.x-k8s.io/v1beta2
metadata: {name: demo}
spec:
  topology:
    classRef: {name: container}
    version: v1.36.3
    controlPlane: {replicas: 3}
    variables: [` + variables + `]
    workers:
      machineDeployments:
      - {name: worker, class: worker, replicas: 3}
`
}

// withResources is a cluster created from that file, with three control planes, and limits of its machines if there are any.
func withResources(t *testing.T, text, memory string) Present {
	t.Helper()
	present := createdFrom(t, text)
	topology := &present.Cluster.Spec.Topology
	topology.ControlPlane.Replicas = ptr.To[int32](3)
	if memory != "" {
		limits := clusterv1.ClusterVariable{Name: objects.ResourcesVariable}
		limits.Value.Raw = []byte(`{"memory":"` + memory + `"}`)
		topology.Variables = append(topology.Variables, limits)
	}
	present.Machines = machines(present.Cluster)
	return present
}

// The plan says of each role whether its Machines are updated in place, by the rules of the extension and of Cluster API.
func TestPlanInPlace(t *testing.T) {
	t.Parallel()
	const (
		first, second    = `{name: files, value: [{path: /etc/motd, content: a}]}`, `{name: files, value: [{path: /etc/motd, content: b}]}`
		kubelet, secret  = `{name: kubelet, value: {maxPods: 20}}`, `{name: files, value: [{path: /etc/motd, contentFrom: {secret: {name: a, key: b}}}]}`
		containerd, none = `{name: containerdConfigPatches, value: ["[a]"]}`, ""
		mounting         = `{name: apiServer, value: {extraVolumes: [{name: a, hostPath: /etc/motd, mountPath: /a}]}}`
	)
	own := []string{infrav1.InPlaceUpdatesExtension}
	rolls := []string{
		"replace 1 of the Machines control-plane-0, control-plane-1, control-plane-2 of control plane, and update the others in place",
		"replace 1 of the Machines worker-0, worker-1, worker-2 of MachineDeployment worker, and update the others in place",
	}
	replaces := []string{
		"replace Machine control-plane-0", "replace Machine control-plane-1", "replace Machine control-plane-2",
		"replace Machine worker-0", "replace Machine worker-1", "replace Machine worker-2",
	}
	for name, tc := range map[string]struct {
		reason, before, after string
		extensions            []string
		change                func(present *Present)
		want                  []string
	}{
		"no extension":  {"The gates are off, or the namespace has no label.", first, second, nil, nil, replaces},
		"files":         {"One is created first, and one deleted then.", first, second, own, nil, rolls},
		"containerd":    {"Its configuration consists of files.", none, containerd, own, nil, rolls},
		"one of two":    {"The extension has to carry out all changes.", first + "," + kubelet, second, own, nil, replaces},
		"two":           {"They are one update.", first, second + "," + containerd, own, nil, rolls},
		"from a Secret": {"The entry does not say what the node has.", first, secret, own, nil, replaces},
		"kubelet":       {"kubeadm reads it when the node joins.", none, kubelet, own, nil, replaces},
		"mounted":       {"The API server reads it when it starts.", first + "," + mounting, second + "," + mounting, own, nil, append([]string{rolls[1]}, replaces[:3]...)},
		"another class": {"Its variables may mean anything.", first, second, own, func(p *Present) { p.Cluster.Spec.Topology.ClassRef.Name = "mine" }, replaces},
		"two extensions": {
			"Cluster API refuses both.", first, second, []string{infrav1.InPlaceUpdatesExtension, "foreign"}, nil,
			append([]string{"warning Cluster API replaces and updates no Machine while the ExtensionConfigs capcon-in-place-updates, foreign are for the same namespace"}, replaces...),
		},
		"foreign": {"What it does is not known.", first, second, []string{"foreign"}, nil, replaces},
		"rollout in progress": {"Its reason may be one that replaces Machines.", first, second, own, func(p *Present) {
			for i := range p.Machines {
				outdated := metav1.Condition{Type: clusterv1.MachineUpToDateCondition, Status: metav1.ConditionFalse, Reason: clusterv1.MachineNotUpToDateReason}
				p.Machines[i].Status.Conditions = append(p.Machines[i].Status.Conditions, outdated)
			}
		}, replaces},
		"one worker": {"It is deleted when another is there.", first, second, own, func(p *Present) { p.Machines = p.Machines[:4] }, append([]string{"replace Machine worker-0"}, rolls[0])},
		"unavailable": {"None is created first.", first, second, own, func(p *Present) {
			p.Cluster.Spec.Topology.Workers.MachineDeployments[0].Rollout.Strategy.RollingUpdate.MaxUnavailable = ptr.To(intstr.FromInt32(1))
		}, []string{rolls[0], "update  Machine worker-0 in place", "update  Machine worker-1 in place", "update  Machine worker-2 in place"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			present, request := withResources(t, sized(tc.before), ""), requestOf(t, sized(tc.after))
			request.CNI, request.ControlPlanes, present.Extensions = "", nil, tc.extensions
			if tc.change != nil {
				tc.change(&present)
			}
			if strategy := present.Cluster.Spec.Topology.Workers.MachineDeployments[0].Rollout; strategy.Strategy.RollingUpdate.MaxUnavailable != nil {
				request.Topology.Workers.MachineDeployments[0].Rollout = strategy
			}
			plan := must.Get(Compute(present, request, Chosen{}))(t)
			var got []string
			for line := range strings.Lines(plan.String()) {
				line, _, _ = strings.Cut(strings.TrimSpace(line), " (")
				line, _, _ = strings.Cut(line, ": restrict")
				if verb, _, _ := strings.Cut(line, " "); verb == "replace" || verb == "update" || verb == "warning" {
					got = append(got, line)
				}
			}
			if diff := cmp.Diff(sorted(tc.want), sorted(got)); diff != "" {
				t.Errorf("%s (-want +got):\n%s\n%s", tc.reason, diff, plan)
			}
		})
	}
}

// A file may change the strategy together with what is rolled out: Cluster API has it before it replaces a Machine.
func TestPlanInPlaceByDesiredStrategy(t *testing.T) {
	t.Parallel()
	const first, second = `{name: files, value: [{path: /etc/motd, content: a}]}`, `{name: files, value: [{path: /etc/motd, content: b}]}`
	none, one := clusterv1.MachineDeploymentTopologyRolloutSpec{}, clusterv1.MachineDeploymentTopologyRolloutSpec{}
	one.Strategy.RollingUpdate.MaxUnavailable = ptr.To(intstr.FromInt32(1))
	for name, tc := range map[string]struct {
		before, after clusterv1.MachineDeploymentTopologyRolloutSpec
		replaced      int
	}{
		"removed": {one, none, 1},
		"added":   {none, one, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			present, request := withResources(t, sized(first), ""), requestOf(t, sized(second))
			request.CNI, request.ControlPlanes, present.Extensions = "", nil, []string{infrav1.InPlaceUpdatesExtension}
			present.Cluster.Spec.Topology.Workers.MachineDeployments[0].Rollout = tc.before
			request.Topology.Workers.MachineDeployments[0].Rollout = tc.after
			plan := must.Get(Compute(present, request, Chosen{}))(t)
			replaced := 0
			for _, rollout := range plan.Rollouts {
				if rollout.Owner == "MachineDeployment worker" {
					replaced = rollout.Replaced
				}
			}
			if replaced != tc.replaced {
				t.Errorf("Want %d workers replaced, got %d:\n%s", tc.replaced, replaced, plan)
			}
		})
	}
}

// A limit that Machines have of their own does not keep them from getting another one of their role.
func TestPlanResizesByLimit(t *testing.T) {
	t.Parallel()
	override := strings.Replace(sized(""), "worker, replicas: 3", `worker, replicas: 3, variables: {overrides: [{name: resources, value: {memory: 4Gi}}]}`, 1)
	present := withResources(t, override, "")
	plan := must.Get(Compute(present, input.Request{CPUs: "1", Memory: "2Gi"}, Chosen{}))(t)
	if len(plan.InPlace) != len(present.Machines) || !slices.Contains(plan.Warnings, "the Machines of MachineDeployment worker have memory of their own, and keep it") {
		t.Errorf("Want all Machines updated, and a warning of memory:\n%s", plan)
	}
}

// A role without an override has the value of the cluster, which may be one that running nodes can get.
func TestPlanInPlaceOfRemovedOverride(t *testing.T) {
	t.Parallel()
	override := strings.Replace(sized(""), "worker, replicas: 3", `worker, replicas: 3, variables: {overrides: [{name: containerdConfigPatches, value: ["[a]"]}]}`, 1)
	present, request := withResources(t, override, ""), requestOf(t, sized(""))
	request.CNI, request.ControlPlanes, present.Extensions = "", nil, []string{infrav1.InPlaceUpdatesExtension}
	plan := must.Get(Compute(present, request, Chosen{}))(t)
	if len(plan.Replaced) > 0 || len(plan.Rollouts) != 1 {
		t.Errorf("Want one rollout in place:\n%s", plan)
	}
}

// Cluster API chooses which Machine is replaced: the volumes of each may be lost.
func TestPlanInPlaceWithVolumes(t *testing.T) {
	t.Parallel()
	present := withResources(t, sized(""), "2Gi")
	present.Extensions = []string{infrav1.InPlaceUpdatesExtension}
	if less := must.Get(Compute(present, input.Request{Memory: "1Gi"}, Chosen{}))(t); len(less.Rollouts) > 0 || len(less.Replaced) != 6 {
		t.Errorf("nodes may need what they have: %s", less)
	}
	plan := must.Get(Compute(present, input.Request{Memory: "4Gi"}, Chosen{}))(t)
	if !plan.EndsMachines() || plan.NeedsConsent || len(plan.Rollouts) != 2 || len(plan.Replaced) > 0 {
		t.Errorf("unexpected plan: %s", plan)
	}
	node := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-worker-1"}}
	volume := corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv"}}
	volume.Spec.Local = &corev1.LocalVolumeSource{Path: "/data"}
	volume.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
		MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{node.Name}}},
	}}}}
	plan = plan.WithVolumes([]corev1.PersistentVolume{volume}, []corev1.Node{node})
	if diff := cmp.Diff([]Volume{{Name: "pv", Machine: "worker-1"}}, plan.Volumes); diff != "" || !plan.NeedsConsent {
		t.Errorf("volumes (-want +got):\n%s", diff)
	}
}

// A role that overrides a variable changes from what it had, its own value or that of the cluster.
func TestPlanInPlaceOverride(t *testing.T) {
	t.Parallel()
	const override = "{name: worker, class: worker, replicas: 3, variables: {overrides: [{name: resources, value: {memory: 4Gi}}]}}"
	for before, isUpdated := range map[string]bool{"2Gi": true, "8Gi": false} {
		text := sized("")
		present := withResources(t, text, before)
		present.Extensions = []string{infrav1.InPlaceUpdatesExtension}
		request := requestOf(t, strings.Replace(text, "{name: worker, class: worker, replicas: 3}", override, 1))
		request.CNI, request.ControlPlanes = "", nil
		plan := must.Get(Compute(present, request, Chosen{}))(t)
		if len(plan.Rollouts) != map[bool]int{true: 1}[isUpdated] || len(plan.Replaced) != map[bool]int{false: 3}[isUpdated] {
			t.Errorf("from %s: %s", before, plan)
		}
	}
}

func sorted(lines []string) []string {
	return slices.Sorted(slices.Values(lines))
}
