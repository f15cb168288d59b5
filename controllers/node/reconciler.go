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

// Package node has the phases of a reconcile of a ContainerMachine that follow its container:
// they complete its Node, give it the registries and images of its cluster, and update it in place.
package node

import (
	"context"
	"sync"

	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/clustercache"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/controllers/internal/reconcile"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

// Reconciler completes nodes. It is called by the reconciler of ContainerMachines.
type Reconciler struct {
	Client client.Client
	// Live reads what a cache would have to watch.
	Live   client.Reader
	Events events.EventRecorder
	// ClusterCache reaches workload clusters.
	ClusterCache clustercache.ClusterCache

	// resources has the appliedResources, by the key of their ContainerMachine.
	resources sync.Map
	// registries has the cachedRegistries, by the key of their ContainerMachine.
	registries sync.Map
	// images has the IDs of containers that have all images of their cluster, with these, by
	// the key of their ContainerMachine.
	images sync.Map
	// copying is held while an image of the engine is copied into a node of any cluster.
	copying sync.Mutex
}

// HostInfo says what the engine's host has.
type HostInfo interface {
	Info(ctx context.Context) (engine.Info, error)
}

// Scope is one reconcile of a machine whose container has started.
type Scope struct {
	Cluster *clusterv1.Cluster
	// ContainerCluster is nil where it is gone.
	ContainerCluster *infrav1.ContainerCluster
	Machine          *clusterv1.Machine
	ContainerMachine *infrav1.ContainerMachine
	Container        engine.Container
	// Engine of the container, and Host, which says how large that of the engine is.
	Engine engine.Engine
	Host   HostInfo
}

// isNode reports whether Cluster API has found the machine's Node.
func (s Scope) isNode() bool { return s.Machine.Status.NodeRef.IsDefined() }

// Reconcile runs the phases.
func (r *Reconciler) Reconcile(ctx context.Context, s Scope) error {
	// Cluster API finds a Node by its provider ID: nothing else is of use before.
	if err := r.initialize(ctx, s); err != nil {
		return err
	}
	// These do not wait for each other.
	return reconcile.Join(r.exclude(ctx, s), r.configureResources(ctx, s), r.configureRegistries(ctx, s), r.copyImages(ctx, s), r.updateInPlace(ctx, s))
}

// Forget a ContainerMachine that is gone.
func (r *Reconciler) Forget(key client.ObjectKey) {
	r.resources.Delete(key)
	r.registries.Delete(key)
	r.images.Delete(key)
}
