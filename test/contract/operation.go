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
		{ID: "O1", Says: "What is on the engine is known by labels, not by its name.", Proof: Proof{
			machineTests, "TestForeignContainerIsNeverRemoved", "controllers/machine/delete.go", "err == nil && owner == \"\"", "err == nil",
		}},
		{ID: "O1", Says: "And only by all of them.", Proof: Proof{
			"internal/identity", "TestOwns", "internal/identity/owner.go", `if value == "" || labels[key] != value {`, `if labels[key] != value {`,
		}},
		{ID: "O2", Says: "What is asked of the engine is bounded.", Proof: Proof{
			"internal/engine/metered", "TestRate/Burst", "internal/engine/metered/options.go", "err := e.limiter.Wait(ctx)", "err := error(nil)",
		}},
		{ID: "O3", Says: "The manager has the flags of Cluster API's managers.", Proof: Proof{
			".", "TestFlags", "options.go", "	flags.AddManagerOptions(set, &o.manager)\n", "	_ = flags.AddManagerOptions\n",
		}},
		{ID: "O4", Says: "No reconcile waits for what takes long.", Proof: Proof{
			machineTests, "TestSituations/ImageBeingPulled", "controllers/machine/image.go", "	return phase.RequeueAfter(pullInterval)\n", "	return phase.RequeueAfter(0)\n",
		}},
		{ID: "O5", Says: "A condition tells of one thing.", Proof: Proof{
			clusterTests, "TestSituations/PreflightFails", "controllers/cluster/preflight.go", "s.setCondition(infrav1.PreflightPassedCondition, metav1.ConditionUnknown, infrav1.EngineUnavailableReason, summary)", "s.setCondition(infrav1.LoadBalancerReadyCondition, metav1.ConditionUnknown, infrav1.EngineUnavailableReason, summary)",
		}},
		{ID: "O6", Says: "Finalizers that were taken away come back.", Proof: Proof{
			contractTests, "TestResilience/FinalizerOfMachine", "controllers/machine/reconciler.go",
			"finalizers.EnsureFinalizer(ctx, r.Client, containerMachine, infrav1.MachineFinalizer)", "finalizers.EnsureFinalizer(ctx, r.Client, containerMachine.DeepCopy(), \"example.test/none\")",
		}},
		{ID: "O6", Says: "So do owners.", Proof: Proof{
			poolTests, "TestSituations/OwnersAndLabels", "controllers/machinepool/reconciler.go", "r.observeCached, r.propagate, r.publish,", "r.observeCached, r.publish,",
		}},
		{ID: "O6", Says: "That they are gone is an event, which nobody has to wait for.", Proof: Proof{
			"controllers/predicates", "TestChangesOfInstances/Owner", "controllers/predicates/predicates.go", "len(before.OwnerReferences) != len(after.OwnerReferences)", "len(before.OwnerReferences) < 0",
		}},
		{ID: "O6", Says: "Nothing is written where nothing changes.", Proof: Proof{
			contractTests, "TestNothingIsWrittenForNothing/Cluster", "controllers/cluster/reconciler.go",
			"	paused.MarkActive(containerCluster)\n",
			"	paused.MarkActive(containerCluster)\n	containerCluster.Annotations[\"seen\"] = containerCluster.ResourceVersion\n",
		}},
		{ID: "O7", Says: "Messages say the same of the same.", Proof: Proof{
			machineTests, "TestSituations/Bootstrapping", "controllers/machine/bootstrap.go",
			`"bootstrap is running in container "+s.container.Name)`, `"bootstrap is running in container "+s.container.Name+" for "+running.String())`,
		}},
		{ID: "O8", Says: "Logs are structured.", Unproved: "The linter holds it."},
		{ID: "IPAM", Says: "Addresses may come from a pool of Cluster API.", Unproved: "Optional: they come from the engine's network."},
		{ID: "RT", Says: "Runtime extensions and updates in place.", Unproved: "Optional, and off."},
	}
}
