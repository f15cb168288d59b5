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

package controllers_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
	"github.com/capi-samples/cluster-api-provider-container/test/simulatednode"
	"github.com/capi-samples/cluster-api-provider-container/test/world"
)

const secondMachine = "m2"

func scenarios() map[string]scenario {
	network := func(o *builders.Objects) { o.ContainerCluster.Spec.Network.Name = "mine" }
	waits := func(o *builders.Objects) { o.Machine.Spec.Bootstrap.DataSecretName = nil }
	hasData := func(w *world.World) {
		world.Edit(w, builders.Machine, &clusterv1.Machine{}, func(m *clusterv1.Machine) {
			name := builders.Machine + "-data"
			m.Spec.Bootstrap.DataSecretName = &name
		})
	}
	deleteMachine := func(w *world.World) {
		world.Delete(w, builders.Machine, &clusterv1.Machine{})
		world.Delete(w, builders.Machine, &infrav1.ContainerMachine{})
	}
	return map[string]scenario{
		"CreateWorker":       {options: []builders.Option{waits}, setup: func(w *world.World) { settle(w); hasData(w) }},
		"CreateControlPlane": {options: []builders.Option{builders.ControlPlane(builders.InitData), waits}, setup: func(w *world.World) { settle(w); hasData(w) }},
		"StartStopped": {setup: func(w *world.World) {
			settle(w)
			for _, name := range []string{builders.Container(builders.Machine), builders.Owner().LoadBalancerContainer()} {
				_ = w.Engine.KillContainer(name, 137, false)
			}
		}},
		"LoadBalancerNew": {setup: func(w *world.World) {
			settle(w)
			_ = w.Engine.RemoveContainer(w.TB.Context(), builders.Owner().LoadBalancerContainer())
		}},
		"DeleteControlPlane": {options: []builders.Option{builders.ControlPlane(builders.InitData), anotherControlPlane}, patience: 13,
			setup: func(w *world.World) { settle(w); deleteMachine(w) }},
		"UpdateInPlace": {options: []builders.Option{withKubeadmConfig}, setup: updateInPlace, patience: 5},
		"DeleteAll": {options: []builders.Option{network, builders.ControlPlane(builders.InitData)}, setup: func(w *world.World) {
			settle(w)
			deleteAll(w)
		}},
	}
}

// withKubeadmConfig gives the machine a file that its first boot does not write.
func withKubeadmConfig(o *builders.Objects) {
	reference := clusterv1.ContractVersionedObjectReference{APIGroup: bootstrapv1.GroupVersion.Group, Kind: "KubeadmConfig", Name: builders.Machine}
	o.Machine.Spec.Bootstrap.ConfigRef = reference
	o.ContainerMachine.Spec.Resources.Memory = ptr.To(resource.MustParse("2Gi"))
	o.Others = append(o.Others, &bootstrapv1.KubeadmConfig{
		ObjectMeta: metav1.ObjectMeta{Namespace: builders.Namespace, Name: builders.Machine, Annotations: map[string]string{clusterv1.UpdateInProgressAnnotation: ""}},
		Spec:       bootstrapv1.KubeadmConfigSpec{Files: []bootstrapv1.File{{Path: "/etc/containerd/conf.d/a.toml", Content: "a"}}},
	})
}

// updateInPlace changes files and limits of a node. That the condition Updated is there at the end means that the node has been
// observed to have the files.
func updateInPlace(w *world.World) {
	files, node := requestUpdateInPlace(w, func() {})
	w.TB.Cleanup(func() {
		if content := files.Contents()["/etc/containerd/conf.d/a.toml"]; content != "a\n" || files.Restarts("containerd") == 0 {
			w.TB.Errorf("the node has %q after %d restarts", content, files.Restarts("containerd"))
		}
		if spec, isThere := w.Engine.Spec(node); !isThere || spec.Resources.MemoryBytes != 4<<30 {
			w.TB.Errorf("the node has %d bytes of memory", spec.Resources.MemoryBytes)
		}
	})
}

// A user may have repaired the node by hand, for its Pods to end.
func TestNodeOfDeletedMachineIsNotUpdated(t *testing.T) {
	t.Parallel()
	objects := builders.New(withKubeadmConfig)
	w := world.New(t, objects)
	files, _ := requestUpdateInPlace(w, func() { world.Delete(w, builders.Machine, &clusterv1.Machine{}) })
	settle(w)
	if content := files.Contents()["/etc/containerd/conf.d/a.toml"]; content != "" || files.Restarts("containerd") > 0 {
		t.Errorf("the node has %q after %d restarts", content, files.Restarts("containerd"))
	}
}

// requestUpdateInPlace of the files and the memory of a node. Early runs before Cluster API does.
func requestUpdateInPlace(w *world.World, early func()) (of *simulatednode.Files, container string) {
	settle(w)
	files, node := simulatednode.NewFiles(nil), builders.Container(builders.Machine)
	w.Engine.HandleExec(func(name string, command engine.Command) (engine.Output, error) {
		if name != node {
			return w.LoadBalancers.Exec(name, command)
		}
		return files.Exec(name, command)
	})
	if err := simulatednode.Record(w.Engine, node, map[string]string{"": "done"}); err != nil {
		w.TB.Fatal(err)
	}
	world.EditStatus(w, builders.Machine, &clusterv1.Machine{}, func(m *clusterv1.Machine) {
		m.Status.NodeRef = clusterv1.MachineNodeReference{Name: builders.Machine}
	})
	settle(w)
	early()
	world.Edit(w, builders.Machine, &infrav1.ContainerMachine{}, func(m *infrav1.ContainerMachine) {
		m.Annotations = map[string]string{clusterv1.UpdateInProgressAnnotation: "", infrav1.UpdateRequestedAnnotation: ""}
		m.Spec.Resources.Memory = ptr.To(resource.MustParse("4Gi"))
	})
	return files, node
}

// interruptions are bootstraps that run again. What disturbs them is in TestRecovery.
func interruptions() map[string]scenario {
	interrupted := func(w *world.World) {
		settle(w)
		w.Engine.RestartEngine()
	}
	return map[string]scenario{
		"RecoverWorker": {setup: interrupted},
		"RecoverInit":   {options: []builders.Option{builders.ControlPlane(builders.InitData)}, setup: interrupted},
		"RecoverInitNode": {options: []builders.Option{builders.ControlPlane(builders.InitData)}, setup: func(w *world.World) {
			settle(w)
			world.EditStatus(w, builders.Machine, &clusterv1.Machine{}, func(m *clusterv1.Machine) {
				m.Status.NodeRef = clusterv1.MachineNodeReference{Name: builders.Machine}
			})
			interrupted(w)
		}},
	}
}

// deleteAll asks for everything to be deleted concurrently.
func deleteAll(w *world.World) {
	world.Edit(w, builders.Cluster, &clusterv1.Cluster{}, func(c *clusterv1.Cluster) { c.Finalizers = []string{clusterv1.ClusterFinalizer} })
	world.Delete(w, builders.Cluster, &clusterv1.Cluster{})
	world.Delete(w, builders.Machine, &clusterv1.Machine{})
	world.Delete(w, builders.Machine, &infrav1.ContainerMachine{})
	world.Delete(w, builders.Cluster, &infrav1.ContainerCluster{})
}

func anotherControlPlane(o *builders.Objects) {
	machine, containerMachine := builders.MachinePair(secondMachine)
	builders.MakeControlPlane(machine)
	o.Others = append(o.Others, machine, containerMachine, builders.DataSecret(secondMachine, builders.JoinControlPlaneData))
}

// settle lets both controllers come to rest.
func settle(w *world.World) {
	w.SettleCluster()
	for _, name := range []string{builders.Machine, secondMachine} {
		if _, there := world.Get(w, name, &infrav1.ContainerMachine{}); there {
			w.SettleMachine(name)
		}
	}
	w.SettleCluster()
}

// state is all there is at the end of a run, with what differs from run to
// run by its nature taken out: random identities, names and ports that follow
// from them, times.
type state struct {
	Containers, Networks, Backends []string
	Volumes                        int
	Objects                        map[string]any
}

func snapshot(t *testing.T, w *world.World) state {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	w.Calls.Hook(nil, nil)
	containers, err := w.Engine.ListContainers(ctx, nil)
	must.Succeed(t, err)
	names := []string{}
	found := state{Volumes: len(w.Engine.VolumeNames()), Objects: map[string]any{}}
	for _, listed := range containers {
		container := must.Get(w.Engine.InspectContainer(ctx, listed.Name))(t)
		known := cmp.Or(container.Labels[identity.LabelMachine], container.Labels[identity.LabelRole])
		names = append(names, container.Name, "<"+known+">", container.Labels[identity.LabelOwnerID], "<owner>")
		if container.Labels[identity.LabelRole] == string(identity.RoleLoadBalancer) && len(container.Ports) > 0 {
			names = append(names, strconv.Itoa(int(container.Ports[0].HostPort)), "0")
		}
		_, err = w.Engine.ReadFile(container.Name, "/opt/cluster-api-bootstrap/bootstrap")
		found.Containers = append(found.Containers, fmt.Sprintf("%s role %s machine %s is %s at %v, recorded %s, %d ports, bootstrap %t, labels %d",
			known, container.Labels[identity.LabelRole], container.Labels[identity.LabelMachine], container.Status, container.Networks,
			container.Labels[identity.LabelAddress], len(container.Ports), err == nil, len(container.Labels)))
		for backend, weight := range w.LoadBalancers.Weights(container.Name) {
			found.Backends = append(found.Backends, fmt.Sprintf("%s %d", backend, weight))
		}
	}
	for _, name := range []string{"capcon", "mine"} {
		if network, err := w.Engine.InspectNetwork(ctx, name); engine.IgnoreNotFound(err) != nil {
			t.Fatal(err)
		} else if err == nil {
			found.Networks = append(found.Networks, fmt.Sprintf("%s %v %v", name, network.Subnets, network.Labels))
		}
	}
	containerCluster, there := world.Get(w, builders.Cluster, &infrav1.ContainerCluster{})
	if there {
		if id := containerCluster.Spec.OwnerID; id != "" {
			names = append(names, id, "<owner>")
		}
		found.Objects["ContainerCluster"] = plain(t, containerCluster, names)
	}
	for _, name := range []string{builders.Machine, secondMachine} {
		if machine, there := world.Get(w, name, &infrav1.ContainerMachine{}); there {
			found.Objects["ContainerMachine "+name] = plain(t, machine, names)
		}
	}
	replace := strings.NewReplacer(names...)
	for i := range found.Backends {
		found.Backends[i] = replace.Replace(found.Backends[i])
	}
	slices.Sort(found.Backends)
	slices.Sort(found.Containers)
	return found
}

// plain returns an object as JSON, without what differs from run to run.
func plain(t *testing.T, object client.Object, names []string) any {
	t.Helper()
	object.SetResourceVersion("")
	object.SetDeletionTimestamp(nil)
	if conditional, ok := object.(interface {
		GetConditions() []metav1.Condition
		SetConditions([]metav1.Condition)
	}); ok {
		all := conditional.GetConditions()
		for i := range all {
			all[i].LastTransitionTime = metav1.Time{}
		}
		conditional.SetConditions(all)
	}
	text := must.Get(json.Marshal(object))(t)
	var value any
	must.Succeed(t, json.Unmarshal([]byte(strings.NewReplacer(names...).Replace(string(text))), &value))
	return value
}

func difference(want, got state) string { return gocmp.Diff(want, got) }
