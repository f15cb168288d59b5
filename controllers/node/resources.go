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
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/controllers/internal/reconcile"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	nodespec "github.com/capi-samples/cluster-api-provider-container/internal/node"
	"github.com/capi-samples/cluster-api-provider-container/internal/noderesources"
)

// Resources that a machine is limited to: its own, or else those of its role in the cluster, each by
// itself. The ContainerCluster may be nil.
func Resources(machine *clusterv1.Machine, own *infrav1.ContainerMachine, cluster *infrav1.ContainerCluster) nodespec.Resources {
	limits := own.Spec.Resources.Or(roleResources(machine, cluster))
	resources := nodespec.Resources{Pids: limits.Pids}
	if limits.CPU != nil {
		resources.MilliCPU = limits.CPU.MilliValue()
	}
	if limits.Memory != nil {
		resources.MemoryBytes = limits.Memory.Value()
	}
	return resources
}

func roleResources(machine *clusterv1.Machine, cluster *infrav1.ContainerCluster) infrav1.MachineResources {
	if cluster == nil {
		return infrav1.MachineResources{}
	}
	return cluster.Spec.Resources.Of(machine)
}

// appliedResources are what one run of a container has. An engine may forget them when it ends.
type appliedResources struct {
	container string
	started   time.Time
	limits    nodespec.Resources
}

// configureResources lets a running node have its limits, which an engine may forget. What this process has seen to be so
// is not read again.
func (r *Reconciler) configureResources(ctx context.Context, s Scope) error {
	ofRole := roleResources(s.Machine, s.ContainerCluster)
	limits := Resources(s.Machine, s.ContainerMachine, s.ContainerCluster)
	if limits == (nodespec.Resources{}) {
		meta.RemoveStatusCondition(&s.ContainerMachine.Status.Conditions, infrav1.ResourcesConfiguredCondition)
		s.ContainerMachine.Status.Resources = nil
		return nil
	}
	key := client.ObjectKeyFromObject(s.ContainerMachine)
	wanted := appliedResources{s.Container.ID, s.Container.StartedAt, limits}
	if known, found := r.resources.Load(key); !found || known != wanted {
		if err := r.applyResources(ctx, s, wanted.limits); err != nil {
			return err
		}
		r.resources.Store(key, wanted)
	}
	s.ContainerMachine.Status.Resources = nil
	if ofRole != (infrav1.MachineResources{}) {
		s.ContainerMachine.Status.Resources = ptr.To(s.ContainerMachine.Spec.Resources.Or(ofRole))
	}
	reconcile.SetCondition(s.ContainerMachine, metav1.Condition{
		Type: infrav1.ResourcesConfiguredCondition, Status: metav1.ConditionTrue, Reason: infrav1.ResourcesConfiguredReason,
	})
	return nil
}

func (r *Reconciler) applyResources(ctx context.Context, s Scope, wanted nodespec.Resources) error {
	refuse := func(reason string, err error) error {
		return reconcile.Failure{Err: err, Condition: infrav1.ResourcesConfiguredCondition, Reason: reason, After: reconcile.UserInterval}
	}
	unavailable := func(err error) error {
		return reconcile.Failure{
			Err: err, Condition: infrav1.ResourcesConfiguredCondition, Status: metav1.ConditionUnknown, Reason: infrav1.EngineUnavailableReason,
		}
	}
	change, err := planResources(ctx, s.Engine, s.Host, s.Container.Name, wanted)
	if _, unavailable := errors.AsType[nodespec.ResourceError](err); unavailable {
		return refuse(infrav1.ResourcesUnavailableReason, err)
	}
	if _, inUse := errors.AsType[*noderesources.InUseError](err); inUse {
		return refuse(infrav1.MemoryInUseReason, err)
	}
	if err != nil {
		return unavailable(err)
	}
	if change.IsEmpty() {
		return nil
	}
	if err := noderesources.Apply(ctx, s.Engine, s.Container.Name, change); err != nil {
		return unavailable(err)
	}
	r.Events.Eventf(s.ContainerMachine, nil, corev1.EventTypeNormal, "ResourcesChanged", "Update", "Changed the limits of container %s to %s", s.Container.Name, wanted)
	return nil
}

// planResources compares the limits of a running node with those that it is to have. Errors are a ResourceError,
// *noderesources.InUseError, and those of the engine.
func planResources(ctx context.Context, eng engine.Executor, host HostInfo, container string, wanted nodespec.Resources) (noderesources.Change, error) {
	info, err := host.Info(ctx)
	if err != nil {
		return noderesources.Change{}, fmt.Errorf("get host info: %w", err)
	}
	has := nodespec.Host{MilliCPU: int64(info.CPUs) * 1000, MemoryBytes: info.MemoryBytes}
	if refused := nodespec.CheckResources(wanted, has); len(refused) > 0 {
		return noderesources.Change{}, refused[0]
	}
	observed, err := noderesources.Observe(ctx, eng, container)
	if err != nil {
		return noderesources.Change{}, err
	}
	return noderesources.Plan(wanted, has, observed)
}
