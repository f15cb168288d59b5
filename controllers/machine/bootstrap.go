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

package machine

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/controllers/internal/reconcile"
	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap"
	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/record"
	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/userdata"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

// The keys of a bootstrap data secret, from the contract.
const (
	dataSecretValue  = "value"
	dataSecretFormat = "format"
)

// waitForCluster delays the creation of a container until its network
// exists. One that exists continues whatever the cluster does.
func (r *Reconciler) waitForCluster(_ context.Context, s *scope) error {
	if s.hasStarted() {
		return nil
	}
	provisioned := ptr.Deref(s.cluster.Status.Initialization.InfrastructureProvisioned, false)
	switch {
	case !provisioned:
		return reconcile.WaitForEvent(infrav1.WaitingForInfrastructureReason, "waiting for the Cluster's infrastructure to be provisioned")
	case s.containerCluster == nil:
		return reconcile.WaitForEvent(infrav1.WaitingForInfrastructureReason, "waiting for the ContainerCluster that the Cluster refers to")
	case s.owner().ID == "":
		// Its controller sets it, or the controller that manages the object externally.
		return reconcile.WaitForEvent(infrav1.WaitingForInfrastructureReason, "waiting for spec.ownerID of the ContainerCluster to be set")
	case s.dataSecretName() == "":
		return reconcile.WaitForEvent(infrav1.WaitingForBootstrapDataReason, "waiting for the bootstrap provider to write the data secret")
	}
	return nil
}

// readDataToCreate reads the data secret that a container is created from. What
// has started does not need it any more.
func (r *Reconciler) readDataToCreate(ctx context.Context, s *scope) error {
	if s.hasStarted() {
		return nil
	}
	return r.readBootstrapData(ctx, s)
}

// readBootstrapData parses the data secret. Invalid data is refused before
// anything is created. Of a container that has started it is read as far as it is
// still there, and valid: its secrets must not be quoted, and it says what may be
// repeated.
func (r *Reconciler) readBootstrapData(ctx context.Context, s *scope) error {
	if s.dataSecretName() == "" {
		return nil
	}
	secret := &corev1.Secret{}
	key := client.ObjectKey{Namespace: s.machine.Namespace, Name: s.dataSecretName()}
	err := r.Client.Get(ctx, key, secret)
	switch {
	case apierrors.IsNotFound(err) && s.hasStarted():
		return nil
	case apierrors.IsNotFound(err):
		return waitForUser(infrav1.WaitingForBootstrapDataReason, fmt.Sprintf("waiting for the bootstrap data Secret %q", key.Name))
	case err != nil:
		return fmt.Errorf("get bootstrap data Secret %q: %w", key.Name, err)
	}
	config, err := s.parse(secret)
	if err != nil && !s.hasStarted() {
		s.setBootstrapCompleted(metav1.ConditionFalse, infrav1.BootstrapDataInvalidReason, err.Error())
		return reconcile.Failure{
			Err: err, Condition: infrav1.ContainerReadyCondition, Reason: infrav1.BootstrapDataInvalidReason, After: reconcile.UserInterval,
		}
	}
	s.config = config
	return nil
}

// parse returns what the data secret asks for, adapted to a container. No
// error quotes the data.
func (s *scope) parse(secret *corev1.Secret) (userdata.Config, error) {
	value := secret.Data[dataSecretValue]
	if len(value) == 0 {
		return userdata.Config{}, fmt.Errorf("bootstrap data Secret %q has no key %q; the bootstrap provider must write it", secret.Name, dataSecretValue)
	}
	config, err := bootstrap.Parse(value, string(secret.Data[dataSecretFormat]), s.instance())
	if err != nil {
		return userdata.Config{}, fmt.Errorf("parse bootstrap data Secret %q: %w", secret.Name, err)
	}
	config, err = config.Adapt()
	if err != nil {
		return userdata.Config{}, fmt.Errorf("adapt bootstrap data Secret %q to a container: %w", secret.Name, err)
	}
	return config, nil
}

// instance is what templates in bootstrap data may know of the machine.
func (s *scope) instance() userdata.Instance {
	return userdata.Instance{
		ID:       s.containerName(),
		Hostname: s.hostName(),
		Zone:     s.failureDomain(),
	}
}

const (
	// recordInterval is how often the record of a running bootstrap is read. Nothing that
	// makes a Node ready waits for it; with the container's state it is one call each second.
	recordInterval = 2 * time.Second
)

// observeBootstrap reads what the node recorded of its bootstrap. While it
// runs it is read every two seconds, one that is done once for each container, and one that
// failed with each reconcile. Only in a container that runs is an interrupted one
// repeated.
func (r *Reconciler) observeBootstrap(ctx context.Context, s *scope, next nextAction) error {
	result, err := r.readRecord(ctx, s)
	if err != nil {
		return reconcile.Failure{
			Err: err, Condition: infrav1.BootstrapCompletedCondition, Status: metav1.ConditionUnknown, Reason: infrav1.BootstrapStatusUnknownReason,
		}
	}
	switch result.State {
	case record.Done:
		if err := r.record(ctx, s, func(record *infrav1.MachineBootstrap) {
			record.Completed, record.Recreating = ptr.To(true), nil
		}); err != nil {
			return err
		}
		s.setBootstrapCompleted(metav1.ConditionTrue, infrav1.BootstrapCompletedReason, "")
	case record.Failed:
		if err := r.readBootstrapData(ctx, s); err != nil {
			return err
		}
		s.reportFailure(infrav1.BootstrapFailedReason, result)
	case record.Interrupted:
		return r.recoverInterrupted(ctx, s, next, result)
	default:
		s.reportProgress(r.Clock.Since(s.container.CreatedAt))
		if next == nextBootstrap {
			return reconcile.Wait{After: recordInterval}
		}
	}
	return nil
}

func (r *Reconciler) readRecord(ctx context.Context, s *scope) (record.Result, error) {
	key, container := client.ObjectKeyFromObject(s.containerMachine), s.container.Name
	if id, found := r.bootstrapped.Load(key); found && id == s.container.ID {
		return record.Result{State: record.Done}, nil
	}
	archive, err := s.Engine.Download(ctx, container, record.Path)
	if errors.Is(err, engine.ErrNotFound) {
		return record.Result{}, nil
	}
	if err != nil {
		return record.Result{}, fmt.Errorf("download bootstrap record of container %q: %w", container, err)
	}
	result, err := record.Read(archive)
	if err := errors.Join(err, archive.Close()); err != nil {
		return record.Result{}, fmt.Errorf("read bootstrap record of container %q: %w", container, err)
	}
	if result.State == record.Done {
		r.bootstrapped.Store(key, s.container.ID)
	}
	return result, nil
}

// reportProgress reports the minute the bootstrap is in, not the second: a
// condition that changes at every reconcile would be a write at every reconcile.
func (s *scope) reportProgress(running time.Duration) {
	if timeout := s.bootstrapTimeout(); running > timeout {
		s.setBootstrapCompleted(metav1.ConditionFalse, infrav1.BootstrapTimeoutReason, fmt.Sprintf(
			"bootstrap did not complete within %s; see /var/lib/cluster-api-bootstrap/log in container %s", timeout, s.container.Name))
		return
	}
	s.setBootstrapCompleted(metav1.ConditionFalse, infrav1.BootstrappingReason, "bootstrap is running in container "+s.container.Name)
}

func (s *scope) reportFailure(reason string, result record.Result) {
	s.setBootstrapCompleted(metav1.ConditionFalse, reason, result.Message(s.config.Secrets()...))
}
