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

package clusters_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/e2e/capcon/capcontest"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/test/integration"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

const poolCluster = "pool-test"

// TestMachinePool fills, disturbs, drains and deletes a machine pool, with Cluster API's own
// part done by Cluster API. Scaling and rollout are proven by Cluster API's spec
// "MachinePool".
func TestMachinePool(t *testing.T) {
	eng := integration.Engine(t)
	program := capcontest.Build(t, poolCluster)
	program.DownBeforeAndAfter()
	program.MustRun("up", poolCluster, "--control-planes", "1", "--workers", "0")
	p := &pool{program: program, engine: eng}
	p.create(t, 2)
	capcontest.RunSteps(t, []capcontest.Step{
		{Name: "two", Run: func(t *testing.T) { p.has(t, 2) }},
		{Name: "killed", Run: p.survivesKill},
		{Name: "container removed", Run: p.replacesLost},
		{Name: "drained first", Run: p.isDrained},
		{Name: "deleted", Run: p.isDeleted},
	})
}

// pool is the machine pool of the test, named as its cluster.
type pool struct {
	program *capcontest.Program
	engine  engine.Engine
}

func (p *pool) create(t *testing.T, replicas int32) {
	t.Helper()
	api := capcontest.Management(t, p.program)
	control := capcontest.NodeContainers(t, p.engine, poolCluster)[0]
	version := capcontest.Machines(t, p.program)[0].Spec.Version
	meta := metav1.ObjectMeta{
		Namespace: metav1.NamespaceDefault, Name: poolCluster, Labels: map[string]string{clusterv1.ClusterNameLabel: poolCluster},
	}
	infrastructure := &infrav1.ContainerMachinePool{ObjectMeta: *meta.DeepCopy()}
	infrastructure.Spec.Template.Spec.Image = control.Image
	config := &bootstrapv1.KubeadmConfig{ObjectMeta: *meta.DeepCopy()}
	config.Spec.JoinConfiguration.NodeRegistration.CRISocket = "unix:///var/run/containerd/containerd.sock"
	machinePool := &clusterv1.MachinePool{ObjectMeta: *meta.DeepCopy(), Spec: clusterv1.MachinePoolSpec{
		ClusterName: poolCluster, Replicas: ptr.To(replicas),
		Template: clusterv1.MachineTemplateSpec{Spec: clusterv1.MachineSpec{
			ClusterName: poolCluster, Version: version,
			Bootstrap: clusterv1.Bootstrap{ConfigRef: clusterv1.ContractVersionedObjectReference{
				APIGroup: bootstrapv1.GroupVersion.Group, Kind: "KubeadmConfig", Name: poolCluster,
			}},
			InfrastructureRef: clusterv1.ContractVersionedObjectReference{
				APIGroup: infrav1.GroupVersion.Group, Kind: "ContainerMachinePool", Name: poolCluster,
			},
		}},
	}}
	for _, object := range []client.Object{infrastructure, config, machinePool} {
		if err := api.Create(t.Context(), object); err != nil {
			t.Fatalf("create %T: %v", object, err)
		}
	}
}

// has waits until the pool has exactly so many Nodes, alongside the control
// plane's, and all objects that report it agree.
func (p *pool) has(t *testing.T, replicas int) {
	t.Helper()
	api := capcontest.Management(t, p.program)
	start := time.Now()
	capcontest.Eventually(t, fmt.Sprintf("a pool of %d", replicas), func(ctx context.Context) (string, error) {
		infrastructure, machinePool := &infrav1.ContainerMachinePool{}, &clusterv1.MachinePool{}
		for _, object := range []client.Object{infrastructure, machinePool} {
			if err := api.Get(ctx, p.key(), object); err != nil {
				return "", fmt.Errorf("get %T: %w", object, err)
			}
		}
		containers, err := p.listContainers(ctx)
		if err != nil {
			return "", err
		}
		reported := []int{
			len(infrastructure.Spec.ProviderIDList), int(infrastructure.Status.Replicas), len(machinePool.Spec.ProviderIDList),
			int(ptr.Deref(machinePool.Status.Replicas, -1)), len(machinePool.Status.NodeRefs), len(containers),
		}
		for _, condition := range infrastructure.Status.Conditions {
			if condition.Type != clusterv1.PausedCondition && condition.Status != metav1.ConditionTrue {
				return fmt.Sprintf("%v; %s: %s", reported, condition.Type, condition.Message), nil
			}
		}
		if slices.ContainsFunc(reported, func(number int) bool { return number != replicas }) {
			return fmt.Sprintf("provider IDs, replicas, the MachinePool's, its Nodes, containers: %v", reported), nil
		}
		return "", nil
	})
	capcontest.NodesReady(t, p.program.At(t).ConnectCluster(), replicas+1)
	t.Logf("%d after %s", replicas, time.Since(start).Round(time.Second))
}

// survivesKill: a container that ends is started again and stays the same.
func (p *pool) survivesKill(t *testing.T) {
	before := p.containers(t)
	must.Succeed(t, p.engine.StopContainer(t.Context(), before[0].Name, time.Second))
	capcontest.Eventually(t, "the container runs again", func(ctx context.Context) (string, error) {
		now, err := p.engine.InspectContainer(ctx, before[0].Name)
		if err != nil || now.Status == engine.StatusRunning {
			return "", err
		}
		return string(now.Status), nil
	})
	p.has(t, len(before))
	if after := capcontest.IDs(p.containers(t)); !slices.Equal(capcontest.IDs(before), after) {
		t.Errorf("containers %v became %v", capcontest.IDs(before), after)
	}
}

// replacesLost: an instance whose container is removed is replaced, and only
// that one.
func (p *pool) replacesLost(t *testing.T) {
	before := p.containers(t)
	must.Succeed(t, p.engine.RemoveContainer(t.Context(), before[0].Name))
	p.replaced(t, before[:1])
	p.has(t, len(before))
	if after := capcontest.IDs(p.containers(t)); !slices.Contains(after, before[1].ID) {
		t.Errorf("containers %v became %v", capcontest.IDs(before), after)
	}
}

// isDrained: of two instances, the one that a user chose is removed, and not before
// its Node is drained.
func (p *pool) isDrained(t *testing.T) {
	before := p.containers(t)
	chosen := before[0]
	name := chosen.Labels[identity.LabelMachine]
	capcontest.LoadWebtool(t, p.program.At(t))
	cluster := p.program.At(t).ConnectCluster()
	release := hold(t, cluster, name)
	api := capcontest.Management(t, p.program)
	key := client.ObjectKey{Namespace: p.key().Namespace, Name: name}
	capcontest.Edit(t, api, key, &clusterv1.Machine{}, func(machine *clusterv1.Machine) {
		metav1.SetMetaDataAnnotation(&machine.ObjectMeta, clusterv1.DeleteMachineAnnotation, "")
	})
	capcontest.Edit(t, api, p.key(), &clusterv1.MachinePool{}, func(machinePool *clusterv1.MachinePool) { machinePool.Spec.Replicas = ptr.To[int32](1) })
	capcontest.Eventually(t, "Cluster API says that a Pod keeps the Machine", func(ctx context.Context) (string, error) {
		machine := &clusterv1.Machine{}
		if err := api.Get(ctx, key, machine); err != nil {
			return "", err
		}
		deleting := conditions.Get(machine, clusterv1.MachineDeletingCondition)
		if deleting == nil || deleting.Reason != clusterv1.MachineDeletingDrainingNodeReason || !strings.Contains(deleting.Message, "held") {
			return deleting.String(), nil
		}
		return "", nil
	})
	if after := capcontest.IDs(p.containers(t)); !slices.Contains(after, chosen.ID) {
		t.Errorf("container %s is gone, whose Node was not drained", chosen.Name)
	}
	release()
	p.replaced(t, before[:1])
	p.has(t, 1)
}

// hold runs a Pod on a node that may not be evicted until it is released.
func hold(t *testing.T, cluster kubernetes.Interface, node string) (release func()) {
	t.Helper()
	meta := metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "held", Labels: map[string]string{"app": "held"}}
	_, err := cluster.PolicyV1().PodDisruptionBudgets(meta.Namespace).Create(t.Context(), &policyv1.PodDisruptionBudget{
		ObjectMeta: meta,
		Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: ptr.To(intstr.FromInt32(1)), Selector: &metav1.LabelSelector{MatchLabels: meta.Labels},
		},
	}, metav1.CreateOptions{})
	must.Succeed(t, err)
	_, err = cluster.CoreV1().Pods(meta.Namespace).Create(t.Context(), &corev1.Pod{ObjectMeta: meta, Spec: corev1.PodSpec{
		NodeName: node, Tolerations: capcontest.Everywhere(),
		Containers: []corev1.Container{{Name: "web", Image: capcontest.WebtoolImage, ImagePullPolicy: corev1.PullNever, Args: []string{"serve"}}},
	}}, metav1.CreateOptions{})
	must.Succeed(t, err)
	capcontest.Eventually(t, "the budget counts the Pod", func(ctx context.Context) (string, error) {
		budget, err := cluster.PolicyV1().PodDisruptionBudgets(meta.Namespace).Get(ctx, meta.Name, metav1.GetOptions{})
		if err != nil || budget.Status.CurrentHealthy == 1 {
			return "", err
		}
		return fmt.Sprintf("%+v", budget.Status), nil
	})
	return func() {
		must.Succeed(t, cluster.PolicyV1().PodDisruptionBudgets(meta.Namespace).Delete(t.Context(), meta.Name, metav1.DeleteOptions{}))
	}
}

// replaced waits until containers are gone.
func (p *pool) replaced(t *testing.T, old []engine.Container) {
	t.Helper()
	capcontest.Eventually(t, "others in their place", func(ctx context.Context) (string, error) {
		containers, err := p.listContainers(ctx)
		if err != nil {
			return "", err
		}
		for _, container := range containers {
			if slices.Contains(capcontest.IDs(old), container.ID) {
				return container.Name + " is still there", nil
			}
		}
		return "", nil
	})
}

// isDeleted: the pool goes with all it has.
func (p *pool) isDeleted(t *testing.T) {
	api := capcontest.Management(t, p.program)
	must.Succeed(t, api.Delete(t.Context(), &clusterv1.MachinePool{ObjectMeta: metav1.ObjectMeta{Namespace: p.key().Namespace, Name: p.key().Name}}))
	capcontest.Eventually(t, "the pool is gone", func(ctx context.Context) (string, error) {
		for _, object := range []client.Object{&clusterv1.MachinePool{}, &infrav1.ContainerMachinePool{}} {
			if err := api.Get(ctx, p.key(), object); !apierrors.IsNotFound(err) {
				return fmt.Sprintf("%T is there: %v", object, err), nil
			}
		}
		return "", nil
	})
	if left := p.containers(t); len(left) > 0 {
		t.Errorf("containers are left: %v", capcontest.IDs(left))
	}
	capcontest.NodesReady(t, p.program.At(t).ConnectCluster(), 1)
}

// containers of the pool: all workers there are.
func (p *pool) containers(t *testing.T) []engine.Container {
	t.Helper()
	containers := must.Get(p.listContainers(t.Context()))(t)
	return containers
}

func (p *pool) listContainers(ctx context.Context) ([]engine.Container, error) {
	containers, err := capcontest.ListNodeContainers(ctx, p.engine, poolCluster)
	return slices.DeleteFunc(containers, func(c engine.Container) bool {
		return c.Labels[identity.LabelRole] != string(identity.RoleWorker)
	}), err
}

func (p *pool) key() client.ObjectKey {
	return client.ObjectKey{Namespace: metav1.NamespaceDefault, Name: poolCluster}
}
