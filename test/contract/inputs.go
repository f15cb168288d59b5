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

// inputs are the rules for what other providers write and this one reads.
func inputs() []Rule {
	return []Rule{
		{ID: "B1", Says: "Bootstrap data is in the key value of the data secret.", Proof: Proof{machineTests, "TestReconcile/Bootstrapping"}},
		{ID: "B1", Says: "Its format is in the key format; an unknown format is refused.", Proof: Proof{machineTests, "TestReconcile/DataOfUnknownFormat"}},
		{ID: "B1", Says: "It contains private keys, and is never logged or reported.", Proof: Proof{machineTests, "TestReconcile/Failed"}},
		{ID: "B2", Says: "/run/cluster-api/bootstrap-success.complete means that Kubernetes is up.", Proof: Proof{"internal/bootstrap/script", "TestScriptKubernetesUp"}},
		{ID: "B3", Says: "Nodes may register with a taint that Cluster API removes.", Unproved: "Describes Cluster API itself; rule IM19 proves that it is left alone."},
		{ID: "B4", Says: "The Machine's version is the Kubernetes version of its node.", Proof: Proof{machineTests, "TestReconcile/VersionUnsupported"}},
		{ID: "B5", Says: "Workload clusters are accessed through the ClusterCache.", Proof: Proof{nodeTests, "TestReconcile/ProviderIDMismatch"}},
		{ID: "B6", Says: "API servers listen on the port of the Cluster's network.", Proof: Proof{clusterTests, "TestReconcile/APIServerPort"}},
		{ID: "B7", Says: "The defaults of the feature gates of Cluster API 1.14.", Unproved: "Describes Cluster API itself."},
	}
}
