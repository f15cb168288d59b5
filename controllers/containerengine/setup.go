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
		Watches(&infrav1.ContainerCluster{}, handler.EnqueueRequestsFromMapFunc(engineOf), predicate.GenerationChangedPredicate{}).
		Complete(ctx, r)
}

// engineOf a cluster.
func engineOf(_ context.Context, object client.Object) []ctrl.Request {
	name := engines.NameOf(object)
	if name == (types.NamespacedName{}) {
		return nil
	}
	return []ctrl.Request{{NamespacedName: name}}
}
