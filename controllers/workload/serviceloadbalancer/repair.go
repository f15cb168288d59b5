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
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/capi-samples/cluster-api-provider-container/internal/loadbalancer"
)

// repair what changes, until the changes end.
func (b *balancers) repair() {
	for b.repairNext() {
	}
}

func (b *balancers) repairNext() bool {
	service, ended := b.changes.queue.Get()
	if ended {
		return false
	}
	defer b.changes.queue.Done(service)
	repair := b.repairOne
	if service == (loadbalancer.Service{}) {
		repair = b.repairAll
	}
	if err := repair(b.ctx, service); err != nil && b.ctx.Err() == nil {
		ctrl.LoggerFrom(b.ctx).Error(err, "Failed to repair load balancers of Services; retrying", "Service", service.Namespace+"/"+service.Name)
		b.changes.retry(service)
	}
	return true
}

// repairAll looks at each load balancer: those that have a container, such as one whose
// Service lost its finalizer while no manager ran, and those that should have one.
func (b *balancers) repairAll(ctx context.Context, _ loadbalancer.Service) error {
	containers, err := listContainers(ctx, b.Engine, b.Recorded.Owner)
	if ctx.Err() == nil {
		b.Report(err)
	}
	if err != nil {
		return err
	}
	for _, container := range containers {
		b.changes.Add(container.Labels)
	}
	b.mutex.Lock()
	defer b.mutex.Unlock()
	for _, one := range b.memories {
		b.changes.add(one.service)
	}
	return nil
}

// repairOne gives a Service its load balancer if it was balanced since the manager started;
// until then, and for one that is being deleted, the service controller decides. That of a
// Service that does not exist is removed. It returns what is not retried otherwise.
func (b *balancers) repairOne(ctx context.Context, one loadbalancer.Service) error {
	ctx, end, err := b.start(ctx, types.UID(one.UID))
	if err != nil {
		return err
	}
	defer end()
	// A container is created for a Service that is in the cache.
	service := b.latest(one)
	if service == nil {
		return b.delete(ctx, one)
	}
	known := b.recall(service.UID)
	if known == nil || !needsLoadBalancer(service) {
		ctrl.LoggerFrom(ctx).V(4).Info("Leaving the Service to the service controller", "Service", klog.KObj(service))
		return nil
	}
	failed := known.reported[reasonFailed] != ""
	_, err = b.reconcile(ctx, service, known)
	switch {
	case errors.Is(err, cloudprovider.ImplementedElsewhere):
		return nil
	case err == nil && failed:
		b.events.Event(service, corev1.EventTypeNormal, "EnsuredLoadBalancer", "Ensured load balancer")
	}
	return err
}

// retryInterval is the time between two attempts to create, repair or remove a load balancer.
const retryInterval = 5 * time.Second

// lateInterval is the time between two attempts to find what a user may add to the engine.
const lateInterval = time.Minute

// Changes are the load balancers of a cluster that are to be looked at, because their
// containers may have changed or because an attempt has failed. Each is inspected once,
// however often it is added meanwhile.
type Changes struct {
	// The zero value in it stands for all.
	queue workqueue.TypedDelayingInterface[loadbalancer.Service]
}

// NewChanges returns an empty set, to be closed.
func NewChanges() *Changes {
	return &Changes{queue: workqueue.NewTypedDelayingQueue[loadbalancer.Service]()}
}

// Add the load balancer of which a container has these labels.
func (c *Changes) Add(labels map[string]string) { c.add(serviceOf(labels)) }

func (c *Changes) add(service loadbalancer.Service) { c.queue.Add(service) }

// Close ends who waits for changes.
func (c *Changes) Close() { c.queue.ShutDown() }

// AddAll load balancers: changes may have been missed.
func (c *Changes) AddAll() { c.add(loadbalancer.Service{}) }

// Len is how many are to be looked at now.
func (c *Changes) Len() int { return c.queue.Len() }

// retry a load balancer later.
func (c *Changes) retry(service loadbalancer.Service) { c.queue.AddAfter(service, retryInterval) }

// retryLater a load balancer that has a part of what its Service requests.
func (c *Changes) retryLater(service loadbalancer.Service) { c.queue.AddAfter(service, lateInterval) }
