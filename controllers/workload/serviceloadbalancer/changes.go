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
	"time"

	"k8s.io/client-go/util/workqueue"

	"github.com/capi-samples/cluster-api-provider-container/internal/loadbalancer"
)

// retryInterval is the time between two attempts to create, repair or remove a load balancer.
const retryInterval = 5 * time.Second

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
