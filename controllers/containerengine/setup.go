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

package containerengine

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	capicontroller "sigs.k8s.io/cluster-api/util/controller"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/controllers/engines"
)

// SetupWithManager registers the controller and what it watches. Machines are counted with each
// probe: each change of one would cause a call of the engine.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, options controller.Options) error {
	changed := builder.WithPredicates(predicate.Or[client.Object](predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}))
	return capicontroller.NewControllerManagedBy(mgr, ctrl.LoggerFrom(ctx)).
		For(&infrav1.ContainerEngine{}, changed).
		Named("containerengine").
		WithOptions(options).
		Watches(&infrav1.ContainerCluster{}, handler.EnqueueRequestsFromMapFunc(enginesOf), predicate.GenerationChangedPredicate{}).
		Complete(ctx, r)
}

// enginesOf a cluster: that which it names, and the others of one over several. Those that a change removes from it are among them.
func enginesOf(_ context.Context, object client.Object) []ctrl.Request {
	cluster, isCluster := object.(*infrav1.ContainerCluster)
	if !isCluster {
		return nil
	}
	names := engines.MembersOf(cluster)
	if name := engines.NameOf(cluster); name != (types.NamespacedName{}) && !slices.Contains(names, name) {
		names = append(names, name)
	}
	var requests []ctrl.Request
	for _, name := range names {
		requests = append(requests, ctrl.Request{NamespacedName: name})
	}
	return requests
}
