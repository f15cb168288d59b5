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
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	upstream "sigs.k8s.io/cluster-api/test/e2e"
	"sigs.k8s.io/cluster-api/test/framework"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/e2e/capcon/capcontest"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane"
	"github.com/capi-samples/cluster-api-provider-container/test/integration"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

var _ = ginkgo.Describe("Two engines: QuickStart", func() {
	engines := withTwoEngines()
	ginkgo.Context("with machines on both", func() {
		upstream.QuickStartSpec(ctx, func() upstream.QuickStartSpecInput {
			input := quickStart(ptr.To("two-engines"), validate(false))
			input.WorkerMachineCount = ptr.To[int64](2) // one for each
			input.PostNamespaceCreated = engines.add
			return input
		})
	})
})

var _ = ginkgo.Describe("Two engines: KCPRemediation", func() {
	engines := withTwoEngines()
	ginkgo.Context("with machines on both", func() {
		upstream.KCPRemediationSpec(ctx, func() upstream.KCPRemediationSpecInput {
			return upstream.KCPRemediationSpecInput{
				E2EConfig:             e2eConfig,
				ClusterctlConfigPath:  clusterctlConfigPath,
				BootstrapClusterProxy: bootstrapClusterProxy,
				ArtifactFolder:        *artifactFolder,
				SkipCleanup:           *skipCleanup,
				Flavor:                ptr.To("kcp-remediation-two-engines"),
				PostNamespaceCreated:  engines.add,
			}
		})
	})
})

// twoEngines are those of two hosts in a LAN, for one spec: they end with it, also if its cluster is kept.
type twoEngines struct {
	hosts []*capcontest.Host
	// namespace of the spec, once it has the engines.
	namespace string
}

// withTwoEngines has the specs of a container below this one run with two engines, whose machines are on both in the end,
// and which have nothing of them afterwards.
func withTwoEngines() *twoEngines {
	s := &twoEngines{}
	ginkgo.BeforeEach(s.start)
	ginkgo.JustAfterEach(s.expectMachines)
	ginkgo.AfterEach(s.expectNothing)
	return s
}

func (s *twoEngines) start() {
	*s = twoEngines{}
	if *management != managementPlane || *engine != "docker" {
		// Nodes do not resolve the name by which kind publishes its API server: it is one of another network.
		ginkgo.Skip("the engines are Docker's, of clusters of the management plane")
	}
	tb := newTB()
	lan := capcontest.NewLAN(tb)
	first := integration.Engine(tb, capcontest.NodeImage, capcontest.LoadBalancerImage)
	for _, name := range []string{"a", "b"} {
		host := lan.StartHost(name, capcontest.NodeImage, capcontest.LoadBalancerImage)
		host.JoinLAN(tb)
		s.hosts = append(s.hosts, host)
	}
	// The plane is started again, as by "capcon engine add", which allows them in namespace default alone.
	allowing := plane.New(first, plane.Options{AllowedEngines: capcontest.LANEndpoints})
	state := must.Get(allowing.State(ctx))(tb)
	must.Get(allowing.Ensure(ctx, state.Image, nil))(tb)
}

// add the engines to the namespace of a spec.
func (s *twoEngines) add(proxy framework.ClusterProxy, namespace string) {
	api := proxy.GetClient()
	for _, host := range s.hosts {
		secret := &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: namespace, Name: host.Name + "-credentials", Labels: map[string]string{clusterctlv1.ClusterctlMoveLabel: ""},
			},
			Data: host.Issue("client-" + host.Name).Data(newTB()),
		}
		gomega.Expect(api.Create(ctx, secret)).To(gomega.Succeed())
		gomega.Expect(api.Create(ctx, &infrav1.ContainerEngine{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: host.Name},
			Spec: infrav1.ContainerEngineSpec{
				Endpoint: host.Endpoint(), CredentialsSecretName: secret.Name,
				// Two control planes have to fit on one: each counts 2 CPUs, and this machine may have no more.
				Capacity: infrav1.EngineCapacity{CPU: ptr.To(resource.MustParse("8")), Memory: ptr.To(resource.MustParse("16Gi"))},
			},
		})).To(gomega.Succeed())
	}
	for _, host := range s.hosts {
		eventually(func(g gomega.Gomega) {
			found := &infrav1.ContainerEngine{}
			g.Expect(api.Get(ctx, client.ObjectKey{Namespace: namespace, Name: host.Name}, found)).To(gomega.Succeed())
			g.Expect(conditions.IsTrue(found, infrav1.EngineReadyCondition)).To(gomega.BeTrue(), fmt.Sprintf("%+v", found.Status.Conditions))
		})
	}
	s.namespace = namespace
}

// expectMachines: each engine has the containers of the machines whose objects name it, and there are some.
func (s *twoEngines) expectMachines() {
	if s.namespace == "" || ginkgo.CurrentSpecReport().Failed() {
		return
	}
	ginkgo.By("Checking that machines are on both engines")
	machines := &infrav1.ContainerMachineList{}
	gomega.Expect(bootstrapClusterProxy.GetClient().List(ctx, machines, client.InNamespace(s.namespace))).To(gomega.Succeed())
	recorded := map[string][]string{}
	for i := range machines.Items {
		on := machines.Items[i].Annotations[infrav1.EngineNameAnnotation]
		recorded[on] = append(recorded[on], machines.Items[i].Name)
	}
	for _, host := range s.hosts {
		containers, err := host.Connect(newTB()).ListContainers(ctx, map[string]string{identity.LabelMachine: ""})
		gomega.Expect(err).NotTo(gomega.HaveOccurred())
		gomega.Expect(containers).NotTo(gomega.BeEmpty(), "machines on engine "+host.Name)
		var present []string
		for _, container := range containers {
			present = append(present, container.Labels[identity.LabelMachine])
		}
		gomega.Expect(present).To(gomega.ConsistOf(recorded[host.Name]), "machines on engine "+host.Name)
		ginkgo.GinkgoLogr.Info("Machines on an engine", "engine", host.Name, "machines", present)
	}
	gomega.Expect(recorded).To(gomega.HaveLen(len(s.hosts)), "engines of machines")
}

// expectNothing: upstream deleted the cluster, and deletes the namespace. Its ContainerEngines go before their hosts do.
func (s *twoEngines) expectNothing() {
	if s.namespace == "" || *skipCleanup {
		return
	}
	ginkgo.By("Checking that nothing is left on the engines")
	eventually(func(g gomega.Gomega) {
		engines := &infrav1.ContainerEngineList{}
		g.Expect(bootstrapClusterProxy.GetClient().List(ctx, engines, client.InNamespace(s.namespace))).To(gomega.Succeed())
		g.Expect(engines.Items).To(gomega.BeEmpty())
	})
	for _, host := range s.hosts {
		tb := newTB()
		capcontest.NothingLeftSince(tb, host.Connect(tb), nil)
	}
}

func eventually(check func(g gomega.Gomega)) {
	ginkgo.GinkgoHelper()
	gomega.Eventually(check).WithTimeout(capcontest.Patience).WithPolling(time.Second).Should(gomega.Succeed())
}

// specTB is Ginkgo's, with the context of the suite: Ginkgo has another one for each caller, and none in cleanups.
type specTB struct{ *ginkgo.GinkgoTBWrapper }

func newTB() testing.TB { return specTB{ginkgo.GinkgoTB()} }

// Context implements testing.TB.
func (specTB) Context() context.Context { return ctx }
