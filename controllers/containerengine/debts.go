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
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/controllers/cluster"
	"github.com/capi-samples/cluster-api-provider-container/controllers/debts"
	"github.com/capi-samples/cluster-api-provider-container/controllers/internal/reconcile"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
)

const (
	// payTimeout is how long one reconcile removes what is left on an engine. The next one continues.
	payTimeout = time.Minute
	// paidInterval is when an engine is probed again whose debts are paid, or that is not the one any more.
	paidInterval = time.Second
)

// indebtedError says that an engine is not used until what is left on it was removed.
type indebtedError struct{ of []string }

// Error implements error.
func (e *indebtedError) Error() string {
	return fmt.Sprintf("what %s left there while it was lost is removed first", strings.Join(e.of, ", "))
}

// checkDebts of an engine that responds.
func (s *scope) checkDebts() error {
	if len(s.engine.Spec.Debts) == 0 {
		return nil
	}
	return &indebtedError{of: debts.Names(s.engine)}
}

// payDebts removes what deleted clusters and machines left on the engine, and each debt when that is done. Meanwhile
// no other reconciler uses the engine. Debts do not wait for each other.
func (r *Reconciler) payDebts(ctx context.Context, s *scope) error {
	if len(s.engine.Spec.Debts) == 0 {
		return nil
	}
	eng := r.Engines.Closed(client.ObjectKeyFromObject(s.engine))
	if eng == nil {
		return reconcile.Wait{After: paidInterval}
	}
	limited, cancel := context.WithTimeout(ctx, payTimeout)
	defer cancel()
	var problems, paid []string
	for _, debt := range s.engine.Spec.Debts {
		if err := r.pay(limited, s, eng, debt); err != nil {
			problems = append(problems, problemOf(err))
			continue
		}
		paid = append(paid, debt.Name)
	}
	// What was not found is gone only if the engine is still the one that was probed.
	if info, err := eng.Info(limited); err != nil || info.StorageID != s.answer.Info.StorageID {
		ctrl.LoggerFrom(ctx).Info("Keeping debts of an engine that does not respond any more, or is another one")
		return reconcile.Wait{After: paidInterval}
	}
	// The record is changed by a write of its own, which the patch that ends the reconcile must not repeat. A
	// conflict: the next reconcile has nothing left to remove.
	if err := debts.Remove(ctx, r.Client, s.engine.DeepCopy(), paid...); err != nil {
		return err
	}
	if len(problems) == 0 {
		return reconcile.Wait{After: paidInterval}
	}
	s.unpaid = strings.Join(problems, "; ")
	ctrl.LoggerFrom(ctx).Info("Failed to remove what was left on the engine; retrying", "reason", s.unpaid)
	return reconcile.Wait{After: probeInterval}
}

// problemOf a removal, which may also wait.
func problemOf(err error) string {
	if wait, waits := errors.AsType[reconcile.Wait](err); waits {
		return wait.Message
	}
	return oneLine(err)
}

// pay one debt, as the deletion of the object would have done on an engine that was not lost.
func (r *Reconciler) pay(ctx context.Context, s *scope, eng engine.Engine, debt infrav1.EngineDebt) error {
	removal := cluster.Removal{Engine: eng, Owner: debts.OwnerOf(s.engine, debt), Events: r.Events, Object: s.engine}
	if debt.NetworkName == "" || debt.OwnerID == "" {
		return payContainers(ctx, removal, debt.Containers)
	}
	if err := removal.Containers(ctx, removal.Owner.Labels()); err != nil {
		return err
	}
	if !ptr.Deref(debt.VolumeRetained, false) {
		if err := removal.Volume(ctx); err != nil {
			return err
		}
	}
	return removal.Network(ctx, debt.NetworkName)
}

// payContainers removes containers of machines, and load balancers. One of another owner stays.
func payContainers(ctx context.Context, removal cluster.Removal, containers []string) error {
	for _, name := range containers {
		container, err := removal.Engine.InspectContainer(ctx, name)
		if errors.Is(err, engine.ErrNotFound) {
			continue
		}
		if err != nil {
			return engine.Failed("inspect", name, err)
		}
		roles := []identity.Role{identity.RoleControlPlane, identity.RoleWorker, identity.RoleLoadBalancer}
		if !removal.Owner.MayOwn(container.Labels) || !slices.Contains(roles, identity.Role(container.Labels[identity.LabelRole])) {
			ctrl.LoggerFrom(ctx).Info("Keeping a container of another owner that has the name of one that was left", "container", name)
			continue
		}
		if err := removal.Container(ctx, container); err != nil {
			return err
		}
	}
	return nil
}

// owners of what is or was created on the engine, as far as they are known.
func (s *scope) owners() []identity.Owner {
	var owners []identity.Owner
	for i := range s.usage.Clusters {
		on := &s.usage.Clusters[i]
		owners = append(owners, cluster.RecordOf(on, on.Labels[clusterv1.ClusterNameLabel]).Owner)
	}
	for _, debt := range s.engine.Spec.Debts {
		if debt.OwnerID != "" {
			owners = append(owners, debts.OwnerOf(s.engine, debt))
		}
	}
	return owners
}

// debtsUnpaid is Ready of an engine that responds and has debts.
func (s *scope) debtsUnpaid() metav1.Condition {
	message := "removing what " + strings.Join(debts.Names(s.engine), ", ") + " left while the engine was lost"
	if s.unpaid != "" {
		message += ": " + s.unpaid
	}
	return metav1.Condition{Type: infrav1.EngineReadyCondition, Status: metav1.ConditionFalse, Reason: infrav1.EngineDebtsUnpaidReason, Message: message}
}
