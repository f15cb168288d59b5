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

// move are the rules for objects that are made again elsewhere.
func move() []Rule {
	return []Rule{
		{ID: "M1", Says: "clusterctl finds objects by the labels of their definitions.", Unproved: "clusterctl labels what it installs; rule K9 proves the provider's own label."},
		{ID: "M2", Says: "What is to be moved along leads to a Cluster by its owners, also when these were taken away.", Proof: Proof{poolTests, "TestReconcile/OwnersAndLabels"}},
		{ID: "M3", Says: "Objects, or all of a kind, can be labelled to be moved.", Unproved: "None needs it: all have owners."},
		{ID: "M4", Says: "Status is lost: it is written again as it was, from spec, annotations and the engine.", Proof: Proof{contractTests, "TestRestore"}},
		{ID: "M4", Says: "Identities are new: nothing on the engine is found by them.", Proof: Proof{contractTests, "TestRestore"}},
		{ID: "M5", Says: "Pausing holds while deleting.", Proof: Proof{machineTests, "TestDeletions/ClusterPaused"}},
		{ID: "M5", Says: "For clusters, too.", Proof: Proof{clusterTests, "TestDeletions/ClusterPaused"}},
		{ID: "M5", Says: "And for pools.", Proof: Proof{poolTests, "TestDelete/Paused"}},
		{ID: "M6", Says: "A move can be made to wait.", Unproved: "Nothing has to be done before a move."},
		{ID: "M7", Says: "clusterctl takes all annotations from an object that it has moved, and deletes it.", Proof: Proof{webhookTests, "TestChanges/Moved"}},
		{ID: "M7", Says: "Its finalizers can be taken away, whatever is wrong with it.", Proof: Proof{webhookTests, "TestDeletedObjectsPass"}},
		{ID: "M8", Says: "Objects without a namespace are copied.", Unproved: "There are none."},
		{ID: "M9", Says: "So are identities.", Unproved: "There are none."},
		{ID: "M10", Says: "clusterctl moves clusters that are whole.", Unproved: "Describes clusterctl."},
		{ID: "M11", Says: "The other management cluster reaches the same engine.", Proof: Proof{repositoryTests, "TestSocketOfTheHost"}},
	}
}
