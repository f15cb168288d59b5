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

package machine_test

import (
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"sigs.k8s.io/cluster-api/controllers/clustercache"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
	"github.com/capi-samples/cluster-api-provider-container/test/world"
)

// The next cluster answers at the endpoint of the one before it, and caches do not notice.
func TestInitWaitsForDisconnect(t *testing.T) {
	t.Parallel()
	w := world.New(t, builders.New(builders.ControlPlane(builders.InitData)))
	w.SettleCluster()
	w.SettleMachine(builders.Machine)
	connect := func(cache clustercache.ClusterCache) {
		w.ClusterCache = cache
		w.Restart()
	}
	connect(clustercache.NewFakeClusterCache(fake.NewClientBuilder().WithScheme(builders.Scheme(t)).Build(),
		client.ObjectKey{Namespace: builders.Namespace, Name: builders.Cluster}))
	w.Engine.RestartEngine()
	for range 5 {
		_, _ = w.ReconcileMachine(builders.Machine) // each continues the recreation
	}
	if left := containers(t, w); len(left) > 0 {
		t.Errorf("containers %v while the manager is connected to the earlier cluster", left)
	}
	machine, _ := world.Get(w, builders.Machine, &infrav1.ContainerMachine{})
	if state, message := world.State(machine, infrav1.ContainerReadyCondition); state != "False/"+infrav1.ContainerCreatingReason {
		t.Errorf("ContainerReady is %s: %s", state, message)
	}
	connect(clustercache.NewFakeEmptyClusterCache())
	must.Get(w.ReconcileMachine(builders.Machine))(t)
	if created := containers(t, w); len(created) != 1 {
		t.Errorf("containers %v, want one once the connection has ended", created)
	}
}

// The join of a worker continues in the cluster that the manager is connected to.
func TestJoinDoesNotWaitForDisconnect(t *testing.T) {
	t.Parallel()
	w := world.New(t, builders.New())
	w.ClusterCache = clustercache.NewFakeClusterCache(fake.NewClientBuilder().WithScheme(builders.Scheme(t)).Build(),
		client.ObjectKey{Namespace: builders.Namespace, Name: builders.Cluster})
	w.Restart()
	w.SettleCluster()
	w.SettleMachine(builders.Machine)
	if created := containers(t, w); len(created) != 1 {
		t.Errorf("containers %v, want one", created)
	}
}
