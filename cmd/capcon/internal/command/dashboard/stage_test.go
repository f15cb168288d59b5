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

package dashboard_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/command/commandtest"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

const (
	controlPlaneName = "demo-control-plane"
	workersName      = "demo-md-0"
	first            = "demo-control-plane-x7k2p"
	worker           = "demo-md-0-9f4cd-l8v5q"
	balancer         = "demo-lb"
)

// stage is a world in which a cluster is created, fails and is deleted, step by step.
type stage struct {
	*commandtest.World
	// orders are done by the command while it waits: the world is its own.
	orders chan func()

	mutex      sync.Mutex
	statistics string
	journal    []string
}

func newStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{World: commandtest.New(t), orders: make(chan func())}
	s.RealTime = true
	s.Plane.Current = commandtest.Running("plane")
	s.Controllers = func() {
		select {
		case order := <-s.orders:
			order()
		default:
		}
	}
	s.Engine.HandleExec(s.exec)
	must.Get(network.Ensure(t.Context(), s.Engine, network.Request{}))(t)
	for kind, group := range map[string]string{
		"ContainerCluster": infrav1.GroupVersion.Group, "ContainerMachine": infrav1.GroupVersion.Group, "KubeadmControlPlane": controlplanev1.GroupVersion.Group,
	} {
		s.Create(&apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{
			Name: strings.ToLower(kind) + "s." + group, Labels: map[string]string{"cluster.x-k8s.io/v1beta2": "v1beta2"},
		}})
	}
	return s
}

// exec does what HAProxy and journald respond.
func (s *stage) exec(container string, _ engine.Command) (engine.Output, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	text := strings.Join(s.journal, "\n")
	if container == balancer {
		table := "# pxname,svname,type,status,weight,check_status,check_code,addr\n" + s.statistics
		text = fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n1HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(table), table)
	}
	return engine.Output{Stdout: []byte(text)}, nil
}

// backend of the load balancer, with a status.
func (s *stage) backend(name, status string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.statistics = fmt.Sprintf("control-plane,%s,2,%s,100,L7OK,200,172.18.0.3:6443\n", name, status)
}

// bootstrapped logs the steps of a bootstrap, which take some seconds each.
func (s *stage) bootstrapped(steps ...string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, step := range steps {
		at := time.Now().Add(time.Duration(len(s.journal)) * 1500 * time.Millisecond).UnixMicro()
		s.journal = append(s.journal, fmt.Sprintf(
			`{"__REALTIME_TIMESTAMP":"%d","SYSLOG_IDENTIFIER":"cluster-api-bootstrap","MESSAGE":"[%s] token=swordfish42"}`, at, step))
	}
}

func meta(kind, name string, owner client.Object) metav1.ObjectMeta {
	result := metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(kind + name), Labels: map[string]string{clusterv1.ClusterNameLabel: "demo"}}
	if owner != nil {
		kind := owner.GetObjectKind().GroupVersionKind()
		result.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: kind.GroupVersion().String(), Kind: kind.Kind, Name: owner.GetName(), UID: owner.GetUID(), Controller: ptr.To(true),
		}}
	}
	return result
}

func condition(conditionType string, status metav1.ConditionStatus, reason, message string) metav1.Condition {
	return metav1.Condition{Type: conditionType, Status: status, Reason: reason, Message: message, LastTransitionTime: metav1.Now()}
}

func ref(group, kind, name string) clusterv1.ContractVersionedObjectReference {
	return clusterv1.ContractVersionedObjectReference{APIGroup: group, Kind: kind, Name: name}
}

// create a cluster whose first machine bootstraps.
func (s *stage) create() {
	controlPlane := &controlplanev1.KubeadmControlPlane{
		TypeMeta:   metav1.TypeMeta{APIVersion: controlplanev1.GroupVersion.String(), Kind: "KubeadmControlPlane"},
		ObjectMeta: meta("KubeadmControlPlane", controlPlaneName, nil),
		Spec:       controlplanev1.KubeadmControlPlaneSpec{Version: "v1.36.3", Replicas: ptr.To[int32](1)},
	}
	controlPlane.Status.Conditions = []metav1.Condition{condition("Available", metav1.ConditionFalse, "NotAvailable", "Control plane not yet initialized")}
	s.Create(controlPlane.DeepCopy(), &infrav1.ContainerCluster{
		TypeMeta:   metav1.TypeMeta{APIVersion: infrav1.GroupVersion.String(), Kind: "ContainerCluster"},
		ObjectMeta: meta("ContainerCluster", "demo", nil), Spec: infrav1.ContainerClusterSpec{OwnerID: "owner", LoadBalancer: infrav1.LoadBalancer{HostPort: 40123}},
		Status: infrav1.ContainerClusterStatus{Conditions: []metav1.Condition{
			condition("Ready", metav1.ConditionTrue, "Ready", ""), condition(infrav1.NetworkReadyCondition, metav1.ConditionTrue, "NetworkReady", ""), condition(infrav1.LoadBalancerReadyCondition, metav1.ConditionTrue, "LoadBalancerReady", ""),
		}},
	})
	s.AddContainer(balancer, "demo", "owner", identity.RoleLoadBalancer)
	s.backend(first, "DOWN")
	s.bootstrapped("preflight", "certs", "kubeconfig", "etcd")
	s.machine(first, identity.RoleControlPlane, controlPlane)
	s.Create(&clusterv1.Cluster{
		TypeMeta:   metav1.TypeMeta{APIVersion: clusterv1.GroupVersion.String(), Kind: clusterv1.ClusterKind},
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "demo", UID: "demo", Finalizers: []string{clusterv1.ClusterFinalizer}},
		Spec: clusterv1.ClusterSpec{
			InfrastructureRef: ref(infrav1.GroupVersion.Group, "ContainerCluster", "demo"),
			ControlPlaneRef:   ref(controlplanev1.GroupVersion.Group, "KubeadmControlPlane", controlPlaneName),
		},
		Status: clusterv1.ClusterStatus{
			Initialization: clusterv1.ClusterInitializationStatus{InfrastructureProvisioned: ptr.To(true)},
			Conditions:     []metav1.Condition{condition("Available", metav1.ConditionFalse, "NotAvailable", "* ControlPlaneAvailable: Control plane not yet initialized")},
		},
	})
}

// machine in a container, which bootstraps.
func (s *stage) machine(name string, role identity.Role, owner client.Object) {
	s.AddContainer(name, "demo", "owner", role)
	machine := &clusterv1.Machine{
		ObjectMeta: meta("Machine", name, owner),
		Spec:       clusterv1.MachineSpec{ClusterName: "demo", InfrastructureRef: ref(infrav1.GroupVersion.Group, "ContainerMachine", name)},
		Status: clusterv1.MachineStatus{Conditions: []metav1.Condition{
			condition("Ready", metav1.ConditionFalse, "NotReady", ""), condition("InfrastructureReady", metav1.ConditionFalse, "NotReady", "Bootstrapping"),
		}},
	}
	if role == identity.RoleControlPlane {
		machine.Labels[clusterv1.MachineControlPlaneLabel] = ""
	} else {
		machine.Labels[clusterv1.MachineDeploymentNameLabel] = workersName
	}
	s.Create(machine, &infrav1.ContainerMachine{
		TypeMeta:   metav1.TypeMeta{APIVersion: infrav1.GroupVersion.String(), Kind: "ContainerMachine"},
		ObjectMeta: meta("ContainerMachine", name, nil),
		Spec:       infrav1.ContainerMachineSpec{ProviderID: identity.ProviderID(name)},
		Status: infrav1.ContainerMachineStatus{Conditions: []metav1.Condition{
			condition("Ready", metav1.ConditionFalse, "Bootstrapping", ""), condition(infrav1.ContainerReadyCondition, metav1.ConditionTrue, infrav1.ContainerRunningReason, ""),
			condition(infrav1.BootstrapCompletedCondition, metav1.ConditionFalse, infrav1.BootstrappingReason, "the bootstrap runs in container "+name),
		}},
	})
}

// ready makes the first machine a Node, and adds a worker that is one.
func (s *stage) ready() {
	deployment := &clusterv1.MachineDeployment{
		TypeMeta:   metav1.TypeMeta{APIVersion: clusterv1.GroupVersion.String(), Kind: "MachineDeployment"},
		ObjectMeta: meta("MachineDeployment", workersName, nil), Spec: clusterv1.MachineDeploymentSpec{ClusterName: "demo", Replicas: ptr.To[int32](1)},
		Status: clusterv1.MachineDeploymentStatus{
			Replicas: ptr.To[int32](1), AvailableReplicas: ptr.To[int32](1), UpToDateReplicas: ptr.To[int32](1),
			Conditions: []metav1.Condition{condition("Available", metav1.ConditionTrue, "Available", "")},
		},
	}
	set := &clusterv1.MachineSet{
		TypeMeta: metav1.TypeMeta{APIVersion: clusterv1.GroupVersion.String(), Kind: "MachineSet"}, ObjectMeta: meta("MachineSet", workersName+"-9f4cd", deployment),
	}
	s.Create(deployment.DeepCopy(), set.DeepCopy(), &corev1.Secret{
		ObjectMeta: meta("Secret", "demo-kubeconfig", nil), Data: map[string][]byte{"value": []byte(commandtest.Kubeconfig)},
	})
	s.machine(worker, identity.RoleWorker, set)
	s.backend(first, "UP")
	s.bootstrapped("control-plane", "addons", "kubelet-start")
	s.becomeNode(first)
	s.becomeNode(worker)
	commandtest.Update(s.World, controlPlaneName, &controlplanev1.KubeadmControlPlane{}, func(o *controlplanev1.KubeadmControlPlane) {
		o.Status.Replicas, o.Status.AvailableReplicas, o.Status.UpToDateReplicas = ptr.To[int32](1), ptr.To[int32](1), ptr.To[int32](1)
		o.Status.Initialization.ControlPlaneInitialized = ptr.To(true)
		o.Status.Conditions = []metav1.Condition{condition("Available", metav1.ConditionTrue, "Available", "")}
	})
	s.available(metav1.ConditionTrue, "Available", "")
}

func (s *stage) available(status metav1.ConditionStatus, reason, message string) {
	commandtest.Update(s.World, "demo", &clusterv1.Cluster{}, func(o *clusterv1.Cluster) {
		o.Status.Initialization.ControlPlaneInitialized = ptr.To(true)
		o.Status.Conditions = []metav1.Condition{condition("Available", status, reason, message)}
	})
}

func (s *stage) becomeNode(name string) {
	commandtest.Update(s.World, name, &infrav1.ContainerMachine{}, func(o *infrav1.ContainerMachine) {
		o.Status.Conditions = []metav1.Condition{
			condition("Ready", metav1.ConditionTrue, "Ready", ""), condition(infrav1.ContainerReadyCondition, metav1.ConditionTrue, infrav1.ContainerRunningReason, ""),
			condition(infrav1.BootstrapCompletedCondition, metav1.ConditionTrue, infrav1.BootstrapCompletedReason, ""),
		}
	})
	commandtest.Update(s.World, name, &clusterv1.Machine{}, func(o *clusterv1.Machine) {
		o.Status.NodeRef = clusterv1.MachineNodeReference{Name: name}
		o.Status.Conditions = []metav1.Condition{
			condition("Ready", metav1.ConditionTrue, "Ready", ""), condition("InfrastructureReady", metav1.ConditionTrue, "Ready", ""), condition("NodeReady", metav1.ConditionTrue, "NodeReady", ""),
		}
	})
}

// fail ends the worker's container again and again.
func (s *stage) fail() {
	must.Succeed(s.T, s.Engine.StopContainer(s.T.Context(), worker, 0))
	commandtest.Update(s.World, worker, &infrav1.ContainerMachine{}, func(o *infrav1.ContainerMachine) {
		message := "container " + worker + " exited 5 times, last with code 137; it was killed because its memory was used up (OOMKilled)"
		o.Status.Conditions = []metav1.Condition{
			condition("Ready", metav1.ConditionFalse, infrav1.ContainerCrashLoopReason, message), condition(infrav1.ContainerReadyCondition, metav1.ConditionFalse, infrav1.ContainerCrashLoopReason, message),
			condition(infrav1.BootstrapCompletedCondition, metav1.ConditionTrue, infrav1.BootstrapCompletedReason, ""),
		}
	})
	commandtest.Update(s.World, worker, &clusterv1.Machine{}, func(o *clusterv1.Machine) {
		o.Status.Conditions = []metav1.Condition{
			condition("Ready", metav1.ConditionFalse, "NotReady", "* NodeHealthy: Node.Ready: Kubelet stopped posting node status."), condition("InfrastructureReady", metav1.ConditionTrue, "Ready", ""),
			condition("NodeReady", metav1.ConditionFalse, "NodeNotReady", "Kubelet stopped posting node status."),
		}
	})
	s.available(metav1.ConditionFalse, "NotAvailable", "* WorkersAvailable: 0 available replicas, at least 1 required")
}

// deleting asks for the deletion, of which the worker is gone.
func (s *stage) deleting() {
	ctx := s.T.Context()
	must.Succeed(s.T, s.Engine.RemoveContainer(ctx, worker))
	for _, object := range []client.Object{&clusterv1.Machine{}, &infrav1.ContainerMachine{}} {
		s.Get(worker, object)
		must.Succeed(s.T, s.Client.Delete(ctx, object))
	}
	must.Succeed(s.T, s.Client.Delete(ctx, s.Cluster()))
}

// deleted takes the rest along.
func (s *stage) deleted() {
	for _, name := range []string{first, balancer} {
		must.Succeed(s.T, s.Engine.RemoveContainer(s.T.Context(), name))
	}
	must.Succeed(s.T, s.Client.DeleteAllOf(s.T.Context(), &infrav1.ContainerMachine{}, client.InNamespace("default")))
	s.VanishObjects()
}

// unreachable lets reads of the management cluster fail, or no longer.
func (s *stage) unreachable(err error) {
	s.orders <- func() { s.ReadErrors = map[string]error{"": err} }
}
