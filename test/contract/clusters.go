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

package contract

// clusters are the rules for the infrastructure of a Cluster.
func clusters() []Rule {
	const (
		reconciler = "controllers/cluster/reconciler.go"
		balancer   = "controllers/cluster/loadbalancer.go"
		deletion   = "controllers/cluster/delete.go"
		admission  = "internal/webhooks/containercluster.go"
	)
	return []Rule{
		{ID: "IC1", Says: "spec.controlPlaneEndpoint has host and port, and is never empty.", Proof: Proof{
			contractTests, "TestFields", clustersCRD, "                    maxLength: 512\n                    minLength: 1\n                    type: string\n                  port:", "                    type: string\n                  port:",
		}},
		{ID: "IC1", Says: "It is complete when the cluster is provisioned.", Proof: Proof{
			contractTests, "TestProvisionedComesWithTheRest", balancer, "spec.ControlPlaneEndpoint.Port = int32(s.endpointPort())", "spec.ControlPlaneEndpoint.Port = 0",
		}},
		{ID: "IC2", Says: "It stays for life: Cluster API reads it once.", Proof: Proof{
			webhookTests, "TestChanges/EndpointHost", admission,
			`errs := pinned(endpoint.Child("host"), before.Spec.ControlPlaneEndpoint.Host, after.Spec.ControlPlaneEndpoint.Host,`,
			`errs := pinned(endpoint.Child("host"), "", after.Spec.ControlPlaneEndpoint.Host,`,
		}},
		{ID: "IC2", Says: "A load balancer that is made again has the same port.", Proof: Proof{
			clusterTests, "TestSituations/LoadBalancerGoneAndPortTaken", balancer, "HostPort:  uint16(s.containerCluster.Spec.LoadBalancer.HostPort),", "HostPort:  0 * uint16(s.containerCluster.Spec.LoadBalancer.HostPort),",
		}},
		{ID: "IC3", Says: "Where somebody else serves it, it is waited for.", Proof: Proof{
			clusterTests, "TestSituations/NoneWithoutEndpoint", balancer,
			`if s.containerCluster.Spec.ControlPlaneEndpoint.Host == "" && s.cluster.Spec.ControlPlaneEndpoint.Host == "" {`, "if false {",
		}},
		{ID: "IC4", Says: "One that the user gives is kept.", Proof: Proof{
			clusterTests, "TestSituations/AddressGiven", balancer, "Addresses: s.pinnedAddresses(),", "Addresses: s.pinnedAddresses()[:0],",
		}},
		{ID: "IC4", Says: "So is one that the Cluster has.", Proof: Proof{
			clusterTests, "TestSituations/NoneWithEndpointOfCluster", balancer, "spec.ControlPlaneEndpoint.Host = s.cluster.Spec.ControlPlaneEndpoint.Host", "_ = s.cluster.Spec.ControlPlaneEndpoint.Host",
		}},
		{ID: "IC5", Says: "Who does not set it does not own it: the topology controller leaves it to us.", Proof: Proof{
			contractTests, "TestEmptyFieldsAreAbsent/ContainerCluster", "api/v1alpha1/containercluster_types.go",
			"Spec ContainerClusterSpec `json:\"spec,omitempty,omitzero\"`", "Spec ContainerClusterSpec `json:\"spec\"`",
		}},
		{ID: "IC6", Says: "Failure domains are published.", Proof: Proof{
			clusterTests, "TestSituations/Provisioned", balancer, "s.containerCluster.Status.FailureDomains = spec.FailureDomains", "s.containerCluster.Status.FailureDomains = nil",
		}},
		{ID: "IC6", Says: "They are a list by name, of at most 100.", Proof: Proof{
			contractTests, "TestFields", clustersCRD, "                x-kubernetes-list-map-keys:\n                - name\n                x-kubernetes-list-type: map\n              initialization:", "              initialization:",
		}},
		{ID: "IC7", Says: "status.initialization.provisioned becomes true.", Proof: Proof{
			clusterTests, "TestSituations/Provisioned", balancer, "s.containerCluster.Status.Initialization.Provisioned = ptr.To(true)", "s.containerCluster.Status.Initialization.Provisioned = ptr.To(false)",
		}},
		{ID: "IC7", Says: "And stays so whatever happens.", Proof: Proof{
			clusterTests, "TestSituations/LoadBalancerGoneAndPortTaken", balancer,
			"	name := s.owner().LoadBalancerContainer()\n", "	name := s.owner().LoadBalancerContainer()\n	s.containerCluster.Status.Initialization.Provisioned = nil\n",
		}},
		{ID: "IC8", Says: "An object that vanishes after it was provisioned is an error: a finalizer keeps it.", Proof: Proof{
			contractTests, "TestResilience/FinalizerOfCluster", reconciler,
			"finalizers.EnsureFinalizer(ctx, r.Client, containerCluster, infrav1.ClusterFinalizer)", "finalizers.EnsureFinalizer(ctx, r.Client, containerCluster.DeepCopy(), \"example.test/none\")",
		}},
		{ID: "IC9", Says: "Ready says whether the infrastructure works.", Proof: Proof{
			clusterTests, "TestSituations/LoadBalancerPaused", "controllers/cluster/scope.go",
			"summarized := []string{infrav1.NetworkReadyCondition, infrav1.LoadBalancerReadyCondition}", "summarized := []string{infrav1.NetworkReadyCondition}",
		}},
		{ID: "IC10", Says: "What somebody else manages is not touched in any way.", Proof: Proof{
			contractTests, "TestExternallyManaged", reconciler, "annotations.IsExternallyManaged(containerCluster)", "(annotations.IsExternallyManaged(containerCluster) && false)",
		}},
		{ID: "IC10", Says: "The annotation that says so cannot be taken away.", Proof: Proof{
			webhookTests, "TestChanges/ManagedByGone", admission, "if managedBefore && !managedAfter {", "if managedBefore && !managedAfter && false {",
		}},
		{ID: "IC10", Says: "Nor is it given to a cluster that has something of ours, which nobody would remove.", Proof: Proof{
			webhookTests, "TestChanges/ManagedByLate", admission, "if !managedBefore && managedAfter && taken {", "if !managedBefore && managedAfter && taken && false {",
		}},
		{ID: "IC11", Says: "Machines of such a cluster are made all the same.", Proof: Proof{
			contractTests, "TestExternallyManaged", "controllers/machine/data.go", "case s.containerCluster == nil:", "case s.containerCluster == nil || len(s.containerCluster.Finalizers) == 0:",
		}},
		{ID: "IC12", Says: "A provider may have credentials for several tenants.", Unproved: "Optional: one manager serves one engine, whose socket is its credential."},
		{ID: "IC13", Says: "A paused cluster is left alone.", Proof: Proof{
			clusterTests, "TestHandsOff/ClusterPaused", reconciler, "containerCluster); err != nil || isPaused {", "containerCluster); err != nil || isPaused && false {",
		}},
		{ID: "IC14", Says: "Nothing is done before the Cluster owns it.", Proof: Proof{
			clusterTests, "TestHandsOff/NoCluster", reconciler,
			"	cluster, err := util.GetOwnerCluster(ctx, r.Client, containerCluster.ObjectMeta)\n",
			"	_, _ = finalizers.EnsureFinalizer(ctx, r.Client, containerCluster, infrav1.ClusterFinalizer)\n	cluster, err := util.GetOwnerCluster(ctx, r.Client, containerCluster.ObjectMeta)\n",
		}},
		{ID: "IC15", Says: "When it is deleted, all it has on the engine goes first.", Proof: Proof{
			clusterTests, "TestDeletions/Leftovers", deletion, "		r.removeContainers,\n", "",
		}},
		{ID: "IC15", Says: "Machines go before it.", Proof: Proof{
			clusterTests, "TestDeletions/Machines", deletion, "if count := len(machines.Items); count > 0 {", "if count := len(machines.Items); count > 1 {",
		}},
		{ID: "IC15", Says: "What is gone already is no error.", Proof: Proof{
			clusterTests, "TestDeletions/ClusterGone", reconciler, "if err != nil && !apierrors.IsNotFound(err) {", "if err != nil && !apierrors.IsConflict(err) {",
		}},
		{ID: "IC16", Says: "A Cluster may be without infrastructure.", Unproved: "Then there is nothing of ours."},
	}
}
