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

	"github.com/spf13/pflag"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"sigs.k8s.io/cluster-api/controllers/clustercache"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/controllers"
	"github.com/capi-samples/cluster-api-provider-container/controllers/engines"
	"github.com/capi-samples/cluster-api-provider-container/internal/endpoint"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/connect"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/metered"
	"github.com/capi-samples/cluster-api-provider-container/internal/loadbalancer"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane"
	"github.com/capi-samples/cluster-api-provider-container/internal/webhooks"
)

// containerProvider is this provider within the plane's one manager.
type containerProvider struct {
	engine  connect.Options
	metered metered.Options
	options controllers.Options
	// allowedEndpoints of ContainerEngines.
	allowedEndpoints []string
	// webhookPort of 127.0.0.1, where Runtime Extensions are served too.
	webhookPort int
}

func (p *containerProvider) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&p.engine.Engine, "engine", connect.Auto, connect.Help()+"; none leaves this provider's controllers out")
	flags.StringSliceVar(&p.allowedEndpoints, endpoint.AllowedFlag, nil, "endpoints that ContainerEngines may have: "+endpoint.PatternHelp+"; empty allows none")
	p.metered.AddFlags(flags)
	flags.StringVar(&p.options.LoadBalancerImage, "load-balancer-image", loadbalancer.DefaultImage, "image of load balancers where a cluster names none")
	flags.StringVar(&p.options.SelfContainer, "self-container", "", "name of the container that this process runs in")
}

// setup adds webhooks and controllers. The API server calls the webhooks whether
// the engine answers or not; the controllers connect to it when it does, and
// the connection lives as long as the process.
func (p *containerProvider) setup(ctx context.Context, mgr ctrl.Manager, clusterCache clustercache.ClusterCache) error {
	allowed, err := endpoint.ParseAllowed(p.allowedEndpoints)
	if err != nil {
		return fmt.Errorf("read flags: --%s %w", endpoint.AllowedFlag, err)
	}
	if err := setupWebhooks(mgr, allowed); err != nil {
		return err
	}
	if p.engine.Engine == "none" {
		return nil
	}
	eng, err := connect.Lazy(p.engine)
	if err != nil {
		return fmt.Errorf("create container engine client: %w", err)
	}
	p.metered.Logger = ctrl.Log
	counted, err := metered.New(eng, metrics.Registry, p.metered)
	if err != nil {
		return errors.Join(fmt.Errorf("register engine metrics: %w", err), eng.Close())
	}
	if err := setupExtension(mgr, counted, p.webhookPort); err != nil {
		return errors.Join(err, eng.Close())
	}
	options := p.options
	options.Engine, options.ClusterCache = counted, clusterCache
	options.Engines, options.AllowedEndpoints = engines.Options{Metered: p.metered, Registerer: metrics.Registry}, allowed
	return controllers.Setup(ctx, mgr, options)
}

// setupWebhooks has each cluster recorded that is moved away, for capcon: its objects are
// gone then, and its containers must not be taken for orphaned.
func setupWebhooks(mgr ctrl.Manager, allowed endpoint.Allowed) error {
	begin := manager.RunnableFunc(func(ctx context.Context) error { return plane.BeginMoves(ctx, mgr.GetClient()) })
	if err := mgr.Add(begin); err != nil {
		return fmt.Errorf("add the record of moved clusters: %w", err)
	}
	return webhooks.Setup(mgr, webhooks.Options{
		AllowedEndpoints: allowed,
		Moving: func(ctx context.Context, cluster *infrav1.ContainerCluster) error {
			if cluster.Spec.OwnerID == "" {
				return nil // it has nothing on the engine
			}
			return plane.AddMove(ctx, mgr.GetClient(), cluster.Spec.OwnerID, cluster.Namespace+"/"+cluster.Name)
		},
	})
}
