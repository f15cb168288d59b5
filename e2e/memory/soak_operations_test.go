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
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// errNothingToDo: an operation needs what there is none of.
var errNothingToDo = errors.New("there is none")

func (s *soak) clusters() []clusterv1.Cluster {
	s.t.Helper()
	clusters := &clusterv1.ClusterList{}
	must.Succeed(s.t, s.api.List(s.t.Context(), clusters, client.InNamespace(namespace)))
	return clusters.Items
}

// containers of the engine, which faults do not keep from being listed.
func (s *soak) containers() []engine.Container {
	for {
		containers, err := s.host.Engine.ListContainers(s.t.Context(), nil)
		if err == nil || s.t.Context().Err() != nil {
			return containers
		}
	}
}

// create a cluster, with a MachineHealthCheck of all its Machines.
func (s *soak) create() error {
	s.t.Helper()
	name := fmt.Sprintf("soak-%d", s.random.IntN(soakClusters))
	cluster := newCluster(name, before)
	cluster.Spec.Topology.ControlPlane.Replicas = s.oneOf(1, 3)
	if err := s.api.Create(s.t.Context(), cluster); err != nil {
		return fmt.Errorf("create Cluster: %w", err)
	}
	check := &clusterv1.MachineHealthCheck{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name,
			OwnerReferences: []metav1.OwnerReference{{APIVersion: clusterv1.GroupVersion.String(), Kind: "Cluster", Name: name, UID: cluster.UID}},
		},
		Spec: clusterv1.MachineHealthCheckSpec{
			ClusterName: name, Selector: metav1.LabelSelector{MatchLabels: map[string]string{clusterv1.ClusterNameLabel: name}},
			Checks: clusterv1.MachineHealthCheckChecks{
				NodeStartupTimeoutSeconds: ptr.To[int32](120),
				UnhealthyNodeConditions: []clusterv1.UnhealthyNodeCondition{
					{Type: corev1.NodeReady, Status: corev1.ConditionUnknown, TimeoutSeconds: ptr.To[int32](60)},
				},
			},
		},
	}
	must.Succeed(s.t, client.IgnoreAlreadyExists(s.api.Create(s.t.Context(), check)))
	return nil
}

// choose one of the elements.
func choose[T any](s *soak, of []T) (*T, error) {
	if len(of) == 0 {
		return nil, errNothingToDo
	}
	return &of[s.random.IntN(len(of))], nil
}

func (s *soak) delete() error {
	cluster, err := choose(s, s.clusters())
	if err != nil {
		return err
	}
	return s.api.Delete(s.t.Context(), cluster)
}

func (s *soak) change(change func(*clusterv1.Topology)) error {
	cluster, err := choose(s, s.clusters())
	if err != nil {
		return err
	}
	original := cluster.DeepCopy()
	change(&cluster.Spec.Topology)
	return s.api.Patch(s.t.Context(), cluster, client.MergeFrom(original))
}

// deleteMachine that is a worker: KubeadmControlPlane does not keep a user from deleting more control
// planes than etcd can lose.
func (s *soak) deleteMachine() error {
	machine, err := choose(s, slices.DeleteFunc(s.machines(), func(machine clusterv1.Machine) bool {
		_, controlPlane := machine.Labels[clusterv1.MachineControlPlaneLabel]
		return controlPlane
	}))
	if err != nil {
		return err
	}
	return s.api.Delete(s.t.Context(), machine)
}

// crash a container, which its restart policy starts again.
func (s *soak) crash() error {
	container, err := choose(s, s.containers())
	if err != nil {
		return err
	}
	return s.host.Engine.CrashContainer(container.Name, 1, s.random.IntN(2) == 0)
}

// pause a container until the next rest, or shorter.
func (s *soak) pause() error {
	container, err := choose(s, s.containers())
	if err != nil {
		return err
	}
	if err := s.host.Engine.Pause(container.Name); err != nil {
		return err
	}
	time.AfterFunc(time.Duration(s.random.IntN(int(5*time.Second))), func() {
		// It may be gone.
		_ = s.host.Engine.Unpause(container.Name)
	})
	return nil
}

// checkInvariants are what holds at any time, whatever is disturbed.
func (s *soak) checkInvariants() {
	s.t.Helper()
	earlier := s.containers()
	clusters, machines := &infrav1.ContainerClusterList{}, &infrav1.ContainerMachineList{}
	must.Succeed(s.t, errors.Join(s.api.List(s.t.Context(), clusters), s.api.List(s.t.Context(), machines)))
	existing := map[string]bool{}
	for _, container := range s.containers() {
		existing[container.ID] = true
	}
	owners, endpoints := map[string]bool{}, map[string]string{}
	for i := range clusters.Items {
		cluster := &clusters.Items[i]
		owners[cluster.Spec.OwnerID] = true
		endpoint := cluster.Spec.ControlPlaneEndpoint
		key := fmt.Sprintf("%s:%d", endpoint.Host, endpoint.Port)
		if other := endpoints[key]; other != "" && endpoint.Port != 0 {
			s.t.Fatalf("clusters %s and %s have the endpoint %s", other, cluster.Name, key)
		}
		endpoints[key] = cluster.Name
	}
	for _, container := range earlier {
		if owner := container.Labels[identity.LabelOwnerID]; existing[container.ID] && !owners[owner] {
			s.t.Fatalf("container %s is of owner %q, whose ContainerCluster is gone", container.Name, owner)
		}
	}
	ids := map[string]string{}
	for i := range machines.Items {
		machine := &machines.Items[i]
		if other := ids[machine.Spec.ProviderID]; other != "" && machine.Spec.ProviderID != "" {
			s.t.Fatalf("machines %s and %s have the provider ID %s", other, machine.Name, machine.Spec.ProviderID)
		}
		ids[machine.Spec.ProviderID] = machine.Name
	}
	addresses := map[string]string{}
	for _, container := range earlier {
		observed, err := s.host.Engine.Observe(container.Name)
		if err != nil {
			continue
		}
		for network, endpoint := range observed.Networks {
			for _, address := range endpoint.Addresses {
				key := network + " " + address.String()
				if other := addresses[key]; other != "" && other != observed.ID {
					s.t.Fatalf("two containers have the address %s", key)
				}
				addresses[key] = observed.ID
			}
		}
	}
}

// settled: all clusters are as their users want them, with a container for each machine and each load
// balancer, and no others.
func (s *soak) settled() error {
	s.t.Helper()
	want := 0
	for _, cluster := range s.clusters() {
		if !cluster.DeletionTimestamp.IsZero() {
			return fmt.Errorf("cluster %s is being deleted", cluster.Name)
		}
		for _, condition := range []string{clusterv1.ClusterAvailableCondition, clusterv1.ClusterTopologyReconciledCondition} {
			if !conditions.IsTrue(&cluster, condition) {
				return fmt.Errorf("cluster %s: %s: %s; %v", cluster.Name, condition, conditions.GetMessage(&cluster, condition), s.problems())
			}
		}
		topology := cluster.Spec.Topology
		want += 1 + int(*topology.ControlPlane.Replicas+*topology.Workers.MachineDeployments[0].Replicas+*topology.Workers.MachinePools[0].Replicas)
	}
	got := 0
	for _, container := range s.containers() {
		if container.Status == engine.StatusRunning {
			got++
		}
	}
	if all := len(s.containers()); got != want || all != want {
		return fmt.Errorf("%d of %d containers run, want %d", got, all, want)
	}
	return nil
}

// nothingLeft of any cluster, in the API and on the engine.
func (s *soak) nothingLeft() error {
	s.t.Helper()
	if clusters, containers := s.clusters(), s.containers(); len(clusters) > 0 || len(containers) > 0 {
		return fmt.Errorf("there are %d clusters and %d containers", len(clusters), len(containers))
	}
	if volumes, known := s.host.Engine.VolumeNames(), s.host.Clusters(); len(volumes) > 0 || len(known) > 0 {
		return fmt.Errorf("there are volumes %v, and clusters in memory %v", volumes, known)
	}
	secrets := &corev1.SecretList{}
	if err := s.api.List(s.t.Context(), secrets, client.InNamespace(namespace), client.HasLabels{clusterv1.ClusterNameLabel}); err != nil {
		return err
	}
	if len(secrets.Items) > 0 {
		return fmt.Errorf("there are %d Secrets", len(secrets.Items))
	}
	return nil
}

// startControllerManager collects garbage and empties namespaces, without which objects of deleted
// clusters stay.
func startControllerManager(t *testing.T, config *rest.Config) {
	t.Helper()
	assets := os.Getenv("KUBEBUILDER_ASSETS")
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	const user = "soak"
	must.Succeed(t, clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{user: {Server: config.Host, CertificateAuthorityData: config.CAData}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{user: {ClientCertificateData: config.CertData, ClientKeyData: config.KeyData}},
		Contexts:       map[string]*clientcmdapi.Context{user: {Cluster: user, AuthInfo: user}},
		CurrentContext: user,
	}, kubeconfig))
	command := exec.CommandContext(t.Context(), filepath.Join(assets, "kube-controller-manager"), "--kubeconfig="+kubeconfig, //nolint:gosec // The caller's.
		"--controllers=garbage-collector-controller,namespace-controller", "--leader-elect=false", "--secure-port=0")
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	must.Succeed(t, command.Start())
	t.Cleanup(func() { _ = command.Wait() })
}
