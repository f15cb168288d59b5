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

package machinepool

import (
	"context"
	"errors"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/controllers/internal/reconcile"
)

// removeMachines deletes all Machines of the pool. Cluster API makes no more
// for a MachinePool that is being deleted.
func (r *Reconciler) removeMachines(ctx context.Context, s *scope) error {
	names := s.dangling
	for _, i := range s.instances {
		if i.machine != nil && !i.leaving() {
			names = append(names, i.containerMachine.Name)
		}
	}
	return r.removeAll(ctx, s, names)
}

// removeUnclaimed deletes ContainerMachines that never got a Machine.
func (r *Reconciler) removeUnclaimed(ctx context.Context, s *scope) error {
	var errs []error
	for _, i := range s.instances {
		if i.machine != nil || i.leaving() {
			continue
		}
		if err := r.Client.Delete(ctx, i.containerMachine); client.IgnoreNotFound(err) != nil {
			errs = append(errs, fmt.Errorf("delete ContainerMachine %q: %w", i.containerMachine.Name, err))
		}
	}
	return errors.Join(errs...)
}

// release lets the pool go once all its instances are gone.
func (r *Reconciler) release(ctx context.Context, s *scope) error {
	if err := s.observe(ctx, r.Live); err != nil {
		return err
	}
	if left := len(s.instances); left > 0 {
		names := make([]string, 0, left)
		for _, i := range s.instances {
			names = append(names, i.containerMachine.Name)
		}
		return reconcile.WaitForEvent(infrav1.DeletingReason, "waiting for ContainerMachines to be deleted: "+enumerate(names))
	}
	controllerutil.RemoveFinalizer(s.pool, infrav1.MachinePoolFinalizer)
	return nil
}
