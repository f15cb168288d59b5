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

// Package debts records what deleted clusters and machines left on engines that are lost.
//
// A debt is part of the ContainerEngine. It is written before the finalizer of the object goes, with an optimistic
// lock: the API server accepts it only while spec.lost is still true. Package containerengine removes what is left once the
// engine is back, and the debt after that.
package debts

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/controllers/engines"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
)

// LostEngine returns the ContainerEngine that an object is on, if its administrator says that it is lost. It returns nil
// for an engine that only does not respond.
func LostEngine(ctx context.Context, c client.Reader, object client.Object) (*infrav1.ContainerEngine, error) {
	name := engines.NameOf(object)
	if name == (types.NamespacedName{}) {
		return nil, nil
	}
	engine := &infrav1.ContainerEngine{}
	if err := c.Get(ctx, name, engine); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	if !ptr.Deref(engine.Spec.Lost, false) {
		return nil, nil
	}
	return engine, nil
}

// OfCluster is the debt of a cluster that is deleted. retained are the PersistentVolumes for which its volume is kept.
func OfCluster(owner identity.Owner, network, retained string) infrav1.EngineDebt {
	debt := infrav1.EngineDebt{Name: owner.ID, ClusterName: owner.Cluster, OwnerID: owner.ID, NetworkName: network}
	if retained != "" {
		debt.VolumeRetained = ptr.To(true)
	}
	return debt
}

// OfContainer is the debt of a container, of a machine that is deleted or a load balancer that is created elsewhere. The ID of the owner
// may not be known. No other container gets the addresses meanwhile.
func OfContainer(owner identity.Owner, container string, addresses ...string) infrav1.EngineDebt {
	return infrav1.EngineDebt{
		Name: cmp.Or(owner.ID, container), ClusterName: owner.Cluster, OwnerID: owner.ID, Containers: []string{container}, Addresses: addresses,
	}
}

// OwnerOf a debt of an engine.
func OwnerOf(engine *infrav1.ContainerEngine, debt infrav1.EngineDebt) identity.Owner {
	return identity.Owner{Namespace: engine.Namespace, Cluster: debt.ClusterName, ID: debt.OwnerID}
}

// Names of those that have left something on an engine, sorted: of clusters as far as they are known.
func Names(engine *infrav1.ContainerEngine) []string {
	names := make([]string, 0, len(engine.Spec.Debts))
	for _, debt := range engine.Spec.Debts {
		names = append(names, cmp.Or(debt.ClusterName, debt.Name))
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Record a debt of an engine that is lost. What is recorded already is not written again. A conflict says that the engine was
// changed meanwhile, and may be back.
func Record(ctx context.Context, c client.Client, engine *infrav1.ContainerEngine, debt infrav1.EngineDebt) error {
	return write(ctx, c, engine, add(engine.Spec.Debts, debt))
}

// Remove the records of debts that are paid.
func Remove(ctx context.Context, c client.Client, engine *infrav1.ContainerEngine, names ...string) error {
	return write(ctx, c, engine, slices.DeleteFunc(slices.Clone(engine.Spec.Debts), func(debt infrav1.EngineDebt) bool {
		return slices.Contains(names, debt.Name)
	}))
}

func write(ctx context.Context, c client.Client, engine *infrav1.ContainerEngine, debts []infrav1.EngineDebt) error {
	if equality.Semantic.DeepEqual(engine.Spec.Debts, debts) {
		return nil
	}
	before := engine.DeepCopy()
	engine.Spec.Debts = debts
	if err := c.Patch(ctx, engine, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("write debts of ContainerEngine %q: %w", engine.Name, err)
	}
	return nil
}

// add a debt to others. That of a cluster has those of its machines in it.
func add(debts []infrav1.EngineDebt, debt infrav1.EngineDebt) []infrav1.EngineDebt {
	debts = slices.Clone(debts)
	at := slices.IndexFunc(debts, func(other infrav1.EngineDebt) bool { return other.Name == debt.Name })
	switch {
	case at < 0:
		return append(debts, debt)
	case debt.NetworkName != "":
		debt.Addresses = merged(debts[at].Addresses, debt.Addresses)
		debts[at] = debt
	case debts[at].NetworkName == "":
		debts[at].Containers = merged(debts[at].Containers, debt.Containers)
		debts[at].Addresses = merged(debts[at].Addresses, debt.Addresses)
	}
	return debts
}

func merged(some, others []string) []string {
	all := slices.Concat(some, others)
	slices.Sort(all)
	return slices.Compact(all)
}
