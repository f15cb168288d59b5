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

package memory_test

import (
	"errors"
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// isDeleted: nothing is left of it, neither on the engine nor in the API.
func (s *story) isDeleted() {
	s.t.Helper()
	s.deleteCluster()
	containers, err := s.host.Engine.ListContainers(s.t.Context(), nil)
	if err != nil || len(containers) > 0 || len(s.host.Engine.VolumeNames()) > 0 || len(s.host.Clusters()) > 0 {
		s.t.Errorf("left are containers %v, %v, volumes %v, and clusters %v", containers, err, s.host.Engine.VolumeNames(), s.host.Clusters())
	}
	s.eventually("its objects are gone", func() error {
		if left := s.left(); len(left) > 0 {
			return fmt.Errorf("left are %v", left)
		}
		return nil
	})
}

// deleteCluster, and wait until it is gone.
func (s *story) deleteCluster() {
	s.t.Helper()
	cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	must.Succeed(s.t, s.api.Delete(s.t.Context(), cluster))
	s.eventually("the Cluster is gone", func() error {
		return isGone(s.api.Get(s.t.Context(), client.ObjectKeyFromObject(cluster), cluster))
	})
}

// isGone is nil where an object was not found.
func isGone(err error) error {
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return err
	default:
		return errThere
	}
}

var errThere = errors.New("it is there")

// left are the objects of the cluster, without those that the garbage collector, which does not
// run here, removes because an owner is gone.
func (s *story) left() []string {
	s.t.Helper()
	definitions := &apiextensionsv1.CustomResourceDefinitionList{}
	must.Succeed(s.t, s.api.List(s.t.Context(), definitions))
	kinds := []metav1.GroupVersionKind{{Version: "v1", Kind: "Secret"}}
	for _, definition := range definitions.Items {
		for _, version := range definition.Spec.Versions {
			if version.Storage {
				kinds = append(kinds, metav1.GroupVersionKind{Group: definition.Spec.Group, Version: version.Name, Kind: definition.Spec.Names.Kind})
			}
		}
	}
	var objects []unstructured.Unstructured
	uids := map[types.UID]bool{}
	for _, kind := range kinds {
		list := &unstructured.UnstructuredList{Object: map[string]any{
			"apiVersion": metav1.GroupVersion{Group: kind.Group, Version: kind.Version}.String(), "kind": kind.Kind + "List",
		}}
		if err := s.api.List(s.t.Context(), list, client.InNamespace(namespace)); meta.IsNoMatchError(err) {
			continue
		} else if err != nil {
			s.t.Fatal(err)
		}
		objects = append(objects, list.Items...)
	}
	for i := range objects {
		uids[objects[i].GetUID()] = true
	}
	var left []string
	for i := range objects {
		object := &objects[i]
		orphaned := slices.ContainsFunc(object.GetOwnerReferences(), func(owner metav1.OwnerReference) bool { return !uids[owner.UID] })
		if object.GetLabels()[clusterv1.ClusterNameLabel] == name && !orphaned {
			left = append(left, object.GetKind()+" "+object.GetName())
		}
	}
	return left
}
