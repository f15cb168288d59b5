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

// move are the rules for objects that are recreated elsewhere.
func move() []Rule {
	return []Rule{
		{ID: "M1", Says: "clusterctl finds objects by the labels of their definitions.", Unproved: "clusterctl labels what it installs; rule K9 proves the provider's own label."},
		{ID: "M2", Says: "Objects to move have a Cluster in their owner chain, which is restored if it was removed.", Proof: Proof{poolTests, "TestReconcile/OwnersAndLabels"}},
		{ID: "M3", Says: "Objects, or all of a kind, can be labeled to be moved.", Unproved: "None needs it: all have owners."},
		{ID: "M4", Says: "Status is lost: it is rebuilt from spec, annotations and the engine.", Proof: Proof{contractTests, "TestRestore"}},
		{ID: "M4", Says: "UIDs are new: no resource on the engine is found by them.", Proof: Proof{contractTests, "TestRestore"}},
		{ID: "M5", Says: "A paused machine is not deleted.", Proof: Proof{machineTests, "TestDeletions/ClusterPaused"}},
		{ID: "M5", Says: "Nor is a paused cluster.", Proof: Proof{clusterTests, "TestDeletions/ClusterPaused"}},
		{ID: "M5", Says: "Nor is a paused pool.", Proof: Proof{poolTests, "TestDelete/Paused"}},
		{ID: "M6", Says: "A provider can block a move.", Proof: Proof{"controllers/containerengine", "TestSecretIsMoved"}},
		{ID: "M7", Says: "clusterctl removes all annotations from an object that it has moved, and deletes it.", Proof: Proof{webhookTests, "TestChanges/Moved"}},
		{ID: "M7", Says: "Its finalizers can be removed even if it is invalid.", Proof: Proof{webhookTests, "TestDeletedObjectsPass"}},
		{ID: "M8", Says: "Objects without a namespace are copied.", Unproved: "There are none."},
		{ID: "M9", Says: "So are identities.", Unproved: "There are none."},
		{ID: "M10", Says: "clusterctl moves complete clusters.", Unproved: "Describes clusterctl."},
		{ID: "M11", Says: "The other management cluster reaches the same engine.", Proof: Proof{repositoryTests, "TestSocketOfTheHost"}},
	}
}
