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

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

const (
	podSubnet = "10.244.0.0/16"
	// lookInterval between two tries to reach an API server that is not there yet.
	lookInterval = 100 * time.Millisecond
)

// cluster is one that is measured.
type cluster struct {
	bench      *bench
	management *management
	name       string
	shape      shape
	begin      time.Time
	// workload is how the cluster's API server is reached: by the kubeconfig
	// that was first made.
	workload *rest.Config
	nodes    *observer
	cancel   context.CancelFunc
}

// milestones of a cluster, in the order in which they are reported.
const (
	infrastructureProvisioned = "infrastructure provisioned"
	controlPlaneInitialized   = "control plane initialized"
	nodesReady                = "all Nodes Ready"
	machinesReady             = "all Machines Ready"
)

// create makes a cluster and returns when it passed each milestone.
func (b *bench) create(ctx context.Context, m *management, name string, s shape) (*cluster, map[string]value, error) {
	c := &cluster{bench: b, management: m, name: name, shape: s}
	objects, err := b.clusterObjects(m.provider, name, s)
	if err != nil {
		return nil, nil, err
	}
	watching, cancel := context.WithCancel(ctx)
	c.cancel = cancel
	c.begin = time.Now()
	for _, object := range objects {
		if err := m.api.Create(ctx, object); err != nil {
			return nil, nil, fmt.Errorf("create %s: %w", object.GetKind(), err)
		}
	}
	limited, stop := context.WithTimeout(ctx, b.createLimit)
	defer stop()
	var (
		group   sync.WaitGroup
		mu      sync.Mutex
		reached = map[string]value{}
		errs    []error
	)
	for milestone, await := range map[string]func(context.Context) (time.Time, error){
		infrastructureProvisioned: c.awaitCluster(func(s clusterv1.ClusterInitializationStatus) bool {
			return ptr.Deref(s.InfrastructureProvisioned, false)
		}),
		controlPlaneInitialized: c.awaitCluster(func(s clusterv1.ClusterInitializationStatus) bool { return ptr.Deref(s.ControlPlaneInitialized, false) }),
		nodesReady:              func(ctx context.Context) (time.Time, error) { return c.awaitNodes(ctx, watching) },
		machinesReady:           c.awaitMachines,
	} {
		group.Go(func() {
			at, err := await(limited)
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				reached[milestone] = seconds(at.Sub(c.begin))
				return
			}
			reached[milestone] = never(b.createLimit)
			errs = append(errs, fmt.Errorf("wait for %s of %s: %w", milestone, name, err))
		})
	}
	group.Wait()
	return c, reached, errors.Join(errs...)
}

func (c *cluster) awaitCluster(reached func(clusterv1.ClusterInitializationStatus) bool) func(context.Context) (time.Time, error) {
	return func(ctx context.Context) (time.Time, error) {
		return c.management.watch.until(ctx, func(ctx context.Context) (bool, error) {
			cluster := &clusterv1.Cluster{}
			err := c.management.watch.Get(ctx, c.key(), cluster)
			return err == nil && reached(cluster.Status.Initialization), client.IgnoreNotFound(err)
		})
	}
}

func (c *cluster) key() client.ObjectKey { return client.ObjectKey{Namespace: namespace, Name: c.name} }

func (c *cluster) awaitMachines(ctx context.Context) (time.Time, error) {
	return c.management.watch.until(ctx, func(ctx context.Context) (bool, error) {
		machines, err := c.machines(ctx)
		ready := 0
		for i := range machines {
			if meta.IsStatusConditionTrue(machines[i].Status.Conditions, clusterv1.ReadyCondition) {
				ready++
			}
		}
		return ready == c.shape.machines(), err
	})
}

func (c *cluster) machines(ctx context.Context) ([]clusterv1.Machine, error) {
	machines := &clusterv1.MachineList{}
	err := c.management.watch.List(ctx, machines, client.InNamespace(namespace), client.MatchingLabels{clusterv1.ClusterNameLabel: c.name})
	return machines.Items, err
}

// awaitNodes installs the Pod network as soon as the API server answers, and
// waits for the Nodes. The watch on them continues until watching ends.
func (c *cluster) awaitNodes(ctx, watching context.Context) (time.Time, error) {
	if err := c.connect(ctx); err != nil {
		return time.Time{}, err
	}
	if err := c.installPodNetwork(ctx); err != nil {
		return time.Time{}, err
	}
	var err error
	if c.nodes, err = newObserver(watching, c.workload, nil, &corev1.Node{}); err != nil {
		return time.Time{}, err
	}
	return c.nodes.until(ctx, c.allNodesReady)
}

func (c *cluster) allNodesReady(ctx context.Context) (bool, error) {
	nodes := &corev1.NodeList{}
	if err := c.nodes.List(ctx, nodes); err != nil {
		return false, err
	}
	ready := 0
	for i := range nodes.Items {
		if nodeIsReady(&nodes.Items[i]) {
			ready++
		}
	}
	return ready == c.shape.machines(), nil
}

// connect takes the kubeconfig that Cluster API made and waits until it works.
func (c *cluster) connect(ctx context.Context) error {
	secret := &corev1.Secret{}
	err := wait.PollUntilContextCancel(ctx, lookInterval, true, func(ctx context.Context) (bool, error) {
		err := c.management.api.Get(ctx, client.ObjectKey{Namespace: namespace, Name: c.name + "-kubeconfig"}, secret)
		return err == nil, client.IgnoreNotFound(err)
	})
	if err != nil {
		return fmt.Errorf("wait for the kubeconfig: %w", err)
	}
	if c.workload, err = clientcmd.RESTConfigFromKubeConfig(secret.Data["value"]); err != nil {
		return fmt.Errorf("read the kubeconfig: %w", err)
	}
	c.workload.QPS = -1
	if err := c.awaitAPI(ctx); err != nil {
		return fmt.Errorf("wait for the API server: %w", err)
	}
	return nil
}

// awaitAPI waits until the API server says that it is ready.
func (c *cluster) awaitAPI(ctx context.Context) error {
	config := rest.CopyConfig(c.workload)
	config.Timeout = 2 * time.Second
	api, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return err
	}
	return wait.PollUntilContextCancel(ctx, lookInterval, true, func(ctx context.Context) (bool, error) {
		return api.RESTClient().Get().AbsPath("/readyz").Do(ctx).Error() == nil, nil
	})
}

func (c *cluster) installPodNetwork(ctx context.Context) error {
	content, err := os.ReadFile(filepath.Join(c.bench.root, "templates", "cni", "flannel.yaml"))
	if err != nil {
		return fmt.Errorf("read the Pod network: %w", err)
	}
	objects, err := parseObjects([]byte(strings.ReplaceAll(string(content), "{{ .PodSubnet }}", podSubnet)))
	if err != nil {
		return err
	}
	api, err := client.New(c.workload, client.Options{Scheme: newScheme()})
	if err != nil {
		return fmt.Errorf("create client: %w", err)
	}
	for _, object := range objects {
		err := wait.PollUntilContextCancel(ctx, lookInterval, true, func(ctx context.Context) (bool, error) {
			err := api.Create(ctx, object)
			// Again where a try was cut off, or kubeadm has not got so far.
			return err == nil || apierrors.IsAlreadyExists(err), nil
		})
		if err != nil {
			return fmt.Errorf("create %s of the Pod network: %w", object.GetKind(), err)
		}
	}
	return nil
}

// delete removes the cluster and returns how long it took. What containers
// the provider leaves behind is an error, and is removed.
func (c *cluster) delete(ctx context.Context) (value, error) {
	c.cancel()
	if ctx.Err() != nil {
		// Interrupted: nothing is measured any more, and nothing must stay.
		return value{}, errors.Join(ctx.Err(), c.removeLeft(context.WithoutCancel(ctx)))
	}
	limited, stop := context.WithTimeout(ctx, c.bench.deleteLimit)
	defer stop()
	begin := time.Now()
	object := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: c.name}}
	if err := c.management.api.Delete(ctx, object); err != nil {
		return value{}, fmt.Errorf("delete %s: %w", c.name, err)
	}
	at, err := c.management.watch.until(limited, func(ctx context.Context) (bool, error) {
		err := c.management.watch.Get(ctx, c.key(), object)
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	})
	if err != nil {
		return never(c.bench.deleteLimit), errors.Join(fmt.Errorf("wait for the end of %s: %w", c.name, err), c.removeLeft(ctx))
	}
	return seconds(at.Sub(begin)), c.removeLeft(ctx)
}

var errLeft = errors.New("containers are left")

func (c *cluster) removeLeft(ctx context.Context) error {
	left, err := command(ctx, "docker", "ps", "--all", "--quiet", "--filter", "label="+c.management.provider.clusterLabel+"="+c.name)
	if err != nil || left == "" {
		return err
	}
	_, err = command(ctx, "docker", append([]string{"rm", "--force", "--volumes"}, strings.Fields(left)...)...)
	return errors.Join(fmt.Errorf("%s: %w: %s", c.name, errLeft, left), err)
}
