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

// Package containerengine reconciles ContainerEngines: it connects to the engines that objects
// name, probes them every few seconds, and reports what it finds.
//
// Nothing on an engine is changed here, but that it pays its debts: what clusters left there that were deleted while it was
// lost is removed. What an engine does that is not the one of before, or that does not respond, is a condition.
package containerengine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"sigs.k8s.io/cluster-api/util/finalizers"
	"sigs.k8s.io/cluster-api/util/patch"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/controllers/engines"
	"github.com/capi-samples/cluster-api-provider-container/controllers/hostinfo"
	"github.com/capi-samples/cluster-api-provider-container/controllers/internal/reconcile"
	"github.com/capi-samples/cluster-api-provider-container/controllers/placement"
	"github.com/capi-samples/cluster-api-provider-container/internal/endpoint"
)

// probeInterval is how often an engine is asked who it is.
const probeInterval = 15 * time.Second

// Reconciler reconciles ContainerEngines.
type Reconciler struct {
	Client client.Client
	// Engines that are connected to.
	Engines *engines.Engines
	// Events of what is removed on an engine that was lost.
	Events events.EventRecorder
	// Allowed endpoints. The webhook refuses the others, unless there is none.
	Allowed endpoint.Allowed

	// WatchFilterValue restricts what is reconciled; see the flag.
	WatchFilterValue string
}

// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=containerengines,verbs=get;list;watch;patch;update
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=containerengines/status,verbs=get;patch;update
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=containerengines/finalizers,verbs=update
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=containerclusters;containermachines,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconcile connects to one engine, and reports on it.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (_ ctrl.Result, rerr error) {
	containerEngine := &infrav1.ContainerEngine{}
	if err := r.Client.Get(ctx, request.NamespacedName, containerEngine); err != nil {
		if apierrors.IsNotFound(err) {
			r.Engines.Disconnect(request.NamespacedName, nil)
			return ctrl.Result{}, nil
		}
		return ctrl.Result{}, fmt.Errorf("get ContainerEngine: %w", err)
	}
	if !reconcile.Selected(containerEngine, r.WatchFilterValue) || reconcile.MovedAway(containerEngine) {
		ctrl.LoggerFrom(ctx).V(4).Info("ContainerEngine is not reconciled by this manager")
		r.Engines.Disconnect(request.NamespacedName, errOtherManager)
		return ctrl.Result{}, nil
	}
	if _, err := finalizers.EnsureFinalizer(ctx, r.Client, containerEngine, infrav1.EngineFinalizer); err != nil {
		return ctrl.Result{}, fmt.Errorf("add finalizer: %w", err)
	}
	if isPaused, err := reconcile.CheckPaused(ctx, r.Client, nil, containerEngine); err != nil || isPaused {
		return ctrl.Result{}, err
	}
	// A cluster that is gone has nothing of the engine. What is placed meanwhile is not overwritten.
	if err := placement.Release(ctx, r.Client, containerEngine); err != nil {
		return ctrl.Result{}, reconcile.IgnoreGone(err)
	}
	helper, err := patch.NewHelper(containerEngine, r.Client)
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("prepare patch: %w", err)
	}
	s := &scope{engine: containerEngine, conditions: slices.Clone(containerEngine.Status.Conditions)}
	reconcile.MarkActive(containerEngine)
	defer func() { rerr = errors.Join(rerr, reconcile.IgnoreGone(s.patch(ctx, helper))) }()
	return reconcile.Run(ctx, s,
		// What is on the engine is known from objects, whether it responds or not.
		r.countMachines,
		// An engine that nothing is on is not needed for its deletion.
		r.release,
		// No user has the manager dial what its administrator did not allow.
		r.checkEndpoint,
		// Who says that an engine is lost does not want to hear of it again.
		r.checkLost,
		r.readCredentials,
		// An engine is not moved without its Secret.
		r.blockMove,
		r.connect,
		// Machines on the engine continue while this is up to date.
		r.probe,
		r.checkHost,
		// What was left there while it was lost goes before anything new comes.
		r.payDebts,
		r.probeAgain,
	)
}

// errOtherManager: objects on the engine are not reconciled here either.
var errOtherManager = errors.New("not reconciled by this manager")

// countMachines counts what is on the engine, and reads which engines the other objects of the namespace have.
func (r *Reconciler) countMachines(ctx context.Context, s *scope) error {
	clusters, machines := &infrav1.ContainerClusterList{}, &infrav1.ContainerMachineList{}
	all := &infrav1.ContainerEngineList{}
	if err := r.Client.List(ctx, all, client.InNamespace(s.engine.Namespace)); err != nil {
		return fmt.Errorf("list ContainerEngines: %w", err)
	}
	s.recordedBy = map[string]string{}
	for i := range all.Items {
		if other := &all.Items[i]; other.Name != s.engine.Name && other.Annotations[infrav1.EngineAnnotation] != "" {
			s.recordedBy[other.Annotations[infrav1.EngineAnnotation]] = other.Name
		}
	}
	if err := r.Client.List(ctx, clusters, client.InNamespace(s.engine.Namespace)); err != nil {
		return fmt.Errorf("list ContainerClusters: %w", err)
	}
	if err := r.Client.List(ctx, machines, client.InNamespace(s.engine.Namespace)); err != nil {
		return fmt.Errorf("list ContainerMachines: %w", err)
	}
	s.count(placement.UsageOf(s.engine, clusters.Items, machines.Items))
	return nil
}

// release removes the finalizer of an engine that is deleted, once nothing is on it. Until then it
// is connected to: what is on it is to be removed. Who says that it is lost gives up what was left there.
func (r *Reconciler) release(_ context.Context, s *scope) error {
	if s.engine.DeletionTimestamp.IsZero() || len(s.usage.Users) > 0 || len(s.engine.Spec.Debts) > 0 && !s.isLost() {
		return nil
	}
	r.Engines.Disconnect(client.ObjectKeyFromObject(s.engine), nil)
	controllerutil.RemoveFinalizer(s.engine, infrav1.EngineFinalizer)
	return reconcile.Wait{}
}

func (r *Reconciler) checkEndpoint(_ context.Context, s *scope) error {
	at, err := endpoint.Parse(s.engine.Spec.Endpoint)
	if err != nil {
		return r.disconnect(s, infrav1.EngineEndpointInvalidReason, fmt.Errorf("spec.endpoint %w", err))
	}
	if !r.Allowed.Has(s.engine.Namespace, at) {
		return r.disconnect(s, infrav1.EngineEndpointNotAllowedReason, fmt.Errorf(
			"spec.endpoint %s is not allowed in namespace %q by the manager's flag --%s", at, s.engine.Namespace, endpoint.AllowedFlag))
	}
	s.at = at
	return nil
}

func (r *Reconciler) checkLost(_ context.Context, s *scope) error {
	if !s.isLost() {
		return nil
	}
	return r.disconnect(s, infrav1.EngineLostReason, engines.ErrLost)
}

// disconnect from an engine, and wait for a change of its object.
func (r *Reconciler) disconnect(s *scope, reason string, err error) error {
	r.Engines.Disconnect(client.ObjectKeyFromObject(s.engine), err)
	return s.unreachable(reason, err, 0)
}

func (r *Reconciler) probeAgain(context.Context, *scope) error {
	return reconcile.Wait{After: probeInterval}
}

// scope is one reconcile of one ContainerEngine.
type scope struct {
	engine *infrav1.ContainerEngine
	at     endpoint.Endpoint
	secret *corev1.Secret
	target engines.Target
	// answer of the engine.
	answer hostinfo.Answer
	// recordedBy are the names of other ContainerEngines of the namespace, by the storage that they have recorded.
	recordedBy map[string]string
	// usage of the engine.
	usage placement.Usage
	// conditions as they were before this reconcile.
	conditions []metav1.Condition
	// unpaid says why debts are; empty = that is not known.
	unpaid string
}

func (s *scope) isLost() bool { return ptr.Deref(s.engine.Spec.Lost, false) }

// unreachable is the outcome where the engine is not used. after is the time until the next try; 0 =
// a change of the object is awaited.
func (s *scope) unreachable(reason string, err error, after time.Duration) error {
	reconcile.SetCondition(s.engine, metav1.Condition{
		Type: infrav1.EngineHostReadyCondition, Status: metav1.ConditionUnknown, Reason: infrav1.EngineHostUnknownReason,
	})
	return reconcile.Wait{
		Condition: infrav1.EngineReachableCondition, Reason: reason, Message: oneLine(err), After: after,
	}
}

// oneLine is the text of an error for a condition.
func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

// Report sets the condition of an outcome.
func (s *scope) Report(outcome error) {
	reconcile.Report(s.engine, infrav1.EngineReachableCondition, outcome)
}
