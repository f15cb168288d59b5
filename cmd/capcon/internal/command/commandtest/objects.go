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

package commandtest

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/management"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// Cluster demo.
func (w *World) Cluster() *clusterv1.Cluster {
	w.T.Helper()
	cluster := &clusterv1.Cluster{}
	w.Get("demo", cluster)
	return cluster
}

// Get an object of namespace default.
func (w *World) Get(name string, object client.Object) {
	w.T.Helper()
	must.Succeed(w.T, w.Client.Get(w.T.Context(), client.ObjectKey{Namespace: "default", Name: name}, object))
}

// Update an object of namespace default by a function.
func Update[T client.Object](w *World, name string, object T, change func(T)) {
	w.T.Helper()
	w.Get(name, object)
	change(object)
	must.Succeed(w.T, w.Client.Update(w.T.Context(), object))
}

// Create objects in the management plane.
func (w *World) Create(objects ...client.Object) {
	w.T.Helper()
	for _, object := range objects {
		must.Succeed(w.T, w.Client.Create(w.T.Context(), object))
	}
}

// Clusters of the management plane.
func (w *World) Clusters() []string {
	clusters, err := management.Clusters(w.T.Context(), w.Client)
	if err != nil {
		w.T.Error(err)
	}
	var names []string
	for _, cluster := range clusters {
		names = append(names, cluster.Namespace+"/"+cluster.Name)
	}
	return names
}

// Containers of the engine.
func (w *World) Containers() []string {
	w.T.Helper()
	var names []string
	for _, container := range must.Get(w.Engine.ListContainers(w.T.Context(), nil))(w.T) {
		names = append(names, container.Name)
	}
	return names
}

// AddContainer runs one of a role for a cluster of namespace default.
func (w *World) AddContainer(name, cluster, ownerID string, role identity.Role) {
	w.T.Helper()
	w.AddContainerOn(w.Engine, name, identity.Owner{Namespace: "default", Cluster: cluster, ID: ownerID}, role)
}

// AddContainerOn runs one of a role on an engine.
func (w *World) AddContainerOn(on *simulated.Engine, name string, owner identity.Owner, role identity.Role) {
	w.T.Helper()
	machine := name
	if role.IsLoadBalancer() {
		machine = ""
	}
	spec := engine.Spec{Name: name, Image: NodeImage, Labels: owner.ContainerLabels(role, machine)}
	if _, err := on.InspectNetwork(w.T.Context(), network.DefaultName); err == nil {
		spec.Attachment.Network = network.DefaultName
	}
	must.Get(on.CreateContainer(w.T.Context(), spec))(w.T)
	must.Succeed(w.T, on.StartContainer(w.T.Context(), name))
}
