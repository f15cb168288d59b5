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

// Package controllers wires the controllers of this provider into a manager.
// Each kind has a package of its own below.
package controllers

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	"sigs.k8s.io/cluster-api/controllers/clustercache"
	"sigs.k8s.io/cluster-api/util/kubeconfig"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/controllers/cluster"
	"github.com/capi-samples/cluster-api-provider-container/controllers/clusterpower"
	"github.com/capi-samples/cluster-api-provider-container/controllers/containerengine"
	"github.com/capi-samples/cluster-api-provider-container/controllers/engineevents"
	"github.com/capi-samples/cluster-api-provider-container/controllers/engines"
	"github.com/capi-samples/cluster-api-provider-container/controllers/internal/reconcile"
	"github.com/capi-samples/cluster-api-provider-container/controllers/machine"
	"github.com/capi-samples/cluster-api-provider-container/controllers/machinepool"
	"github.com/capi-samples/cluster-api-provider-container/controllers/machinetemplate"
	"github.com/capi-samples/cluster-api-provider-container/controllers/node"
	"github.com/capi-samples/cluster-api-provider-container/controllers/workload"
	"github.com/capi-samples/cluster-api-provider-container/controllers/workload/serviceloadbalancer"
	"github.com/capi-samples/cluster-api-provider-container/controllers/workload/storage"
	"github.com/capi-samples/cluster-api-provider-container/internal/endpoint"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/loadbalancer"
)

// Options of the controllers.
type Options struct {
	// Engine that runs the containers of clusters that name no ContainerEngine.
	Engine engine.Engine
	// Engines says how those of ContainerEngines are connected to, AllowedEndpoints where they may be.
	Engines          engines.Options
	AllowedEndpoints endpoint.Allowed
	// ClusterCache reaches workload clusters.
	ClusterCache clustercache.ClusterCache
	// LoadBalancerImage where a ContainerCluster names none; empty means
	// loadbalancer.DefaultImage.
	LoadBalancerImage string
	// SelfContainer is the name of the container on the same engine that
	// this process runs in; empty = none.
	SelfContainer string
	// AdvertiseAddress of the engine's host, at which clients and nodes reach the ports that
	// load balancers publish there. It is the endpoint of clusters that name none; empty means that
	// this is the address of the load balancer on the network.
	AdvertiseAddress string
	// Limits of each workload cluster.
	Limits infrav1.Limits
	// WatchFilterValue restricts the controllers to objects with that value
	// of the label cluster.x-k8s.io/watch-filter; empty = all objects.
	WatchFilterValue string
	// ClusterConcurrency, MachineConcurrency and MachinePoolConcurrency are
	// how many objects of a kind are reconciled concurrently; 0 means 10.
	ClusterConcurrency, MachineConcurrency, MachinePoolConcurrency int
}

const (
	defaultConcurrency = 10

	// workloadTimeout bounds a request to a workload cluster that is being started.
	workloadTimeout = 5 * time.Second

	// reconciliationTimeout bounds one reconcile. Each call to the engine has a
	// bound of its own (see internal/engine/metered); this one only has to be
	// longer than the calls that follow each other in a reconcile: creating a
	// container from an image with half a gigabyte below /var takes a minute on a
	// busy disk, and several times that where ten are created concurrently.
	reconciliationTimeout = 20 * time.Minute
)

// Setup registers all controllers with the manager.
func Setup(ctx context.Context, mgr ctrl.Manager, options Options) error {
	options.LoadBalancerImage = cmp.Or(options.LoadBalancerImage, loadbalancer.DefaultImage)
	own := engines.Own(options.Engine)
	own.Placement.AdvertiseAddress = options.AdvertiseAddress
	if err := mgr.Add(own.Images); err != nil {
		return fmt.Errorf("add image pulls: %w", err)
	}
	if err := mgr.Add(own.Host); err != nil {
		return fmt.Errorf("add observer of the host: %w", err)
	}
	registry := engines.New(own, options.Engines)
	if err := mgr.Add(registry); err != nil {
		return fmt.Errorf("add engines of objects: %w", err)
	}
	if err := (&containerengine.Reconciler{
		Client: mgr.GetClient(), Engines: registry, Allowed: options.AllowedEndpoints, WatchFilterValue: options.WatchFilterValue,
		Events: reconcile.Events(mgr.GetEventRecorder("containerengine-controller")),
	}).SetupWithManager(ctx, mgr, concurrency(0)); err != nil {
		return fmt.Errorf("set up ContainerEngine controller: %w", err)
	}
	if err := setupInfrastructure(ctx, mgr, registry, options); err != nil {
		return err
	}
	return setupWorkload(ctx, mgr, registry, options)
}

// setupInfrastructure registers the controllers of what Cluster API refers to.
func setupInfrastructure(ctx context.Context, mgr ctrl.Manager, registry *engines.Engines, options Options) error {
	exits := engineevents.NewExits(clock.RealClock{})
	if err := (&cluster.Reconciler{
		Client:            mgr.GetClient(),
		Engines:           registry,
		Slots:             slots(options.ClusterConcurrency),
		Events:            reconcile.Events(mgr.GetEventRecorder("containercluster-controller")),
		Clock:             clock.RealClock{},
		Exits:             exits,
		LoadBalancerImage: options.LoadBalancerImage,
		SelfContainer:     options.SelfContainer,
		WatchFilterValue:  options.WatchFilterValue,
	}).SetupWithManager(ctx, mgr, concurrency(options.ClusterConcurrency)); err != nil {
		return fmt.Errorf("set up ContainerCluster controller: %w", err)
	}
	machineEvents := reconcile.Events(mgr.GetEventRecorder("containermachine-controller"))
	if err := (&machine.Reconciler{
		Client:           mgr.GetClient(),
		Live:             mgr.GetAPIReader(),
		Engines:          registry,
		Slots:            slots(options.MachineConcurrency),
		Events:           machineEvents,
		Exits:            exits,
		Nodes:            &node.Reconciler{Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Events: machineEvents, ClusterCache: options.ClusterCache},
		ClusterCache:     options.ClusterCache,
		Clock:            clock.RealClock{},
		WatchFilterValue: options.WatchFilterValue,
	}).SetupWithManager(ctx, mgr, concurrency(options.MachineConcurrency)); err != nil {
		return fmt.Errorf("set up ContainerMachine controller: %w", err)
	}
	if err := (&machinepool.Reconciler{
		Client:           mgr.GetClient(),
		Live:             mgr.GetAPIReader(),
		Engines:          registry,
		Slots:            slots(options.MachinePoolConcurrency),
		Events:           reconcile.Events(mgr.GetEventRecorder("containermachinepool-controller")),
		WatchFilterValue: options.WatchFilterValue,
	}).SetupWithManager(ctx, mgr, concurrency(options.MachinePoolConcurrency)); err != nil {
		return fmt.Errorf("set up ContainerMachinePool controller: %w", err)
	}
	if err := (&machinetemplate.Reconciler{
		Client:           mgr.GetClient(),
		Hosts:            hosts(registry),
		WatchFilterValue: options.WatchFilterValue,
	}).SetupWithManager(ctx, mgr, concurrency(0)); err != nil {
		return fmt.Errorf("set up ContainerMachineTemplate controller: %w", err)
	}
	return nil
}

// hosts of the engines of clusters.
func hosts(registry *engines.Engines) func(*infrav1.ContainerCluster) (machinetemplate.Host, error) {
	return func(containerCluster *infrav1.ContainerCluster) (machinetemplate.Host, error) {
		if containerCluster == nil {
			return registry.Own().Host, nil
		}
		connection, err := registry.For(containerCluster)
		if err != nil {
			return nil, err
		}
		return connection.Host, nil
	}
}

// slots leave half of the workers of a controller to other engines.
func slots(requested int) *engines.Slots {
	return &engines.Slots{Limit: (cmp.Or(requested, defaultConcurrency) + 1) / 2}
}

// setupWorkload registers what runs in workload clusters.
func setupWorkload(ctx context.Context, mgr ctrl.Manager, registry *engines.Engines, options Options) error {
	if err := (&workload.Reconciler{
		Client:       mgr.GetClient(),
		ClusterCache: options.ClusterCache,
		Engines:      registry,
		Slots:        slots(0),
		Run: func(ctx context.Context, settings workload.Settings, changes workload.Changes, report workload.Report) error {
			group, ctx := errgroup.WithContext(ctx)
			group.Go(func() error {
				return workload.PublishLocalRegistry(ctx, settings.Config, settings.LocalRegistry, report)
			})
			if settings.Storage {
				group.Go(func() error {
					return storage.Run(ctx, settings.Config, storage.Options{
						Engine: settings.Connection.Engine, Recorded: settings.Recorded, MaxVolumes: settings.MaxVolumes,
						Shared: settings.SharedStorage, Changed: changes.Nodes,
						Retain: func(ctx context.Context, change func([]string) []string) error {
							return cluster.RecordRetained(ctx, mgr.GetClient(), settings.Recorded, change)
						},
						Report: func(notice string, err error) { report(workload.Storage, notice, err) },
					})
				})
			}
			if settings.LoadBalancers {
				group.Go(func() error {
					return serviceloadbalancer.Run(ctx, settings.Config, serviceloadbalancer.Options{
						Engine: settings.Connection.Engine, Images: settings.Connection.Images, Recorded: settings.Recorded,
						Network: settings.Network, Image: cmp.Or(settings.Image, options.LoadBalancerImage),
						Report:    func(err error) { report(workload.LoadBalancers, "", err) },
						HostPorts: settings.HostPorts, MaxServices: settings.MaxLoadBalancers,
					}, changes.Services)
				})
			}
			return group.Wait()
		},
		Drain: func(ctx context.Context, settings workload.Settings) error {
			return serviceloadbalancer.Drain(ctx, settings.Config, settings.Connection.Engine, settings.Recorded.Owner)
		},
		Limits:           options.Limits,
		WatchFilterValue: options.WatchFilterValue,
	}).SetupWithManager(ctx, mgr, concurrency(0)); err != nil {
		return fmt.Errorf("set up controller of workload clusters: %w", err)
	}
	if err := (&clusterpower.Reconciler{
		Client:  mgr.GetClient(),
		Engines: registry,
		Slots:   slots(0),
		Events:  reconcile.Events(mgr.GetEventRecorder("stop-controller")),
		Clock:   clock.RealClock{},
		// The ClusterCache tries to reconnect every 30 s only.
		Workload: func(ctx context.Context, cluster client.ObjectKey) (client.Client, error) {
			return workloadClient(ctx, mgr.GetClient(), cluster)
		},
		WatchFilterValue: options.WatchFilterValue,
	}).SetupWithManager(ctx, mgr, concurrency(0)); err != nil {
		return fmt.Errorf("set up controller of stopped clusters: %w", err)
	}
	return nil
}

// workloadClient returns a client of a workload cluster that caches nothing.
func workloadClient(ctx context.Context, management client.Reader, cluster client.ObjectKey) (client.Client, error) {
	content, err := kubeconfig.FromSecret(ctx, management, cluster)
	if err != nil {
		return nil, fmt.Errorf("get kubeconfig: %w", err)
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(content)
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig: %w", err)
	}
	config.Timeout = workloadTimeout
	workload, err := client.New(config, client.Options{})
	if err != nil {
		return nil, fmt.Errorf("create client: %w", err)
	}
	return workload, nil
}

func concurrency(requested int) controller.Options {
	return controller.Options{MaxConcurrentReconciles: cmp.Or(requested, defaultConcurrency), ReconciliationTimeout: reconciliationTimeout}
}
