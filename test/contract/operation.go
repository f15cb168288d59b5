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
		{ID: "O1", Says: "Resources on the engine are identified by labels, not by name.", Proof: Proof{machineTests, "TestForeignContainerIsNeverRemoved"}},
		{ID: "O1", Says: "All labels have to match.", Proof: Proof{"internal/identity", "TestOwns"}},
		{ID: "O2", Says: "Calls to the engine have a rate limit.", Proof: Proof{"internal/engine/metered", "TestRate/Burst"}},
		{ID: "O3", Says: "The manager has the flags of Cluster API's managers.", Proof: Proof{".", "TestFlags"}},
		{ID: "O4", Says: "No reconcile waits for long operations.", Proof: Proof{machineTests, "TestReconcile/ImageBeingPulled"}},
		{ID: "O5", Says: "A condition reports one thing.", Proof: Proof{clusterTests, "TestReconcile/PreflightFails"}},
		{ID: "O6", Says: "Removed finalizers are restored.", Proof: Proof{contractTests, "TestResilience/FinalizerOfMachine"}},
		{ID: "O6", Says: "So are owner references.", Proof: Proof{poolTests, "TestReconcile/OwnersAndLabels"}},
		{ID: "O6", Says: "A removed owner reference causes a reconcile.", Proof: Proof{"controllers/internal/reconcile", "TestChangesOfInstances/Owner"}},
		{ID: "O6", Says: "Nothing is written without a change.", Proof: Proof{contractTests, "TestNothingIsWrittenWithoutAChange/Cluster"}},
		{ID: "O7", Says: "Messages are stable: the same state has the same message.", Proof: Proof{machineTests, "TestReconcile/Bootstrapping"}},
		{ID: "O8", Says: "Logs are structured.", Unproved: "The linter enforces it."},
		{ID: "IPAM", Says: "Addresses may come from a pool of Cluster API.", Unproved: "Optional: they come from the engine's network."},
		{ID: "RT", Says: "Runtime extensions and in-place updates.", Unproved: "Optional, and off."},
	}
}
