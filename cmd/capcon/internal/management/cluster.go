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
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	addonsv1 "sigs.k8s.io/cluster-api/api/addons/v1beta2"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/objects"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/update"
)

// Create the objects of a new cluster. The Cluster comes last: where it is, everything that
// it needs is there too. It is there already: an AlreadyExists error of the API, and it is
// left as it is.
//
// Cluster API would set the Cluster's finalizer by itself. That takes one of
// its reconciles, which are a second apart, and all else would wait for it.
func Create(ctx context.Context, c client.Client, rendered objects.Rendered) error {
	for _, object := range rendered.Class {
		if err := apply(ctx, c, object); err != nil {
			return err
		}
	}
	if err := createOwned(ctx, c, rendered.Owned); err != nil {
		return err
	}
	cluster := rendered.Cluster.DeepCopy()
	controllerutil.AddFinalizer(cluster, clusterv1.ClusterFinalizer)
	if err := c.Create(ctx, cluster, client.FieldOwner(FieldOwner)); err != nil {
		return fmt.Errorf("create Cluster %q: %w", cluster.Name, err)
	}
	return adopt(ctx, c, cluster)
}

// createOwned creates the objects of the Pod network. The ClusterResourceSet comes first, and
// owns the ConfigMap from the beginning: otherwise its controller adds itself by a patch of all
// owners, which can drop the Cluster that is added at the same time.
func createOwned(ctx context.Context, c client.Client, owned []client.Object) error {
	var owners []metav1.OwnerReference
	for _, object := range slices.Backward(owned) {
		object, _ = object.DeepCopyObject().(client.Object)
		object.SetOwnerReferences(owners)
		if err := apply(ctx, c, object); err != nil {
			return err
		}
		set, isSet := object.(*addonsv1.ClusterResourceSet)
		if !isSet {
			continue
		}
		if err := c.Get(ctx, client.ObjectKeyFromObject(set), set); err != nil {
			return fmt.Errorf("get ClusterResourceSet %q: %w", set.Name, err)
		}
		owners = append(owners, metav1.OwnerReference{
			APIVersion: addonsv1.GroupVersion.String(), Kind: "ClusterResourceSet", Name: set.Name, UID: set.UID,
		})
	}
	return nil
}

// Update writes the changes of a plan and nothing else. The Cluster changed since the plan was
// computed: a Conflict error of the API.
func Update(ctx context.Context, c client.Client, namespace string, plan update.Plan) error {
	cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: plan.Cluster}}
	patch, err := plan.Patch()
	if err != nil {
		return err
	}
	if patch != nil {
		annotated, err := annotateDeleted(ctx, c, namespace, plan.Deleted)
		if err == nil {
			err = c.Patch(ctx, cluster, client.RawPatch(types.JSONPatchType, patch), client.FieldOwner(FieldOwner))
		}
		if err != nil {
			return errors.Join(fmt.Errorf("patch Cluster %q: %w", plan.Cluster, err), restoreDeleted(ctx, c, annotated, err))
		}
	} else if err := c.Get(ctx, client.ObjectKeyFromObject(cluster), cluster); err != nil {
		return fmt.Errorf("get Cluster %q: %w", plan.Cluster, err)
	}
	return adopt(ctx, c, cluster)
}

// annotateDeleted annotates the Machines that a plan names, so that Cluster API deletes these and no
// others, and returns those that had no annotation.
func annotateDeleted(ctx context.Context, c client.Client, namespace string, deletions []update.Deletion) (annotated []*clusterv1.Machine, err error) {
	for _, deletion := range deletions {
		if !deletion.IsExact() {
			continue
		}
		for _, named := range deletion.Machines {
			machine := &clusterv1.Machine{}
			if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: named.Name}, machine); err != nil {
				return annotated, fmt.Errorf("get Machine %q: %w", named.Name, err)
			}
			if _, found := machine.Annotations[clusterv1.DeleteMachineAnnotation]; found {
				continue
			}
			before := machine.DeepCopy()
			metav1.SetMetaDataAnnotation(&machine.ObjectMeta, clusterv1.DeleteMachineAnnotation, "")
			if err := c.Patch(ctx, machine, client.MergeFrom(before), client.FieldOwner(FieldOwner)); err != nil {
				return annotated, fmt.Errorf("annotate Machine %q: %w", named.Name, err)
			}
			annotated = append(annotated, machine)
		}
	}
	return annotated, nil
}

// restoreDeleted removes the annotations again unless the update may have been accepted: the API
// server did not respond to it.
func restoreDeleted(ctx context.Context, c client.Client, annotated []*clusterv1.Machine, failed error) error {
	if status := apierrors.APIStatus(nil); !errors.As(failed, &status) || apierrors.IsTimeout(failed) || apierrors.IsServerTimeout(failed) {
		return nil
	}
	var errs []error
	for _, machine := range annotated {
		before := machine.DeepCopy()
		delete(machine.Annotations, clusterv1.DeleteMachineAnnotation)
		if err := c.Patch(ctx, machine, client.MergeFrom(before), client.FieldOwner(FieldOwner)); client.IgnoreNotFound(err) != nil {
			errs = append(errs, fmt.Errorf("remove annotation %s of Machine %q: %w", clusterv1.DeleteMachineAnnotation, machine.Name, err))
		}
	}
	return errors.Join(errs...)
}

// adopt lets the objects of the Pod network go with the Cluster. Cluster API does this for
// the objects it refers to; the others would be left behind. It adds itself as an owner at
// the same time, so that the objects may change meanwhile.
func adopt(ctx context.Context, c client.Client, cluster *clusterv1.Cluster) error {
	return retry.RetryOnConflict(retry.DefaultRetry, func() error { return adoptOnce(ctx, c, cluster) })
}

func adoptOnce(ctx context.Context, c client.Client, cluster *clusterv1.Cluster) error {
	objectsLeft, err := unowned(ctx, c, cluster)
	if err != nil {
		return fmt.Errorf("read Pod network of cluster %q: %w", cluster.Name, err)
	}
	for _, object := range objectsLeft {
		patch := client.MergeFromWithOptions(object.DeepCopyObject().(client.Object), client.MergeFromWithOptimisticLock{}) //nolint:forcetypeassert // a copy of one
		object.SetOwnerReferences(append(object.GetOwnerReferences(), objects.OwnerOf(cluster)))
		if err := c.Patch(ctx, object, patch, client.FieldOwner(FieldOwner)); err != nil {
			return fmt.Errorf("set owner of %s %q: %w", kindOf(object), object.GetName(), err)
		}
	}
	return nil
}

func apply(ctx context.Context, c client.Client, object client.Object) error {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return fmt.Errorf("convert %T: %w", object, err)
	}
	u := &unstructured.Unstructured{Object: content}
	unstructured.RemoveNestedField(u.Object, "status")
	unstructured.RemoveNestedField(u.Object, "metadata", "creationTimestamp")
	err = c.Apply(ctx, client.ApplyConfigurationFromUnstructured(u), client.FieldOwner(FieldOwner), client.ForceOwnership)
	if err != nil {
		return fmt.Errorf("apply %s %q: %w", u.GetKind(), u.GetName(), err)
	}
	return nil
}

// EnsureNamedClass creates the ClusterClass for manifests that are written by hand, unless there
// is one of that name, of an earlier release or of a user: that is left as it is, because a
// change would replace the Machines of its clusters.
func EnsureNamedClass(ctx context.Context, c client.Client, namespace string) error {
	found, err := get(ctx, c, namespace, objects.NamedClass, &clusterv1.ClusterClass{})
	if err != nil {
		return fmt.Errorf("get ClusterClass %q: %w", objects.NamedClass, err)
	}
	if found {
		return nil
	}
	parts, err := objects.Named(namespace)
	if err != nil {
		return err
	}
	last := len(parts) - 1 // the class
	for _, template := range parts[:last] {
		if err := apply(ctx, c, template); err != nil {
			return err
		}
	}
	// Another process may have created it meanwhile.
	if err := c.Create(ctx, parts[last], client.FieldOwner(FieldOwner)); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create ClusterClass %q: %w", objects.NamedClass, err)
	}
	return nil
}

// Delete asks for the deletion of a Cluster and returns immediately; what belongs
// to it is deleted first, in the order Cluster API has for that. Absent: no
// error.
func Delete(ctx context.Context, c client.Client, namespace, name string) error {
	doomed := &clusterv1.Cluster{}
	doomed.Namespace, doomed.Name = namespace, name
	if err := client.IgnoreNotFound(c.Delete(ctx, doomed)); err != nil {
		return fmt.Errorf("delete Cluster %q: %w", name, err)
	}
	return nil
}

// Leftovers returns the kinds and names of what the deletion of a Cluster has
// not yet taken along. What its user made for it stays and does not count.
func Leftovers(ctx context.Context, c client.Client, namespace, name string) ([]string, error) {
	lists := map[string]client.ObjectList{
		"ContainerMachineTemplate": &infrav1.ContainerMachineTemplateList{},
		"KubeadmConfigTemplate":    &bootstrapv1.KubeadmConfigTemplateList{},
		"ClusterResourceSet":       &addonsv1.ClusterResourceSetList{},
		"ConfigMap":                &corev1.ConfigMapList{},
		"Secret":                   &corev1.SecretList{},
	}
	var left []string
	for kind, list := range lists {
		err := c.List(ctx, list, client.InNamespace(namespace), client.MatchingLabels{clusterv1.ClusterNameLabel: name})
		if err != nil {
			return nil, fmt.Errorf("list %ss of cluster %q: %w", kind, name, err)
		}
		err = meta.EachListItem(list, func(item runtime.Object) error {
			object, ok := item.(client.Object)
			if ok && goesAlong(object) {
				left = append(left, kind+" "+object.GetName())
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("read %ss of cluster %q: %w", kind, name, err)
		}
	}
	return left, nil
}

// goesAlong reports whether the object has an owner that goes with its Cluster.
// A ClusterResourceSet has what it installs for an owned object too, and goes
// only where it is owned itself.
func goesAlong(object client.Object) bool {
	return slices.ContainsFunc(object.GetOwnerReferences(), func(owner metav1.OwnerReference) bool {
		return owner.Kind != "ClusterResourceSet"
	})
}
