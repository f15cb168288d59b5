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

package capcon_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/test/integration"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// TestStable has a cluster with a machine pool, and takes finalizers and
// owners away from all objects of this provider: Cluster API and its
// controllers give them back, and no container is another. Then it looks for
// some time whether any of these objects is written, while nothing happens.
//
// Environment:
//
//	QUIET  for how long; default 5m
func TestStable(t *testing.T) {
	quiet := 5 * time.Minute
	if asked := os.Getenv("QUIET"); asked != "" {
		var err error
		if quiet, err = time.ParseDuration(asked); err != nil {
			t.Fatal(err)
		}
	}
	eng := integration.Engine(t)
	program := build(t, poolCluster)
	program.downBeforeAndAfter()
	program.mustRun("up", poolCluster, "--control-planes", "1", "--workers", "1")
	p := &pool{program: program, engine: eng}
	p.create(t, 1)
	nodesReady(t, program.connectCluster(), 3)
	machinesReady(t, program)

	s := &stability{api: management(t, program)}
	s.comesToRest(t)
	containers := ids(nodeContainers(t, eng, poolCluster))
	kept := s.keepers(t)
	t.Logf("finalizers and owners of %d objects:\n%s", len(kept), strings.Join(slices.Sorted(maps.Values(kept)), "\n"))
	s.removeMetadata(t)
	s.touchUsersOfTemplates(t)
	began := time.Now()
	eventually(t, "finalizers and owners are back", func(context.Context) (string, error) {
		return cmp.Diff(kept, s.keepers(t)), nil
	})
	t.Logf("all are back after %s", time.Since(began).Round(time.Millisecond))
	s.comesToRest(t)
	if diff := cmp.Diff(containers, ids(nodeContainers(t, eng, poolCluster))); diff != "" {
		t.Errorf("containers (-before, +after):\n%s", diff)
	}
	s.staysAsItIs(t, quiet)
}

// stability watches over the objects of this provider.
type stability struct {
	api client.Client
}

// objects of this provider by kind and name.
func (s *stability) objects(t *testing.T) map[string]client.Object {
	t.Helper()
	found := map[string]client.Object{}
	for _, list := range []client.ObjectList{
		&infrav1.ContainerClusterList{}, &infrav1.ContainerMachineList{}, &infrav1.ContainerMachinePoolList{},
		&infrav1.ContainerMachineTemplateList{},
	} {
		must.Succeed(t, s.api.List(t.Context(), list, client.InNamespace(metav1.NamespaceDefault)))
		if err := meta.EachListItem(list, func(item runtime.Object) error {
			if object, ok := item.(client.Object); ok {
				found[fmt.Sprintf("%T %s", object, object.GetName())] = object
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	if len(found) < 6 {
		t.Fatalf("there are only %v", slices.Sorted(maps.Keys(found)))
	}
	return found
}

// keepers are finalizers and owners of each object.
func (s *stability) keepers(t *testing.T) map[string]string {
	t.Helper()
	kept := map[string]string{}
	for name, object := range s.objects(t) {
		var owners []string
		for _, owner := range object.GetOwnerReferences() {
			owners = append(owners, owner.Kind+"/"+owner.Name)
		}
		slices.Sort(owners)
		kept[name] = fmt.Sprintf("%s: finalizers %v, owners %v", name, object.GetFinalizers(), owners)
	}
	return kept
}

func (s *stability) removeMetadata(t *testing.T) {
	t.Helper()
	for name, object := range s.objects(t) {
		before, ok := object.DeepCopyObject().(client.Object)
		if !ok {
			t.Fatalf("%s is a %T", name, object)
		}
		object.SetFinalizers(nil)
		object.SetOwnerReferences(nil)
		if err := s.api.Patch(t.Context(), object, client.MergeFrom(before)); err != nil {
			t.Fatalf("take finalizers and owners from %s: %v", name, err)
		}
	}
}

// touchUsersOfTemplates wakes the owners of templates: Cluster API does not watch
// them, and restores their owner when it next reconciles what uses them.
func (s *stability) touchUsersOfTemplates(t *testing.T) {
	t.Helper()
	for _, list := range []client.ObjectList{&controlplanev1.KubeadmControlPlaneList{}, &clusterv1.MachineDeploymentList{}, &clusterv1.ClusterClassList{}} {
		must.Succeed(t, s.api.List(t.Context(), list, client.InNamespace(metav1.NamespaceDefault)))
		if err := meta.EachListItem(list, func(item runtime.Object) error {
			object, ok := item.(client.Object)
			if !ok {
				return fmt.Errorf("%T is no object", item)
			}
			touch := client.RawPatch(types.MergePatchType, []byte(`{"metadata": {"annotations": {"example.test/touched": ""}}}`))
			return s.api.Patch(t.Context(), object, touch)
		}); err != nil {
			t.Fatalf("touch %T: %v", list, err)
		}
	}
}

// versions of the objects, with who wrote them last.
func (s *stability) versions(t *testing.T) map[string]string {
	t.Helper()
	versions := map[string]string{}
	for name, object := range s.objects(t) {
		last := metav1.ManagedFieldsEntry{}
		for _, entry := range object.GetManagedFields() {
			if last.Time.Before(entry.Time) {
				last = entry
			}
		}
		versions[name] = fmt.Sprintf("%s (by %s %s)", object.GetResourceVersion(), last.Manager, last.Subresource)
	}
	return versions
}

// comesToRest waits until nothing was written for half a minute.
func (s *stability) comesToRest(t *testing.T) {
	t.Helper()
	since, last := time.Now(), s.versions(t)
	eventually(t, "nothing is written for half a minute", func(context.Context) (string, error) {
		now := s.versions(t)
		if diff := cmp.Diff(last, now); diff != "" {
			since, last = time.Now(), now
			return diff, nil
		}
		if time.Since(since) < 30*time.Second {
			return "not yet", nil
		}
		return "", nil
	})
}

// staysAsItIs looks for so long whether anything is written.
func (s *stability) staysAsItIs(t *testing.T, quiet time.Duration) {
	t.Helper()
	began, before := time.Now(), s.versions(t)
	ticks := time.NewTicker(5 * time.Second)
	defer ticks.Stop()
	for time.Since(began) < quiet {
		<-ticks.C
		if diff := cmp.Diff(before, s.versions(t)); diff != "" {
			t.Fatalf("after %s of quiet something was written (-before, +after):\n%s", time.Since(began).Round(time.Second), diff)
		}
	}
	t.Logf("in %s nothing was written of:\n%s", quiet, strings.Join(slices.Sorted(maps.Keys(before)), "\n"))
}
