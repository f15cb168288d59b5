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

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// keepAnnotation of the namespace default says that the management cluster was
// asked for by itself, and does not go with its last cluster. It lies where it
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
