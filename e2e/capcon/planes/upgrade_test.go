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
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/capi-samples/cluster-api-provider-container/e2e/capcon/capcontest"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane"
	"github.com/capi-samples/cluster-api-provider-container/test/integration"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// TestUpgrade has an earlier version of capcon create a cluster, and this one upgrade the
// management plane below it: containers, Nodes and Pods stay as they are, the API server
// answers all the time, and the cluster can be scaled and deleted afterwards.
//
// From the environment, as "make e2e RUN=Upgrade" sets them:
//
//	PREVIOUS_CAPCON  path of the earlier program; the engine has the image of its
//	                 management plane
func TestUpgrade(t *testing.T) {
	previous := os.Getenv("PREVIOUS_CAPCON")
	if previous == "" {
		t.Skip("PREVIOUS_CAPCON is not set; run: make e2e RUN=Upgrade")
	}
	eng := integration.Engine(t)
	program := capcontest.Build(t, moveCluster)
	program.DownBeforeAndAfter()
	older := *program
	older.Path = previous
	older.MustRun("up", moveCluster, "--control-planes", "1", "--workers", "1")
	m := &move{program: &older, engine: eng, cluster: older.ConnectCluster()}
	m.deploy(t)
	config := must.Get(clientcmd.RESTConfigFromKubeConfig(older.Kubeconfig(moveCluster)))(t)
	asking := capcontest.StartTraffic(t, config)
	before := observeCluster(t, m)

	// As a user does who builds the new version.
	capcontest.MustExecute(t, "make", "-C", capcontest.Root, "--no-print-directory", "images-load", "ENGINE="+integration.EngineName())
	program.MustRun("up", moveCluster)
	// Where no program has changed since the earlier version, it is the same image.
	if want := must.Get(eng.InspectImage(t.Context(), capcontest.PlaneImage))(t).ID; planeImageID(t, eng) != want {
		t.Fatalf("the management plane does not run %s, which is %s", capcontest.PlaneImage, want)
	}
	capcontest.NodesReady(t, m.cluster, 2)
	if diff := cmp.Diff(before, observeCluster(t, m)); diff != "" {
		t.Errorf("the cluster is not what it was before the upgrade (-before, +after):\n%s", diff)
	}
	asking.Stop()
	t.Log(asking)
	if asking.FailedTwice > 0 {
		t.Errorf("%d requests failed twice", asking.FailedTwice)
	}
	program.MustRun("up", moveCluster, "--workers", "2")
	capcontest.NodesReady(t, m.cluster, 3)
	program.MustRun("down", moveCluster)
	if left := capcontest.NodeContainers(t, eng, moveCluster); len(left) > 0 {
		t.Errorf("containers of the cluster are left: %q", capcontest.IDs(left))
	}
}

// planeImageID is the ID of the image that the management plane runs.
func planeImageID(t *testing.T, eng engine.Engine) string {
	t.Helper()
	container := must.Get(eng.InspectContainer(t.Context(), plane.DefaultName))(t)
	return container.ImageID
}

// observeCluster returns the cluster's containers, and UIDs of its Nodes and Pods.
func observeCluster(t *testing.T, m *move) map[string]string {
	t.Helper()
	seen := map[string]string{}
	containers := must.Get(m.engine.ListContainers(t.Context(), map[string]string{identity.LabelCluster: moveCluster}))(t)
	for _, container := range containers {
		seen["container "+container.Name] = container.ID + " " + string(container.Status)
	}
	nodes := must.Get(m.cluster.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{}))(t)
	for _, node := range nodes.Items {
		seen["node "+node.Name] = string(node.UID) + " " + node.Status.NodeInfo.BootID
	}
	pods := must.Get(m.cluster.CoreV1().Pods("").List(t.Context(), metav1.ListOptions{}))(t)
	for _, pod := range pods.Items {
		seen["pod "+pod.Name] = string(pod.UID)
	}
	return seen
}
