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
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/controllers/internal/reconcile"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	nodespec "github.com/capi-samples/cluster-api-provider-container/internal/node"
	"github.com/capi-samples/cluster-api-provider-container/internal/nodefiles"
)

const (
	// updateInterval is how often a node is looked at while an in-place update waits for it.
	updateInterval = 2 * time.Second
	// updatedInterval is how often it is looked at until Cluster API has ended the update.
	updatedInterval = 10 * time.Second

	kubeadmConfig = "KubeadmConfig"
	// dataSecretValue is the key of bootstrap data, from the contract.
	dataSecretValue = "value"
)

// updateInPlace gives a node the files of its KubeadmConfig while Cluster API updates it by the extension of this
// provider, and never by another. The limits of spec.resources do not wait for that.
func (r *Reconciler) updateInPlace(ctx context.Context, s Scope) error {
	annotations := s.ContainerMachine.Annotations
	_, isUpdating := annotations[clusterv1.UpdateInProgressAnnotation]
	if !isUpdating {
		delete(annotations, infrav1.UpdateRequestedAnnotation)
	}
	// A node that is drained is left as it is: what it runs has to end, and a user may have repaired it for that.
	if _, isRequested := annotations[infrav1.UpdateRequestedAnnotation]; !isRequested || !s.Machine.DeletionTimestamp.IsZero() {
		meta.RemoveStatusCondition(&s.ContainerMachine.Status.Conditions, infrav1.UpdatingCondition)
		return nil
	}
	failed := func(reason string, status metav1.ConditionStatus, err error) error {
		return reconcile.Failure{Err: err, Condition: infrav1.UpdatingCondition, Status: status, Reason: reason, After: reconcile.UserInterval}
	}
	spec, isMarked, err := r.desiredFiles(ctx, s.Machine)
	if err != nil {
		return failed(infrav1.UpdateFailedReason, metav1.ConditionTrue, err)
	}
	if !isMarked {
		// Cluster API changes the KubeadmConfig later than the ContainerMachine.
		return reconcile.Wait{After: updateInterval}
	}
	step, err := nodefiles.Advance(ctx, s.Engine, s.Container.Name, spec)
	if refused, isStep := errors.AsType[*nodefiles.StepError](err); isStep && refused.IsRefused() {
		return failed(infrav1.UpdateFailedReason, metav1.ConditionTrue, err)
	}
	if err != nil {
		return failed(infrav1.EngineUnavailableReason, metav1.ConditionUnknown, err)
	}
	condition := metav1.Condition{Type: infrav1.UpdatingCondition, Status: metav1.ConditionTrue, Reason: infrav1.UpdatingReason, Message: step.String() + " on node " + s.Container.Name}
	wait := reconcile.Wait{After: updateInterval}
	switch {
	case step.Action == nodefiles.Done:
		condition.Status, condition.Reason, condition.Message = metav1.ConditionFalse, infrav1.UpdatedReason, ""
		wait.After = updatedInterval
	case step.Problem != "":
		condition.Reason, condition.Message = infrav1.UpdateFailedReason, condition.Message+": "+step.Problem
		wait.After = reconcile.UserInterval
	}
	reconcile.SetCondition(s.ContainerMachine, condition)
	return wait
}

// desiredFiles of a node, and whether Cluster API has marked the KubeadmConfig for the update.
func (r *Reconciler) desiredFiles(ctx context.Context, machine *clusterv1.Machine) (nodefiles.Spec, bool, error) {
	reference := machine.Spec.Bootstrap.ConfigRef
	if reference.Kind != kubeadmConfig {
		return nodefiles.Spec{}, true, nil
	}
	config := &bootstrapv1.KubeadmConfig{}
	if err := r.Live.Get(ctx, client.ObjectKey{Namespace: machine.Namespace, Name: reference.Name}, config); err != nil {
		return nodefiles.Spec{}, false, fmt.Errorf("get KubeadmConfig %q: %w", reference.Name, err)
	}
	if _, isMarked := config.Annotations[clusterv1.UpdateInProgressAnnotation]; !isMarked {
		return nodefiles.Spec{}, false, nil
	}
	spec, err := Files(ctx, r.Client, machine, &config.Spec)
	return spec, true, err
}

// Files that the node of a machine is to have with that configuration.
func Files(ctx context.Context, reader client.Reader, machine *clusterv1.Machine, config *bootstrapv1.KubeadmConfigSpec) (nodefiles.Spec, error) {
	secret := &corev1.Secret{}
	key := client.ObjectKey{Namespace: machine.Namespace, Name: ptr.Deref(machine.Spec.Bootstrap.DataSecretName, "")}
	// Without the data, what it wrote is not known, and stays.
	if key.Name != "" {
		if err := reader.Get(ctx, key, secret); err != nil && !apierrors.IsNotFound(err) {
			return nodefiles.Spec{}, fmt.Errorf("get bootstrap data Secret %q: %w", key.Name, err)
		}
	}
	spec, err := nodefiles.Of(config, secret.Data[dataSecretValue])
	if err != nil {
		return nodefiles.Spec{}, fmt.Errorf("compare files with bootstrap data Secret %q: %w", key.Name, err)
	}
	return spec, nil
}

// Desired is what a node is to have.
type Desired struct {
	Limits nodespec.Resources
	Files  nodefiles.Spec
}

// Remaining says what a running node still lacks of its limits and files; empty = nothing. It changes nothing. The text
// is the same as long as the node is.
func (d Desired) Remaining(ctx context.Context, eng engine.Executor, host HostInfo, container string) (string, error) {
	if d.Limits != (nodespec.Resources{}) {
		change, err := planResources(ctx, eng, host, container, d.Limits)
		if err != nil {
			return "", err
		}
		if !change.IsEmpty() {
			return fmt.Sprintf("change the limits of node %s to %s", container, d.Limits), nil
		}
	}
	has, err := nodefiles.Observe(ctx, eng, container, d.Files)
	if err != nil {
		return "", fmt.Errorf("observe node: %w", err)
	}
	if step := nodefiles.Next(d.Files, has); step.Action != nodefiles.Done {
		return step.String() + " on node " + container, nil
	}
	return "", nil
}
