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

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/objects"
)

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
