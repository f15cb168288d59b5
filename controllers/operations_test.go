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
	"slices"
	"strings"
	"testing"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/faults"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
	"github.com/capi-samples/cluster-api-provider-container/test/world"
)

// operation is what a user asks of a cluster.
type operation struct {
	reason string
	// fresh: it begins with a cluster that was never looked at.
	fresh bool
	// begin is what the user does.
	begin func(*fleet)
	// act is what another controller does meanwhile; nil = nothing.
	act  func(*fleet)
	want end
}

func operations() map[string]operation {
	controlPlane, worker := []string{builders.Machine}, []string{secondMachine}
	return map[string]operation{
		"Up": {
			reason: "A cluster is created.", fresh: true, begin: func(*fleet) {},
			want: end{controlPlanes: controlPlane, workers: worker, instances: 1},
		},
		"ChangeRegistries": {
			reason: "Nodes get them without being replaced.", begin: changeRegistries,
			want: end{controlPlanes: controlPlane, workers: worker, instances: 1, has: hasRegistry},
		},
		"Load": {
			reason: "Each node has the image.", begin: changeImages,
			want: end{controlPlanes: controlPlane, workers: worker, instances: 1, has: hasImage},
		},
		"ScaleUp": {
			reason: "Another worker and another instance.",
			begin: func(f *fleet) {
				f.create(newMachine(thirdMachine, builders.JoinWorkerData)...)
				f.setReplicas(2)
			},
			want: end{controlPlanes: controlPlane, workers: []string{secondMachine, thirdMachine}, instances: 2},
		},
		"ScaleDown": {
			reason: "The worker goes, and the pool has no instance.",
			begin: func(f *fleet) {
				f.deleteMachine(secondMachine)
				f.setReplicas(0)
			},
			want: end{controlPlanes: controlPlane},
		},
		"Upgrade": {
			reason: "A control plane is replaced, and so is the instance.",
			begin: func(f *fleet) {
				f.create(upgraded(newMachine(thirdMachine, builders.JoinControlPlaneData))...)
				world.Edit(f.World, builders.Pool, &infrav1.ContainerMachinePool{}, func(p *infrav1.ContainerMachinePool) { p.Spec.Template.Spec.Image = newNodeImage })
				world.Edit(f.World, builders.Pool, &clusterv1.MachinePool{}, func(p *clusterv1.MachinePool) { p.Spec.Template.Spec.Version = newVersion })
			},
			act:  func(f *fleet) { f.replaceControlPlane() },
			want: end{controlPlanes: []string{thirdMachine}, workers: worker, instances: 1, version: newVersion},
		},
		"ReplaceInstance": {
			reason: "Its container is gone: another instance takes its place.",
			begin: func(f *fleet) {
				for _, machine := range f.ContainerMachines() {
					if machine.Name != builders.Machine && machine.Name != secondMachine {
						must.Succeed(f.TB, f.Engine.RemoveContainer(f.TB.Context(), builders.Container(machine.Name)))
					}
				}
			},
			want: end{controlPlanes: controlPlane, workers: worker, instances: 1},
		},
		"DeletePool": {
			reason: "Nothing is left of it.", begin: func(f *fleet) { f.deletePool() },
			want: end{controlPlanes: controlPlane, workers: worker},
		},
		"DeleteCluster": {
			reason: "Nothing is left.", begin: func(f *fleet) { world.Delete(f.World, builders.Cluster, &clusterv1.Cluster{}) },
			want: end{deleted: true},
		},
	}
}

// TestOperationFaults: each operation ends as it does undisturbed, whichever call of the engine
// or write to the API server fails once or loses its answer, wherever the manager is killed,
// whether the objects lose their status meanwhile, and before whichever call the engine restarts.
func TestOperationFaults(t *testing.T) {
	t.Parallel()
	for name, o := range operations() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			faults.Each(t, nil, o.run)
		})
	}
}

func (o operation) run(t *testing.T, fault faults.Fault) *faults.Injector {
	t.Helper()
	f := newFleet(world.New(t, builders.New(fleetOptions()...)))
	if !o.fresh {
		f.settle()
	}
	o.begin(f)
	injector := fault.Arm(f)
	hook(f.World, injector)
	f.drive(injector, pauses(), func() {
		f.actAsClusterAPI()
		if o.act != nil {
			o.act(f)
		}
	}, f.look)
	f.check(t, o.want)
	if t.Failed() {
		t.Log(o.reason)
	}
	return injector
}

func (f *fleet) setReplicas(count int32) {
	world.Edit(f.World, builders.Pool, &clusterv1.MachinePool{}, func(p *clusterv1.MachinePool) { p.Spec.Replicas = ptr.To(count) })
}

// replaceControlPlane removes the first control plane once there is another one.
func (f *fleet) replaceControlPlane() {
	isOther := func(machine clusterv1.Machine) bool {
		return machine.Name == thirdMachine && machine.Status.NodeRef.IsDefined()
	}
	if slices.ContainsFunc(f.Machines(), isOther) {
		f.deleteMachine(builders.Machine)
	}
}

// upgraded are the objects of a machine, with another version and image.
func upgraded(objects []client.Object) []client.Object {
	for _, object := range objects {
		switch object := object.(type) {
		case *clusterv1.Machine:
			object.Spec.Version = newVersion
		case *infrav1.ContainerMachine:
			object.Spec.Image = newNodeImage
		}
	}
	return objects
}

const mirrorURL = "http://10.0.0.5:5000"

func changeRegistries(f *fleet) {
	world.Edit(f.World, builders.Cluster, &infrav1.ContainerCluster{}, func(c *infrav1.ContainerCluster) {
		c.Spec.Registries = []infrav1.Registry{{Host: "r.example", Mirrors: []infrav1.RegistryMirror{{URL: mirrorURL}}}}
	})
}

func hasRegistry(t *testing.T, f *fleet, container string) {
	t.Helper()
	content, err := f.Engine.ReadFile(container, "/etc/containerd/certs.d/r.example/hosts.toml")
	if err != nil || !strings.Contains(string(content), mirrorURL) {
		t.Errorf("registries of %s: %s, %v", container, content, err)
	}
}

func changeImages(f *fleet) {
	world.Edit(f.World, builders.Cluster, &infrav1.ContainerCluster{}, func(c *infrav1.ContainerCluster) { c.Spec.Images = []string{appImage} })
}

func hasImage(t *testing.T, f *fleet, container string) {
	t.Helper()
	if names := f.containerd.Names(container); !slices.Equal(names, []string{"docker.io/library/app:dev"}) {
		t.Errorf("images of %s: %v", container, names)
	}
}
