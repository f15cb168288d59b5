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
	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/test/framework"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/connect"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
)

const (
	faults = "faults"
	// absentSocket is on no node.
	absentSocket = "/run/absent/engine.sock"
)

// Each fault has a Describe of its own, because docs/results.md has one result for each.

var _ = ginkgo.Describe("Faults socket missing", func() {
	ginkgo.It("Should name the path in an Event, while the Pod before it keeps serving", func() {
		restore := changeManager(func(pod *corev1.PodSpec) {
			for i := range pod.Volumes {
				if pod.Volumes[i].HostPath != nil {
					pod.Volumes[i].HostPath.Path = absentSocket
				}
			}
		})
		gomega.Eventually(func(g gomega.Gomega) {
			sent, err := bootstrapClusterProxy.GetClientSet().CoreV1().Events(managerNamespace).
				List(ctx, metav1.ListOptions{FieldSelector: "reason=FailedMount"})
			g.Expect(err).NotTo(gomega.HaveOccurred())
			g.Expect(sent.Items).To(gomega.ContainElement(gomega.HaveField("Message", gomega.And(
				gomega.ContainSubstring("hostPath type check failed"), gomega.ContainSubstring(absentSocket)))))
		}, e2eConfig.GetIntervals(faults, "wait-controllers")...).Should(gomega.Succeed())
		gomega.Expect(manager(gomega.Default).Status.AvailableReplicas).To(gomega.BeEquivalentTo(1))
		restore()
	})
})

var _ = ginkgo.Describe("Faults engine unreachable", func() {
	ginkgo.It("Should name the address and the remedy in a condition, and recover", func() {
		reportsEngine(func(pod *corev1.PodSpec) {
			environment := pod.Containers[0].Env
			for i := range environment {
				if environment[i].Name == "DOCKER_HOST" || environment[i].Name == "CONTAINER_HOST" {
					environment[i].Value = "unix://" + absentSocket
				}
			}
		}, "EngineReachable (error)", "unix://"+absentSocket, "start the container engine, or name the one that runs")
	})
})

var _ = ginkgo.Describe("Faults socket denied", func() {
	ginkgo.It("Should name the permission and the remedy in a condition, and recover", func() {
		reportsEngine(func(pod *corev1.PodSpec) {
			// As config/default has it.
			pod.SecurityContext.RunAsNonRoot = ptr.To(true)
			pod.SecurityContext.RunAsUser, pod.SecurityContext.RunAsGroup = ptr.To[int64](65532), ptr.To[int64](65532)
		}, "EnginePermission (error)", "permission denied", "Pod: runAsUser 0")
	})
})

var _ = ginkgo.Describe("Faults namespace deleted", func() {
	ginkgo.It("Should leave nothing of a running cluster on the engine", func() {
		namespace := faultNamespace()
		cluster := applyCluster(faults, namespace, nil)
		infrastructure := &infrav1.ContainerCluster{}
		key := client.ObjectKey{Namespace: namespace, Name: cluster.Spec.InfrastructureRef.Name}
		gomega.Expect(bootstrapClusterProxy.GetClient().Get(ctx, key, infrastructure)).To(gomega.Succeed())
		deleteNamespace(namespace)
		expectNothingOf(infrastructure.Spec.OwnerID)
	})
})

// Cluster API's core asks each extension for its handlers when it starts, and ends where one does not answer.
var _ = ginkgo.Describe("Faults extension down", func() {
	ginkgo.It("Should let Cluster API start again once the manager serves its extension", func() {
		if *management == managementPlane {
			ginkgo.Skip("the plane runs Cluster API and the extension in one process")
		}
		api := bootstrapClusterProxy.GetClient()
		ginkgo.DeferCleanup(func() { scaleManager(api, 1) })
		scaleManager(api, 0)
		gomega.Eventually(func(g gomega.Gomega) { g.Expect(podsIn(g, managerNamespace)).To(gomega.BeEmpty()) },
			e2eConfig.GetIntervals(faults, "wait-controllers")...).Should(gomega.Succeed())
		for _, pod := range podsIn(gomega.Default, coreNamespace) {
			gomega.Expect(api.Delete(ctx, &pod)).To(gomega.Succeed())
		}
		ginkgo.By("Waiting until Cluster API has ended without the extension")
		gomega.Eventually(func(g gomega.Gomega) {
			pods := podsIn(g, coreNamespace)
			g.Expect(pods).To(gomega.HaveLen(1))
			g.Expect(pods[0].Status.ContainerStatuses).To(gomega.HaveLen(1))
			g.Expect(pods[0].Status.ContainerStatuses[0].RestartCount).To(gomega.BeNumerically(">", 0))
		}, e2eConfig.GetIntervals(faults, "wait-controllers")...).Should(gomega.Succeed())
		scaleManager(api, 1)
		namespace := faultNamespace()
		cluster := applyCluster(faults, namespace, nil)
		gomega.Expect(cluster).NotTo(gomega.BeNil())
	})
})

// coreNamespace has Cluster API's core.
const coreNamespace = "capi-system"

func podsIn(g gomega.Gomega, namespace string) []corev1.Pod {
	pods := &corev1.PodList{}
	g.Expect(bootstrapClusterProxy.GetClient().List(ctx, pods, client.InNamespace(namespace))).To(gomega.Succeed())
	return pods.Items
}

// reportsEngine runs the manager with a change that keeps the engine from it. A cluster
// says so in one condition, becomes ready once that is reverted, and leaves nothing behind.
func reportsEngine(change func(*corev1.PodSpec), wants ...string) {
	namespace := faultNamespace()
	restore := changeManager(change)
	managerIsRolledOut()
	infrastructure := createInfrastructure(namespace)
	eventually := func(check func(g gomega.Gomega)) {
		gomega.Eventually(func(g gomega.Gomega) {
			g.Expect(bootstrapClusterProxy.GetClient().Get(ctx, client.ObjectKeyFromObject(infrastructure), infrastructure)).To(gomega.Succeed())
			check(g)
		}, e2eConfig.GetIntervals(faults, "wait-cluster")...).Should(gomega.Succeed())
	}
	eventually(func(g gomega.Gomega) {
		condition := conditions.Get(infrastructure, infrav1.PreflightPassedCondition)
		g.Expect(condition).NotTo(gomega.BeNil())
		g.Expect(condition.Status).To(gomega.Equal(metav1.ConditionUnknown))
		g.Expect(condition.Reason).To(gomega.Equal(infrav1.EngineUnavailableReason))
		for _, want := range wants {
			g.Expect(condition.Message).To(gomega.ContainSubstring(want))
		}
	})
	restore()
	eventually(func(g gomega.Gomega) {
		g.Expect(conditions.IsTrue(infrastructure, infrav1.ClusterReadyCondition)).To(gomega.BeTrue())
	})
	deleteNamespace(namespace)
	expectNothingOf(infrastructure.Spec.OwnerID)
}

// createInfrastructure of a Cluster without machines.
func createInfrastructure(namespace string) *infrav1.ContainerCluster {
	meta := metav1.ObjectMeta{Namespace: namespace, Name: namespace}
	infrastructure := &infrav1.ContainerCluster{ObjectMeta: meta}
	infrastructure.Spec.LoadBalancer.Image = e2eConfig.MustGetVariable("CONTAINER_LOAD_BALANCER_IMAGE")
	cluster := &clusterv1.Cluster{ObjectMeta: meta}
	cluster.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{
		APIGroup: infrav1.GroupVersion.Group, Kind: "ContainerCluster", Name: meta.Name,
	}
	for _, object := range []client.Object{infrastructure, cluster} {
		// Webhooks of a Pod that has just ended may be asked once more.
		gomega.Eventually(func() error { return bootstrapClusterProxy.GetClient().Create(ctx, object) },
			e2eConfig.GetIntervals(faults, "wait-controllers")...).Should(gomega.Succeed())
	}
	return infrastructure
}

// changeManager changes the Pod of the manager. What it returns undoes that; the end of
// the spec does in any case.
func changeManager(change func(*corev1.PodSpec)) (restore func()) {
	if *management == managementPlane {
		ginkgo.Skip("the plane has no Pods")
	}
	before := manager(gomega.Default).Spec.Template.Spec
	restore = func() {
		updateManager(func(deployment *appsv1.Deployment) { before.DeepCopyInto(&deployment.Spec.Template.Spec) })
		managerIsRolledOut()
	}
	ginkgo.DeferCleanup(restore)
	updateManager(func(deployment *appsv1.Deployment) { change(&deployment.Spec.Template.Spec) })
	return restore
}

func manager(g gomega.Gomega) *appsv1.Deployment {
	deployment := &appsv1.Deployment{}
	g.Expect(bootstrapClusterProxy.GetClient().Get(ctx, managerKey, deployment)).To(gomega.Succeed())
	return deployment
}

// managerIsRolledOut waits until all its Pods are available and as the Deployment has them
// now.
func managerIsRolledOut() {
	gomega.Eventually(func(g gomega.Gomega) {
		deployment := manager(g)
		status := deployment.Status
		g.Expect(status.ObservedGeneration).To(gomega.Equal(deployment.Generation))
		g.Expect([]int32{status.Replicas, status.UpdatedReplicas, status.AvailableReplicas}).To(gomega.HaveEach(*deployment.Spec.Replicas))
	}, e2eConfig.GetIntervals(faults, "wait-controllers")...).Should(gomega.Succeed())
}

// faultNamespace is a namespace that ends with the spec at the latest.
func faultNamespace() string {
	namespace, stopWatching := framework.SetupSpecNamespace(ctx, faults, bootstrapClusterProxy, *artifactFolder, nil)
	ginkgo.DeferCleanup(func() {
		stopWatching()
		if !*skipCleanup {
			deleteNamespace(namespace.Name)
		}
	})
	return namespace.Name
}

// deleteNamespace and wait until it has ended.
func deleteNamespace(name string) {
	gomega.Eventually(func(g gomega.Gomega) {
		err := bootstrapClusterProxy.GetClient().Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
		g.Expect(apierrors.IsNotFound(err)).To(gomega.BeTrue(), "namespace %s is there: %v", name, err)
	}, e2eConfig.GetIntervals(faults, "wait-delete-cluster")...).Should(gomega.Succeed())
}

// expectNothingOf an owner on the engine.
func expectNothingOf(ownerID string) {
	gomega.Expect(ownerID).NotTo(gomega.BeEmpty())
	eng, err := connect.Connect(ctx, connect.Options{Engine: *engine})
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	defer func() { gomega.Expect(eng.Close()).To(gomega.Succeed()) }()
	owned := map[string]string{identity.LabelOwnerID: ownerID}
	containers, err := eng.ListContainers(ctx, owned)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	networks, err := eng.ListNetworks(ctx, owned)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	volumes, err := eng.ListVolumes(ctx, owned)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	gomega.Expect(containers).To(gomega.BeEmpty())
	gomega.Expect(networks).To(gomega.BeEmpty())
	gomega.Expect(volumes).To(gomega.BeEmpty())
}
