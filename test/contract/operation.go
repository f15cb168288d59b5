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

// operation are rules of practice, and the parts of Cluster API that are not
// used.
func operation() []Rule {
	return []Rule{
		{ID: "O1", Says: "What is on the engine is known by labels, not by its name.", Proof: Proof{machineTests, "TestForeignContainerIsNeverRemoved"}},
		{ID: "O1", Says: "And only by all of them.", Proof: Proof{"internal/identity", "TestOwns"}},
		{ID: "O2", Says: "What is asked of the engine is bounded.", Proof: Proof{"internal/engine/metered", "TestRate/Burst"}},
		{ID: "O3", Says: "The manager has the flags of Cluster API's managers.", Proof: Proof{".", "TestFlags"}},
		{ID: "O4", Says: "No reconcile waits for what takes long.", Proof: Proof{machineTests, "TestReconcile/ImageBeingPulled"}},
		{ID: "O5", Says: "A condition reports one thing.", Proof: Proof{clusterTests, "TestReconcile/PreflightFails"}},
		{ID: "O6", Says: "Finalizers that were taken away come back.", Proof: Proof{contractTests, "TestResilience/FinalizerOfMachine"}},
		{ID: "O6", Says: "So do owners.", Proof: Proof{poolTests, "TestReconcile/OwnersAndLabels"}},
		{ID: "O6", Says: "A removed owner reference causes a reconcile.", Proof: Proof{"controllers/predicates", "TestChangesOfInstances/Owner"}},
		{ID: "O6", Says: "Nothing is written where nothing changes.", Proof: Proof{contractTests, "TestNothingIsWrittenForNothing/Cluster"}},
		{ID: "O7", Says: "Messages say the same of the same.", Proof: Proof{machineTests, "TestReconcile/Bootstrapping"}},
		{ID: "O8", Says: "Logs are structured.", Unproved: "The linter holds it."},
		{ID: "IPAM", Says: "Addresses may come from a pool of Cluster API.", Unproved: "Optional: they come from the engine's network."},
		{ID: "RT", Says: "Runtime extensions and updates in place.", Unproved: "Optional, and off."},
	}
}
