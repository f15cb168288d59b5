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

package daemon_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	utilyaml "sigs.k8s.io/cluster-api/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/templates"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// TestIntegrationTopology has Cluster API make a cluster of the ClusterClass
// that is shipped, and change it. There is no engine: no Machine ever runs.
func TestIntegrationTopology(t *testing.T) {
	t.Parallel()
	p := newTestPlane(t)
	// Renewal is another test's: certificates last here.
	p.args = slices.DeleteFunc(p.args, func(arg string) bool { return strings.HasPrefix(arg, "--certificate-lifetime") })
	p.start(t)
	p.connect(t)
	p.awaitReady(t)
	scheme := runtime.NewScheme()
	err := errors.Join(clusterv1.AddToScheme(scheme), infrav1.AddToScheme(scheme))
	must.Succeed(t, err)
	if p.client, err = client.New(p.config, client.Options{Scheme: scheme}); err != nil {
		t.Fatal(err)
	}
	p.createClass(t)
	p.createCluster(t)
	p.testNames(t)
	p.testPropagation(t)
	p.testRotation(t)
}

func (p *testPlane) createClass(t *testing.T) {
	t.Helper()
	for _, part := range must.Get(utilyaml.ToUnstructured([]byte(templates.ClusterClass)))(t) {
		part.SetNamespace(metav1.NamespaceDefault)
		if err := p.client.Create(t.Context(), &part); err != nil {
			t.Fatalf("create %s: %v", part.GetKind(), err)
		}
	}
}

// createCluster with infrastructure that is complete.
func (p *testPlane) createCluster(t *testing.T) {
	t.Helper()
	made := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "demo"}}
	made.Spec.Topology = clusterv1.Topology{
		ClassRef: clusterv1.ClusterClassRef{Name: "container"}, Version: "v1.36.3",
		ControlPlane: clusterv1.ControlPlaneTopology{Replicas: ptr.To[int32](1)},
		Workers: clusterv1.WorkersTopology{MachineDeployments: []clusterv1.MachineDeploymentTopology{{
			Class: "worker", Name: "worker", Replicas: ptr.To[int32](1),
			// Workers wait for a control plane, and there is none here.
			Metadata: clusterv1.ObjectMeta{Annotations: map[string]string{
				clusterv1.MachineSetSkipPreflightChecksAnnotation: string(clusterv1.MachineSetPreflightCheckAll),
			}},
		}}},
		Variables: []clusterv1.ClusterVariable{
			{Name: "nodeImages", Value: apiextensionsv1.JSON{Raw: []byte(`{"v1.36.3":"node:1"}`)}},
		},
	}
	must.Succeed(t, p.client.Create(t.Context(), made))
	infrastructure := &infrav1.ContainerCluster{}
	eventually(t, "the infrastructure is there", func() error {
		key := client.ObjectKeyFromObject(made)
		if err := p.client.Get(t.Context(), key, infrastructure); err != nil {
			return err
		}
		infrastructure.Spec.ControlPlaneEndpoint = infrav1.APIEndpoint{Host: "192.0.2.1", Port: 6443}
		if err := p.client.Update(t.Context(), infrastructure); err != nil {
			return err
		}
		infrastructure.Status.Initialization.Provisioned = ptr.To(true)
		return p.client.Status().Update(t.Context(), infrastructure)
	})
}

// testNames: objects are called as capcon expects, and filled in as the
// variables say.
func (p *testPlane) testNames(t *testing.T) {
	t.Helper()
	eventually(t, "each machine has a container's object with the image", func() error {
		containers, err := p.containers(t.Context())
		if err != nil {
			return err
		}
		if len(containers) != 2 {
			return fmt.Errorf("%d ContainerMachines", len(containers))
		}
		for _, container := range containers {
			if container.Spec.Image != "node:1" {
				return fmt.Errorf("%s has the image %q", container.Name, container.Spec.Image)
			}
			if !strings.HasPrefix(container.Name, "demo-control-plane-") && !strings.HasPrefix(container.Name, "demo-worker-") {
				return fmt.Errorf("unexpected name %s", container.Name)
			}
		}
		return nil
	})
}

// testPropagation: labels and annotations reach Machines and their containers'
// objects, and no Machine is replaced.
func (p *testPlane) testPropagation(t *testing.T) {
	t.Helper()
	before := p.uids(t)
	p.edit(t, func(topology *clusterv1.Topology) {
		for _, metadata := range []*clusterv1.ObjectMeta{&topology.ControlPlane.Metadata, &topology.Workers.MachineDeployments[0].Metadata} {
			metadata.Labels = map[string]string{"example.test/team": "blue"}
			if metadata.Annotations == nil {
				metadata.Annotations = map[string]string{}
			}
			metadata.Annotations["example.test/note"] = "kept"
		}
	})
	has := func(object client.Object) error {
		if object.GetLabels()["example.test/team"] != "blue" || object.GetAnnotations()["example.test/note"] != "kept" {
			return fmt.Errorf("%T %s has neither", object, object.GetName())
		}
		return nil
	}
	eventually(t, "labels and annotations arrive", func() error {
		machines := &clusterv1.MachineList{}
		containers, err := p.containers(t.Context())
		if err := errors.Join(err, p.client.List(t.Context(), machines)); err != nil {
			return err
		}
		for i := range machines.Items {
			err = errors.Join(err, has(&machines.Items[i]))
		}
		for i := range containers {
			err = errors.Join(err, has(&containers[i]))
		}
		return err
	})
	p.awaitReconciled(t)
	if after := p.uids(t); !maps.Equal(before, after) {
		t.Errorf("Machines were replaced: before %v, after %v", before, after)
	}
}

// testRotation: a variable that is overridden for the workers makes another
// template for them, and replaces them alone.
func (p *testPlane) testRotation(t *testing.T) {
	t.Helper()
	before := p.uids(t)
	p.edit(t, func(topology *clusterv1.Topology) {
		topology.Workers.MachineDeployments[0].Variables.Overrides = []clusterv1.ClusterVariable{{
			Name: "extraMounts", Value: apiextensionsv1.JSON{Raw: []byte(`[{"containerPath":"/mnt/a","hostPath":"/srv"}]`)},
		}}
	})
	eventually(t, "a worker has the mount", func() error {
		containers, err := p.containers(t.Context())
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(containers, func(c infrav1.ContainerMachine) bool { return len(c.Spec.ExtraMounts) == 1 }) {
			return errors.New("none has")
		}
		return nil
	})
	p.awaitReconciled(t)
	containers := must.Get(p.containers(t.Context()))(t)
	for _, container := range containers {
		mounted, worker := len(container.Spec.ExtraMounts) == 1, strings.HasPrefix(container.Name, "demo-worker-")
		uid, old := before[container.Name]
		if mounted != (worker && !old) || !worker && uid != string(container.UID) {
			t.Errorf("Workers alone are replaced: %s has %v, was there before: %t", container.Name, container.Spec.ExtraMounts, old)
		}
	}
}

func (p *testPlane) edit(t *testing.T, change func(*clusterv1.Topology)) {
	t.Helper()
	eventually(t, "the topology is written", func() error {
		made := &clusterv1.Cluster{}
		if err := p.client.Get(t.Context(), client.ObjectKey{Namespace: metav1.NamespaceDefault, Name: "demo"}, made); err != nil {
			return err
		}
		change(&made.Spec.Topology)
		return p.client.Update(t.Context(), made)
	})
}

// awaitReconciled waits until the topology as it is now is carried out.
func (p *testPlane) awaitReconciled(t *testing.T) {
	t.Helper()
	eventually(t, "the topology is carried out", func() error {
		made := &clusterv1.Cluster{}
		if err := p.client.Get(t.Context(), client.ObjectKey{Namespace: metav1.NamespaceDefault, Name: "demo"}, made); err != nil {
			return err
		}
		reconciled := conditions.Get(made, clusterv1.ClusterTopologyReconciledCondition)
		if reconciled == nil || reconciled.Status != metav1.ConditionTrue || reconciled.ObservedGeneration != made.Generation {
			return fmt.Errorf("generation %d: %+v", made.Generation, reconciled)
		}
		return nil
	})
}

func (p *testPlane) containers(ctx context.Context) ([]infrav1.ContainerMachine, error) {
	list := &infrav1.ContainerMachineList{}
	err := p.client.List(ctx, list)
	return list.Items, err
}

// uids of the ContainerMachines, by name.
func (p *testPlane) uids(t *testing.T) map[string]string {
	t.Helper()
	containers := must.Get(p.containers(t.Context()))(t)
	uids := map[string]string{}
	for _, container := range containers {
		uids[container.Name] = string(container.UID)
	}
	return uids
}
