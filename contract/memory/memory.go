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

// Package memory runs workload clusters in memory, for the fake of a provider's infrastructure: what
// kubeadm starts on the servers of a cluster, with the API server and etcd of Cluster API's in-memory provider.
// A Cluster of such servers becomes Available. Nothing runs in it, and there is no authentication.
package memory

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cloudv1 "sigs.k8s.io/cluster-api/test/infrastructure/inmemory/pkg/cloud/api/v1alpha1"
	inmemoryruntime "sigs.k8s.io/cluster-api/test/infrastructure/inmemory/pkg/runtime"
	inmemoryserver "sigs.k8s.io/cluster-api/test/infrastructure/inmemory/pkg/server"
)

const (
	etcd              = "etcd"
	apiServer         = "kube-apiserver"
	controlPlaneLabel = "node-role.kubernetes.io/control-plane"
)

// components of a control plane are static Pods.
func components() []string {
	return []string{etcd, apiServer, "kube-controller-manager", "kube-scheduler"}
}

// Clusters are workload clusters by the name of their load balancer.
type Clusters struct {
	objects   inmemoryruntime.Manager
	endpoints *inmemoryserver.WorkloadClustersMux

	mutex sync.Mutex
	// members is the number of the last member of etcd.
	members int
}

// New returns no clusters. Their endpoints are ports of host, on which this process must be reached by
// Cluster API's controllers: the address of its Pod. All ends with ctx.
func New(ctx context.Context, host string) (*Clusters, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, appsv1.AddToScheme, rbacv1.AddToScheme, storagev1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("register API types: %w", err)
		}
	}
	objects := inmemoryruntime.NewManager(scheme)
	if err := objects.Start(ctx); err != nil {
		return nil, fmt.Errorf("start objects in memory: %w", err)
	}
	// Its debug server has any port.
	endpoints, err := inmemoryserver.NewWorkloadClustersMux(objects, host, inmemoryserver.CustomPorts{})
	if err != nil {
		return nil, fmt.Errorf("start endpoints of clusters in memory: %w", err)
	}
	// Shutdown of a context that has ended does not wait for connections.
	context.AfterFunc(ctx, func() { _ = endpoints.Shutdown(ctx) })
	return &Clusters{objects: objects, endpoints: endpoints}, nil
}

// Host of all endpoints.
func (c *Clusters) Host() string { return c.endpoints.Host() }

// Create creates what has a name: the load balancer NAMESPACE/CLUSTER, whose port it returns, or a server
// NAMESPACE/CLUSTER/NAME. The server boots with its bootstrap data, a cloud-config with kubeadm's configuration v1beta4; without
// that, it does nothing. It can be repeated.
func (c *Clusters) Create(ctx context.Context, name string, data []byte) (port int32, err error) {
	cluster, node := split(name)
	if node == "" {
		return c.balance(cluster)
	}
	return 0, c.boot(ctx, server{cluster, node, data})
}

// Delete deletes what has a name, if it exists.
func (c *Clusters) Delete(ctx context.Context, name string) error {
	cluster, node := split(name)
	if node == "" {
		return c.unbalance(cluster)
	}
	return c.remove(ctx, server{cluster: cluster, name: node})
}

// split the name of a server; that of a load balancer is the cluster's.
func split(name string) (cluster, node string) {
	if strings.Count(name, "/") < 2 {
		return name, ""
	}
	return path.Dir(name), path.Base(name)
}

// balance creates a load balancer for a cluster that has none. It returns its port, where an API server answers
// once a control plane has booted.
func (c *Clusters) balance(cluster string) (int32, error) {
	free, err := freePort()
	if err != nil {
		return 0, err
	}
	endpoint, err := c.endpoints.InitWorkloadClusterListener(cluster, free)
	if err != nil {
		return 0, fmt.Errorf("create load balancer: %w", err)
	}
	c.objects.AddResourceGroup(cluster)
	if err := c.endpoints.RegisterResourceGroup(cluster, cluster); err != nil {
		return 0, fmt.Errorf("create objects of cluster: %w", err)
	}
	return endpoint.Port(), nil
}

// freePort is one on which no process listens. The mux counts from a first one.
func freePort() (int32, error) {
	listener, err := net.ListenTCP("tcp", nil)
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	defer func() { _ = listener.Close() }()
	address, err := netip.ParseAddrPort(listener.Addr().String())
	if err != nil {
		return 0, fmt.Errorf("read address: %w", err)
	}
	return int32(address.Port()), nil
}

// unbalance deletes the load balancer of a cluster, and with it the cluster.
func (c *Clusters) unbalance(cluster string) error {
	if err := c.endpoints.DeleteWorkloadClusterListener(cluster); err != nil {
		return fmt.Errorf("delete load balancer: %w", err)
	}
	c.objects.DeleteResourceGroup(cluster)
	return nil
}

// server that boots.
type server struct {
	// cluster is the name of the load balancer, and name that of the server, which its Node has too.
	cluster, name string
	data          []byte
}

// boot does what kubeadm and the kubelet do at the first boot of a server. It can be repeated.
func (c *Clusters) boot(ctx context.Context, s server) error {
	data, err := read(s.data, s.name)
	if err != nil || !data.kubeadm {
		return err
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	objects := []client.Object{
		// A Node whose Pods have no Namespace cannot be drained.
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: metav1.NamespaceSystem}},
		node(s.name, data),
	}
	if data.clusterConfiguration != "" {
		objects = append(objects, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: "kubeadm-config"},
			Data:       map[string]string{"ClusterConfiguration": data.clusterConfiguration},
		})
	}
	if !data.controlPlane() {
		return c.create(ctx, s, objects)
	}
	pods, err := c.pods(ctx, s)
	if err != nil {
		return err
	}
	if err := c.create(ctx, s, append(objects, pods...)); err != nil {
		return err
	}
	if err := c.endpoints.AddEtcdMember(s.cluster, pod(s, etcd).Name, data.etcdCA.certificate, data.etcdCA.key); err != nil {
		return fmt.Errorf("start member of etcd: %w", err)
	}
	if err := c.endpoints.AddAPIServer(s.cluster, pod(s, apiServer).Name, data.clusterCA.certificate, data.clusterCA.key); err != nil {
		return fmt.Errorf("start API server: %w", err)
	}
	return nil
}

// create the objects that are not there.
func (c *Clusters) create(ctx context.Context, s server, objects []client.Object) error {
	for _, object := range objects {
		if err := c.client(s.cluster).Create(ctx, object); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("create %T %s: %w", object, object.GetName(), err)
		}
	}
	return nil
}

// pods of a control plane.
func (c *Clusters) pods(ctx context.Context, s server) ([]client.Object, error) {
	annotations, err := c.join(ctx, s)
	if err != nil {
		return nil, err
	}
	var pods []client.Object
	for _, component := range components() {
		object := pod(s, component)
		if component == etcd {
			maps.Copy(object.Annotations, annotations)
		}
		pods = append(pods, object)
	}
	return pods, nil
}

// join is what makes the Pod of etcd a member. The first one leads; KubeadmControlPlane moves that before it deletes
// the server.
func (c *Clusters) join(ctx context.Context, s server) (map[string]string, error) {
	pods := &corev1.PodList{}
	if err := c.client(s.cluster).List(ctx, pods, client.InNamespace(metav1.NamespaceSystem), client.MatchingLabels{"component": etcd}); err != nil {
		return nil, fmt.Errorf("list members of etcd: %w", err)
	}
	c.members++
	annotations := map[string]string{cloudv1.EtcdClusterIDAnnotationName: "1", cloudv1.EtcdMemberIDAnnotationName: strconv.Itoa(c.members)}
	if !slices.ContainsFunc(pods.Items, isMember) {
		annotations[cloudv1.EtcdLeaderFromAnnotationName] = time.Now().Format(time.RFC3339)
	}
	return annotations, nil
}

func isMember(pod corev1.Pod) bool {
	_, removed := pod.Annotations[cloudv1.EtcdMemberRemoved]
	return !removed
}

// remove a server. Its Node is Cluster API's to delete, and its member of etcd that of KubeadmControlPlane.
func (c *Clusters) remove(ctx context.Context, s server) error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if !c.endpoints.HasAPIServer(s.cluster, pod(s, apiServer).Name) {
		return nil
	}
	for _, component := range components() {
		if err := c.client(s.cluster).Delete(ctx, pod(s, component)); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete Pod of %s: %w", component, err)
		}
	}
	if err := c.endpoints.DeleteEtcdMember(s.cluster, pod(s, etcd).Name); err != nil {
		return fmt.Errorf("stop member of etcd: %w", err)
	}
	if err := c.endpoints.DeleteAPIServer(s.cluster, pod(s, apiServer).Name); err != nil {
		return fmt.Errorf("stop API server: %w", err)
	}
	return nil
}

func (c *Clusters) client(cluster string) inmemoryruntime.Client {
	return c.objects.GetResourceGroup(cluster).GetClient()
}

// node is what the kubelet registers.
func node(name string, data bootstrapData) *corev1.Node {
	object := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name}},
		Spec:       corev1.NodeSpec{ProviderID: data.providerID},
	}
	if data.controlPlane() {
		object.Labels[controlPlaneLabel] = ""
		object.Spec.Taints = []corev1.Taint{{Key: controlPlaneLabel, Effect: corev1.TaintEffectNoSchedule}}
	}
	for _, kind := range []corev1.NodeConditionType{corev1.NodeReady, corev1.NodeMemoryPressure, corev1.NodeDiskPressure, corev1.NodePIDPressure} {
		condition := corev1.NodeCondition{Type: kind, Status: corev1.ConditionFalse, Reason: "KubeletReady", LastTransitionTime: metav1.Now()}
		if kind == corev1.NodeReady {
			condition.Status = corev1.ConditionTrue
		}
		object.Status.Conditions = append(object.Status.Conditions, condition)
	}
	return object
}

// pod of a component of a control plane.
func pod(s server, component string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: metav1.NamespaceSystem, Name: component + "-" + s.name,
			Labels: map[string]string{"component": component, "tier": "control-plane"},
			// Cluster API does not evict such Pods.
			Annotations: map[string]string{corev1.MirrorPodAnnotationKey: component},
		},
		Spec: corev1.PodSpec{NodeName: s.name},
		Status: corev1.PodStatus{
			Phase:      corev1.PodRunning,
			Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()}},
		},
	}
}
