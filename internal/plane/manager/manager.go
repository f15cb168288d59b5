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

package manager

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"sigs.k8s.io/cluster-api/controllers/clustercache"
	"sigs.k8s.io/cluster-api/controllers/crdmigrator"
	"sigs.k8s.io/cluster-api/controllers/remote"
	"sigs.k8s.io/cluster-api/feature"
	"sigs.k8s.io/cluster-api/util/apiwarnings"
	"sigs.k8s.io/cluster-api/util/index"

	"github.com/capi-samples/cluster-api-provider-container/internal/plane/manager/readyourwrites"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane/readiness"
)

// name is the manager's in user agents, informer metrics and leases.
const name = "capcon-plane-manager"

// SetupFunc adds controllers and webhooks of one provider to the manager.
type SetupFunc func(ctx context.Context, mgr ctrl.Manager, clusterCache clustercache.ClusterCache) error

// Options are what the manager needs to know.
type Options struct {
	// Config reaches the plane's API server.
	Config *rest.Config
	// Schemes are added to the scheme, in addition to those of Cluster API.
	Schemes []func(*runtime.Scheme) error
	// Setup adds a further provider, after Cluster API's.
	Setup SetupFunc
	// Migrations are the kinds of further providers whose stored objects are
	// rewritten where a newer version is stored.
	Migrations map[client.Object]crdmigrator.ByObjectConfig

	// WebhookPort of 127.0.0.1 is where webhooks are served. WebhookCertName is the file in
	// WebhookCertDir that holds both certificate and key, and is read again when it changes.
	WebhookPort     int
	WebhookCertDir  string
	WebhookCertName string
	// HealthAddress serves /healthz and /readyz, MetricsAddress /metrics;
	// "0" turns one off.
	HealthAddress  string
	MetricsAddress string

	// Version is published in the ready lease. May be empty.
	Version string
	// Concurrency is how many objects of one kind are reconciled concurrently, of a kind whose
	// reconciles wait for a workload cluster three times as many.
	Concurrency int
}

const (
	// DefaultConcurrency is for one person's clusters; Cluster API's 50 to 100 are for hundreds.
	DefaultConcurrency = 10
	// connectionRetry is the time after which a connection to a workload
	// cluster that did not come about is tried again: an API server that is just booting
	// answers a few seconds later, and Cluster API's own 30 s would be most of the time a
	// cluster takes to come up.
	connectionRetry = time.Second
)

// DefaultFeatures are the feature gates of Cluster API in the plane: ClusterClass, which capcon makes
// its clusters of, taints that reach Nodes without a new Machine, and the
// bootstrap format Ignition. They cost nothing until one is used. Stale caches are
// prevented by package readyourwrites, and not by a second between two reconciles.
const DefaultFeatures = "ClusterTopology=true,MachineTaintPropagation=true,KubeadmBootstrapFormatIgnition=true," +
	"ReconcilerRateLimiting=false"

// syncPeriod is how often everything is reconciled without an event, as in Cluster API's
// managers.
func syncPeriod() *time.Duration { return ptr.To(10 * time.Minute) }

// Run runs the manager until ctx ends. The CRDs and webhook configurations it
// serves must be installed before (package manifests).
func Run(ctx context.Context, opts Options) error {
	log := ctrl.Log.WithName("setup")
	if err := checkFeatures(); err != nil {
		return err
	}

	informers, mgr, err := newManager(opts)
	if err != nil {
		return err
	}
	if err := index.AddDefaultIndexes(ctx, mgr); err != nil {
		return fmt.Errorf("add indexes: %w", err)
	}
	providers := provider{mgr: mgr, opts: opts, informers: informers}
	if providers.secrets, err = secretClient(mgr); err != nil {
		return fmt.Errorf("create client for cached secrets: %w", err)
	}
	if providers.clusters, err = providers.newClusterCache(ctx, log); err != nil {
		return fmt.Errorf("create cluster cache: %w", err)
	}
	for _, setup := range []func(context.Context) error{
		providers.setupExtensions, providers.setupCore, providers.setupTopology, providers.setupKubeadm, providers.setupMigrator,
		providers.setupCoreWebhooks, providers.setupKubeadmWebhooks,
	} {
		if err := setup(ctx); err != nil {
			return err
		}
	}
	if err := opts.Setup(ctx, mgr, providers.clusters); err != nil {
		return fmt.Errorf("set up provider: %w", err)
	}
	if err := addReadiness(mgr, opts); err != nil {
		return err
	}

	log.Info("Starting manager", "version", opts.Version, "webhooks", opts.WebhookPort)
	if err := mgr.Start(ctx); err != nil {
		return fmt.Errorf("run manager: %w", err)
	}
	return nil
}

// newManager whose writes return when its caches show them.
func newManager(opts Options) (*readyourwrites.Informers, ctrl.Manager, error) {
	scheme, err := newScheme(opts.Schemes)
	if err != nil {
		return nil, nil, err
	}
	informers := readyourwrites.New(scheme)
	if err := informers.Register(metrics.Registry); err != nil {
		return nil, nil, fmt.Errorf("register metrics: %w", err)
	}
	caches, err := cacheOptions(scheme)
	if err == nil {
		caches, err = informers.Watch(caches)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read the options of the cache: %w", err)
	}
	cfg := restConfig(opts.Config)
	cfg.Wrap(informers.Wrap)
	mgr, err := createManager(cfg, caches, opts)
	return informers, mgr, err
}

// restConfig of all clients of the plane's API server.
func restConfig(config *rest.Config) *rest.Config {
	cfg := rest.CopyConfig(config)
	// Everything shares this one client; the API server is next door and
	// bounds what it takes itself.
	cfg.QPS, cfg.Burst = 200, 400
	cfg.UserAgent = remote.DefaultClusterAPIUserAgent(name)
	// readyourwrites reads no other.
	cfg.ContentType = runtime.ContentTypeJSON
	cfg.WarningHandler = apiwarnings.DefaultHandler(ctrl.Log.WithName("API Server Warning"))
	return cfg
}

func createManager(cfg *rest.Config, caches cache.Options, opts Options) (ctrl.Manager, error) {
	mgr, err := ctrl.NewManager(cfg, ctrl.Options{
		Controller: config.Controller{
			UsePriorityQueue: ptr.To(feature.Gates.Enabled(feature.PriorityQueue)),
			CacheSyncTimeout: 5 * time.Minute,
		},
		Scheme: caches.Scheme,
		// The plane's lock and supervisor see to it that there is one
		// manager; an election would only delay its start.
		LeaderElection:         false,
		HealthProbeBindAddress: opts.HealthAddress,
		Metrics:                metricsserver.Options{BindAddress: opts.MetricsAddress},
		Cache:                  caches,
		Client:                 clientOptions(),
		WebhookServer: webhook.NewServer(webhook.Options{
			Host:     "127.0.0.1",
			Port:     opts.WebhookPort,
			CertDir:  opts.WebhookCertDir,
			CertName: opts.WebhookCertName,
			KeyName:  opts.WebhookCertName,
		}),
	})
	if err != nil {
		return nil, fmt.Errorf("create manager: %w", err)
	}
	return mgr, nil
}

func addReadiness(mgr ctrl.Manager, opts Options) error {
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return fmt.Errorf("add health check: %w", err)
	}
	if err := mgr.AddReadyzCheck("webhook", mgr.GetWebhookServer().StartedChecker()); err != nil {
		return fmt.Errorf("add ready check: %w", err)
	}
	if err := mgr.Add(&readiness.Heartbeat{Client: mgr.GetClient(), Version: opts.Version}); err != nil {
		return fmt.Errorf("add ready lease: %w", err)
	}
	return nil
}
