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
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/e2e/capcon/capcontest"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane"
	"github.com/capi-samples/cluster-api-provider-container/test/clusterctl"
	"github.com/capi-samples/cluster-api-provider-container/test/integration"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// TestRestore loses the management cluster with all that it knew of a cluster
// with a machine pool, and has a new one take the cluster over from a backup that clusterctl made,
// which has no status; then it loses the ContainerMachines alone, and makes them
// again with nothing but spec.providerID. Clients never pause, and the engine gets no
// call that changes something.
func TestRestore(t *testing.T) {
	eng := integration.Engine(t)
	program := capcontest.Build(t, moveCluster)
	program.DownBeforeAndAfter()
	program.MustRun("up", moveCluster, "--control-planes", "1", "--workers", "1")
	home := plane.New(eng, plane.Options{})
	m := &move{program: program, engine: eng, clusterctl: clusterctl.New(t, capcontest.Root), cluster: program.ConnectCluster()}
	m.home = m.connect(t, plane.DefaultName, home)
	config := must.Get(clientcmd.RESTConfigFromKubeConfig(program.Kubeconfig(moveCluster)))(t)
	m.addPool(t)
	m.deploy(t)
	m.healthy(t, m.home, machinesOfMove)
	asking := capcontest.StartTraffic(t, config)
	before := m.observeCluster(t)
	image := m.planeImage(t)

	backup := t.TempDir()
	m.runClusterctl(t, "--kubeconfig", m.home.kubeconfig, "--to-directory", backup)
	must.Succeed(t, capcontest.DiscardPlane(t.Context(), eng, plane.DefaultName))
	m.home = m.connectImage(t, plane.DefaultName, home, image)
	start := time.Now()
	m.runClusterctl(t, "--to-kubeconfig", m.home.kubeconfig, "--from-directory", backup)
	m.healthy(t, m.home, machinesOfMove)
	t.Logf("restored and ready after %s", time.Since(start).Round(time.Millisecond))
	if diff := cmp.Diff(before, m.observeCluster(t)); diff != "" {
		t.Errorf("the cluster is not what it was (-before, +after):\n%s", diff)
	}

	m.loseContainerMachines(t)
	m.healthy(t, m.home, machinesOfMove)
	if diff := cmp.Diff(before, m.observeCluster(t)); diff != "" {
		t.Errorf("the cluster is not what it was before its ContainerMachines were lost (-before, +after):\n%s", diff)
	}
	// All that the new plane ever did.
	m.nothingChanged(t, nil)
	asking.Stop()
	t.Log(asking)
	if asking.FailedTwice > 0 {
		t.Errorf("%d requests failed twice", asking.FailedTwice)
	}
	m.scale(t, m.home, 2)
}

// observeCluster without the management plane, which is another one.
func (m *move) observeCluster(t *testing.T) map[string]string {
	t.Helper()
	seen := m.observe(t, m.home)
	maps.DeleteFunc(seen, func(thing, _ string) bool { return strings.HasPrefix(thing, "volume "+plane.DefaultName) })
	return seen
}

func (m *move) runClusterctl(t *testing.T, flags ...string) {
	t.Helper()
	must.Get(m.clusterctl.Run(t.Context(), append([]string{"move", "--namespace", metav1.NamespaceDefault}, flags...)...))(t)
}

// loseContainerMachines of a cluster that is paused, and recreate them with
// nothing but spec.providerID, as Cluster API's own test of adoption does. A
// pool would replace those whose spec it does not know.
func (m *move) loseContainerMachines(t *testing.T) {
	t.Helper()
	m.pause(t, true)
	capcontest.Eventually(t, "all are paused", func(ctx context.Context) (string, error) {
		list := &infrav1.ContainerMachineList{}
		if err := m.home.api.List(ctx, list); err != nil {
			return "", err
		}
		for _, machine := range list.Items {
			if notReady(machine.Status.Conditions) != "paused" {
				return machine.Name, nil
			}
		}
		return "", nil
	})
	list := &infrav1.ContainerMachineList{}
	must.Succeed(t, m.home.api.List(t.Context(), list))
	for i := range list.Items {
		lost := &list.Items[i]
		if _, pooled := lost.Labels[clusterv1.MachinePoolNameLabel]; pooled {
			continue
		}
		without, err := json.Marshal(map[string]any{"metadata": map[string]any{"finalizers": nil}})
		must.Succeed(t, err)
		err = errors.Join(
			// In this order: the finalizer of an object that is not being deleted is added again.
			m.home.api.Delete(t.Context(), lost),
			m.home.api.Patch(t.Context(), lost, client.RawPatch("application/merge-patch+json", without)),
			m.home.api.Create(t.Context(), &infrav1.ContainerMachine{
				ObjectMeta: metav1.ObjectMeta{Namespace: lost.Namespace, Name: lost.Name},
				Spec:       infrav1.ContainerMachineSpec{ProviderID: lost.Spec.ProviderID},
			}),
		)
		if err != nil {
			t.Fatalf("lose and recreate %s: %v", lost.Name, err)
		}
	}
	m.pause(t, false)
}

func (m *move) pause(t *testing.T, paused bool) {
	t.Helper()
	key := client.ObjectKey{Namespace: metav1.NamespaceDefault, Name: moveCluster}
	capcontest.Edit(t, m.home.api, key, &clusterv1.Cluster{}, func(cluster *clusterv1.Cluster) { cluster.Spec.Paused = ptr.To(paused) })
}
