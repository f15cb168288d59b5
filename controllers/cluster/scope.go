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
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/cluster-api/util/patch"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/controllers/engines"
	"github.com/capi-samples/cluster-api-provider-container/controllers/internal/reconcile"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/loadbalancer"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
)

// defaultPort of an API server that neither Cluster nor ContainerCluster
// names; kubeadm's.
const defaultPort = 6443

// scope is one reconcile of one ContainerCluster.
type scope struct {
	// Connection to the engine of the cluster.
	*engines.Connection

	// cluster is nil where it is gone and only deletion is left.
	cluster          *clusterv1.Cluster
	containerCluster *infrav1.ContainerCluster

	// nowhere: nothing of the cluster can have been created.
	nowhere bool
	// controlPlanes are the machines that the load balancer serves.
	controlPlanes []loadbalancer.Machine
	// loadBalancer as observed by this reconcile.
	loadBalancer loadbalancer.State
	// loadBalancerBefore is its state when this reconcile started, and
	// wasProvisioned whether Cluster API already had the infrastructure as provisioned.
	loadBalancerBefore loadbalancer.State
	wasProvisioned     bool
	// reported are errors that did not stop this reconcile.
	reported []error
	// conditions as they were before this reconcile.
	conditions []metav1.Condition
}

func newScope(cluster *clusterv1.Cluster, containerCluster *infrav1.ContainerCluster) *scope {
	s := &scope{
		cluster: cluster, containerCluster: containerCluster,
		conditions: slices.Clone(containerCluster.Status.Conditions),
	}
	s.wasProvisioned = s.provisioned()
	return s
}

// owner of everything on the engine that belongs to the cluster.
func (s *scope) owner() identity.Owner {
	name := s.containerCluster.Labels[clusterv1.ClusterNameLabel]
	if s.cluster != nil {
		name = s.cluster.Name
	}
	return identity.Owner{
		Namespace: s.containerCluster.Namespace,
		Cluster:   name,
		ID:        s.containerCluster.Spec.OwnerID,
	}
}

func (s *scope) networkName() string { return networkName(s.containerCluster) }

func networkName(containerCluster *infrav1.ContainerCluster) string {
	return cmp.Or(containerCluster.Spec.Network.Name, network.DefaultName)
}

// families of the cluster on its network.
func (s *scope) families() network.Families { return Families(s.cluster, s.containerCluster) }

// Families of a Cluster on the network of its infrastructure, which may be nil. A network that lacks one has a
// cluster that was provisioned before its families were checked: nothing of it changes.
func Families(cluster *clusterv1.Cluster, infrastructure *infrav1.ContainerCluster) network.Families {
	if infrastructure == nil {
		return rangesFamilies(cluster)
	}
	var subnets []netip.Prefix
	for _, text := range infrastructure.Status.Network.Subnets {
		if subnet, err := netip.ParsePrefix(text); err == nil {
			subnets = append(subnets, subnet)
		}
	}
	return rangesFamilies(cluster).On(subnets)
}

// rangesFamilies are those of a Cluster's ranges; IPv4 where they are invalid: its infrastructure was provisioned
// before they were checked.
func rangesFamilies(cluster *clusterv1.Cluster) network.Families {
	if families, err := familiesOf(cluster); err == nil {
		return families
	}
	return network.Families{network.IPv4}
}

// familiesOf a Cluster, or a *network.RangesError.
func familiesOf(cluster *clusterv1.Cluster) (network.Families, error) {
	ranges := cluster.Spec.ClusterNetwork
	return network.FamiliesOf(ranges.Pods.CIDRBlocks, ranges.Services.CIDRBlocks)
}

// isAdvertised reports whether the endpoint is, or will be, the port that the load balancer
// publishes on the engine's host.
func (s *scope) isAdvertised() bool {
	if s.Connection == nil || s.Joint() != nil || s.Placement.AdvertiseAddress == "" || !s.hasLoadBalancer() {
		return false
	}
	host := cmp.Or(s.containerCluster.Spec.ControlPlaneEndpoint.Host, s.cluster.Spec.ControlPlaneEndpoint.Host)
	return s.IsRemote() || host == "" || host == s.Placement.AdvertiseAddress
}

// endpointPort is the one that clients connect to.
func (s *scope) endpointPort() uint16 {
	port := cmp.Or(s.containerCluster.Spec.ControlPlaneEndpoint.Port, s.cluster.Spec.ControlPlaneEndpoint.Port, int32(s.backendPort()))
	return uint16(port) //nolint:gosec // The API admits 1 to 65535.
}

// frontendPort is the one that the load balancer listens on. An advertised endpoint has the port that
// it is published as.
func (s *scope) frontendPort() uint16 {
	if s.isAdvertised() {
		return s.backendPort()
	}
	return s.endpointPort()
}

// hostPort is the one of the engine's host that leads to the load balancer; 0 = any. On the engine of an object
// it is the port of the endpoint.
func (s *scope) hostPort() int32 {
	port := s.containerCluster.Spec.LoadBalancer.HostPort
	if s.IsRemote() {
		port = cmp.Or(port, s.containerCluster.Spec.ControlPlaneEndpoint.Port, s.cluster.Spec.ControlPlaneEndpoint.Port)
	}
	return port
}

// hostAddress is where the host listens; empty = 127.0.0.1. The endpoint of a cluster on the engine of an object
// is an address of the host, whose interfaces are not known.
func (s *scope) hostAddress() string {
	address := s.containerCluster.Spec.LoadBalancer.HostAddress
	if address != "" || !s.IsRemote() {
		return address
	}
	if advertised, err := netip.ParseAddr(s.Placement.AdvertiseAddress); err == nil && advertised.Is6() {
		return netip.IPv6Unspecified().String()
	}
	return netip.IPv4Unspecified().String()
}

// backendPort is the one API servers listen on.
func (s *scope) backendPort() uint16 {
	return uint16(cmp.Or(s.cluster.Spec.ClusterNetwork.APIServerPort, defaultPort)) //nolint:gosec // The API admits 1 to 65535.
}

func (s *scope) provisioned() bool {
	return ptr.Deref(s.containerCluster.Status.Initialization.Provisioned, false)
}

func (s *scope) hasLoadBalancer() bool {
	return s.containerCluster.Spec.LoadBalancer.Type != infrav1.LoadBalancerNone
}

// continueOnError makes a phase one whose outcome does not stop the reconcile of a
// cluster that was once provisioned.
func (s *scope) continueOnError(run reconcile.Phase[*scope]) reconcile.Phase[*scope] {
	return func(ctx context.Context, s *scope) error {
		outcome := run(ctx, s)
		if outcome == nil || !s.provisioned() {
			return outcome
		}
		s.Report(outcome)
		s.reported = append(s.reported, outcome)
		return nil
	}
}

// reportContinued returns the outcomes that continueOnError has kept.
func (s *scope) reportContinued(context.Context, *scope) error {
	return reconcile.Join(s.reported...)
}

// Report sets the conditions for an outcome: of its own, or else LoadBalancerReady.
func (s *scope) Report(outcome error) {
	reconcile.Report(s.containerCluster, infrav1.LoadBalancerReadyCondition, outcome)
}

func (s *scope) setCondition(conditionType string, status metav1.ConditionStatus, reason, message string) {
	reconcile.SetCondition(s.containerCluster, metav1.Condition{
		Type: conditionType, Status: status, Reason: reason, Message: message,
	})
}

// ownConditions are those the cluster controller writes, in the order in
// which a summary names them.
func ownConditions() []string {
	return []string{
		infrav1.PreflightPassedCondition,
		infrav1.NetworkReadyCondition,
		infrav1.LoadBalancerReadyCondition,
	}
}

// patch writes what the reconcile observed, with Ready as its summary, and reports
// the infrastructure as provisioned to Cluster API last.
func (s *scope) patch(ctx context.Context, c client.Client, helper *patch.Helper) error {
	// A failed preflight keeps new nodes from starting; it does not make a
	// network and a load balancer that work unready.
	summarized := []string{infrav1.NetworkReadyCondition, infrav1.LoadBalancerReadyCondition}
	if !s.provisioned() {
		summarized = ownConditions()
	}
	if err := conditions.SetSummaryCondition(s.containerCluster, s.containerCluster, infrav1.ClusterReadyCondition,
		conditions.ForConditionTypes(summarized),
		conditions.CustomMergeStrategy{MergeStrategy: conditions.DefaultMergeStrategy(
			conditions.ComputeReasonFunc(conditions.GetDefaultComputeMergeReasonFunc(
				clusterv1.NotReadyReason, clusterv1.ReadyUnknownReason, clusterv1.ReadyReason,
			)),
		)},
	); err != nil {
		return fmt.Errorf("summarize conditions: %w", err)
	}
	reconcile.SettleConditions(s.containerCluster, s.conditions)
	owned := append(ownConditions(), infrav1.ClusterReadyCondition, clusterv1.PausedCondition)
	initialization := &s.containerCluster.Status.Initialization
	provisioned := initialization.Provisioned
	if !s.wasProvisioned {
		initialization.Provisioned = nil
	}
	if err := helper.Patch(ctx, s.containerCluster, patch.WithOwnedConditions{Conditions: owned}); err != nil {
		return fmt.Errorf("patch ContainerCluster: %w", err)
	}
	if s.wasProvisioned || provisioned == nil {
		return nil
	}
	// The helper writes the status of an object whose spec was refused too, and
	// without its endpoint no cluster is provisioned.
	before := s.containerCluster.DeepCopy()
	initialization.Provisioned = provisioned
	if err := c.Status().Patch(ctx, s.containerCluster, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("mark ContainerCluster as provisioned: %w", err)
	}
	return nil
}
