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
	return []Rule{
		{ID: "IC1", Says: "spec.controlPlaneEndpoint has host and port, and is never empty.", Proof: Proof{contractTests, "TestFields"}},
		{ID: "IC1", Says: "It is complete when the cluster is provisioned.", Proof: Proof{contractTests, "TestProvisionedComesWithTheRest"}},
		{ID: "IC2", Says: "It is immutable: Cluster API reads it once.", Proof: Proof{webhookTests, "TestChanges/EndpointHost"}},
		{ID: "IC2", Says: "A recreated load balancer has the same port.", Proof: Proof{clusterTests, "TestReconcile/LoadBalancerGoneAndPortTaken"}},
		{ID: "IC3", Says: "With an external load balancer, the controller waits for the endpoint.", Proof: Proof{clusterTests, "TestReconcile/NoneWithoutEndpoint"}},
		{ID: "IC4", Says: "An endpoint that the user sets is kept.", Proof: Proof{clusterTests, "TestReconcile/AddressGiven"}},
		{ID: "IC4", Says: "So is the endpoint of the Cluster.", Proof: Proof{clusterTests, "TestReconcile/NoneWithEndpointOfCluster"}},
		{ID: "IC5", Says: "An unset field is absent, so that the topology controller does not own it.", Proof: Proof{contractTests, "TestEmptyFieldsAreAbsent/ContainerCluster"}},
		{ID: "IC6", Says: "Failure domains are in the status.", Proof: Proof{clusterTests, "TestReconcile/Provisioned"}},
		{ID: "IC6", Says: "They are a list by name, of at most 100.", Proof: Proof{contractTests, "TestFields"}},
		{ID: "IC7", Says: "status.initialization.provisioned becomes true.", Proof: Proof{clusterTests, "TestReconcile/Provisioned"}},
		{ID: "IC7", Says: "It stays true.", Proof: Proof{clusterTests, "TestReconcile/LoadBalancerGoneAndPortTaken"}},
		{ID: "IC8", Says: "An object that vanishes after it was provisioned is an error: a finalizer keeps it.", Proof: Proof{contractTests, "TestResilience/FinalizerOfCluster"}},
		{ID: "IC9", Says: "Ready reports whether the infrastructure works.", Proof: Proof{clusterTests, "TestReconcile/LoadBalancerPaused"}},
		{ID: "IC10", Says: "Externally managed infrastructure is not reconciled.", Proof: Proof{contractTests, "TestExternallyManaged"}},
		{ID: "IC10", Says: "The annotation of externally managed infrastructure cannot be removed.", Proof: Proof{webhookTests, "TestChanges/ManagedByGone"}},
		{ID: "IC10", Says: "The annotation is refused for a cluster that has resources of ours: they would be orphaned.", Proof: Proof{webhookTests, "TestChanges/ManagedByLate"}},
		{ID: "IC11", Says: "Machines of such a cluster are created.", Proof: Proof{contractTests, "TestExternallyManaged"}},
		{ID: "IC12", Says: "A provider may have credentials for several tenants.", Unproved: "Optional: one manager serves one engine, whose socket is its credential."},
		{ID: "IC13", Says: "A paused cluster is not reconciled.", Proof: Proof{clusterTests, "TestHandsOff/ClusterPaused"}},
		{ID: "IC14", Says: "Nothing is done before the Cluster's owner reference is set.", Proof: Proof{clusterTests, "TestHandsOff/NoCluster"}},
		{ID: "IC15", Says: "Its resources on the engine are deleted before its finalizer is removed.", Proof: Proof{clusterTests, "TestDeletions/Leftovers"}},
		{ID: "IC15", Says: "Its machines are deleted before it.", Proof: Proof{clusterTests, "TestDeletions/Machines"}},
		{ID: "IC15", Says: "A resource that does not exist is no error.", Proof: Proof{clusterTests, "TestDeletions/ClusterGone"}},
		{ID: "IC16", Says: "A Cluster may have no infrastructure.", Unproved: "Then the provider has no object."},
	}
}
