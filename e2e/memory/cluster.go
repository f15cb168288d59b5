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
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cloudv1 "sigs.k8s.io/cluster-api/test/infrastructure/inmemory/pkg/cloud/api/v1alpha1"
	inmemoryruntime "sigs.k8s.io/cluster-api/test/infrastructure/inmemory/pkg/runtime"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

// cluster is one workload cluster: its objects, and what serves them. Its methods are called with
// mutex held.
type cluster struct {
	// name of the objects' resource group: the owner ID of the cluster.
	name    string
	objects inmemoryruntime.Client
	servers *servers
	info    engine.Info

	mutex sync.Mutex
	// nodes by their container.
	nodes map[string]*node
	// endpoint at the port of the load balancer, and whether that runs; nil = there was none.
	endpoint *endpoint
	port     int32
	balanced bool
	// forgotten says that another value takes its place.
	forgotten bool
	// members is the number that the next member of etcd gets.
	members int
}

var (
	// errNoAPIServer: kubeadm join needs one.
	errNoAPIServer    = errors.New("no API server of the cluster runs")
	errNoLoadBalancer = errors.New("no load balancer of the cluster runs")
)

// join adds a node whose container runs for the first time.
func (c *cluster) join(ctx context.Context, container string, n *node, data bootstrapData) error {
	if data.operation == operationInit {
		for _, object := range append(defaultNamespaces(), kubeadmObjects(data.clusterConfiguration, n.version)...) {
			if err := c.objects.Create(ctx, object); err != nil && !apierrors.IsAlreadyExists(err) {
				return fmt.Errorf("create %T %q: %w", object, object.GetName(), err)
			}
		}
	} else if c.serving() == 0 {
		return errNoAPIServer
	}
	c.nodes[container] = n
	return c.up(ctx, n)
}

// up is what a node does when its container has started.
func (c *cluster) up(ctx context.Context, n *node) error {
	if n.controlPlane {
		if err := c.serve(ctx, n); err != nil {
			return err
		}
	}
	if err := c.setNodeReady(ctx, n, corev1.ConditionTrue); err != nil {
		return err
	}
	return c.settle(ctx)
}

// down is what becomes of a node whose container does not run.
func (c *cluster) down(ctx context.Context, n *node) error {
	if n.controlPlane && n.serves {
		n.serves = false
		for _, component := range components() {
			if err := c.setPodReady(ctx, podName(component, n.name), corev1.ConditionFalse); err != nil {
				return err
			}
		}
		c.endpoint.revoke(podName(componentEtcd, n.name))
	}
	if err := c.setNodeReady(ctx, n, corev1.ConditionUnknown); err != nil {
		return err
	}
	return c.settle(ctx)
}

// remove a node whose container is gone. The Node object is Cluster API's to delete, and the
// member of etcd that of KubeadmControlPlane.
func (c *cluster) remove(ctx context.Context, container string, n *node) error {
	if err := c.down(ctx, n); err != nil {
		return err
	}
	for _, component := range components() {
		if component == componentEtcd || !n.controlPlane {
			continue
		}
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: podName(component, n.name)}}
		if err := c.objects.Delete(ctx, pod); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete Pod %q: %w", pod.Name, err)
		}
	}
	delete(c.nodes, container)
	return c.settle(ctx)
}

// serve starts the static Pods of a control plane.
func (c *cluster) serve(ctx context.Context, n *node) error {
	if c.endpoint == nil {
		return errNoLoadBalancer
	}
	removed, err := c.startEtcd(ctx, n)
	if err != nil || removed {
		return err
	}
	for _, component := range []string{componentAPIServer, componentControllerManager, componentScheduler} {
		if err := c.startPod(ctx, staticPod(component, n)); err != nil {
			return err
		}
	}
	if err := c.endpoint.certify("", n.clusterCA); err != nil {
		return fmt.Errorf("start API server: %w", err)
	}
	n.serves = true
	return nil
}

// startEtcd starts a member, at first by adding it. One that was removed does not come back.
func (c *cluster) startEtcd(ctx context.Context, n *node) (removed bool, err error) {
	pods, err := c.etcdPods(ctx)
	if err != nil {
		return false, err
	}
	pod := staticPod(componentEtcd, n)
	c.members++
	pod.Annotations = map[string]string{
		cloudv1.EtcdClusterIDAnnotationName: "1", cloudv1.EtcdMemberIDAnnotationName: strconv.Itoa(c.members),
	}
	for i := range pods {
		if _, gone := pods[i].Annotations[cloudv1.EtcdMemberRemoved]; gone && pods[i].Name == pod.Name {
			return true, nil
		}
	}
	if err := c.startPod(ctx, pod); err != nil {
		return false, err
	}
	if err := c.endpoint.certify(pod.Name, n.etcdCA); err != nil {
		return false, fmt.Errorf("start member of etcd: %w", err)
	}
	return false, nil
}

// settle elects a leader of etcd where there is none, removes Pods of members that are gone, and
// lets the endpoint answer where the load balancer runs and etcd has a quorum.
func (c *cluster) settle(ctx context.Context) error {
	pods, err := c.etcdPods(ctx)
	if err != nil {
		return err
	}
	quorum := c.census(pods)
	for _, pod := range quorum.removed {
		if err := c.sweep(ctx, pod); err != nil {
			return err
		}
	}
	for _, name := range quorum.stopped {
		if err := c.follow(ctx, name); err != nil {
			return err
		}
	}
	if quorum.elected != "" {
		if err := c.lead(ctx, quorum.elected); err != nil {
			return err
		}
	}
	return c.listen(ctx, quorum.reached)
}

// census is what members of etcd there are.
type census struct {
	// removed are Pods of members that are no more.
	removed []*corev1.Pod
	// stopped leads, and does not run; elected is to lead, and empty where one does or none runs.
	stopped []string
	elected string
	// reached says that more than half of the members run.
	reached bool
}

func (c *cluster) census(pods []corev1.Pod) census {
	var found census
	members, serving, led := 0, 0, false
	for i := range pods {
		pod := &pods[i]
		if _, gone := pod.Annotations[cloudv1.EtcdMemberRemoved]; gone {
			found.removed = append(found.removed, pod)
			continue
		}
		members++
		serves := c.serves(pod.Name)
		_, leads := pod.Annotations[cloudv1.EtcdLeaderFromAnnotationName]
		switch {
		case serves && leads:
			led = true
		case serves:
			found.elected = pod.Name
		case leads:
			found.stopped = append(found.stopped, pod.Name)
		}
		if serves {
			serving++
		}
	}
	if led {
		found.elected = ""
	}
	found.reached = 2*serving > members
	return found
}

// sweep deletes the Pod of a member that was removed, once its container is gone.
func (c *cluster) sweep(ctx context.Context, pod *corev1.Pod) error {
	for _, n := range c.nodes {
		if n.name == pod.Spec.NodeName {
			return nil
		}
	}
	if err := c.objects.Delete(ctx, pod); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete Pod %q: %w", pod.Name, err)
	}
	return nil
}

// listen where the load balancer runs and etcd has a quorum.
func (c *cluster) listen(ctx context.Context, quorum bool) error {
	switch {
	case c.endpoint == nil:
		return nil
	case c.balanced && quorum:
		return c.endpoint.start(ctx)
	default:
		return c.endpoint.stop()
	}
}

// balance lets a load balancer that publishes a port run; 0 = it does not run.
func (c *cluster) balance(ctx context.Context, port int32) error {
	c.balanced = port != 0
	if c.balanced && port != c.port {
		if err := c.close(); err != nil {
			return err
		}
		c.endpoint, c.port = c.servers.newEndpoint(c.name, port), port
		// Certificates are those of the endpoint.
		for _, n := range c.nodes {
			if n.serves {
				if err := c.serve(ctx, n); err != nil {
					return err
				}
			}
		}
	}
	return c.settle(ctx)
}

// close the endpoint, if there is one.
func (c *cluster) close() error {
	if c.endpoint == nil {
		return nil
	}
	return c.endpoint.remove()
}

// serving is the number of control planes that run.
func (c *cluster) serving() int {
	serving := 0
	for _, n := range c.nodes {
		if n.serves {
			serving++
		}
	}
	return serving
}

func (c *cluster) serves(etcdPod string) bool {
	for _, n := range c.nodes {
		if n.serves && podName(componentEtcd, n.name) == etcdPod {
			return true
		}
	}
	return false
}

// etcdPods are those of members, by name.
func (c *cluster) etcdPods(ctx context.Context) ([]corev1.Pod, error) {
	pods := &corev1.PodList{}
	if err := c.objects.List(ctx, pods, client.InNamespace(metav1.NamespaceSystem), client.MatchingLabels{"component": componentEtcd}); err != nil {
		return nil, fmt.Errorf("list members of etcd: %w", err)
	}
	slices.SortFunc(pods.Items, func(a, b corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	return pods.Items, nil
}

// lead makes a member of etcd the leader.
func (c *cluster) lead(ctx context.Context, name string) error {
	return c.change(ctx, name, func(pod *corev1.Pod) {
		metav1.SetMetaDataAnnotation(&pod.ObjectMeta, cloudv1.EtcdLeaderFromAnnotationName, time.Now().Format(time.RFC3339))
	})
}

// follow makes a member of etcd one that does not lead.
func (c *cluster) follow(ctx context.Context, name string) error {
	return c.change(ctx, name, func(pod *corev1.Pod) { delete(pod.Annotations, cloudv1.EtcdLeaderFromAnnotationName) })
}

func (c *cluster) setPodReady(ctx context.Context, name string, status corev1.ConditionStatus) error {
	return c.change(ctx, name, func(pod *corev1.Pod) { setPodReady(pod, status) })
}

// startPod creates a static Pod, or reports one that is there as ready.
func (c *cluster) startPod(ctx context.Context, pod *corev1.Pod) error {
	err := c.objects.Create(ctx, pod)
	if apierrors.IsAlreadyExists(err) {
		return c.setPodReady(ctx, pod.Name, corev1.ConditionTrue)
	}
	if err != nil {
		return fmt.Errorf("create Pod %q: %w", pod.Name, err)
	}
	return nil
}

// change a Pod of kube-system, if it exists.
func (c *cluster) change(ctx context.Context, name string, change func(*corev1.Pod)) error {
	pod := &corev1.Pod{}
	if err := c.objects.Get(ctx, client.ObjectKey{Namespace: metav1.NamespaceSystem, Name: name}, pod); err != nil {
		return client.IgnoreNotFound(err)
	}
	original := pod.DeepCopy()
	change(pod)
	if err := c.objects.Patch(ctx, pod, client.MergeFrom(original)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("patch Pod %q: %w", name, err)
	}
	return nil
}

// setNodeReady registers the Node if it does not exist and is to be ready.
func (c *cluster) setNodeReady(ctx context.Context, n *node, status corev1.ConditionStatus) error {
	object := &corev1.Node{}
	err := c.objects.Get(ctx, client.ObjectKey{Name: n.name}, object)
	switch {
	case apierrors.IsNotFound(err) && status == corev1.ConditionTrue:
		err = c.objects.Create(ctx, nodeObject(n, c.info))
	case apierrors.IsNotFound(err):
		return nil
	case err == nil:
		original := object.DeepCopy()
		setNodeReady(object, status)
		err = client.IgnoreNotFound(c.objects.Patch(ctx, object, client.MergeFrom(original)))
	}
	if err != nil {
		return fmt.Errorf("report Node %q: %w", n.name, err)
	}
	return nil
}
