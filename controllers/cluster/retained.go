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

package cluster

import (
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
)

// RecordRetained changes the record of the PersistentVolumes whose data is kept when the cluster is
// deleted. It is an annotation, which "clusterctl move" preserves.
func RecordRetained(ctx context.Context, c client.Client, recorded EngineRecord, change func(names []string) []string) error {
	existing := &infrav1.ContainerCluster{}
	key := client.ObjectKey{Namespace: recorded.Owner.Namespace, Name: recorded.Cluster}
	if err := c.Get(ctx, key, existing); err != nil {
		return fmt.Errorf("get ContainerCluster: %w", err)
	}
	before := strings.FieldsFunc(existing.Annotations[infrav1.RetainedVolumesAnnotation], func(r rune) bool { return r == ',' })
	after := change(slices.Clone(before))
	if slices.Equal(before, after) {
		return nil
	}
	original := existing.DeepCopy()
	if len(after) == 0 {
		delete(existing.Annotations, infrav1.RetainedVolumesAnnotation)
	} else {
		metav1.SetMetaDataAnnotation(&existing.ObjectMeta, infrav1.RetainedVolumesAnnotation, strings.Join(after, ","))
	}
	if err := c.Patch(ctx, existing, client.MergeFromWithOptions(original, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("patch ContainerCluster: %w", err)
	}
	return nil
}
