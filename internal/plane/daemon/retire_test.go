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
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capi-samples/cluster-api-provider-container/internal/plane"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// TestIntegrationRetire asks a plane to retire while Clusters are created as fast
// as the API server takes them: each one that was created keeps it, and once it is
// retired none is created any more.
func TestIntegrationRetire(t *testing.T) {
	t.Parallel()
	p := newTestPlane(t)
	p.start(t)
	p.connect(t)
	p.awaitReady(t)
	var err error
	if p.client, err = client.New(p.config, client.Options{}); err != nil {
		t.Fatal(err)
	}
	for round := 1; ; round++ {
		created, clusters := p.createAndRetire(t, round)
		t.Logf("round %d: created %q, kept for %q", round, created, clusters)
		if len(clusters) == 0 {
			if len(created) > 0 {
				t.Fatalf("retired although these had been created: %q", created)
			}
			break
		}
		for _, name := range created {
			made := paused(t, name)
			if err := p.client.Get(t.Context(), client.ObjectKeyFromObject(made), made); err != nil {
				t.Fatalf("get a Cluster that keeps the plane: %v", err)
			}
		}
		p.deleteClusters(t)
	}
	eventually(t, "nothing runs any more", func() error {
		if left := p.children(t); len(left) > 0 {
			return fmt.Errorf("still there: %v", left)
		}
		return nil
	})
	// A container that is started again by the engine stays what it is.
	p.testStop(t)
	p.start(t)
	eventually(t, "the next daemon says so", func() error {
		if clusters, err := plane.Retire(t.Context(), p.dir); err != nil || len(clusters) > 0 {
			return fmt.Errorf("retire: %v, %w", clusters, cmp.Or(err, errors.New("want no Clusters")))
		}
		return nil
	})
	if left := p.children(t); len(left) > 0 {
		t.Errorf("a retired plane runs %v", left)
	}
}

// TestIntegrationRetireWhileStarting asks a plane to retire as soon as it has a socket.
func TestIntegrationRetireWhileStarting(t *testing.T) {
	t.Parallel()
	p := newTestPlane(t)
	p.start(t)
	eventually(t, "there is a control socket", func() error {
		_, err := os.Stat(filepath.Join(p.dir, plane.ControlSocket))
		return err
	})
	if clusters, err := plane.Retire(t.Context(), p.dir); err != nil || len(clusters) > 0 {
		t.Errorf("retire: %v, %v; want no Clusters", clusters, err)
	}
}

// createAndRetire returns the names of the Clusters whose creation was answered,
// and of those that kept the plane. The request to retire comes earlier in each
// round: first behind the creation, then during it, and from some round on so long
// before it that the API server is down by then.
func (p *testPlane) createAndRetire(t *testing.T, round int) (created, clusters []string) {
	t.Helper()
	const latest, step = 400 * time.Millisecond, 40 * time.Millisecond
	var wait sync.WaitGroup
	lead := latest - time.Duration(round-1)*step
	wait.Go(func() {
		time.Sleep(-lead)
		for i := range 3 {
			name := fmt.Sprintf("c-%d-%d", round, i)
			if err := p.client.Create(t.Context(), paused(t, name)); err == nil {
				created = append(created, name)
			}
		}
	})
	time.Sleep(lead)
	clusters, err := plane.Retire(t.Context(), p.dir)
	if err != nil {
		t.Errorf("retire: %v", err)
	}
	wait.Wait()
	if len(clusters) > 0 {
		p.awaitReady(t)
	}
	return created, clusters
}

// deleteClusters deletes all, also those whose creation got no answer.
func (p *testPlane) deleteClusters(t *testing.T) {
	t.Helper()
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(paused(t, "any").GroupVersionKind())
	must.Succeed(t, p.client.List(t.Context(), list))
	for i := range list.Items {
		// In this order: a controller adds its finalizer again unless the object is being deleted.
		patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
		must.Succeed(t, client.IgnoreNotFound(p.client.Delete(t.Context(), &list.Items[i])))
		must.Succeed(t, client.IgnoreNotFound(p.client.Patch(t.Context(), &list.Items[i], patch)))
	}
	eventually(t, "the Clusters are gone", func() error {
		if err := p.client.List(t.Context(), list); err != nil || len(list.Items) > 0 {
			return fmt.Errorf("%d Clusters, %w", len(list.Items), cmp.Or(err, errors.New("want none")))
		}
		return nil
	})
}

// paused is a Cluster that its controllers leave alone.
func paused(t *testing.T, name string) *unstructured.Unstructured {
	t.Helper()
	made := cluster("v1beta2", name)
	if err := unstructured.SetNestedMap(made.Object, map[string]any{
		"paused":            true,
		"infrastructureRef": map[string]any{"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "ContainerCluster", "name": name},
	}, "spec"); err != nil {
		t.Fatal(err)
	}
	return made
}
