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

package node

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"sigs.k8s.io/cluster-api/controllers/clustercache"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/controllers/internal/reconcile"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
)

// uninitializedTaint is on a Node whose kubelet was configured for a cloud
// controller that completes it; TaintExternalCloudProvider of Kubernetes'
// cloud-provider API.
const uninitializedTaint = "node.cloudprovider.kubernetes.io/uninitialized"

// ExternalCloudProvider is the value of identity.LabelCloudProvider: the kubelet's
// own name for it.
const ExternalCloudProvider = "external"

// nodeInterval is how often a Node is looked for that has not registered.
const nodeInterval = 5 * time.Second

// initialize sets what a Node lacks because its kubelet was started without it, as
// with bootstrap providers that do not read the kubelet's environment. It acts only
// until Cluster API has found the Node, except where its initialization is left to
// a cloud controller: Cluster API finds a Node that is still tainted.
func (r *Reconciler) initialize(ctx context.Context, s Scope) error {
	external := s.Container.Labels[identity.LabelCloudProvider] == ExternalCloudProvider
	if s.isNode() && !external || !conditions.IsTrue(s.ContainerMachine, infrav1.BootstrapCompletedCondition) {
		return nil
	}
	workload, err := r.ClusterCache.GetClient(ctx, client.ObjectKeyFromObject(s.Cluster))
	if errors.Is(err, clustercache.ErrClusterNotConnected) {
		return reconcile.Wait{After: nodeInterval}
	}
	if err != nil {
		return fmt.Errorf("connect to the workload cluster: %w", err)
	}
	node := &corev1.Node{}
	if err := workload.Get(ctx, client.ObjectKey{Name: identity.HostName(s.Machine.Name)}, node); err != nil {
		if apierrors.IsNotFound(err) {
			return reconcile.Wait{After: nodeInterval}
		}
		return fmt.Errorf("get Node: %w", err)
	}
	if id := node.Spec.ProviderID; id != "" && id != s.ContainerMachine.Spec.ProviderID {
		return reconcile.Wait{Condition: infrav1.BootstrapCompletedCondition, Reason: infrav1.ProviderIDMismatchReason, Message: fmt.Sprintf(
			"Node %s has provider ID %q, this machine is %q; remove --provider-id from the kubelet's arguments", node.Name, id, s.ContainerMachine.Spec.ProviderID)}
	}
	if err := initializeNode(ctx, workload, node, s.ContainerMachine.Spec.ProviderID); err != nil || s.isNode() {
		return err
	}
	return reconcile.Wait{After: nodeInterval}
}

// initializeNode does what a cloud controller would.
func initializeNode(ctx context.Context, workload client.Client, node *corev1.Node, providerID string) error {
	uninitialized := func(taint corev1.Taint) bool { return taint.Key == uninitializedTaint }
	if node.Spec.ProviderID == providerID && !slices.ContainsFunc(node.Spec.Taints, uninitialized) {
		return nil
	}
	original := node.DeepCopy()
	node.Spec.ProviderID = providerID
	node.Spec.Taints = slices.DeleteFunc(node.Spec.Taints, uninitialized)
	// The list is written as a whole: others may add to it meanwhile.
	patch := client.MergeFromWithOptions(original, client.MergeFromWithOptimisticLock{})
	if err := workload.Patch(ctx, node, patch); err != nil {
		return fmt.Errorf("patch Node %q: %w", node.Name, err)
	}
	return nil
}

// excludedDeleting is the value of the label node.kubernetes.io/exclude-from-external-load-balancers
// that the Node of a deleted Machine has. kubeadm's has none.
const excludedDeleting = "deleting"

// exclude takes the Node of a Machine that is deleted out of the load balancers of
// Services, so that no connection arrives there while it is drained. Nothing does so where
// the whole cluster is deleted.
func (r *Reconciler) exclude(ctx context.Context, s Scope) error {
	if s.Machine.DeletionTimestamp.IsZero() || !s.Cluster.DeletionTimestamp.IsZero() || !s.isNode() {
		return nil
	}
	workload, err := r.ClusterCache.GetClient(ctx, client.ObjectKeyFromObject(s.Cluster))
	if errors.Is(err, clustercache.ErrClusterNotConnected) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("connect to the workload cluster: %w", err)
	}
	node := &corev1.Node{}
	if err := workload.Get(ctx, client.ObjectKey{Name: s.Machine.Status.NodeRef.Name}, node); err != nil {
		return ignoreNotFound("get Node", err)
	}
	if node.Labels[corev1.LabelNodeExcludeBalancers] != "" {
		return nil
	}
	original := node.DeepCopy()
	metav1.SetMetaDataLabel(&node.ObjectMeta, corev1.LabelNodeExcludeBalancers, excludedDeleting)
	if err := workload.Patch(ctx, node, client.MergeFrom(original)); err != nil {
		return ignoreNotFound("label Node", err)
	}
	return nil
}

func ignoreNotFound(what string, err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}
