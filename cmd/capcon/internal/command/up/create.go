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

package up

import (
	"cmp"
	"context"

	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/admission"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/input"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/management"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/objects"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
)

// decide the desired state of a new cluster: what was requested, completed by defaults.
// Images are on the engine afterwards.
func (r *run) decide(ctx context.Context) (objects.Values, error) {
	values, err := r.desired(ctx)
	if err != nil {
		return objects.Values{}, err
	}
	if err := r.decideImages(ctx, &values); err != nil {
		return objects.Values{}, err
	}
	return values, nil
}

// desired values of a new cluster but for its images.
func (r *run) desired(ctx context.Context) (objects.Values, error) {
	values := requested(r.request)
	values.InMemory = r.session.InMemory
	class, err := objects.ClassVariables()
	if err == nil {
		err = r.admit(ctx, class)
	}
	if err == nil && !values.InMemory {
		err = r.checkNetwork(ctx, values.Network)
	}
	if err == nil {
		err = r.decideRanges(ctx, &values)
	}
	return values, err
}

// admit the variables of a file as a management cluster does, before there is one.
func (r *run) admit(ctx context.Context, class []clusterv1.ClusterClassVariable) error {
	if r.request.Topology == nil {
		return nil
	}
	return input.Refuse(admission.Check(ctx, r.request.Topology, class)...)
}

// requested values of a new cluster, with the defaults that depend on nothing else.
func requested(request input.Request) objects.Values {
	values := objects.Values{
		Namespace: management.Namespace, Name: request.Name,
		KubernetesVersion: cmp.Or(request.KubernetesVersion, input.DefaultKubernetes()),
		ControlPlanes:     int32(ptr.Deref(request.ControlPlanes, 1)), //nolint:gosec // validated to be small
		Workers:           int32(ptr.Deref(request.Workers, 1)),       //nolint:gosec // validated to be small
		EngineName:        request.EngineName,
		EngineNames:       request.EngineNames,
		Network:           cmp.Or(request.Network, network.DefaultOf(request.Families())),
		Resources:         requestedResources(request),
		Topology:          request.Topology, ServiceDomain: request.ServiceDomain,
	}
	if request.Topology == nil {
		// Pods have no other node.
		values.AllowSchedulingOnControlPlanes = values.Workers == 0
		return values
	}
	values.Workers = 0
	for _, deployment := range request.Topology.Workers.MachineDeployments {
		values.Workers += ptr.Deref(deployment.Replicas, 1)
	}
	for _, pool := range request.Topology.Workers.MachinePools {
		values.Workers += ptr.Deref(pool.Replicas, 1)
	}
	return values
}
