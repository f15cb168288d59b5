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

package workload

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Runner is what SetupWithManager adds to the manager.
func (r *Reconciler) Runner() manager.Runnable { return &r.runner }

// ContainerToCluster is what SetupWithManager maps the events of containers with.
func (r *Reconciler) ContainerToCluster(ctx context.Context, labels map[string]string) []reconcile.Request {
	return r.containerToCluster(ctx, labels)
}

// AllClusters is what SetupWithManager maps relists with.
func (r *Reconciler) AllClusters(ctx context.Context) []reconcile.Request {
	return r.allClusters(ctx, types.NamespacedName{})
}
