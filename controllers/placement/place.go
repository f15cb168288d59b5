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

// Package placement chooses the engines of clusters, and counts what clusters have of engines.
//
// A reservation is part of the ContainerEngine, and is written before the cluster names that engine: of two
// clusters that are placed concurrently, the API server accepts the reservation of one, and the other is
// placed again with what remains.
package placement

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/controllers/engines"
)

// NoEngineError says why no engine can have a cluster, or what it consists of.
type NoEngineError struct {
	// What is to be placed; empty = the cluster.
	What string
	// Reasons of each engine that the cluster selects, by its name.
	Reasons []string
	// Full says that one of them lacks the capacity.
	Full bool
}

// Error implements error.
func (e *NoEngineError) Error() string {
	if len(e.Reasons) == 0 {
		return "spec.engineSelector selects no ContainerEngine of the namespace"
	}
	text := "no ContainerEngine can have the " + cmp.Or(e.What, "cluster") + ": " + strings.Join(e.Reasons, "; ")
	if e.Full {
		text += "; set a larger spec.capacity of the engine, smaller limits, or add another engine"
	}
	return text
}

// Place reserves what a cluster needs on its engine. For a cluster that is to be placed, it chooses the engine, and
// writes that to the cluster: a *NoEngineError where there is none, and a conflict where an engine was changed
// meanwhile.
func Place(ctx context.Context, c client.Client, cluster *clusterv1.Cluster, containerCluster *infrav1.ContainerCluster) error {
	if len(containerCluster.Spec.EngineNames) > 0 {
		return nil // Its machines are placed, each by itself.
	}
	if !engines.IsUnplaced(containerCluster) {
		return renew(ctx, c, cluster, containerCluster)
	}
	chosen, err := choose(ctx, c, cluster, containerCluster)
	if err != nil {
		return err
	}
	if err := reserve(ctx, c, chosen, containerCluster.Name, Needs(cluster, containerCluster, chosen.Spec.Capacity)); err != nil {
		return err
	}
	before := containerCluster.DeepCopy()
	containerCluster.Spec.EngineName = chosen.Name
	if err := c.Patch(ctx, containerCluster, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("write engine of the cluster: %w", err)
	}
	return nil
}

// renew the reservation of a cluster that has its engine, if that is known: it follows the Cluster.
func renew(ctx context.Context, c client.Client, cluster *clusterv1.Cluster, containerCluster *infrav1.ContainerCluster) error {
	name := engines.NameOf(containerCluster)
	if name.Name == "" {
		return nil
	}
	engine := &infrav1.ContainerEngine{}
	if err := c.Get(ctx, name, engine); err != nil || !engine.DeletionTimestamp.IsZero() {
		return client.IgnoreNotFound(err)
	}
	return reserve(ctx, c, engine, containerCluster.Name, Needs(cluster, containerCluster, engine.Spec.Capacity))
}

// reserve with an optimistic lock: a caller that read the engine before another reservation was
// written requeues.
func reserve(ctx context.Context, c client.Client, engine *infrav1.ContainerEngine, cluster string, needs Resources) error {
	before := engine.DeepCopy()
	made := infrav1.EngineReservation{ClusterName: cluster, CPU: &needs.CPU, Memory: &needs.Memory}
	at := slices.IndexFunc(engine.Spec.Reservations, func(r infrav1.EngineReservation) bool { return r.ClusterName == cluster })
	switch {
	case at < 0:
		engine.Spec.Reservations = append(engine.Spec.Reservations, made)
	case isEqual(resourcesOf(engine.Spec.Reservations[at]), needs):
		return nil
	default:
		engine.Spec.Reservations[at] = made
	}
	if err := c.Patch(ctx, engine, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("reserve on ContainerEngine %q: %w", engine.Name, err)
	}
	return nil
}

func isEqual(a, b Resources) bool { return a.CPU.Cmp(b.CPU) == 0 && a.Memory.Cmp(b.Memory) == 0 }

// Release removes the reservations of clusters that are not on the engine.
func Release(ctx context.Context, c client.Client, engine *infrav1.ContainerEngine) error {
	clusters := &infrav1.ContainerClusterList{}
	if err := c.List(ctx, clusters, client.InNamespace(engine.Namespace)); err != nil {
		return fmt.Errorf("list ContainerClusters: %w", err)
	}
	current := Current(engine, clusters.Items)
	if len(current) == len(engine.Spec.Reservations) {
		return nil
	}
	before := engine.DeepCopy()
	engine.Spec.Reservations = current
	if err := c.Patch(ctx, engine, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("release reservations: %w", err)
	}
	return nil
}

// choose the engine that has the most memory left, and of several of them the one that has the most CPUs left. One that
// already has a reservation of the cluster is the one.
func choose(ctx context.Context, c client.Client, cluster *clusterv1.Cluster, containerCluster *infrav1.ContainerCluster) (*infrav1.ContainerEngine, error) {
	inventory, err := ReadInventory(ctx, c, containerCluster.Namespace)
	if err != nil {
		return nil, err
	}
	selector, err := metav1.LabelSelectorAsSelector(containerCluster.Spec.EngineSelector)
	if err != nil {
		return nil, fmt.Errorf("read spec.engineSelector: %w", err)
	}
	var best *candidate
	var reasons []string
	full := false
	for i := range inventory.Engines {
		engine := &inventory.Engines[i]
		if !selector.Matches(labels.Set(engine.Labels)) {
			continue
		}
		this := newCandidate(engine, containerCluster.Name, UsageOf(engine, inventory.Clusters, inventory.Machines))
		needs := Needs(cluster, containerCluster, engine.Spec.Capacity)
		if reason := this.refuses("cluster", needs); reason != "" {
			reasons, full = append(reasons, engine.Name+" "+reason), full || this.lacks(needs)
			continue
		}
		if best == nil || this.precedes(best) {
			best = this
		}
	}
	if best == nil {
		slices.Sort(reasons)
		return nil, &NoEngineError{Reasons: reasons, Full: full}
	}
	return best.engine, nil
}

type candidate struct {
	engine *infrav1.ContainerEngine
	// reserved says that the cluster has a reservation there.
	reserved bool
	free     infrav1.EngineResources
}

func newCandidate(engine *infrav1.ContainerEngine, cluster string, usage Usage) *candidate {
	this := &candidate{engine: engine}
	for _, reservation := range engine.Spec.Reservations {
		if reservation.ClusterName == cluster {
			this.reserved = true
			own := resourcesOf(reservation)
			usage.Reserved.CPU.Sub(own.CPU)
			usage.Reserved.Memory.Sub(own.Memory)
		}
	}
	total := infrav1.EngineResources{CPU: engine.Spec.Capacity.CPU, Memory: engine.Spec.Capacity.Memory}
	if total.CPU == nil {
		total.CPU = engine.Status.Capacity.CPU
	}
	if total.Memory == nil {
		total.Memory = engine.Status.Capacity.Memory
	}
	this.free = Free(total, usage.Reserved)
	return this
}

// refuses says why the engine cannot have what is to be placed; empty = it can.
func (c *candidate) refuses(what string, needs Resources) string {
	spec := c.engine.Spec
	switch {
	case !c.engine.DeletionTimestamp.IsZero():
		return "is being deleted"
	case ptr.Deref(spec.Lost, false):
		return "is lost"
	case len(spec.Debts) > 0:
		return "has what deleted clusters left there while it was lost"
	case ptr.Deref(spec.Maintenance, false):
		return "is in maintenance"
	case !conditions.IsTrue(c.engine, infrav1.EngineReadyCondition):
		return "is not ready: " + conditions.GetReason(c.engine, infrav1.EngineReadyCondition)
	case c.free.CPU == nil || c.free.Memory == nil:
		return "has no known capacity: set spec.capacity"
	case c.free.CPU.Cmp(needs.CPU) < 0:
		return fmt.Sprintf("has %s CPUs free, and the %s needs %s", c.free.CPU, what, &needs.CPU)
	case c.free.Memory.Cmp(needs.Memory) < 0:
		return fmt.Sprintf("has %s of memory free, and the %s needs %s", c.free.Memory, what, &needs.Memory)
	}
	return ""
}

// lacks reports whether the engine is known not to have the capacity.
func (c *candidate) lacks(needs Resources) bool {
	return c.free.CPU != nil && c.free.CPU.Cmp(needs.CPU) < 0 || c.free.Memory != nil && c.free.Memory.Cmp(needs.Memory) < 0
}

func (c *candidate) precedes(other *candidate) bool {
	if c.reserved != other.reserved {
		return c.reserved
	}
	if memory := c.free.Memory.Cmp(*other.free.Memory); memory != 0 {
		return memory > 0
	}
	if cpu := c.free.CPU.Cmp(*other.free.CPU); cpu != 0 {
		return cpu > 0
	}
	return c.engine.Name < other.engine.Name
}

// IsConflict reports whether an engine was changed while a cluster was placed: it is placed again.
func IsConflict(err error) bool { return apierrors.IsConflict(err) }
