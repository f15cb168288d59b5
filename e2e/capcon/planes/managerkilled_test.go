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
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capi-samples/cluster-api-provider-container/e2e/capcon/capcontest"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane"
	"github.com/capi-samples/cluster-api-provider-container/test/integration"
)

// killed is a management plane whose manager is killed again and again.
type killed struct {
	engine engine.Engine
	// name of the plane, with which those of its clusters begin.
	name     string
	api      client.Client
	observed *sightings
	// until then clusters are created.
	until time.Time

	ready, halfWay atomic.Int32
}

// TestManagerKilled kills the manager of a management plane at intervals, while two
// clusters at a time, of one control plane and one worker, are created and deleted
// through the API. Every cluster becomes ready, each machine has one container in all
// its life, and nothing of a deleted cluster is left. The plane is one of its own,
// alongside any other plane of the engine.
//
// Environment:
//
//	PERIOD   between two kills; default 20s
//	LASTING  for how long clusters are created; default 30m
func TestManagerKilled(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("killing a process in a container takes root")
	}
	period, lasting := capcontest.Parsed(t, time.ParseDuration, "PERIOD", 20*time.Second), capcontest.Parsed(t, time.ParseDuration, "LASTING", 30*time.Minute)
	eng := integration.Engine(t, capcontest.NodeImage, capcontest.LoadBalancerImage, capcontest.PlaneImage)
	unused := capcontest.UnusedVolumes(t, eng)
	k := &killed{engine: eng, name: "killed-" + identity.NewOwnerID()}
	// Before the connection to the engine ends, also where the test fails.
	managed := plane.New(eng, plane.Options{Name: k.name})
	t.Cleanup(func() { k.clear(t, managed) })
	ready, err := managed.Ensure(t.Context(), capcontest.PlaneImage, nil)
	if err != nil {
		t.Fatalf("start the management plane: %v", err)
	}
	if k.api, err = capcontest.ConnectPlane(t.Output(), ready.Kubeconfig); err != nil {
		t.Fatal(err)
	}
	k.observed = watchContainers(t, eng, k.name)
	k.until = time.Now().Add(lasting)

	stop := k.killEvery(t, period)
	t.Run("clusters", func(t *testing.T) {
		t.Run("on the default network", func(t *testing.T) {
			t.Parallel()
			k.createAndDelete(t, "one", func(string) string { return "" }, func(int) bool { return false })
		})
		t.Run("on networks of their own, every other deleted half-way", func(t *testing.T) {
			t.Parallel()
			k.createAndDelete(t, "two", func(name string) string { return name }, func(round int) bool { return round%2 == 1 })
		})
	})
	kills := stop()
	t.Logf("%d kills in %s; %d clusters became ready and were deleted, %d were deleted half-way",
		kills, time.Since(k.until.Add(-lasting)).Round(time.Second), k.ready.Load(), k.halfWay.Load())
	if want := int(lasting/period) - 1; kills < want {
		t.Errorf("the manager was killed %d times, want at least %d", kills, want)
	}
	k.nothingIsLeft(t, managed, unused)
}

// createAndDelete clusters, one after the other. Those that are deleted half-way are
// deleted as soon as they have the container of a control plane.
func (k *killed) createAndDelete(t *testing.T, lane string, network func(name string) string, isHalfWay func(round int) bool) {
	for round := 0; time.Now().Before(k.until) && !t.Failed(); round++ {
		name := fmt.Sprintf("%s-%s-%d", k.name, lane, round)
		t.Run(name, func(t *testing.T) {
			d := capcontest.Describe(name)
			d.Engine, d.API = k.engine, k.api
			d.ContainerCluster.Spec.Network.Name = network(name)
			start := time.Now()
			d.Create(t)
			if isHalfWay(round) {
				capcontest.Eventually(t, "a container of the control plane", func(ctx context.Context) (string, error) {
					containers, err := capcontest.ListNodeContainers(ctx, k.engine, name)
					if len(containers) == 0 {
						return "there is none", err
					}
					return "", err
				})
				k.halfWay.Add(1)
			} else {
				k.comesUp(t, d)
				k.ready.Add(1)
			}
			t.Logf("there after %s", time.Since(start).Round(time.Second))
			d.Delete(t)
		})
	}
}

// comesUp waits until all Machines of the cluster have Nodes, and sees that it was
// initialized once, and that each machine and the load balancer have had one container.
func (k *killed) comesUp(t *testing.T, d *capcontest.Declared) {
	t.Helper()
	first := k.clusterUID(t, d.Name)
	d.MachinesHaveNodes(t, 2)
	if last := k.clusterUID(t, d.Name); last != first {
		t.Errorf("the UID of Namespace kube-system was %s and is %s: the cluster was initialized twice", first, last)
	}
	k.observed.onlyOneEach(t, d.Name, 2)
}

// clusterUID is the UID of a Namespace that kubeadm init makes.
func (k *killed) clusterUID(t *testing.T, name string) types.UID {
	t.Helper()
	var uid types.UID
	// The first container of a cluster waits for the manager as well.
	capcontest.EventuallyWithin(t, 15*time.Minute, "the API server of "+name+" answers", func(ctx context.Context) (string, error) {
		secret := &corev1.Secret{}
		if err := k.api.Get(ctx, client.ObjectKey{Namespace: metav1.NamespaceDefault, Name: name + "-kubeconfig"}, secret); err != nil {
			return "", err
		}
		config, err := clientcmd.RESTConfigFromKubeConfig(secret.Data["value"])
		if err != nil {
			return "", err
		}
		config.Timeout = capcontest.PatienceWithAnswer
		cluster, err := kubernetes.NewForConfig(config)
		if err != nil {
			return "", err
		}
		namespace, err := cluster.CoreV1().Namespaces().Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
		if err != nil {
			return "", err
		}
		uid = namespace.UID
		return "", nil
	})
	return uid
}

// isOurs: it is the plane's or one of its clusters'.
func (k *killed) isOurs(name string) bool { return strings.HasPrefix(name, k.name) }
