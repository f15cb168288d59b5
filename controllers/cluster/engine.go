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
	"cmp"
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/controllers/engines"
	"github.com/capi-samples/cluster-api-provider-container/controllers/internal/reconcile"
	"github.com/capi-samples/cluster-api-provider-container/controllers/placement"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/loadbalancer"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
)

// ensureIdentity records the cluster's identity, its network and its engine before anything is
// created that carries the one on the other. The patch has an optimistic lock: two
// managers must not both continue with an ID of their own. It precedes the patch helper
// of the reconcile, which would otherwise write the same fields. An engine that does not
// respond is recorded later: the reconcile reports it.
func (r *Reconciler) ensureIdentity(
	ctx context.Context, cluster *clusterv1.Cluster, containerCluster *infrav1.ContainerCluster, connection *engines.Connection,
) error {
	recorded, spec := containerCluster.Annotations[infrav1.EngineAnnotation], &containerCluster.Spec
	if spec.OwnerID != "" && spec.Network.Name != "" && recorded != "" || !containerCluster.DeletionTimestamp.IsZero() {
		return nil
	}
	original := containerCluster.DeepCopy()
	spec.OwnerID = cmp.Or(spec.OwnerID, identity.NewOwnerID())
	spec.Network.Name = cmp.Or(spec.Network.Name, chooseNetwork(cluster, containerCluster))
	if recorded == "" && connection != nil && connection.Joint() == nil {
		if err := recordEngine(ctx, connection.Engine, containerCluster); err != nil {
			ctrl.LoggerFrom(ctx).Info("Failed to record the engine of the cluster", "reason", err.Error())
		}
	}
	if equality.Semantic.DeepEqual(original, containerCluster) {
		return nil
	}
	patch := client.MergeFromWithOptions(original, client.MergeFromWithOptimisticLock{})
	if err := r.Client.Patch(ctx, containerCluster, patch); err != nil {
		return fmt.Errorf("record owner ID: %w", err)
	}
	return nil
}

// place the cluster on an engine, if that is to be chosen, and reserve there what it needs.
func (r *Reconciler) place(ctx context.Context, cluster *clusterv1.Cluster, containerCluster *infrav1.ContainerCluster) error {
	if len(containerCluster.Spec.EngineNames) > 0 {
		return r.chooseHome(ctx, containerCluster)
	}
	if cluster == nil || !cluster.DeletionTimestamp.IsZero() || !containerCluster.DeletionTimestamp.IsZero() {
		return nil
	}
	return placement.Place(ctx, r.Client, cluster, containerCluster)
}

// isNowhere reports whether nothing of the cluster can have been created: that needs an owner ID and an engine.
func (r *Reconciler) isNowhere(ctx context.Context, s *scope) (bool, error) {
	if s.owner().ID == "" || engines.IsUnplaced(s.containerCluster) {
		return true, nil
	}
	if s.containerCluster.DeletionTimestamp.IsZero() {
		return false, nil
	}
	return engines.IsUnreached(ctx, r.Client, s.containerCluster)
}

// chooseNetwork returns the name of the network for a cluster that names none: the one it began on before names
// were recorded, or else that of its IP families. Ranges that cannot be used decide nothing yet.
func chooseNetwork(cluster *clusterv1.Cluster, containerCluster *infrav1.ContainerCluster) string {
	if ptr.Deref(containerCluster.Status.Initialization.Provisioned, false) || containerCluster.Spec.LoadBalancer.HostPort != 0 {
		return network.DefaultName
	}
	families, err := familiesOf(cluster)
	if err != nil {
		return ""
	}
	return network.DefaultOf(families)
}

// recordEngine sets the record of the cluster's engine, which the caller writes. An engine
// without an identity is not recorded.
func recordEngine(ctx context.Context, host engine.Host, containerCluster *infrav1.ContainerCluster) error {
	info, err := host.Info(ctx)
	if err != nil {
		return fmt.Errorf("get engine info: %w", err)
	}
	if info.StorageID != "" {
		metav1.SetMetaDataAnnotation(&containerCluster.ObjectMeta, infrav1.EngineAnnotation, info.StorageID)
	}
	return nil
}

// errEngineNotRecorded: the engine did not respond when it was to be recorded.
var errEngineNotRecorded = errors.New("the engine of the cluster is not recorded yet")

// checkEngine stops the reconcile where another engine responds than the one that the cluster
// was created on. The load balancer that it observes is what ensureLoadBalancer starts with.
func (r *Reconciler) checkEngine(ctx context.Context, s *scope) error {
	if s.Joint() != nil {
		return r.findLoadBalancer(ctx, s)
	}
	if s.hasLoadBalancer() {
		existing, err := loadbalancer.Inspect(ctx, s.Engine, s.owner().LoadBalancerContainer())
		if err != nil {
			return s.bothErrors(err)
		}
		s.loadBalancerBefore = existing
	}
	recorded := s.containerCluster.Annotations[infrav1.EngineAnnotation]
	// checkPreflight reports that the engine does not say who it is.
	known, err := s.Host.Ask(ctx, s.Engine)
	identified := err == nil && known.Info.StorageID != ""
	renamed := identified && known.Info.StorageID != recorded
	switch {
	case s.loadBalancerBefore.Exists && !renamed:
		return nil
	case recorded == "" && (err != nil || identified) && s.containerCluster.DeletionTimestamp.IsZero():
		return s.bothErrors(errEngineNotRecorded)
	}
	owns, err := RecordOf(s.containerCluster, s.owner().Cluster).Check(ctx, s.Engine)
	if other := new(OtherEngineError); errors.As(err, &other) {
		changed := reconcile.Failure{Err: err, Status: metav1.ConditionUnknown, Reason: infrav1.EngineChangedReason, After: reconcile.UserInterval}
		ofNetwork := changed
		ofNetwork.Condition = infrav1.NetworkReadyCondition
		return reconcile.Join(ofNetwork, changed)
	}
	if err != nil {
		return s.bothErrors(err)
	}
	if owns && renamed {
		// The engine has the cluster's containers and another identity, as after its host was renamed.
		return recordEngine(ctx, s.Engine, s.containerCluster)
	}
	return nil
}

// checkMaintenance keeps a cluster from being created on an engine on which none is to be.
func (r *Reconciler) checkMaintenance(_ context.Context, s *scope) error {
	if s.Joint() != nil || !s.Placement.Maintenance || s.provisioned() || s.containerCluster.Spec.LoadBalancer.HostPort != 0 {
		return nil
	}
	return reconcile.Wait{
		Condition: infrav1.PreflightPassedCondition, Reason: infrav1.EngineInMaintenanceReason, After: reconcile.UserInterval,
		Message: fmt.Sprintf("spec.maintenance of ContainerEngine %q is true; unset it, or create the cluster on another engine", s.Name.Name),
	}
}

// engineNotChosen is the outcome where no engine can have the cluster. What is free changes with other clusters.
func (s *scope) engineNotChosen(err error) error {
	return reconcile.Wait{
		Condition: infrav1.PreflightPassedCondition, Reason: infrav1.EngineNotChosenReason, Message: err.Error(), After: reconcile.UserInterval,
	}
}

// engineUnavailable is the outcome where there is no engine for the cluster. Its ContainerEngine says why,
// and its return causes the next reconcile.
func (s *scope) engineUnavailable(err error) error {
	s.setCondition(infrav1.PreflightPassedCondition, metav1.ConditionUnknown, infrav1.EngineUnavailableReason, err.Error())
	s.Report(s.networkError(err))
	failure := s.loadBalancerError(err)
	failure.After = reconcile.UserInterval
	return failure
}

// bothErrors is the outcome of an error for each condition that depends on the engine, retried
// as that of the load balancer.
func (s *scope) bothErrors(err error) error {
	s.Report(s.networkError(err))
	return s.loadBalancerError(err)
}
