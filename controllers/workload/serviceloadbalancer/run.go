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

// Package serviceloadbalancer provides Services of type LoadBalancer in workload clusters:
// each gets an HAProxy container with an address on the cluster's network.
//
// Kubernetes' service controller decides what a Service needs: it owns finalizer, status and
// Events, and calls this provider as its cloud. It runs in the manager, one per workload
// cluster. ADR 0012 has the alternatives.
package serviceloadbalancer

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/cloud-provider/controllers/service"
	"k8s.io/component-base/featuregate"
	controllersmetrics "k8s.io/component-base/metrics/prometheus/controllers"

	containercluster "github.com/capi-samples/cluster-api-provider-container/controllers/cluster"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/imagepull"
	"github.com/capi-samples/cluster-api-provider-container/internal/loadbalancer"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
)

// workers is how many Services of a cluster are reconciled at the same time.
const workers = 4

// Images makes sure that an image is present; imagepull.Tracker does.
type Images interface {
	Ensure(ctx context.Context, reference string) (imagepull.Status, error)
}

// Engine is what load balancers of Services take.
type Engine interface {
	network.Engine
	loadbalancer.ImageInspector
	engine.Host
}

// Options of the load balancers of a cluster.
type Options struct {
	// Engine that runs them.
	Engine Engine
	// Images of the engine.
	Images Images
	// Recorded are the owner of their containers, and the engine that they were created on: what
	// another one does not have may exist.
	Recorded containercluster.EngineRecord
	// Network and Image of their containers.
	Network, Image string
	// HostPorts are the ports of the engine's host that they may publish.
	HostPorts network.HostPortRange
	// MaxServices is how many Services get one; math.MaxInt32 = unlimited.
	MaxServices int32
	// Report is called with nil once they are provided, and with errors that are retried.
	Report func(error)
}

// Run provides load balancers in one workload cluster until ctx ends. It returns once no
// call to the engine is left. The changes are those of containers on the engine; who called
// closes them.
func Run(ctx context.Context, config *rest.Config, options Options, changes *Changes) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("create client of the workload cluster: %w", err)
	}
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTransform(trim))
	services, nodes := factory.Core().V1().Services(), factory.Core().V1().Nodes()
	broadcaster := record.NewBroadcaster(record.WithContext(ctx))
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: client.CoreV1().Events("")})
	defer broadcaster.Shutdown()
	balancers := newBalancers(ctx, options, access{client: client, services: services.Lister(), nodes: nodes.Lister()}, changes,
		broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: providerName}))
	controller, err := service.New(cloud{balancers: balancers}, client, services, nodes, options.Recorded.Owner.Cluster, featuregate.NewFeatureGate())
	if err != nil {
		return fmt.Errorf("create service controller: %w", err)
	}
	factory.Start(ctx.Done())
	defer factory.Shutdown()
	// Operations end before the informers do.
	defer balancers.close()
	if !cache.WaitForCacheSync(ctx.Done(), services.Informer().HasSynced) {
		return nil
	}
	options.Report(nil)
	for range workers {
		go balancers.repair()
	}
	changes.AddAll()
	controller.Run(ctx, workers, controllersmetrics.NewControllerManagerMetrics(providerName))
	return nil
}
