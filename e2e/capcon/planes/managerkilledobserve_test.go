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
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonsv1 "sigs.k8s.io/cluster-api/api/addons/v1beta2"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/e2e/capcon/capcontest"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane"
)

// killEvery kills the manager at intervals until stop is called, which returns how
// often that was.
func (k *killed) killEvery(t *testing.T, period time.Duration) (stop func() int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	kills := 0
	running.Go(func() {
		ticker := time.NewTicker(period)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			// Between two of its lives there is none.
			err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, period, true, func(context.Context) (bool, error) {
				return capcontest.KillManager(k.name)
			})
			if err != nil && ctx.Err() == nil {
				t.Errorf("kill the manager: %v", err)
			}
			if err == nil {
				kills++
			}
		}
	})
	return func() int {
		cancel()
		running.Wait()
		return kills
	}
}

// sightings are the IDs of containers, by cluster and machine.
type sightings struct {
	mu    sync.Mutex
	found map[string]map[string][]string
}

// watchContainers notes every container of clusters whose names begin so, until the test ends.
func watchContainers(t *testing.T, eng engine.Engine, prefix string) *sightings {
	t.Helper()
	s := &sightings{found: map[string]map[string][]string{}}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		eng.Events(ctx, func(event engine.Event) {
			if event.Kind == engine.EventRelist {
				s.list(ctx, eng, prefix)
				return
			}
			s.note(prefix, event.ContainerID, event.Labels)
		})
	})
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
	return s
}

func (s *sightings) list(ctx context.Context, eng engine.ContainerReader, prefix string) {
	containers, err := eng.ListContainers(ctx, map[string]string{identity.LabelRole: ""})
	if err != nil {
		return // The next event of each container has its ID too.
	}
	for _, container := range containers {
		s.note(prefix, container.ID, container.Labels)
	}
}

func (s *sightings) note(prefix, id string, labels map[string]string) {
	cluster, machine := labels[identity.LabelCluster], labels[identity.LabelMachine]
	if !strings.HasPrefix(cluster, prefix) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.found[cluster] == nil {
		s.found[cluster] = map[string][]string{}
	}
	if !slices.Contains(s.found[cluster][machine], id) {
		s.found[cluster][machine] = append(s.found[cluster][machine], id)
	}
}

// of a cluster: the IDs by machine, empty for the load balancer.
func (s *sightings) of(cluster string) map[string][]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.found[cluster])
}

// onlyOneEach: each of so many machines, and the load balancer, has had one container.
func (s *sightings) onlyOneEach(t *testing.T, cluster string, machines int) {
	t.Helper()
	found := s.of(cluster)
	if len(found) != machines+1 {
		t.Errorf("containers %v, want those of a load balancer and %d machines", found, machines)
	}
	for machine, containers := range found {
		if len(containers) != 1 {
			t.Errorf("machine %q (empty: the load balancer) has had containers %q, want one", machine, containers)
		}
	}
}

// nothingIsLeft of any cluster in the management plane, which then goes too, and of
// all that on the engine.
func (k *killed) nothingIsLeft(t *testing.T, managed *plane.Plane, unused []string) {
	t.Helper()
	// What the garbage collector removes goes after the Cluster.
	capcontest.Eventually(t, "no object is left", func(ctx context.Context) (string, error) {
		left, err := k.objects(ctx)
		return strings.Join(left, ", "), err
	})
	if clusters, err := managed.Remove(t.Context()); err != nil || len(clusters) > 0 {
		t.Errorf("remove the management plane: %v; Clusters %q", err, clusters)
	}
	capcontest.Eventually(t, "nothing is left on the engine", func(ctx context.Context) (string, error) {
		left, err := k.onEngine(ctx)
		if err != nil {
			return "", err
		}
		for _, volume := range capcontest.UnusedVolumes(t, k.engine) {
			// The volume of a node has neither a name nor a label, and is used while it is needed.
			if !slices.Contains(unused, volume) {
				left = append(left, "volume "+volume)
			}
		}
		return strings.Join(left, ", "), nil
	})
}

// objects of clusters that are in the management plane.
func (k *killed) objects(ctx context.Context) ([]string, error) {
	var left []string
	for _, list := range []client.ObjectList{
		&clusterv1.ClusterList{}, &clusterv1.MachineList{}, &clusterv1.MachineSetList{}, &clusterv1.MachineDeploymentList{},
		&controlplanev1.KubeadmControlPlaneList{}, &bootstrapv1.KubeadmConfigList{}, &bootstrapv1.KubeadmConfigTemplateList{},
		&addonsv1.ClusterResourceSetList{}, &addonsv1.ClusterResourceSetBindingList{},
		&infrav1.ContainerClusterList{}, &infrav1.ContainerMachineList{}, &infrav1.ContainerMachineTemplateList{}, &corev1.SecretList{},
	} {
		if err := k.api.List(ctx, list, client.InNamespace(metav1.NamespaceDefault)); err != nil {
			return nil, err
		}
		if err := meta.EachListItem(list, func(item runtime.Object) error {
			if object, ok := item.(client.Object); ok {
				left = append(left, fmt.Sprintf("%T %s", object, object.GetName()))
			}
			return nil
		}); err != nil {
			return nil, err
		}
	}
	return left, nil
}

// onEngine is what the engine has of the plane and its clusters.
func (k *killed) onEngine(ctx context.Context) ([]string, error) {
	var left []string
	containers, err := k.engine.ListContainers(ctx, map[string]string{identity.LabelRole: ""})
	if err != nil {
		return nil, err
	}
	for _, container := range containers {
		if k.isOurs(container.Labels[identity.LabelCluster]) || k.isOurs(container.Labels[identity.LabelPlane]) {
			left = append(left, "container "+container.Name)
		}
	}
	networks, err := k.engine.ListNetworks(ctx, nil)
	if err != nil {
		return nil, err
	}
	for _, network := range networks {
		if k.isOurs(network.Name) || k.isOurs(network.Labels[engine.LabelCreating]) {
			left = append(left, "network "+network.Name)
		}
	}
	volumes, err := k.engine.ListVolumes(ctx, nil)
	if err != nil {
		return nil, err
	}
	for _, volume := range volumes {
		if k.isOurs(volume.Name) || k.isOurs(volume.Labels[engine.LabelCreating]) {
			left = append(left, "volume "+volume.Name)
		}
	}
	return left, nil
}

// clear removes what a test that failed left, unless KEEP is set.
func (k *killed) clear(t *testing.T, managed *plane.Plane) {
	if t.Failed() && os.Getenv("KEEP") != "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), capcontest.Patience)
	defer cancel()
	if t.Failed() {
		var log bytes.Buffer
		if err := k.engine.ContainerLog(ctx, k.name, engine.LogRequest{}, &log); err == nil {
			file := filepath.Join(capcontest.Root, "_artifacts", k.name+".log")
			t.Logf("the log of the management plane: %s (%v)", file, os.WriteFile(file, log.Bytes(), 0o600))
		}
	}
	if k.api != nil && t.Failed() {
		if err := k.api.DeleteAllOf(ctx, &clusterv1.Cluster{}, client.InNamespace(metav1.NamespaceDefault)); err != nil {
			t.Logf("delete Clusters: %v", err)
		}
	}
	err := wait.PollUntilContextCancel(ctx, time.Second, true, func(ctx context.Context) (bool, error) {
		clusters, err := managed.Remove(ctx)
		return len(clusters) == 0, err
	})
	if err != nil {
		t.Errorf("remove the management plane: %v", err)
	}
}
