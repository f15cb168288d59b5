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

package planes_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/e2e/capcon/capcontest"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane"
	"github.com/capi-samples/cluster-api-provider-container/test/integration"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

const lossesCluster = "losses-test"

// TestLosses stops the management plane at five points of a cluster's creation,
// after its objects have lost status, labels and annotations. The cluster is
// created all the same, and no container of it a second time. Then the container
// of its only control plane is removed, with the same losses: a condition says
// so, and kubeadm does not initialize another cluster in its place.
//
// The simulated engine has the same test for every point: TestLosses of package
// controllers.
func TestLosses(t *testing.T) {
	eng := integration.Engine(t)
	l := &losses{Declared: capcontest.Declare(t, eng, lossesCluster)}
	seen := watchContainers(t, eng, lossesCluster)
	l.Create(t)
	points := []struct {
		name    string
		reached func(context.Context) (bool, error)
	}{
		{"load balancer created", l.hasContainer(identity.RoleLoadBalancer)},
		{"control plane created", l.hasContainer(identity.RoleControlPlane)},
		{"control plane initialized", l.isInitialized},
		{"worker created", l.hasContainer(identity.RoleWorker)},
	}
	for _, point := range points {
		capcontest.Eventually(t, point.name, func(ctx context.Context) (string, error) {
			reached, err := point.reached(ctx)
			if err != nil || reached {
				return "", err
			}
			return "not yet", nil
		})
		t.Logf("losses after: %s", point.name)
		l.lose(t, func() {})
	}
	l.ComesUp(t, 2)
	first := l.systemUID(t)
	t.Log("losses after: all Nodes are ready")
	l.lose(t, func() {})
	l.ComesUp(t, 2)
	if second := l.systemUID(t); first != second {
		t.Errorf("the cluster was initialized twice: UID of kube-system %s, then %s", first, second)
	}

	t.Log("losses after: the control plane's container is removed")
	l.lose(t, func() { l.removeControlPlane(t) })
	l.reportsMissing(t)
	seen.onlyOneEach(t, lossesCluster, 2)
}

// losses of a cluster.
type losses struct {
	*capcontest.Declared
}

// lose all that objects may lose while no manager runs. The Cluster is paused, so
// that no manager writes between the loss and the end of the plane.
func (l *losses) lose(t *testing.T, disturb func()) {
	t.Helper()
	l.pause(t, true)
	capcontest.Eventually(t, "all objects are paused", func(ctx context.Context) (string, error) {
		objects, err := l.objects(ctx)
		for _, object := range objects {
			if !conditions.IsTrue(object, clusterv1.PausedCondition) {
				return object.GetName(), err
			}
		}
		return "", err
	})
	disturb()
	objects := must.Get(l.objects(t.Context()))(t)
	for _, object := range objects {
		key := client.ObjectKeyFromObject(object)
		capcontest.Eventually(t, "lose metadata and status of "+key.Name, func(ctx context.Context) (string, error) {
			if err := l.API.Get(ctx, key, object); err != nil {
				return "", err
			}
			object.SetLabels(nil)
			object.SetAnnotations(nil)
			if err := l.API.Update(ctx, object); err != nil {
				return "", err
			}
			switch object := object.(type) {
			case *infrav1.ContainerCluster:
				object.Status = infrav1.ContainerClusterStatus{}
			case *infrav1.ContainerMachine:
				object.Status = infrav1.ContainerMachineStatus{}
			}
			return "", l.API.Status().Update(ctx, object)
		})
	}
	l.restartPlane(t)
	l.pause(t, false)
}

// lossy objects have conditions and a status that a test may clear.
type lossy interface {
	client.Object
	conditions.Getter
}

// objects of this provider in the cluster, by their name: they have no labels.
func (l *losses) objects(ctx context.Context) ([]lossy, error) {
	cluster := &infrav1.ContainerCluster{}
	if err := l.API.Get(ctx, l.Key(), cluster); err != nil {
		return nil, err
	}
	found := []lossy{cluster}
	list, err := capcontest.ListMachines(ctx, l.API, l.Program.Cluster)
	if err != nil {
		return nil, err
	}
	for _, owner := range list {
		machine := &infrav1.ContainerMachine{}
		key := client.ObjectKey{Namespace: owner.Namespace, Name: owner.Spec.InfrastructureRef.Name}
		if err := l.API.Get(ctx, key, machine); err != nil {
			return nil, err
		}
		found = append(found, machine)
	}
	return found, nil
}

func (l *losses) pause(t *testing.T, paused bool) {
	t.Helper()
	capcontest.Edit(t, l.API, l.Key(), &clusterv1.Cluster{}, func(cluster *clusterv1.Cluster) { cluster.Spec.Paused = ptr.To(paused) })
}

func (l *losses) restartPlane(t *testing.T) {
	t.Helper()
	must.Succeed(t, l.Engine.StopContainer(t.Context(), plane.DefaultName, 0))
	must.Succeed(t, l.Engine.StartContainer(t.Context(), plane.DefaultName))
	capcontest.Eventually(t, "the management plane answers", func(ctx context.Context) (string, error) {
		api, err := capcontest.ConnectManagement(ctx, t.Output(), l.Program)
		if err != nil {
			return "", err
		}
		l.API = api
		return "", api.Get(ctx, l.Key(), &clusterv1.Cluster{})
	})
}

// containers of the cluster by name, the load balancer's too.
func (l *losses) containers(ctx context.Context) (map[string]engine.Container, error) {
	list, err := l.Engine.ListContainers(ctx, map[string]string{identity.LabelCluster: l.Program.Cluster})
	byName := map[string]engine.Container{}
	for _, container := range list {
		byName[container.Name] = container
	}
	return byName, err
}

func (l *losses) hasContainer(role identity.Role) func(context.Context) (bool, error) {
	return func(ctx context.Context) (bool, error) {
		containers, err := l.containers(ctx)
		for _, container := range containers {
			if container.Labels[identity.LabelRole] == string(role) {
				return true, err
			}
		}
		return false, err
	}
}

func (l *losses) isInitialized(ctx context.Context) (bool, error) {
	cluster := &clusterv1.Cluster{}
	err := l.API.Get(ctx, l.Key(), cluster)
	return ptr.Deref(cluster.Status.Initialization.ControlPlaneInitialized, false), err
}

// systemUID identifies the cluster that kubeadm init created.
func (l *losses) systemUID(t *testing.T) string {
	t.Helper()
	namespace, err := l.Program.At(t).ConnectCluster().CoreV1().Namespaces().Get(t.Context(), metav1.NamespaceSystem, metav1.GetOptions{})
	must.Succeed(t, err)
	return string(namespace.UID)
}

func (l *losses) removeControlPlane(t *testing.T) {
	t.Helper()
	containers := must.Get(l.containers(t.Context()))(t)
	for name, container := range containers {
		if container.Labels[identity.LabelRole] != string(identity.RoleControlPlane) {
			continue
		}
		must.Succeed(t, l.Engine.RemoveContainer(t.Context(), name))
	}
}

// reportsMissing waits until the control plane's machine says that its container
// is gone, and then for as long as a creation would take to begin.
func (l *losses) reportsMissing(t *testing.T) {
	t.Helper()
	const quiet = 30 * time.Second
	var since time.Time
	capcontest.Eventually(t, "the control plane is reported as missing", func(ctx context.Context) (string, error) {
		objects, err := l.objects(ctx)
		if err != nil {
			return "", err
		}
		for _, object := range objects {
			ready := conditions.Get(object, infrav1.MachineReadyCondition)
			if ready == nil || ready.Status != metav1.ConditionFalse || ready.Reason != infrav1.ContainerNotFoundReason {
				continue
			}
			if since.IsZero() {
				t.Log(ready.Message)
				since = time.Now()
			}
			if time.Since(since) >= quiet {
				return "", nil
			}
		}
		return fmt.Sprintf("reported since %s", since), nil
	})
}
