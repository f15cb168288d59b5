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

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/controllers/internal/reconcile"
	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/record"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

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
	archive, err := r.Engine.Download(ctx, container, record.Path)
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
