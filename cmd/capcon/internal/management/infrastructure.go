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

package management

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
)

// maxImages is the most that a ContainerCluster may have, by its API.
const maxImages = 256

// KeepImages adds images of the engine to those that each node of a cluster has, also when
// it joins later: a name that was loaded again is the newest. Names that the engine no
// longer has leave the list, and so do the oldest where there are too many; those are
// returned.
func KeepImages(
	ctx context.Context, c client.Client, cluster client.ObjectKey, references []string, onEngine func(string) bool,
) (dropped []string, err error) {
	err = changeInfrastructure(ctx, c, cluster.Namespace, cluster.Name, func(spec *infrav1.ContainerClusterSpec) {
		before := spec.Images
		spec.Images = keptImages(before, references, onEngine)
		dropped = slices.DeleteFunc(slices.Clone(before), func(name string) bool { return slices.Contains(spec.Images, name) })
	})
	return dropped, err
}

func keptImages(present, added []string, onEngine func(string) bool) []string {
	kept := slices.DeleteFunc(slices.Clone(present), func(name string) bool { return slices.Contains(added, name) || !onEngine(name) })
	for _, name := range added {
		if !slices.Contains(kept, name) {
			kept = append(kept, name)
		}
	}
	return kept[max(0, len(kept)-maxImages):]
}

// SetRegistry configures a registry in the nodes of a cluster, or removes it where it has no
// mirrors.
func SetRegistry(ctx context.Context, c client.Client, namespace, name string, registry infrav1.Registry) error {
	return changeInfrastructure(ctx, c, namespace, name, func(spec *infrav1.ContainerClusterSpec) {
		at := slices.IndexFunc(spec.Registries, func(r infrav1.Registry) bool { return r.Host == registry.Host })
		switch {
		case at < 0 && len(registry.Mirrors) > 0:
			spec.Registries = append(spec.Registries, registry)
		case at >= 0 && len(registry.Mirrors) > 0:
			spec.Registries[at] = registry
		case at >= 0:
			spec.Registries = slices.Delete(spec.Registries, at, at+1)
		}
	})
}

// changeInfrastructure changes the ContainerCluster of a cluster. Fields that its
// ClusterClass does not set stay as they are when the topology is reconciled.
func changeInfrastructure(ctx context.Context, c client.Client, namespace, name string, change func(*infrav1.ContainerClusterSpec)) error {
	cluster := &clusterv1.Cluster{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, cluster); err != nil {
		return fmt.Errorf("get Cluster %q: %w", name, err)
	}
	key := client.ObjectKey{Namespace: namespace, Name: cluster.Spec.InfrastructureRef.Name}
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		containerCluster := &infrav1.ContainerCluster{}
		if err := c.Get(ctx, key, containerCluster); err != nil {
			return err
		}
		before := containerCluster.DeepCopy()
		change(&containerCluster.Spec)
		if equality.Semantic.DeepEqual(before.Spec, containerCluster.Spec) {
			return nil
		}
		return c.Patch(ctx, containerCluster, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	})
	if err != nil {
		return fmt.Errorf("patch ContainerCluster %q: %w", key.Name, err)
	}
	return nil
}

// ForgetEngine removes the record of the engine from the ContainerCluster of a cluster whose
// user says that this engine is lost, unless it is the present one. One that is absent or has
// changed meanwhile is no error: the next observation decides.
func ForgetEngine(ctx context.Context, c client.Client, observed *infrav1.ContainerCluster, present string) error {
	if recorded := observed.Annotations[infrav1.EngineAnnotation]; recorded == "" || recorded == present {
		return nil
	}
	changed := observed.DeepCopy()
	delete(changed.Annotations, infrav1.EngineAnnotation)
	err := c.Patch(ctx, changed, client.MergeFromWithOptions(observed, client.MergeFromWithOptimisticLock{}))
	if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return fmt.Errorf("remove the engine of ContainerCluster %q: %w", observed.Name, err)
}

// keepAnnotation of the namespace default says that the management cluster was
// started by itself, and does not go with its last cluster. It lies where it
// goes with the management cluster, and is there for all its users.
const keepAnnotation = "capcon.cluster.x-k8s.io/keep"

// Keep the management cluster when its last cluster is deleted.
func Keep(ctx context.Context, c client.Client) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: metav1.NamespaceDefault}}
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:""}}}`, keepAnnotation)
	if err := c.Patch(ctx, namespace, client.RawPatch(types.MergePatchType, patch)); err != nil {
		return fmt.Errorf("annotate namespace %q: %w", namespace.Name, err)
	}
	return nil
}

// IsKept reports whether Keep was called.
func IsKept(ctx context.Context, c client.Client) (bool, error) {
	namespace := &corev1.Namespace{}
	if _, err := get(ctx, c, "", metav1.NamespaceDefault, namespace); err != nil {
		return false, fmt.Errorf("read namespace %q: %w", metav1.NamespaceDefault, err)
	}
	_, kept := namespace.Annotations[keepAnnotation]
	return kept, nil
}

// ContainerMachines of a cluster.
func ContainerMachines(ctx context.Context, c client.Client, namespace, cluster string) ([]infrav1.ContainerMachine, error) {
	list := &infrav1.ContainerMachineList{}
	if err := c.List(ctx, list, client.InNamespace(namespace), client.MatchingLabels{clusterv1.ClusterNameLabel: cluster}); err != nil {
		return nil, fmt.Errorf("list ContainerMachines of cluster %q: %w", cluster, err)
	}
	return list.Items, nil
}

// EngineNames are the names of the ContainerEngines that a cluster is on: that which it names, which is empty for the engine of the
// management plane, and those of machines that are on another one.
func EngineNames(cluster *infrav1.ContainerCluster, machines []infrav1.ContainerMachine) []string {
	names := []string{cluster.Spec.EngineName}
	for i := range machines {
		if name := machines[i].Annotations[infrav1.EngineNameAnnotation]; name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// ShownEngine is a ContainerEngine of a namespace for users; empty = the engine of the management plane.
func ShownEngine(namespace, name string) string {
	if name == "" || namespace == Namespace {
		return name
	}
	return namespace + "/" + name
}

// ShownEngines are EngineNames for users. None: the cluster is on the engine of the management plane.
func ShownEngines(cluster *infrav1.ContainerCluster, machines []infrav1.ContainerMachine) []string {
	var shown []string
	for _, name := range EngineNames(cluster, machines) {
		if name != "" {
			shown = append(shown, ShownEngine(cluster.Namespace, name))
		}
	}
	return shown
}
