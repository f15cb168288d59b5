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

package memory

import (
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

const controlPlaneLabel = "node-role.kubernetes.io/control-plane"

// The static Pods of a control plane.
const (
	componentEtcd              = "etcd"
	componentAPIServer         = "kube-apiserver"
	componentControllerManager = "kube-controller-manager"
	componentScheduler         = "kube-scheduler"
)

func components() []string {
	return []string{componentEtcd, componentAPIServer, componentControllerManager, componentScheduler}
}

func podName(component, node string) string { return component + "-" + node }

// nodeObject is what the kubelet of a node registers.
func nodeObject(n *node, info engine.Info) *corev1.Node {
	object := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: n.name, Labels: map[string]string{corev1.LabelHostname: n.name}},
		Spec:       corev1.NodeSpec{ProviderID: n.providerID, Taints: n.taints},
		Status: corev1.NodeStatus{
			Capacity: corev1.ResourceList{
				corev1.ResourceCPU:    *resource.NewQuantity(int64(info.CPUs), resource.DecimalSI),
				corev1.ResourceMemory: *resource.NewQuantity(info.MemoryBytes, resource.BinarySI),
				corev1.ResourcePods:   resource.MustParse("110"),
			},
			NodeInfo: corev1.NodeSystemInfo{
				KubeletVersion: n.version, Architecture: info.Architecture, OperatingSystem: "linux",
				ContainerRuntimeVersion: "memory://1", KernelVersion: info.Kernel, OSImage: info.OperatingSystem,
			},
			Addresses: []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: n.name}},
		},
	}
	object.Status.Allocatable = object.Status.Capacity.DeepCopy()
	if n.address != "" {
		object.Status.Addresses = append(object.Status.Addresses, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: n.address})
	}
	for key, value := range n.labels {
		object.Labels[key] = value
	}
	if n.controlPlane {
		object.Labels[controlPlaneLabel] = ""
	}
	setNodeReady(object, corev1.ConditionTrue)
	return object
}

// setNodeReady sets what the kubelet reports when its container has started, or, where it does not run any more, the
// node controller. A kubelet in memory reports nothing while nothing changes: its heartbeat is that of the start.
func setNodeReady(object *corev1.Node, status corev1.ConditionStatus) {
	now, before := metav1.Now(), object.Status.Conditions
	conditions := []corev1.NodeCondition{
		{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady"},
		{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionFalse, Reason: "KubeletHasSufficientMemory"},
		{Type: corev1.NodeDiskPressure, Status: corev1.ConditionFalse, Reason: "KubeletHasNoDiskPressure"},
		{Type: corev1.NodePIDPressure, Status: corev1.ConditionFalse, Reason: "KubeletHasSufficientPID"},
	}
	for i := range conditions {
		condition := &conditions[i]
		condition.LastHeartbeatTime, condition.LastTransitionTime = now, now
		if status != corev1.ConditionTrue {
			condition.Status, condition.Reason = status, "NodeStatusUnknown"
			condition.Message = "Kubelet stopped posting node status."
		}
		index := slices.IndexFunc(before, func(old corev1.NodeCondition) bool { return old.Type == condition.Type })
		if index < 0 {
			continue
		}
		if status != corev1.ConditionTrue {
			condition.LastHeartbeatTime = before[index].LastHeartbeatTime
		}
		if before[index].Status == condition.Status {
			condition.LastTransitionTime = before[index].LastTransitionTime
		}
	}
	object.Status.Conditions = conditions
}

// staticPod of a component on a control plane.
func staticPod(component string, n *node) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: metav1.NamespaceSystem, Name: podName(component, n.name),
			Labels: map[string]string{"component": component, "tier": "control-plane"},
		},
		Spec:   corev1.PodSpec{NodeName: n.name},
		Status: corev1.PodStatus{Phase: corev1.PodRunning},
	}
	setPodReady(pod, corev1.ConditionTrue)
	return pod
}

func setPodReady(pod *corev1.Pod, status corev1.ConditionStatus) {
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: status, LastTransitionTime: metav1.Now()}}
}

// defaultNamespaces are those of each API server.
func defaultNamespaces() []client.Object {
	var namespaces []client.Object
	for _, name := range []string{metav1.NamespaceDefault, metav1.NamespacePublic, metav1.NamespaceSystem, corev1.NamespaceNodeLease} {
		namespaces = append(namespaces, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
			Name: name, Labels: map[string]string{corev1.LabelMetadataName: name},
		}})
	}
	return namespaces
}

// kubeadmObjects are what kubeadm init makes in a cluster, as far as KubeadmControlPlane reads or
// changes them.
func kubeadmObjects(clusterConfiguration, version string) []client.Object {
	const getNodes = "kubeadm:get-nodes"
	system := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: name}
	}
	template := func(container, image string) corev1.PodTemplateSpec {
		return corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: container, Image: image}}}}
	}
	return []client.Object{
		&corev1.ConfigMap{ObjectMeta: system("kubeadm-config"), Data: map[string]string{"ClusterConfiguration": clusterConfiguration}},
		&rbacv1.ClusterRole{
			ObjectMeta: metav1.ObjectMeta{Name: getNodes},
			Rules:      []rbacv1.PolicyRule{{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"nodes"}}},
		},
		&rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: getNodes},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: getNodes},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.GroupKind, Name: "system:bootstrappers:kubeadm:default-node-token"}},
		},
		&appsv1.DaemonSet{ObjectMeta: system("kube-proxy"), Spec: appsv1.DaemonSetSpec{
			Template: template("kube-proxy", "registry.k8s.io/kube-proxy:"+strings.ReplaceAll(version, "+", "_")),
		}},
	}
}
