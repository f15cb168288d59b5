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

package clusterpower

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
)

// isPending reports whether a start is due once the Cluster is no longer to be stopped,
// whatever point the stop had reached.
func isPending(cluster *clusterv1.Cluster) bool {
	return slices.ContainsFunc([]string{
		infrav1.StoppingSinceAnnotation, infrav1.StartingSinceAnnotation, infrav1.PausedWhileStoppedAnnotation,
	}, func(annotation string) bool { return metav1.HasAnnotation(cluster.ObjectMeta, annotation) })
}

// recordSince returns since when the cluster is stopped or started, as the annotation says. Without
// one, that is now: it is recorded, and replaces the record of the opposite.
func (r *Reconciler) recordSince(ctx context.Context, cluster *clusterv1.Cluster, annotation string) (time.Time, error) {
	if since, err := time.Parse(time.RFC3339, cluster.Annotations[annotation]); err == nil {
		return since, nil
	}
	return r.recordSinceNow(ctx, cluster, annotation)
}

func (r *Reconciler) recordSinceNow(ctx context.Context, cluster *clusterv1.Cluster, annotation string) (time.Time, error) {
	// Of a whole second, as the annotation has it.
	since := r.Clock.Now().UTC().Truncate(time.Second)
	before := cluster.DeepCopy()
	delete(cluster.Annotations, infrav1.StoppingSinceAnnotation)
	delete(cluster.Annotations, infrav1.StartingSinceAnnotation)
	metav1.SetMetaDataAnnotation(&cluster.ObjectMeta, annotation, since.Format(time.RFC3339))
	if err := r.Client.Patch(ctx, cluster, client.MergeFrom(before)); err != nil {
		return time.Time{}, fmt.Errorf("record on Cluster that its containers are stopped or started: %w", err)
	}
	return since, nil
}

// isPausedByUser reports whether a Cluster is paused, and not by this controller.
func isPausedByUser(cluster *clusterv1.Cluster) bool {
	_, byProvider := cluster.Annotations[infrav1.PausedWhileStoppedAnnotation]
	return ptr.Deref(cluster.Spec.Paused, false) && !byProvider
}

// pause a Cluster. One that its user has paused is left as it is.
func (r *Reconciler) pause(ctx context.Context, cluster *clusterv1.Cluster) error {
	if ptr.Deref(cluster.Spec.Paused, false) {
		return nil
	}
	before := cluster.DeepCopy()
	cluster.Spec.Paused = ptr.To(true)
	metav1.SetMetaDataAnnotation(&cluster.ObjectMeta, infrav1.PausedWhileStoppedAnnotation, "")
	// Locked: a user may pause it meanwhile.
	if err := r.Client.Patch(ctx, cluster, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("pause Cluster: %w", err)
	}
	return nil
}

// unpause a Cluster that this controller has paused, and remove annotations with it. One that
// its user has paused stays paused.
func (r *Reconciler) unpause(ctx context.Context, cluster *clusterv1.Cluster, annotations ...string) error {
	before := cluster.DeepCopy()
	if _, byProvider := cluster.Annotations[infrav1.PausedWhileStoppedAnnotation]; byProvider {
		cluster.Spec.Paused = nil
	}
	for _, annotation := range append(annotations, infrav1.PausedWhileStoppedAnnotation) {
		delete(cluster.Annotations, annotation)
	}
	if maps.Equal(before.Annotations, cluster.Annotations) {
		return nil
	}
	if err := r.Client.Patch(ctx, cluster, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("unpause Cluster: %w", err)
	}
	return nil
}
