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

package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/controllers/internal/reconcile"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/union"
	"github.com/capi-samples/cluster-api-provider-container/internal/haproxy"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/loadbalancer"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
)

// drainInterval is how often to check the health of backends while a machine waits to be
// drained.
const drainInterval = time.Second

// loadBalancerConfig is the desired configuration of the load balancer.
func (s *scope) loadBalancerConfig() haproxy.Config {
	backends := loadbalancer.Backends(s.controlPlanes, s.loadBalancer)
	config := haproxy.Config{Frontends: []haproxy.Frontend{haproxy.ControlPlane(s.frontendPort(), backends)}}
	if s.families().Has(network.IPv6) {
		// Clients on the host come over IPv4, through the published port.
		config.Family = haproxy.FamilyDual
	}
	ports := sets.New(s.containerCluster.Spec.LoadBalancer.AdditionalPorts...)
	for _, mapping := range s.containerCluster.Spec.LoadBalancer.PortMappings {
		ports.Insert(mapping.ContainerPort)
	}
	for _, port := range sets.List(ports) {
		config.Frontends = append(config.Frontends, additionalFrontend(uint16(port), backends)) //nolint:gosec // The API admits 1 to 65535.
	}
	return config
}

// additionalFrontend leads to the same port of the machines that API servers get
// connections on. A TCP connection is enough for its health: what listens there is not known.
func additionalFrontend(port uint16, machines []haproxy.Backend) haproxy.Frontend {
	backends := slices.Clone(machines)
	for i := range backends {
		backends[i].Port = port
	}
	return haproxy.Frontend{Name: fmt.Sprintf("port-%d", port), Port: port, Backends: backends}
}

// syncBackends gives the load balancer the machines there are now.
func (r *Reconciler) syncBackends(ctx context.Context, s *scope) error {
	if !s.hasLoadBalancer() {
		return nil
	}
	config := s.loadBalancerConfig()
	generation := s.loadBalancer.Generation
	var err error
	s.loadBalancer, err = loadbalancer.Sync(ctx, s.Engine, s.loadBalancer, config)
	if err != nil {
		return s.loadBalancerError(fmt.Errorf("synchronize load balancer: %w", err))
	}
	if s.loadBalancer.Generation != generation {
		r.Events.Eventf(s.containerCluster, nil, corev1.EventTypeNormal, "LoadBalancerConfigured", "Reload",
			"Load balancer %s now has %d backends", s.loadBalancer.Name, len(config.Frontends[0].Backends))
	}
	r.reportLoadBalancer(s)
	if draining(s.controlPlanes, config) {
		s.reported = append(s.reported, reconcile.Wait{After: drainInterval})
	}
	return nil
}

// reportLoadBalancer reports whether a load balancer that is healthy now was
// healthy when this reconcile started. An exit is reported once, even though it
// is repaired: the next reconcile, which its start causes, finds it ready.
func (r *Reconciler) reportLoadBalancer(s *scope) {
	before, name := s.loadBalancerBefore, s.loadBalancer.Name
	exit, remaining := r.Exits.Recent(s.loadBalancer.ID)
	report := func(reason, message string, again time.Duration) {
		outcome := reconcile.Wait{Reason: reason, Message: message, After: again}
		s.Report(outcome)
		s.reported = append(s.reported, outcome)
	}
	switch {
	case s.wasProvisioned && !before.Exists:
		report(infrav1.LoadBalancerNotRunningReason, fmt.Sprintf("container %s was not found and has been recreated", name), time.Second)
	case s.wasProvisioned && !before.Running:
		report(infrav1.LoadBalancerNotRunningReason, fmt.Sprintf("container %s %s and has been started again", name, before.Exit), time.Second)
	case remaining > 0:
		report(infrav1.LoadBalancerRestartedReason, fmt.Sprintf("container %s %s and was restarted", name, exit), remaining)
	case before.Running && before.ID != s.loadBalancer.ID:
		report(infrav1.LoadBalancerNotRunningReason, fmt.Sprintf("container %s lost its network or address and has been recreated", name), time.Second)
	default:
		s.setCondition(infrav1.LoadBalancerReadyCondition, metav1.ConditionTrue, infrav1.LoadBalancerReadyReason, "")
	}
}

// draining reports whether a machine that is going away still gets
// connections, because no other is known to be up. haproxy sends no event
// when one becomes so: the caller has to requeue.
func draining(machines []loadbalancer.Machine, config haproxy.Config) bool {
	return slices.ContainsFunc(config.Frontends[0].Backends, func(backend haproxy.Backend) bool {
		return backend.Weight > 0 && slices.ContainsFunc(machines, func(machine loadbalancer.Machine) bool {
			return machine.Deleting && machine.Container == backend.Name
		})
	})
}

// listControlPlanes returns the containers of the cluster that have an API server, or
// will. A stopped one stays a backend: its health check keeps connections
// away, and it needs no reload when it comes back.
func (r *Reconciler) listControlPlanes(ctx context.Context, s *scope) ([]loadbalancer.Machine, error) {
	selector := s.owner().Select(map[string]string{identity.LabelRole: string(identity.RoleControlPlane)})
	containers, err := s.Engine.ListContainers(ctx, selector)
	partial, isPartial := errors.AsType[*union.PartialError](err)
	if err != nil && !isPartial {
		return nil, fmt.Errorf("list containers: %w", err)
	}
	known, err := r.listMachines(ctx, s)
	if err != nil {
		return nil, err
	}
	machines := make([]loadbalancer.Machine, 0, len(containers))
	if isPartial {
		if machines, err = r.recordedControlPlanes(ctx, s, known, partial); err != nil {
			return nil, err
		}
	}
	for _, container := range containers {
		address := s.families().First(network.Addresses(container, s.networkName()))
		if !address.IsValid() || container.Status == engine.StatusCreated || container.Status == engine.StatusRemoving {
			continue
		}
		machines = append(machines, loadbalancer.Machine{
			Container: container.Name,
			Address:   address,
			Port:      s.backendPort(),
			Deleting:  known.deleting.Has(container.Labels[identity.LabelMachine]),
		})
	}
	return machines, nil
}

// machines of a cluster, which the load balancer follows.
type machines struct {
	// controlPlane and deleting are names of ContainerMachines. The Machine knows first
	// that one is going away: its infrastructure is deleted only after the etcd member was
	// removed, when no connection should arrive any more.
	controlPlane, deleting sets.Set[string]
	// remaining are the ContainerMachines that are not being deleted themselves.
	remaining sets.Set[string]
}

// serveAPI reports whether a control plane still has its container.
func (m machines) serveAPI() bool { return m.controlPlane.HasAny(m.remaining.UnsortedList()...) }

func (r *Reconciler) listMachines(ctx context.Context, s *scope) (machines, error) {
	listed := machines{controlPlane: sets.New[string](), deleting: sets.New[string](), remaining: sets.New[string]()}
	inCluster := []client.ListOption{
		client.InNamespace(s.containerCluster.Namespace),
		client.MatchingLabels{clusterv1.ClusterNameLabel: s.cluster.Name},
	}
	list := &clusterv1.MachineList{}
	if err := r.Client.List(ctx, list, inCluster...); err != nil {
		return machines{}, fmt.Errorf("list Machines: %w", err)
	}
	for i := range list.Items {
		machine := &list.Items[i]
		if util.IsControlPlaneMachine(machine) {
			listed.controlPlane.Insert(machine.Spec.InfrastructureRef.Name)
		}
		if !machine.DeletionTimestamp.IsZero() {
			listed.deleting.Insert(machine.Spec.InfrastructureRef.Name)
		}
	}
	containerMachines := &infrav1.ContainerMachineList{}
	if err := r.Client.List(ctx, containerMachines, inCluster...); err != nil {
		return machines{}, fmt.Errorf("list ContainerMachines: %w", err)
	}
	for i := range containerMachines.Items {
		if machine := &containerMachines.Items[i]; machine.DeletionTimestamp.IsZero() {
			listed.remaining.Insert(machine.Name)
		} else {
			listed.deleting.Insert(machine.Name)
		}
	}
	return listed, nil
}
