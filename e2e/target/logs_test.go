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

package target

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/record"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// The objects and the containers of a cluster, whose infrastructure has a name of its
// own, as a ClusterClass gives it.
const (
	namespace      = "spec"
	clusterName    = "demo"
	infrastructure = "demo-abcde"
)

var owner = identity.Owner{Namespace: namespace, Cluster: infrastructure, ID: "0123456789abcdef"}

func newManagement(t *testing.T) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	must.Succeed(t, errors.Join(clusterv1.AddToScheme(scheme), infrav1.AddToScheme(scheme)))
	cluster := &clusterv1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: clusterName},
		Spec: clusterv1.ClusterSpec{InfrastructureRef: clusterv1.ContractVersionedObjectReference{
			APIGroup: infrav1.GroupVersion.Group, Kind: clusterKind, Name: infrastructure,
		}},
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(cluster, &infrav1.ContainerCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: infrastructure},
		Spec:       infrav1.ContainerClusterSpec{OwnerID: owner.ID},
	}).Build()
}

// newEngine has a node, a load balancer, and those of another cluster of the name.
func newEngine(t *testing.T) *simulated.Engine {
	t.Helper()
	e := simulated.New()
	e.AddImage(engine.Image{Tags: []string{"image:1"}}, nil)
	other := owner
	other.ID = "other"
	for name, labels := range map[string]map[string]string{
		"node":           owner.ContainerLabels(identity.RoleWorker, "machine-infrastructure"),
		"balancer":       owner.ContainerLabels(identity.RoleLoadBalancer, ""),
		"other-node":     other.ContainerLabels(identity.RoleWorker, "machine-infrastructure"),
		"other-balancer": other.ContainerLabels(identity.RoleLoadBalancer, ""),
	} {
		if _, err := e.CreateContainer(t.Context(), engine.Spec{Name: name, Image: "image:1", Labels: labels}); err != nil {
			t.Fatal(err)
		}
	}
	return e
}

func TestContainerOfAMachine(t *testing.T) {
	t.Parallel()
	reference := func(name string) clusterv1.ContractVersionedObjectReference {
		return clusterv1.ContractVersionedObjectReference{APIGroup: infrav1.GroupVersion.Group, Kind: machineKind, Name: name}
	}
	for name, tc := range map[string]struct {
		reason string
		spec   clusterv1.MachineSpec
		want   string
	}{
		"Provisioned":   {"Its provider ID names it.", clusterv1.MachineSpec{ProviderID: "container:///named"}, "named"},
		"Bootstrapping": {"Before it has one, the container's labels do.", clusterv1.MachineSpec{ClusterName: clusterName, InfrastructureRef: reference("machine-infrastructure")}, "node"},
		"NotCreated":    {"It has no logs.", clusterv1.MachineSpec{ClusterName: clusterName, InfrastructureRef: reference("new")}, ""},
		"NotOfThisKind": {"A node of kind's has its container's name.", clusterv1.MachineSpec{}, "machine"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			machine := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "machine"}, Spec: tc.spec}
			got, err := containerOf(t.Context(), newEngine(t), newManagement(t), machine)
			if err != nil || got != tc.want {
				t.Errorf("%s Got %q, %v, want %q", tc.reason, got, err, tc.want)
			}
		})
	}
}

func TestEngineOfAMachine(t *testing.T) {
	t.Parallel()
	machine := func(kind, name string) *clusterv1.Machine {
		return &clusterv1.Machine{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "machine"},
			Spec: clusterv1.MachineSpec{InfrastructureRef: clusterv1.ContractVersionedObjectReference{
				APIGroup: infrav1.GroupVersion.Group, Kind: kind, Name: name,
			}},
		}
	}
	for name, tc := range map[string]struct {
		reason  string
		machine *clusterv1.Machine
		want    string
	}{
		"OnAnEngine":   {"The object names it.", machine(machineKind, "elsewhere"), "a"},
		"Here":         {"Without a name, it is the manager's.", machine(machineKind, "here"), ""},
		"Deleted":      {"Its container goes first.", machine(machineKind, "deleted"), ""},
		"OfAnotherOne": {"A node of kind's has no ContainerMachine.", machine("", ""), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			management := newManagement(t)
			for name, on := range map[string]map[string]string{"elsewhere": {infrav1.EngineNameAnnotation: "a"}, "here": nil} {
				must.Succeed(t, management.Create(t.Context(), &infrav1.ContainerMachine{
					ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Annotations: on},
				}))
			}
			got, err := engineOf(t.Context(), management, tc.machine)
			if err != nil || got.Name != tc.want {
				t.Errorf("%s Got %q, %v, want %q", tc.reason, got.Name, err, tc.want)
			}
		})
	}
}

// What is missing of an engine is said; nothing is dialed before.
func TestConnectObject(t *testing.T) {
	t.Parallel()
	management := newManagement(t)
	must.Succeed(t, corev1.AddToScheme(management.Scheme()))
	key := client.ObjectKey{Namespace: namespace, Name: "a"}
	expect := func(problem string) {
		t.Helper()
		if _, err := connectObject(t.Context(), management, key); err == nil || !strings.Contains(err.Error(), problem) {
			t.Errorf("Got %v, want %q", err, problem)
		}
	}
	expect(`get ContainerEngine "a"`)
	must.Succeed(t, management.Create(t.Context(), &infrav1.ContainerEngine{
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name},
		Spec:       infrav1.ContainerEngineSpec{Endpoint: "tcp://198.18.1.241:2376", CredentialsSecretName: "a-credentials"},
	}))
	expect(`get credentials of ContainerEngine "a"`)
	must.Succeed(t, management.Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: "a-credentials"}}))
	expect(`read credentials of ContainerEngine "a"`)
}

func TestLoadBalancersOfACluster(t *testing.T) {
	t.Parallel()
	containers, err := containersOf(t.Context(), newEngine(t), newManagement(t),
		client.ObjectKey{Namespace: namespace, Name: clusterName}, map[string]string{identity.LabelRole: string(identity.RoleLoadBalancer)})
	must.Succeed(t, err)
	var names []string
	for _, container := range containers {
		names = append(names, container.Name)
	}
	if diff := cmp.Diff([]string{"balancer"}, names); diff != "" {
		t.Errorf("Load balancers (-want +got):\n%s", diff)
	}
}

func TestCollectNodeWritesFiles(t *testing.T) {
	t.Parallel()
	e, directory := newEngine(t), t.TempDir()
	err := errors.Join(e.StartContainer(t.Context(), "node"),
		e.WriteFile("node", record.LogPath, []byte("log\n")),
		e.WriteFile("node", "/var/log/pods/a/0.log", []byte("pod\n")),
		collectNode(t.Context(), e, newManagement(t), source{namespace, "machine", "node"}, directory))
	must.Succeed(t, err)
	for name, want := range map[string]string{"bootstrap.log": "log\n", "pods/a/0.log": "pod\n"} {
		got, err := os.ReadFile(filepath.Join(directory, name))
		if err != nil || string(got) != want {
			t.Errorf("%s is %q, %v, want %q", name, got, err, want)
		}
	}
	if err := writeBelow(directory)("../out", nil); err == nil {
		t.Error("A file was written outside the directory")
	}
}
