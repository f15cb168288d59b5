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
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
)

// mustDrain reports whether load balancers are switched off and may be left: the annotation
// says so, or a container does.
func (r *Reconciler) mustDrain(ctx context.Context, active *activeCluster) (bool, error) {
	if active.settings.LoadBalancers {
		return false, nil
	}
	if _, annotated := active.infrastructure.Annotations[infrav1.ServiceLoadBalancersAnnotation]; annotated {
		return true, nil
	}
	containers, err := active.settings.Connection.Engine.ListContainers(ctx, active.settings.Recorded.Owner.Select(map[string]string{
		identity.LabelRole: string(identity.RoleServiceLoadBalancer),
	}))
	if err != nil {
		return false, fmt.Errorf("list load balancers of Services: %w", err)
	}
	return len(containers) > 0, nil
}

// drain the load balancers of Services. Nothing of them runs: it was stopped before.
func (r *Reconciler) drain(ctx context.Context, active *activeCluster) (ctrl.Result, error) {
	// A load balancer that does not exist on another engine than the cluster's may run.
	_, err := active.settings.Recorded.Check(ctx, active.settings.Connection.Engine)
	if err == nil {
		err = r.Drain(ctx, active.settings)
	}
	if err == nil {
		return ctrl.Result{}, r.removeAnnotation(ctx, active.infrastructure)
	}
	ctrl.LoggerFrom(ctx).Info("Failed to remove load balancers of Services; retrying", "reason", err.Error())
	draining := condition(metav1.ConditionFalse, infrav1.DrainingReason, fmt.Sprintf("%s: remove load balancers of Services: %s", LoadBalancers, err))
	return ctrl.Result{RequeueAfter: retryInterval}, r.setCondition(ctx, active.infrastructure, draining)
}

// annotate the ContainerCluster: load balancers of Services may exist.
func (r *Reconciler) annotate(ctx context.Context, cluster *infrav1.ContainerCluster) error {
	if _, annotated := cluster.Annotations[infrav1.ServiceLoadBalancersAnnotation]; annotated {
		return nil
	}
	before := cluster.DeepCopy()
	metav1.SetMetaDataAnnotation(&cluster.ObjectMeta, infrav1.ServiceLoadBalancersAnnotation, "")
	if err := r.Client.Patch(ctx, cluster, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("annotate ContainerCluster: %w", err)
	}
	return nil
}

// removeAnnotation of the ContainerCluster: no load balancer is left.
func (r *Reconciler) removeAnnotation(ctx context.Context, cluster *infrav1.ContainerCluster) error {
	before := cluster.DeepCopy()
	delete(cluster.Annotations, infrav1.ServiceLoadBalancersAnnotation)
	if err := r.Client.Patch(ctx, cluster, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("remove annotation of ContainerCluster: %w", err)
	}
	return nil
}
