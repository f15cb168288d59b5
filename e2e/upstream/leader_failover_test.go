//go:build e2e

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

package upstream

import (
	"path/filepath"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/test/framework"
	"sigs.k8s.io/cluster-api/test/framework/clusterctl"
	"sigs.k8s.io/cluster-api/util"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
)

const (
	leaderFailover = "leader-failover"
	// The manager as config/default installs it.
	managerNamespace = "capcon-system"
	managerLease     = "controller-leader-election-container"
)

var managerKey = client.ObjectKey{Namespace: managerNamespace, Name: "capcon-controller-manager"}

// Of two replicas of the manager, the leader is deleted once the first machine's container
// exists. The other one continues with the same container.
var _ = ginkgo.Describe("Leader failover", func() {
	ginkgo.It("Should continue the creation of a cluster with another leader", func() {
		if *management == managementPlane {
			ginkgo.Skip("the plane runs one manager without leader election")
		}
		api := bootstrapClusterProxy.GetClient()
		scaleManager(api, 2)
		ginkgo.DeferCleanup(func() { scaleManager(api, 1) })
		namespace, stopWatching := framework.SetupSpecNamespace(ctx, leaderFailover, bootstrapClusterProxy, *artifactFolder, nil)
		var first infrav1.ContainerMachine
		cluster := applyCluster(leaderFailover, namespace.Name, func() { first = deleteLeader(api, namespace.Name) })
		node := &corev1.Node{}
		workload := bootstrapClusterProxy.GetWorkloadCluster(ctx, namespace.Name, cluster.Name)
		gomega.Expect(workload.GetClient().Get(ctx, client.ObjectKey{Name: first.Name}, node)).To(gomega.Succeed())
		gomega.Expect(node.Spec.ProviderID).To(gomega.Equal(first.Spec.ProviderID), "the first container is not the one of the Node")
		framework.DumpSpecResourcesAndCleanup(ctx, leaderFailover, bootstrapClusterProxy, clusterctlConfigPath, *artifactFolder,
			namespace, stopWatching, cluster, e2eConfig.GetIntervals, *skipCleanup)
	})
})

// applyCluster of one control plane and one worker, and wait for it. Early runs once it is
// applied.
func applyCluster(spec, namespace string, early func()) *clusterv1.Cluster {
	result := &clusterctl.ApplyClusterTemplateAndWaitResult{}
	clusterctl.ApplyClusterTemplateAndWait(ctx, clusterctl.ApplyClusterTemplateAndWaitInput{
		ClusterProxy: bootstrapClusterProxy,
		ConfigCluster: clusterctl.ConfigClusterInput{
			LogFolder:              filepath.Join(*artifactFolder, "clusters", bootstrapClusterProxy.GetName()),
			ClusterctlConfigPath:   clusterctlConfigPath,
			KubeconfigPath:         bootstrapClusterProxy.GetKubeconfigPath(),
			InfrastructureProvider: clusterctl.DefaultInfrastructureProvider,
			Namespace:              namespace, ClusterName: spec + "-" + util.RandomString(6),
			KubernetesVersion:        e2eConfig.MustGetVariable("KUBERNETES_VERSION"),
			ControlPlaneMachineCount: ptr.To[int64](1), WorkerMachineCount: ptr.To[int64](1),
		},
		PreWaitForCluster:            early,
		WaitForClusterIntervals:      e2eConfig.GetIntervals(spec, "wait-cluster"),
		WaitForControlPlaneIntervals: e2eConfig.GetIntervals(spec, "wait-control-plane"),
		WaitForMachineDeployments:    e2eConfig.GetIntervals(spec, "wait-worker-nodes"),
	}, result)
	return result.Cluster
}

// deleteLeader waits for the first machine with a container, and deletes the Pod of the
// manager that leads.
func deleteLeader(api client.Client, namespace string) infrav1.ContainerMachine {
	var first infrav1.ContainerMachine
	gomega.Eventually(func(g gomega.Gomega) {
		machines := &infrav1.ContainerMachineList{}
		g.Expect(api.List(ctx, machines, client.InNamespace(namespace))).To(gomega.Succeed())
		g.Expect(machines.Items).NotTo(gomega.BeEmpty())
		first = machines.Items[0]
		g.Expect(first.Spec.ProviderID).NotTo(gomega.BeEmpty())
	}, e2eConfig.GetIntervals(leaderFailover, "wait-cluster")...).Should(gomega.Succeed())
	leader := leaderPod(gomega.Default, api)
	ginkgo.By("Deleting the leader " + leader)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: managerNamespace, Name: leader}}
	gomega.Expect(api.Delete(ctx, pod, client.GracePeriodSeconds(0))).To(gomega.Succeed())
	gomega.Eventually(func(g gomega.Gomega) {
		g.Expect(leaderPod(g, api)).NotTo(gomega.Equal(leader))
	}, e2eConfig.GetIntervals(leaderFailover, "wait-controllers")...).Should(gomega.Succeed())
	return first
}

// leaderPod is the name of the Pod that holds the manager's lease.
func leaderPod(g gomega.Gomega, api client.Client) string {
	lease := &coordinationv1.Lease{}
	g.Expect(api.Get(ctx, client.ObjectKey{Namespace: managerNamespace, Name: managerLease}, lease)).To(gomega.Succeed())
	pods := &corev1.PodList{}
	g.Expect(api.List(ctx, pods, client.InNamespace(managerNamespace))).To(gomega.Succeed())
	holder := ptr.Deref(lease.Spec.HolderIdentity, "")
	for i := range pods.Items {
		// The holder is the Pod's name and a UUID.
		if name := pods.Items[i].Name; len(holder) > len(name) && holder[:len(name)+1] == name+"_" {
			return name
		}
	}
	g.Expect(holder).To(gomega.BeEmpty(), "no Pod of the manager holds the lease")
	return ""
}

func scaleManager(api client.Client, replicas int32) {
	updateManager(func(deployment *appsv1.Deployment) { deployment.Spec.Replicas = ptr.To(replicas) })
	framework.WaitForDeploymentsAvailable(ctx, framework.WaitForDeploymentsAvailableInput{Getter: api, Deployment: manager(gomega.Default)},
		e2eConfig.GetIntervals(leaderFailover, "wait-controllers")...)
}

// updateManager changes its Deployment, again where a controller wrote it meanwhile.
func updateManager(change func(*appsv1.Deployment)) {
	gomega.Eventually(func(g gomega.Gomega) {
		deployment := manager(g)
		change(deployment)
		g.Expect(bootstrapClusterProxy.GetClient().Update(ctx, deployment)).To(gomega.Succeed())
	}, e2eConfig.GetIntervals(leaderFailover, "wait-controllers")...).Should(gomega.Succeed())
}
