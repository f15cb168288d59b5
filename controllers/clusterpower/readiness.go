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
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
)

// podLimit is how long after the start of the last container Pods and endpoints are waited
// for.
const podLimit = time.Minute

var (
	errNodeNotReady = errors.New("not Ready")
	errPodsStale    = errors.New("waiting for the Pods of restarted Nodes")
	errEndpoints    = errors.New("waiting for the EndpointSlices of restarted Pods")
)

// checkReady returns an error unless the cluster reports that it works again: what an API
// server reports just after its start is stale. running says since when the containers of its
// Nodes run.
func (r *Reconciler) checkReady(ctx context.Context, s *scope, running map[string]time.Time) error {
	if !ptr.Deref(s.cluster.Status.Initialization.ControlPlaneInitialized, false) {
		return nil
	}
	workload, err := r.Workload(ctx, client.ObjectKeyFromObject(s.cluster))
	if err == nil {
		err = r.checkWorkload(ctx, workload, running)
	}
	for _, known := range []error{errNodeNotReady, errPodsStale, errEndpoints} {
		if errors.Is(err, known) {
			return err
		}
	}
	if err != nil {
		// Its text has what changes with each retry.
		ctrl.LoggerFrom(ctx).V(1).Info("Workload cluster does not answer", "reason", err.Error())
		return errors.New("waiting for the API server of the cluster")
	}
	return nil
}

func (r *Reconciler) checkWorkload(ctx context.Context, workload client.Client, running map[string]time.Time) error {
	restarted, err := checkNodes(ctx, workload, running)
	if err != nil || len(restarted) == 0 {
		return err
	}
	last := slices.MaxFunc(slices.Collect(maps.Values(restarted)), time.Time.Compare)
	if r.Clock.Since(last) >= podLimit {
		return nil
	}
	return checkEndpoints(ctx, workload, restarted)
}

// checkNodes returns since when the containers of the Nodes run, by the names of the Nodes, or
// an error unless the kubelets have reported since then that they are Ready. Nodes of other
// containers are not waited for.
func checkNodes(ctx context.Context, workload client.Client, running map[string]time.Time) (map[string]time.Time, error) {
	nodes := &corev1.NodeList{}
	if err := workload.List(ctx, nodes); err != nil {
		return nil, fmt.Errorf("list Nodes: %w", err)
	}
	restarted := map[string]time.Time{}
	for _, node := range nodes.Items {
		name, err := identity.ParseProviderID(node.Spec.ProviderID)
		startedAt, ours := running[name]
		if err != nil || !ours {
			continue
		}
		ready := slices.ContainsFunc(node.Status.Conditions, func(condition corev1.NodeCondition) bool {
			return condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue &&
				!isStale(condition.LastHeartbeatTime.Time, startedAt)
		})
		if !ready {
			return nil, fmt.Errorf("node %s: %w", node.Name, errNodeNotReady)
		}
		restarted[node.Name] = startedAt
	}
	return restarted, nil
}

// isStale reports whether something was reported before a container was started. Kubernetes
// has times of whole seconds.
func isStale(reported, startedAt time.Time) bool {
	return reported.Before(startedAt.Truncate(time.Second))
}

// checkEndpoints returns an error while Services would lead to addresses that Pods had before
// their Nodes were restarted, or to none.
func checkEndpoints(ctx context.Context, workload client.Client, restarted map[string]time.Time) error {
	pods, slicesOfAll := &corev1.PodList{}, &discoveryv1.EndpointSliceList{}
	if err := workload.List(ctx, pods); err != nil {
		return fmt.Errorf("list Pods: %w", err)
	}
	known := make(map[client.ObjectKey]*corev1.Pod, len(pods.Items))
	for i := range pods.Items {
		pod := &pods.Items[i]
		known[client.ObjectKeyFromObject(pod)] = pod
		if startedAt, isRestarted := restarted[pod.Spec.NodeName]; isRestarted && isRestarting(pod, startedAt) {
			return errPodsStale
		}
	}
	if err := workload.List(ctx, slicesOfAll); err != nil {
		return fmt.Errorf("list EndpointSlices: %w", err)
	}
	isStale := func(endpoint discoveryv1.Endpoint) bool {
		if endpoint.TargetRef == nil || endpoint.TargetRef.Kind != "Pod" || ptr.Deref(endpoint.Conditions.Terminating, false) {
			return false
		}
		pod := known[client.ObjectKey{Namespace: endpoint.TargetRef.Namespace, Name: endpoint.TargetRef.Name}]
		return pod == nil || !isCurrent(endpoint, pod)
	}
	for _, slice := range slicesOfAll.Items {
		if slices.ContainsFunc(slice.Endpoints, isStale) {
			return errEndpoints
		}
	}
	return nil
}

// isCurrent reports whether an endpoint is what its Pod is now.
func isCurrent(endpoint discoveryv1.Endpoint, pod *corev1.Pod) bool {
	for _, address := range endpoint.Addresses {
		if !slices.ContainsFunc(pod.Status.PodIPs, func(ip corev1.PodIP) bool { return ip.IP == address }) {
			return false
		}
	}
	return ptr.Deref(endpoint.Conditions.Ready, true) || !isReady(pod)
}

func isReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(condition corev1.PodCondition) bool {
		return condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue
	})
}

// isRestarting reports whether the status of a Pod is older than the restart of its Node, or it is
// about to become Ready. One that fails by itself, such as one whose image cannot be pulled, is
// not waited for.
func isRestarting(pod *corev1.Pod, startedAt time.Time) bool {
	if !pod.DeletionTimestamp.IsZero() || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return false
	}
	for _, container := range pod.Status.ContainerStatuses {
		state := container.State
		if state.Running != nil && isStale(state.Running.StartedAt.Time, startedAt) {
			return true
		}
		if state.Waiting != nil && state.Waiting.Reason != "ContainerCreating" && state.Waiting.Reason != "PodInitializing" {
			return false
		}
	}
	return !isReady(pod)
}
