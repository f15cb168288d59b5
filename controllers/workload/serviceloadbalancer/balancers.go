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

package serviceloadbalancer

import (
	"context"
	"errors"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/kubernetes"
	listersv1 "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/record"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/klog/v2"
	"k8s.io/utils/keymutex"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/capi-samples/cluster-api-provider-container/internal/loadbalancer"
)

// locks is how many Services can be locked at the same time. Two that share a lock wait
// for each other.
const locks = 64

var errStopped = errors.New("service controller of the cluster is stopped")

// balancers are the load balancers of one cluster, for Kubernetes' service controller.
type balancers struct {
	Options
	access
	events  record.EventRecorder
	changes *Changes

	// ctx bounds each operation: the service controller updates backends without a context.
	ctx context.Context //nolint:containedctx // See above.
	// operations are counted, to wait for them at the end.
	operations sync.WaitGroup
	// keys lock a Service by its UID.
	keys keymutex.KeyMutex

	mutex  sync.Mutex
	closed bool
	// memories of the Services that were to get a load balancer since the manager started.
	memories map[types.UID]*memory

	// creations guards creating, the Services whose container is being created.
	creations sync.Mutex
	creating  sets.Set[string]
}

// access to the workload cluster.
type access struct {
	client   kubernetes.Interface
	services listersv1.ServiceLister
	nodes    listersv1.NodeLister
}

// memory of a Service. What it says is convenient and not needed: it is lost with the manager.
// Who has locked the Service may change it, apart from the Service.
type memory struct {
	service loadbalancer.Service
	// state is what the load balancer had. Another one gets its address and host ports.
	state loadbalancer.State
	// reported are the messages of the Service's last Events, by their reason.
	reported map[string]string
}

var _ cloudprovider.LoadBalancer = &balancers{}

func newBalancers(ctx context.Context, options Options, access access, changes *Changes, events record.EventRecorder) *balancers {
	return &balancers{
		Options: options, access: access, events: events, changes: changes,
		ctx: ctx, keys: keymutex.NewHashed(locks), memories: map[types.UID]*memory{}, creating: sets.New[string](),
	}
}

// GetLoadBalancerName implements cloudprovider.LoadBalancer.
func (b *balancers) GetLoadBalancerName(_ context.Context, _ string, service *corev1.Service) string {
	return b.spec(identify(service)).Name()
}

// GetLoadBalancer implements cloudprovider.LoadBalancer. The service controller asks before
// it deletes, and does not where there is none: the Service must not get one afterwards. So
// it waits for one that is being created.
func (b *balancers) GetLoadBalancer(ctx context.Context, _ string, service *corev1.Service) (*corev1.LoadBalancerStatus, bool, error) {
	ctx, end, err := b.start(ctx, service.UID)
	if err != nil {
		return nil, false, err
	}
	defer end()
	state, err := b.inspect(ctx, identify(service))
	if err != nil {
		return nil, false, err
	}
	if !state.Exists {
		ctrl.LoggerFrom(ctx).V(4).Info("The Service has no load balancer", "Service", klog.KObj(service))
		b.forget(service.UID)
		return nil, false, nil
	}
	return status(service, state, nil), true, nil
}

// EnsureLoadBalancer implements cloudprovider.LoadBalancer. What fails is retried by repair,
// and the service controller gets nothing to do: it would retry what fails
// forever, with an Event each time, and after a while only every five minutes.
func (b *balancers) EnsureLoadBalancer(ctx context.Context, _ string, service *corev1.Service, _ []*corev1.Node) (*corev1.LoadBalancerStatus, error) {
	ctx, end, err := b.start(ctx, service.UID)
	if err != nil {
		return nil, err
	}
	defer end()
	if latest := b.latest(identify(service)); latest != nil && needsLoadBalancer(latest) {
		service = latest
	}
	return b.reconcile(ctx, service, b.keep(service))
}

// UpdateLoadBalancer implements cloudprovider.LoadBalancer. The Service that is passed may be
// older than the last one that was balanced, and may have been deleted meanwhile.
func (b *balancers) UpdateLoadBalancer(ctx context.Context, _ string, service *corev1.Service, _ []*corev1.Node) error {
	return b.repairOne(ctx, identify(service))
}

// EnsureLoadBalancerDeleted implements cloudprovider.LoadBalancer.
func (b *balancers) EnsureLoadBalancerDeleted(ctx context.Context, _ string, service *corev1.Service) error {
	ctx, end, err := b.start(ctx, service.UID)
	if err != nil {
		return err
	}
	defer end()
	// The finalizer is removed afterwards.
	if _, err := b.inspect(ctx, identify(service)); err != nil {
		return err
	}
	return b.delete(ctx, identify(service))
}

// start an operation on a Service, which is locked. The caller ends it, unless there is an error.
func (b *balancers) start(ctx context.Context, uid types.UID) (_ context.Context, end func(), _ error) {
	b.mutex.Lock()
	if b.closed {
		b.mutex.Unlock()
		return nil, nil, errStopped
	}
	b.operations.Add(1)
	b.mutex.Unlock()
	b.keys.LockKey(string(uid))
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(b.ctx, cancel)
	return ctx, func() {
		stop()
		cancel()
		_ = b.keys.UnlockKey(string(uid))
		b.operations.Done()
	}, nil
}

// close refuses further operations and waits for those that run.
func (b *balancers) close() {
	b.mutex.Lock()
	b.closed = true
	b.mutex.Unlock()
	b.operations.Wait()
}

// inspect the load balancer of a Service on the engine of the cluster.
func (b *balancers) inspect(ctx context.Context, service loadbalancer.Service) (loadbalancer.State, error) {
	state, err := loadbalancer.Inspect(ctx, b.Engine, b.spec(service).Name())
	if err == nil && !state.Exists {
		_, err = b.Recorded.Check(ctx, b.Engine)
	}
	return state, err
}

func (b *balancers) delete(ctx context.Context, service loadbalancer.Service) error {
	b.forget(types.UID(service.UID))
	return loadbalancer.Delete(ctx, b.Engine, b.spec(service))
}

func (b *balancers) spec(service loadbalancer.Service) loadbalancer.Spec {
	return loadbalancer.Spec{Owner: b.Recorded.Owner, Service: service, Network: b.Network, HostPortRange: b.HostPorts}
}

// identify a Service, for its load balancer.
func identify(service *corev1.Service) loadbalancer.Service {
	return loadbalancer.Service{Namespace: service.Namespace, Name: service.Name, UID: string(service.UID)}
}

// latest is the Service in the cache; nil where it does not exist, or another one has its name.
func (b *balancers) latest(service loadbalancer.Service) *corev1.Service {
	cached, err := b.services.Services(service.Namespace).Get(service.Name)
	if err != nil || string(cached.UID) != service.UID {
		return nil
	}
	return cached
}

// needsLoadBalancer as the service controller decides it.
func needsLoadBalancer(service *corev1.Service) bool {
	return service.Spec.Type == corev1.ServiceTypeLoadBalancer && service.Spec.LoadBalancerClass == nil &&
		service.DeletionTimestamp.IsZero()
}

// keep a memory of a Service, which may have one.
func (b *balancers) keep(service *corev1.Service) *memory {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if b.memories[service.UID] == nil {
		b.memories[service.UID] = &memory{service: identify(service), reported: map[string]string{}}
	}
	return b.memories[service.UID]
}

// recall returns nil for a Service that was not balanced since the manager started.
func (b *balancers) recall(uid types.UID) *memory {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.memories[uid]
}

func (b *balancers) forget(uid types.UID) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	delete(b.memories, uid)
}
