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
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	listersv1 "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/record"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/api"
	"k8s.io/utils/keymutex"
	"k8s.io/utils/ptr"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/haproxy"
	"github.com/capi-samples/cluster-api-provider-container/internal/loadbalancer"
)

const (
	// retryInterval is the time between two attempts to create or repair a load balancer, and
	// between two checks of an image that is being pulled.
	retryInterval = 5 * time.Second
	// locks is how many Services can be locked at the same time. Two that share a lock wait
	// for each other.
	locks = 64
)

var errStopped = errors.New("service controller of the cluster is stopped")

// balancers are the load balancers of one cluster.
type balancers struct {
	Options
	listers
	client kubernetes.Interface
	events record.EventRecorder

	// ctx bounds each operation: the service controller updates backends without a context.
	ctx context.Context //nolint:containedctx // See above.
	// operations are counted, to wait for them at the end.
	operations sync.WaitGroup
	// keys lock a Service by its UID.
	keys keymutex.KeyMutex

	mutex  sync.Mutex
	closed bool
	// wanted is what each Service was last given, by its UID. It is repaired from it, and
	// nothing is decided by it: it is filled again when a manager starts.
	wanted map[types.UID]wanted
}

// listers of the workload cluster.
type listers struct {
	services listersv1.ServiceLister
	nodes    listersv1.NodeLister
}

type wanted struct {
	service *corev1.Service
	// state is what the load balancer had. Another one gets its address and host ports.
	state loadbalancer.State
}

var _ cloudprovider.LoadBalancer = &balancers{}

func newBalancers(ctx context.Context, options Options, client kubernetes.Interface, listers listers, events record.EventRecorder) *balancers {
	return &balancers{
		Options: options, listers: listers, client: client, events: events,
		ctx: ctx, keys: keymutex.NewHashed(locks), wanted: map[types.UID]wanted{},
	}
}

// begin an operation on a Service. The caller ends it, unless there is an error.
func (b *balancers) begin(ctx context.Context, uid types.UID) (_ context.Context, end func(), _ error) {
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

// GetLoadBalancerName implements cloudprovider.LoadBalancer.
func (b *balancers) GetLoadBalancerName(_ context.Context, _ string, service *corev1.Service) string {
	return b.spec(service).Name()
}

// GetLoadBalancer implements cloudprovider.LoadBalancer.
func (b *balancers) GetLoadBalancer(ctx context.Context, _ string, service *corev1.Service) (*corev1.LoadBalancerStatus, bool, error) {
	state, err := loadbalancer.Inspect(ctx, b.Engine, b.spec(service).Name())
	if err != nil || !state.Exists {
		return nil, false, err
	}
	return status(state, nil), true, nil
}

// EnsureLoadBalancer implements cloudprovider.LoadBalancer.
func (b *balancers) EnsureLoadBalancer(ctx context.Context, _ string, service *corev1.Service, _ []*corev1.Node) (*corev1.LoadBalancerStatus, error) {
	ctx, end, err := b.begin(ctx, service.UID)
	if err != nil {
		return nil, err
	}
	defer end()
	plan, err := b.plan(service)
	if err != nil {
		return nil, err
	}
	for reason, message := range plan.warnings {
		b.events.Event(service, corev1.EventTypeWarning, reason, message)
	}
	state, err := b.apply(ctx, service, plan)
	switch {
	case errors.Is(err, errUnsupported):
		return nil, err
	case err != nil:
		return nil, &retriedError{cause: err}
	}
	return status(state, plan.ports), b.annotate(ctx, service, state)
}

// retriedError is retried soon. The service controller would double the delay up to five
// minutes, which Services had to wait after an engine was unavailable. For a Service that is
// not supported it does so.
type retriedError struct {
	cause error
}

// Error implements error.
func (e *retriedError) Error() string { return e.cause.Error() }

// Unwrap returns the cause, and what the service controller looks for.
func (e *retriedError) Unwrap() []error {
	return []error{e.cause, api.NewRetryError(e.Error(), retryInterval)}
}

// UpdateLoadBalancer implements cloudprovider.LoadBalancer. It does not create: the Service
// may have been deleted meanwhile.
func (b *balancers) UpdateLoadBalancer(ctx context.Context, _ string, service *corev1.Service, _ []*corev1.Node) error {
	ctx, end, err := b.begin(ctx, service.UID)
	if err != nil {
		return err
	}
	defer end()
	if _, isWanted := b.recall(service.UID); !isWanted {
		return nil
	}
	return b.update(ctx, service)
}

// EnsureLoadBalancerDeleted implements cloudprovider.LoadBalancer.
func (b *balancers) EnsureLoadBalancerDeleted(ctx context.Context, _ string, service *corev1.Service) error {
	ctx, end, err := b.begin(ctx, service.UID)
	if err != nil {
		return err
	}
	defer end()
	return b.delete(ctx, service)
}

func (b *balancers) delete(ctx context.Context, service *corev1.Service) error {
	b.mutex.Lock()
	delete(b.wanted, service.UID)
	b.mutex.Unlock()
	return loadbalancer.Delete(ctx, b.Engine, b.spec(service))
}

func (b *balancers) spec(service *corev1.Service) loadbalancer.Spec {
	return loadbalancer.Spec{
		Owner:   b.Owner,
		Service: loadbalancer.Service{Namespace: service.Namespace, Name: service.Name, UID: string(service.UID)},
		Image:   b.Image,
		Network: b.Network,
	}
}

// plan reads the Nodes of now. Those that the service controller passes were listed before
// the Service was locked: a call may get older ones than the call before it.
func (b *balancers) plan(service *corev1.Service) (plan, error) {
	nodes, err := b.nodes.List(labels.Everything())
	if err != nil {
		return plan{}, fmt.Errorf("list Nodes: %w", err)
	}
	return newPlan(service, slices.DeleteFunc(nodes, func(node *corev1.Node) bool {
		_, excluded := node.Labels[corev1.LabelNodeExcludeBalancers]
		return excluded
	}))
}

func (b *balancers) update(ctx context.Context, service *corev1.Service) error {
	plan, err := b.plan(service)
	if err != nil {
		return err
	}
	_, err = b.apply(ctx, service, plan)
	return err
}

// apply makes the load balancer what the plan says.
func (b *balancers) apply(ctx context.Context, service *corev1.Service, plan plan) (loadbalancer.State, error) {
	chosen, err := loadbalancer.ChooseImage(ctx, b.Engine, b.Image)
	if err != nil {
		return loadbalancer.State{}, err
	}
	image, err := b.Images.Ensure(ctx, chosen)
	if err != nil {
		return loadbalancer.State{}, fmt.Errorf("inspect image: %w", err)
	}
	if !image.Present {
		return loadbalancer.State{}, api.NewRetryError(image.Text(), retryInterval)
	}
	spec := b.spec(service)
	spec.Image = chosen
	spec.Config = haproxy.Config{Frontends: plan.frontends}
	found, err := loadbalancer.Inspect(ctx, b.Engine, spec.Name())
	if err != nil {
		return loadbalancer.State{}, err
	}
	before, _ := b.recall(service.UID)
	spec.HostPorts = hostPorts(service, plan, before.state, found)
	state, err := b.place(ctx, service, spec, cmp.Or(found.Address(), before.state.Address(), assigned(service)), found)
	if err != nil {
		return state, err
	}
	if state, err = loadbalancer.Sync(ctx, b.Engine, state, spec.Config); err != nil {
		return state, err
	}
	b.mutex.Lock()
	b.wanted[service.UID] = wanted{service: service, state: state}
	b.mutex.Unlock()
	return state, nil
}

// place creates or finds the container: at the address that the Service asks for, or else
// at the one it had. Where another container or process has taken address or host ports
// meanwhile, it chooses others.
func (b *balancers) place(ctx context.Context, service *corev1.Service, spec loadbalancer.Spec, had netip.Addr, found loadbalancer.State) (loadbalancer.State, error) {
	asked := service.Spec.LoadBalancerIP
	if asked != "" {
		address, err := netip.ParseAddr(asked)
		if err != nil {
			return loadbalancer.State{}, fmt.Errorf("%w: spec.loadBalancerIP: %w", errUnsupported, err)
		}
		spec.Addresses = []netip.Addr{address}
	} else if had.IsValid() {
		spec.Addresses = []netip.Addr{had}
	}
	state, err := loadbalancer.Ensure(ctx, b.Engine, spec, found)
	if asked == "" && engine.IsTaken(err, engine.ResourceAddress) {
		spec.Addresses = nil
		state, err = loadbalancer.Ensure(ctx, b.Engine, spec, found)
	}
	if engine.IsTaken(err, engine.ResourceHostPort) {
		for port := range spec.HostPorts {
			spec.HostPorts[port] = 0
		}
		state, err = loadbalancer.Ensure(ctx, b.Engine, spec, found)
	}
	return state, err
}

// assigned is the address in the status of a Service; the zero value where it has none.
func assigned(service *corev1.Service) netip.Addr {
	for _, ingress := range service.Status.LoadBalancer.Ingress {
		if address, err := netip.ParseAddr(ingress.IP); err == nil {
			return address
		}
	}
	return netip.Addr{}
}

// hostPorts are those that the plan's ports have, in the order of who knows best; 0 for one
// that has none.
func hostPorts(service *corev1.Service, plan plan, before, found loadbalancer.State) map[uint16]uint16 {
	annotated, all := parseHostPorts(service.Annotations[HostPortsAnnotation]), map[uint16]uint16{}
	for _, frontend := range plan.frontends {
		port := frontend.Port
		all[port] = cmp.Or(found.HostPorts[port], before.HostPorts[port], annotated[port])
	}
	return all
}

func (b *balancers) recall(uid types.UID) (wanted, bool) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	recalled, found := b.wanted[uid]
	return recalled, found
}

func status(state loadbalancer.State, ports []corev1.PortStatus) *corev1.LoadBalancerStatus {
	return &corev1.LoadBalancerStatus{Ingress: []corev1.LoadBalancerIngress{{
		IP: state.Address().String(),
		// Nodes connect to it as other clients do, and do not bypass it.
		IPMode: ptr.To(corev1.LoadBalancerIPModeProxy),
		Ports:  ports,
	}}}
}

// annotate the Service with its host ports.
func (b *balancers) annotate(ctx context.Context, service *corev1.Service, state loadbalancer.State) error {
	text := formatHostPorts(state.HostPorts)
	if service.Annotations[HostPortsAnnotation] == text {
		return nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]string{HostPortsAnnotation: text}}})
	if err != nil {
		return fmt.Errorf("encode annotation: %w", err)
	}
	_, err = b.client.CoreV1().Services(service.Namespace).Patch(ctx, service.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		return fmt.Errorf("annotate Service: %w", err)
	}
	return nil
}
