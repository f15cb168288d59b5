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

package memory_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/feature"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1alpha1 "github.com/capi-samples/cluster-api-provider-container/api/v1alpha1"
	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/config/crd"
	configurations "github.com/capi-samples/cluster-api-provider-container/config/webhook"
	"github.com/capi-samples/cluster-api-provider-container/controllers/workload/storage"
	"github.com/capi-samples/cluster-api-provider-container/e2e/memory"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane/manager"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane/manifests"
	"github.com/capi-samples/cluster-api-provider-container/templates"
	"github.com/capi-samples/cluster-api-provider-container/test/env"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

const (
	namespace = "default"
	name      = "life"
	before    = "v1.35.4"
	after     = "v1.36.3"
	// patience with a machine that has much else to do.
	patience = 15 * time.Minute
)

// TestIntegrationLife runs Cluster API, kubeadm's providers and this provider on a real API server,
// and leads a cluster in memory through its life.
func TestIntegrationLife(t *testing.T) {
	config := env.StartEmpty(t)
	s := &story{t: t, config: config, api: must.Get(client.New(config, client.Options{Scheme: newScheme(t)}))(t)}
	s.startPlane()
	s.createClass()
	s.refuses()
	s.isCreated()
	s.showsCertificates()
	s.isRemediated()
	s.survivesFaults()
	s.isUpgraded()
	s.isScaled()
	s.isStopped()
	s.isDeleted()
}

func newScheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, clusterv1.AddToScheme, infrav1.AddToScheme, apiextensionsv1.AddToScheme} {
		must.Succeed(t, add(scheme))
	}
	return scheme
}

// story is the life of one cluster.
type story struct {
	t      *testing.T
	config *rest.Config
	api    client.Client
	host   *memory.Host
}

// startPlane runs all controllers in this process.
func (s *story) startPlane() {
	s.t.Helper()
	storage.SealScheme()
	must.Succeed(s.t, feature.MutableGates.Set(manager.DefaultFeatures))
	local := envtest.WebhookInstallOptions{}
	must.Succeed(s.t, local.PrepWithoutInstalling())
	certificate := slices.Concat(
		must.Get(os.ReadFile(filepath.Join(local.LocalServingCertDir, "tls.crt")))(s.t),
		must.Get(os.ReadFile(filepath.Join(local.LocalServingCertDir, "tls.key")))(s.t))
	must.Succeed(s.t, os.WriteFile(filepath.Join(local.LocalServingCertDir, "tls.pem"), certificate, 0o600))

	ctx, cancel := context.WithCancel(s.t.Context())
	server := manifests.Server{
		URL:      "https://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(local.LocalServingPort)),
		CABundle: local.LocalServingCAData,
	}
	objects := must.Get(manifests.Objects(server, crd.FS, configurations.FS))(s.t)
	must.Succeed(s.t, manifests.Install(ctx, s.config, objects))

	s.host = must.Get(memory.NewHost(ctx, memory.Options{}))(s.t)
	ended := make(chan error, 1)
	go func() {
		ended <- manager.Run(ctx, manager.Options{
			Config: s.config, Schemes: []func(*runtime.Scheme) error{infrav1.AddToScheme, infrav1alpha1.AddToScheme}, Setup: s.host.Setup,
			WebhookPort: local.LocalServingPort, WebhookCertDir: local.LocalServingCertDir, WebhookCertName: "tls.pem",
			HealthAddress: "0", MetricsAddress: "0", Concurrency: manager.DefaultConcurrency,
		})
	}()
	s.t.Cleanup(func() {
		cancel()
		if err := errors.Join(<-ended, local.Cleanup()); err != nil {
			s.t.Errorf("the manager ended with %v", err)
		}
	})
}

func (s *story) createClass() {
	s.t.Helper()
	for document := range strings.SplitSeq("\n"+templates.ClusterClass, "\n---") {
		object := &unstructured.Unstructured{}
		must.Succeed(s.t, yaml.Unmarshal([]byte(document), object))
		object.SetNamespace(namespace)
		s.eventually(object.GetKind()+" is created", func() error {
			return client.IgnoreAlreadyExists(s.api.Create(s.t.Context(), object.DeepCopy()))
		})
	}
}

// refuses what clusters in memory lack, with the reason.
func (s *story) refuses() {
	s.t.Helper()
	cluster := &infrav1.ContainerCluster{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "refused"}}
	cluster.Spec.Storage.Type = infrav1.StorageNodeLocal
	cluster.Spec.ServiceLoadBalancer.Type = infrav1.LoadBalancerHAProxy
	err := s.api.Create(s.t.Context(), cluster)
	for _, field := range []string{"spec.storage.type", "spec.serviceLoadBalancer.type", "run no Pods"} {
		if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), field) {
			s.t.Errorf("the API server says %v, want it to name %s", err, field)
		}
	}
}

func (s *story) isCreated() {
	s.t.Helper()
	must.Succeed(s.t, s.api.Create(s.t.Context(), newCluster(name, before)))
	check := &clusterv1.MachineHealthCheck{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: clusterv1.MachineHealthCheckSpec{
			ClusterName: name,
			Selector:    metav1.LabelSelector{MatchLabels: map[string]string{clusterv1.ClusterTopologyMachineDeploymentNameLabel: "worker"}},
			Checks: clusterv1.MachineHealthCheckChecks{UnhealthyNodeConditions: []clusterv1.UnhealthyNodeCondition{
				{Type: corev1.NodeReady, Status: corev1.ConditionUnknown, TimeoutSeconds: ptr.To[int32](1)},
			}},
		},
	}
	must.Succeed(s.t, s.api.Create(s.t.Context(), check))
	s.isSettled(before, 6)
}

// showsCertificates: KubeadmControlPlane has read those of the API servers.
func (s *story) showsCertificates() {
	s.t.Helper()
	s.eventually("the ends of certificates are known", func() error {
		machines := s.machines()
		for i := range machines {
			if _, controlPlane := machines[i].Labels[clusterv1.MachineControlPlaneLabel]; controlPlane && machines[i].Status.CertificatesExpiryDate.IsZero() {
				return fmt.Errorf("machine %s has none", machines[i].Name)
			}
		}
		return nil
	})
}

// newCluster has three control planes, and three workers of two kinds.
func newCluster(name, version string) *clusterv1.Cluster {
	none := []byte(`{"type":"None"}`)
	return &clusterv1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: clusterv1.ClusterSpec{Topology: clusterv1.Topology{
			ClassRef: clusterv1.ClusterClassRef{Name: "container"}, Version: version,
			ControlPlane: clusterv1.ControlPlaneTopology{Replicas: ptr.To[int32](3)},
			Workers: clusterv1.WorkersTopology{
				MachineDeployments: []clusterv1.MachineDeploymentTopology{{Class: "worker", Name: "worker", Replicas: ptr.To[int32](2)}},
				MachinePools:       []clusterv1.MachinePoolTopology{{Class: "worker", Name: "pool", Replicas: ptr.To[int32](1)}},
			},
			Variables: []clusterv1.ClusterVariable{
				variable("storage", none), variable("serviceLoadBalancer", none),
			},
		}},
	}
}

func variable(name string, value []byte) clusterv1.ClusterVariable {
	v := clusterv1.ClusterVariable{Name: name}
	v.Value.Raw = value
	return v
}

// isSettled waits until the cluster is available, with that many machines of a version.
func (s *story) isSettled(version string, count int) {
	s.t.Helper()
	s.eventually(fmt.Sprintf("%d machines have %s", count, version), func() error {
		cluster := &clusterv1.Cluster{}
		if err := s.api.Get(s.t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, cluster); err != nil {
			return err
		}
		for _, condition := range []string{clusterv1.ClusterAvailableCondition, clusterv1.ClusterTopologyReconciledCondition} {
			if !conditions.IsTrue(cluster, condition) {
				return fmt.Errorf("%s: %s; %v", condition, conditions.GetMessage(cluster, condition), s.problems())
			}
		}
		machines := s.machines()
		for i := range machines {
			machine := &machines[i]
			if got := machine.Status.NodeInfo; got == nil || got.KubeletVersion != version || !conditions.IsTrue(machine, clusterv1.MachineAvailableCondition) {
				return fmt.Errorf("machine %s: %s", machine.Name, conditions.GetMessage(machine, clusterv1.MachineAvailableCondition))
			}
		}
		if len(machines) != count {
			return fmt.Errorf("there are %d machines", len(machines))
		}
		return nil
	})
}

// problems are the conditions of this provider's objects that are not True.
func (s *story) problems() []string {
	s.t.Helper()
	clusters, machines := &infrav1.ContainerClusterList{}, &infrav1.ContainerMachineList{}
	must.Succeed(s.t, errors.Join(s.api.List(s.t.Context(), clusters), s.api.List(s.t.Context(), machines)))
	var problems []string
	add := func(name string, object conditions.Getter) {
		for _, condition := range object.GetConditions() {
			if condition.Status != metav1.ConditionTrue && condition.Type != clusterv1.PausedCondition {
				problems = append(problems, name+" "+condition.Type+": "+condition.Reason+" "+condition.Message)
			}
		}
	}
	for i := range clusters.Items {
		add(clusters.Items[i].Name, &clusters.Items[i])
	}
	for i := range machines.Items {
		add(machines.Items[i].Name, &machines.Items[i])
	}
	return problems
}

func (s *story) machines() []clusterv1.Machine {
	s.t.Helper()
	machines := &clusterv1.MachineList{}
	must.Succeed(s.t, s.api.List(s.t.Context(), machines, client.InNamespace(namespace)))
	return machines.Items
}

// isRemediated: the container of a worker goes, and the MachineHealthCheck replaces its Machine.
func (s *story) isRemediated() {
	s.t.Helper()
	containers := must.Get(s.host.Engine.ListContainers(s.t.Context(), map[string]string{identity.LabelRole: string(identity.RoleWorker)}))(s.t)
	index := slices.IndexFunc(s.machines(), func(machine clusterv1.Machine) bool {
		return machine.Labels[clusterv1.ClusterTopologyMachineDeploymentNameLabel] == "worker"
	})
	lost := s.machines()[index]
	for _, container := range containers {
		if container.Labels[identity.LabelMachine] == lost.Spec.InfrastructureRef.Name {
			must.Succeed(s.t, s.host.Engine.RemoveContainer(s.t.Context(), container.Name))
		}
	}
	s.eventually("the Machine is replaced", func() error {
		return isGone(s.api.Get(s.t.Context(), client.ObjectKeyFromObject(&lost), &clusterv1.Machine{}))
	})
	s.isSettled(before, 6)
}

// survivesFaults: calls that fail do not keep a pool from growing.
func (s *story) survivesFaults() {
	s.t.Helper()
	s.host.Faults.Set(must.Get(memory.ParseFaults(`
seed: 7
rules:
  - {operation: "*", fault: Error, rate: 0.1}
  - {operation: CreateContainer, fault: Lost, rate: 0.5}
  - {operation: "*", fault: Delay, rate: 0.1, duration: 10ms}
  - {operation: APIServer/*, fault: Error, rate: 0.05}
  - {operation: APIServer/*, fault: Lost, rate: 0.05}
  - {operation: APIServer/list, fault: Crash, rate: 0.01}
  - {operation: Etcd/*, fault: Error, rate: 0.1}
`))(s.t))
	s.edit(func(topology *clusterv1.Topology) { topology.Workers.MachinePools[0].Replicas = ptr.To[int32](2) })
	s.isSettled(before, 7)
	if struck := s.host.Faults.Struck(); struck[memory.Error] == 0 {
		s.t.Errorf("the faults were %v", struck)
	}
	s.host.Faults.Set(memory.FaultConfig{})
}

func (s *story) isUpgraded() {
	s.t.Helper()
	s.edit(func(topology *clusterv1.Topology) { topology.Version = after })
	s.isSettled(after, 7)
}

func (s *story) isScaled() {
	s.t.Helper()
	s.edit(func(topology *clusterv1.Topology) {
		topology.ControlPlane.Replicas = ptr.To[int32](1)
		topology.Workers.MachineDeployments[0].Replicas = ptr.To[int32](3)
		topology.Workers.MachinePools[0].Replicas = ptr.To[int32](0)
	})
	s.isSettled(after, 4)
}

func (s *story) edit(change func(*clusterv1.Topology)) {
	s.t.Helper()
	s.editCluster(func(cluster *clusterv1.Cluster) { change(&cluster.Spec.Topology) })
}

func (s *story) editCluster(change func(*clusterv1.Cluster)) {
	s.t.Helper()
	s.eventually("the Cluster is changed", func() error {
		cluster := &clusterv1.Cluster{}
		if err := s.api.Get(s.t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, cluster); err != nil {
			return err
		}
		original := cluster.DeepCopy()
		change(cluster)
		return s.api.Patch(s.t.Context(), cluster, client.MergeFrom(original))
	})
}

func (s *story) eventually(what string, check func() error) {
	s.t.Helper()
	start, last := time.Now(), ""
	must.Eventually(s.t, patience, what, func(context.Context) error {
		err := check()
		if err != nil && err.Error() != last {
			last = err.Error()
			s.t.Logf("%s: %s", what, last)
		}
		return err
	})
	s.t.Logf("%s after %s", what, time.Since(start).Round(100*time.Millisecond))
}
