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
	"maps"
	"net"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	inmemoryruntime "sigs.k8s.io/cluster-api/test/infrastructure/inmemory/pkg/runtime"

	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/record"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/test/simulatedhaproxy"
)

// Address is that of the endpoints of all clusters: they have a port each.
const Address = "127.0.0.1"

// Host is the simulated engine with all that runs in its containers.
type Host struct {
	// Engine that the controllers work on.
	Engine *simulated.Engine
	// Faults that are injected.
	Faults *Injector

	log     logr.Logger
	info    engine.Info
	options Options
	objects inmemoryruntime.Manager
	servers *servers

	mutex    sync.Mutex
	clusters map[string]*cluster
	images   map[string]bool
	// ports of load balancers that were started.
	ports sync.Map
	// bootstraps under way.
	bootstraps sync.WaitGroup
}

// Options of a Host.
type Options struct {
	// BootstrapDuration is how long a node takes from the start of its container until kubeadm
	// is done.
	BootstrapDuration time.Duration
	// FaultsConfigMap has the faults to inject, in the key faults.yaml; without a name, none are.
	FaultsConfigMap client.ObjectKey
}

// NewHost returns an engine without containers. What runs in them ends with ctx; Start must be
// called as well.
func NewHost(ctx context.Context, options Options) (*Host, error) {
	h := &Host{
		Faults: NewInjector(ctx), log: ctrl.Log.WithName("memory"), options: options,
		clusters: map[string]*cluster{}, images: map[string]bool{},
	}
	h.Engine = simulated.New(simulated.WithoutJournal(), simulated.WithHostPorts(func(port uint16) bool { return h.isFree(ctx, port) }))
	var err error
	if h.info, err = h.Engine.Info(ctx); err != nil {
		return nil, fmt.Errorf("get engine info: %w", err)
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, appsv1.AddToScheme, rbacv1.AddToScheme, storagev1.AddToScheme, policyv1.AddToScheme, apiextensionsv1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("register API types: %w", err)
		}
	}
	h.objects = inmemoryruntime.NewManager(scheme)
	if h.servers, err = newServers(h.objects, h.log, h.Faults, h.crashControlPlane); err != nil {
		return nil, err
	}
	simulatedhaproxy.Run(h.Engine)
	h.Engine.OnCall(h.provideImage)
	h.Faults.install(h.Engine)
	h.Engine.OnStart(func(container string) { h.started(ctx, container) })
	return h, nil
}

// Start implements manager.Runnable: it follows the containers until ctx ends.
func (h *Host) Start(ctx context.Context) error {
	if err := h.objects.Start(ctx); err != nil {
		return fmt.Errorf("start in-memory objects: %w", err)
	}
	h.Engine.Events(ctx, func(event engine.Event) {
		if event.Labels != nil {
			h.sync(ctx, event.Container, event.Labels)
		}
	})
	h.bootstraps.Wait()
	return h.stop()
}

// stop the API servers.
func (h *Host) stop() error {
	h.mutex.Lock()
	clusters := slices.Collect(maps.Values(h.clusters))
	h.mutex.Unlock()
	var errs []error
	for _, c := range clusters {
		c.mutex.Lock()
		errs = append(errs, c.close())
		c.mutex.Unlock()
	}
	return errors.Join(errs...)
}

// provideImage lets the engine have every image that it is asked for.
func (h *Host) provideImage(call simulated.Call) error {
	if call.Method != "InspectImage" {
		return nil
	}
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if !h.images[call.Name] && !strings.HasPrefix(call.Name, "sha256:") {
		h.images[call.Name] = true
		h.Engine.AddImage(engine.Image{Tags: []string{call.Name}}, nil)
	}
	return nil
}

// isFree reports whether a load balancer can have a port of this host.
func (h *Host) isFree(ctx context.Context, port uint16) bool {
	if _, ours := h.ports.Load(port); ours {
		return true
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(Address, strconv.Itoa(int(port))))
	if err != nil {
		return false
	}
	listener.Close()
	return true
}

// started is what a container's process does.
func (h *Host) started(ctx context.Context, container string) {
	observed, err := h.Engine.Observe(container)
	if err != nil {
		return // it is gone again
	}
	switch role(observed.Labels) {
	case identity.RoleControlPlane, identity.RoleWorker:
		h.boot(ctx, observed)
	case identity.RoleLoadBalancer:
		h.sync(ctx, container, observed.Labels)
	}
}

func role(labels map[string]string) identity.Role { return identity.Role(labels[identity.LabelRole]) }

// boot begins the bootstrap of a node, or continues after one that is done.
func (h *Host) boot(ctx context.Context, observed engine.Container) {
	state, err := h.Engine.ReadFile(observed.Name, path.Join(record.Path, "state"))
	switch {
	case err != nil:
		data, found, err := readBootstrapData(h.Engine, observed.Name)
		if !found {
			return // a node without a bootstrap does nothing
		}
		h.record(observed.Name, record.Started)
		delay, failure := h.Faults.bootstrap(h.options.BootstrapDuration)
		if err == nil {
			err = failure
		}
		if delay == 0 {
			h.finish(ctx, observed, data, err)
			return
		}
		h.bootstraps.Go(func() {
			timer := time.NewTimer(delay)
			defer timer.Stop()
			select {
			case <-timer.C:
				h.finish(ctx, observed, data, err)
			case <-ctx.Done():
			}
		})
	case record.State(state) == record.Started:
		h.record(observed.Name, record.Interrupted)
	default:
		h.restart(ctx, observed)
	}
}

// restart a node whose container runs again. What ran in it before has ended, even if no event has
// said so yet.
func (h *Host) restart(ctx context.Context, observed engine.Container) {
	c := h.lock(observed.Labels)
	n := c.nodes[observed.Name]
	if n != nil && n.serves {
		if err := c.down(ctx, n); err != nil {
			h.log.Error(err, "Failed to stop a node", "container", observed.Name)
		}
	}
	c.mutex.Unlock()
	h.sync(ctx, observed.Name, observed.Labels)
}

// crashControlPlane lets the container of a control plane of a cluster exit: the first of those that serve.
func (h *Host) crashControlPlane(name string) {
	h.mutex.Lock()
	c := h.clusters[name]
	h.mutex.Unlock()
	if c == nil {
		return
	}
	c.mutex.Lock()
	var serving []string
	for container, n := range c.nodes {
		if n.serves {
			serving = append(serving, container)
		}
	}
	c.mutex.Unlock()
	if len(serving) > 0 {
		// It may not run any more.
		_ = h.Engine.CrashContainer(slices.Min(serving), 1, false)
	}
}

// finish the bootstrap of a container, unless it has ended meanwhile.
func (h *Host) finish(ctx context.Context, before engine.Container, data bootstrapData, failure error) {
	observed, err := h.Engine.Observe(before.Name)
	if err != nil || observed.ID != before.ID || !observed.StartedAt.Equal(before.StartedAt) || observed.Status != engine.StatusRunning {
		return
	}
	if failure == nil {
		failure = h.join(ctx, observed, data)
	}
	if failure == nil {
		h.write(observed.Name, "state.kubernetes-up", "")
		h.record(observed.Name, record.Done)
		return
	}
	h.log.Info("Bootstrap failed", "container", observed.Name, "error", failure.Error())
	h.write(observed.Name, "state.step", "runcmd[0]")
	h.write(observed.Name, "state.exit-code", "1")
	h.write(observed.Name, "state.log-tail", failure.Error())
	h.record(observed.Name, record.Failed)
}

func (h *Host) join(ctx context.Context, observed engine.Container, data bootstrapData) error {
	spec, _ := h.Engine.Spec(observed.Name)
	n, err := newNode(observed, spec.Hostname, spec.Image, data)
	if err != nil {
		return err
	}
	c := h.lock(observed.Labels)
	defer c.mutex.Unlock()
	return c.join(ctx, observed.Name, n, data)
}

func (h *Host) record(container string, state record.State) {
	h.write(container, "state", string(state))
}

func (h *Host) write(container, name, content string) {
	if err := h.Engine.WriteFile(container, path.Join(record.Path, name), []byte(content)); engine.IgnoreNotFound(err) != nil {
		h.log.Error(err, "Failed to write the record of a bootstrap", "container", container)
	}
}

// Clusters that have containers, by their owner IDs.
func (h *Host) Clusters() []string {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	return slices.Sorted(maps.Keys(h.clusters))
}

// lock the cluster of a container.
func (h *Host) lock(labels map[string]string) *cluster {
	for {
		c := h.cluster(labels)
		c.mutex.Lock()
		if !c.forgotten {
			return c
		}
		c.mutex.Unlock()
	}
}

// cluster of a container.
func (h *Host) cluster(labels map[string]string) *cluster {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	name := labels[identity.LabelOwnerID]
	c := h.clusters[name]
	if c == nil {
		h.objects.AddResourceGroup(name)
		c = &cluster{
			name: name, objects: h.objects.GetResourceGroup(name).GetClient(), servers: h.servers, info: h.info, nodes: map[string]*node{},
		}
		h.clusters[name] = c
	}
	return c
}

// sync makes what runs in a container what its state says. Events may be late, so that only the
// state that the engine has now counts.
func (h *Host) sync(ctx context.Context, container string, labels map[string]string) {
	switch role(labels) {
	case identity.RoleControlPlane, identity.RoleWorker, identity.RoleLoadBalancer:
	default:
		return
	}
	c := h.lock(labels)
	defer c.mutex.Unlock()
	observed, err := h.Engine.Observe(container)
	running, gone := err == nil && observed.Status == engine.StatusRunning, err != nil
	n := c.nodes[container]
	switch {
	case role(labels) == identity.RoleLoadBalancer:
		port := int32(0)
		if running {
			port = h.published(observed)
		}
		err = c.balance(ctx, port)
	case n == nil:
		err = nil
	case gone:
		err = c.remove(ctx, container, n)
	case running:
		err = c.up(ctx, n)
	default:
		err = c.down(ctx, n)
	}
	if err == nil && !c.balanced && gone && len(c.nodes) == 0 {
		err = h.forget(c)
	}
	if err != nil {
		h.log.Error(err, "Failed to follow a container", "container", container)
	}
}

// published is the port on this host of a load balancer.
func (h *Host) published(observed engine.Container) int32 {
	for _, binding := range observed.Ports {
		h.ports.Store(binding.HostPort, true)
		return int32(binding.HostPort)
	}
	return 0
}

// forget a cluster that has no containers. Called with its mutex held.
func (h *Host) forget(c *cluster) error {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.ports.Delete(uint16(c.port)) //nolint:gosec // It was one.
	delete(h.clusters, c.name)
	c.forgotten = true
	h.objects.DeleteResourceGroup(c.name)
	return c.close()
}
