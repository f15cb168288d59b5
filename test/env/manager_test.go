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

package env_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/clustercache"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/controllers"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/env"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
	"github.com/capi-samples/cluster-api-provider-container/test/simulatedhaproxy"
	"github.com/capi-samples/cluster-api-provider-container/test/simulatednode"
	"github.com/capi-samples/cluster-api-provider-container/test/world"
)

// TestIntegrationAPIServer runs the controllers against a real API server and a simulated
// engine, with Cluster API's part played by hand.
func TestIntegrationAPIServer(t *testing.T) {
	t.Parallel()
	config := env.Start(t)
	scheme := builders.Scheme(t)
	must.Succeed(t, apiextensionsv1.AddToScheme(scheme))
	must.Succeed(t, eventsv1.AddToScheme(scheme))
	api := must.Get(client.New(config, client.Options{Scheme: scheme}))(t)

	checkStatus(t, api)
	checkColumns(t, config, api)

	s := &story{t: t, config: config, api: api, engine: simulated.New()}
	simulatedhaproxy.Run(s.engine)
	simulatednode.Run(s.engine)
	for _, image := range []string{builders.NodeImage, builders.LoadBalancerImage} {
		s.engine.AddImage(engine.Image{Tags: []string{image}}, nil)
	}
	s.startManager()
	s.clusterIsProvisioned()
	s.machineBootstraps()
	s.identityIsAwaited()
	s.engineEventIsSeen()
	s.nothingHappens()
	s.pauseIsSeen()
	s.poolLives()
	s.allGoes()
	// The last step: it leaves the definition so.
	checkOutdated(t, api)
}

// story is one cluster's life.
type story struct {
	t      *testing.T
	config *rest.Config
	api    client.Client
	engine *simulated.Engine
	owner  identity.Owner
}

func (s *story) startManager() {
	s.t.Helper()
	mgr := must.Get(ctrl.NewManager(s.config, ctrl.Options{
		Scheme: s.api.Scheme(), Metrics: metricsserver.Options{BindAddress: "0"}, Logger: logr.Discard(),
	}))(s.t)
	ctx, cancel := context.WithCancel(s.t.Context())
	must.Succeed(s.t, controllers.Setup(ctx, mgr, controllers.Options{
		Engine: s.engine, ClusterCache: clustercache.NewFakeEmptyClusterCache(), LoadBalancerImage: builders.LoadBalancerImage,
	}))
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	s.t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			s.t.Errorf("the manager ended with %v", err)
		}
	})
}

func (s *story) clusterIsProvisioned() {
	s.t.Helper()
	begin := builders.New()
	cluster := begin.Cluster.DeepCopy()
	cluster.UID, cluster.Spec.Paused = "", nil
	s.create(cluster)
	containerCluster := begin.ContainerCluster
	containerCluster.UID, containerCluster.Spec.OwnerID, containerCluster.Finalizers = "", "", nil
	containerCluster.OwnerReferences[0].UID = cluster.UID
	s.create(containerCluster)

	s.eventually("the cluster is provisioned", containerCluster, func() bool {
		state, _ := world.State(containerCluster, infrav1.ClusterReadyCondition)
		return state == "True/Ready" && ptr.Deref(containerCluster.Status.Initialization.Provisioned, false)
	})
	if endpoint := containerCluster.Spec.ControlPlaneEndpoint; endpoint.Host == "" || endpoint.Port != 6443 {
		s.t.Errorf("the endpoint is %+v", endpoint)
	}
	s.owner = identity.Owner{
		Namespace: builders.Namespace, Cluster: builders.Cluster, ID: containerCluster.Spec.OwnerID,
	}
	s.editStatus(cluster, func() {
		cluster.Status.Initialization.InfrastructureProvisioned = ptr.To(true)
	})
}

func (s *story) machineBootstraps() {
	s.t.Helper()
	machine, containerMachine := builders.MachinePair(builders.Machine)
	machine.UID, machine.Finalizers = "", nil
	data := machine.Spec.Bootstrap.DataSecretName
	machine.Spec.Bootstrap = clusterv1.Bootstrap{ConfigRef: clusterv1.ContractVersionedObjectReference{
		APIGroup: "bootstrap.example.test", Kind: "Config", Name: "m1",
	}}
	s.create(machine)
	containerMachine.UID, containerMachine.Finalizers = "", nil
	containerMachine.OwnerReferences[0].UID = machine.UID
	s.create(containerMachine)
	s.eventually("the machine waits for its data", containerMachine, func() bool {
		state, _ := world.State(containerMachine, infrav1.ContainerReadyCondition)
		return state == "False/"+infrav1.WaitingForBootstrapDataReason
	})
	s.create(builders.DataSecret(builders.Machine, builders.JoinWorkerData))
	s.edit(machine, func() { machine.Spec.Bootstrap.DataSecretName = data })
	s.eventually("the machine bootstraps", containerMachine, func() bool {
		state, _ := world.State(containerMachine, infrav1.BootstrapCompletedCondition)
		return state == "False/"+infrav1.BootstrappingReason && containerMachine.Spec.ProviderID != ""
	})
	must.Succeed(s.t, simulatednode.Record(s.engine, s.container(), map[string]string{"": "done"}))
	s.eventually("the bootstrap is done", containerMachine, func() bool {
		state, _ := world.State(containerMachine, infrav1.MachineReadyCondition)
		return state == "True/Ready"
	})
	s.editStatus(machine, func() { machine.Status.NodeRef = clusterv1.MachineNodeReference{Name: builders.Machine} })
	checkRow(s.t, s.config, s.api, "containermachines/"+builders.Machine, map[string]string{
		"Cluster": builders.Cluster, "Machine": builders.Machine, "Ready": "True", "Reason": "Ready",
		"Provider ID": identity.ProviderID(s.container()), "Failure domain": "zone-a", "Paused": "False",
		"Internal IP": containerMachine.Status.Addresses[1].Address,
	})
}

// identityIsAwaited: a machine of an externally managed cluster continues
// when the cluster gets its owner ID, which no other event reports.
func (s *story) identityIsAwaited() {
	s.t.Helper()
	const namespace = "elsewhere"
	s.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
	begin := builders.New()
	cluster, containerCluster, machine, containerMachine := begin.Cluster, begin.ContainerCluster, begin.Machine, begin.ContainerMachine
	for _, object := range []client.Object{cluster, containerCluster, machine, containerMachine} {
		object.SetNamespace(namespace)
		object.SetUID("")
		object.SetFinalizers(nil)
	}
	s.create(cluster)
	s.editStatus(cluster, func() { cluster.Status.Initialization.InfrastructureProvisioned = ptr.To(true) })
	containerCluster.Annotations = map[string]string{clusterv1.ManagedByAnnotation: "another"}
	containerCluster.Spec.OwnerID = ""
	containerCluster.OwnerReferences[0].UID = cluster.UID
	s.create(containerCluster)
	machine.Spec.Bootstrap = clusterv1.Bootstrap{ConfigRef: clusterv1.ContractVersionedObjectReference{
		APIGroup: "bootstrap.example.test", Kind: "Config", Name: "m1",
	}}
	s.create(machine)
	containerMachine.OwnerReferences[0].UID = machine.UID
	s.create(containerMachine)
	is := func(want string) func() bool {
		return func() bool {
			state, _ := world.State(containerMachine, infrav1.ContainerReadyCondition)
			return state == want
		}
	}
	s.eventually("the machine waits for the owner ID", containerMachine, is("False/"+infrav1.WaitingForInfrastructureReason))
	s.nothingHappens()
	s.edit(containerCluster, func() { containerCluster.Spec.OwnerID = builders.OwnerID })
	s.eventually("the machine continues to wait for its data", containerMachine, is("False/"+infrav1.WaitingForBootstrapDataReason))
}

func (s *story) engineEventIsSeen() {
	s.t.Helper()
	for _, name := range []string{s.container(), s.owner.LoadBalancerContainer()} {
		must.Succeed(s.t, s.engine.KillContainer(name, 137, false))
		s.eventually(name+" is started again", nil, func() bool {
			container, err := s.engine.InspectContainer(s.t.Context(), name)
			return err == nil && container.Status == engine.StatusRunning
		})
	}
	sent := &eventsv1.EventList{}
	s.eventually("Events report it", nil, func() bool {
		must.Succeed(s.t, s.api.List(s.t.Context(), sent, client.InNamespace(builders.Namespace)))
		reasons := map[string]bool{}
		for i := range sent.Items {
			reasons[sent.Items[i].Reason] = true
		}
		return reasons["ContainerCreated"] && reasons["ContainerStarted"] && reasons["LoadBalancerStarted"]
	})
}

// nothingHappens where nothing does: no object is written any more.
func (s *story) nothingHappens() {
	s.t.Helper()
	const quiet = 2 * time.Second
	var since time.Time
	last := ""
	s.eventually("all comes to rest", nil, func() bool {
		if now := s.versions(); now != last {
			since, last = time.Now(), now
		}
		return time.Since(since) >= quiet
	})
}

func (s *story) versions() string {
	machines, clusters := &infrav1.ContainerMachineList{}, &infrav1.ContainerClusterList{}
	must.Succeed(s.t, s.api.List(s.t.Context(), machines))
	must.Succeed(s.t, s.api.List(s.t.Context(), clusters))
	out := ""
	for i := range machines.Items {
		out += machines.Items[i].ResourceVersion + " "
	}
	for i := range clusters.Items {
		out += clusters.Items[i].ResourceVersion + " "
	}
	return out
}

func (s *story) pauseIsSeen() {
	s.t.Helper()
	cluster := &clusterv1.Cluster{}
	cluster.Namespace, cluster.Name = builders.Namespace, builders.Cluster
	containerCluster, containerMachine := s.objects()
	for _, paused := range []bool{true, false} {
		want := map[bool]string{true: "True/" + clusterv1.PausedReason, false: "False/" + clusterv1.NotPausedReason}[paused]
		s.edit(cluster, func() { cluster.Spec.Paused = ptr.To(paused) })
		s.eventually(fmt.Sprintf("pause %t is seen by the cluster", paused), containerCluster, func() bool {
			state, _ := world.State(containerCluster, clusterv1.PausedCondition)
			return state == want
		})
		s.eventually(fmt.Sprintf("pause %t is seen by the machine", paused), containerMachine, func() bool {
			state, _ := world.State(containerMachine, clusterv1.PausedCondition)
			return state == want
		})
	}
}

func (s *story) allGoes() {
	s.t.Helper()
	containerCluster, containerMachine := s.objects()
	must.Succeed(s.t, s.api.Delete(s.t.Context(), containerCluster))
	s.eventually("the cluster waits for its machine", containerCluster, func() bool {
		_, message := world.State(containerCluster, infrav1.LoadBalancerReadyCondition)
		return message == "waiting for 1 ContainerMachines to be deleted"
	})
	must.Succeed(s.t, s.api.Delete(s.t.Context(), containerMachine))
	for _, object := range []client.Object{containerMachine, containerCluster} {
		s.eventually(fmt.Sprintf("%T is gone", object), nil, func() bool {
			return apierrors.IsNotFound(s.api.Get(s.t.Context(), client.ObjectKeyFromObject(object), object))
		})
	}
	left, err := s.engine.ListContainers(s.t.Context(), nil)
	if err != nil || len(left) > 0 || len(s.engine.VolumeNames()) > 0 {
		s.t.Errorf("left are containers %v, %v, and volumes %v", left, err, s.engine.VolumeNames())
	}
	if _, err := s.engine.InspectNetwork(s.t.Context(), "capcon"); engine.IgnoreNotFound(err) != nil || err == nil {
		s.t.Errorf("the network is left: %v", err)
	}
}

func (s *story) objects() (*infrav1.ContainerCluster, *infrav1.ContainerMachine) {
	containerCluster, containerMachine := &infrav1.ContainerCluster{}, &infrav1.ContainerMachine{}
	containerCluster.Namespace, containerCluster.Name = builders.Namespace, builders.Cluster
	containerMachine.Namespace, containerMachine.Name = builders.Namespace, builders.Machine
	return containerCluster, containerMachine
}

func (s *story) container() string { return s.owner.NodeContainer(builders.Machine) }

func (s *story) create(object client.Object) {
	s.t.Helper()
	must.Succeed(s.t, s.api.Create(s.t.Context(), object))
}

// edit changes an object, again after a conflict.
func (s *story) edit(object client.Object, change func()) {
	s.t.Helper()
	s.retry(object, change, func() error { return s.api.Update(s.t.Context(), object) })
}

func (s *story) editStatus(object client.Object, change func()) {
	s.t.Helper()
	s.retry(object, change, func() error { return s.api.Status().Update(s.t.Context(), object) })
}

func (s *story) retry(object client.Object, change func(), write func() error) {
	s.t.Helper()
	s.eventually(fmt.Sprintf("%T is written", object), object, func() bool {
		change()
		err := write()
		if err != nil && !apierrors.IsConflict(err) {
			s.t.Fatal(err)
		}
		return err == nil
	})
}

// patience of a test with a machine that has much else to do.
const patience = 3 * time.Minute

// eventually reads the object until it is so.
func (s *story) eventually(what string, object client.Object, so func() bool) {
	s.t.Helper()
	must.Eventually(s.t, patience, what, func(ctx context.Context) error {
		if object != nil {
			if err := s.api.Get(ctx, client.ObjectKeyFromObject(object), object); client.IgnoreNotFound(err) != nil {
				return err
			}
		}
		if !so() {
			return fmt.Errorf("not so yet: %+v", object)
		}
		return nil
	})
}
