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

// The manager of the container infrastructure provider for Cluster API: flags,
// a manager, and the wiring of the controllers in it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	goruntime "runtime"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	cliflag "k8s.io/component-base/cli/flag"
	logsv1 "k8s.io/component-base/logs/api/v1"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	addonsv1 "sigs.k8s.io/cluster-api/api/addons/v1beta2"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	"sigs.k8s.io/cluster-api/controllers/crdmigrator"
	"sigs.k8s.io/cluster-api/controllers/remote"
	"sigs.k8s.io/cluster-api/util/apiwarnings"
	"sigs.k8s.io/cluster-api/util/flags"

	infrav1alpha1 "github.com/capi-samples/cluster-api-provider-container/api/v1alpha1"
	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/controllers"
	"github.com/capi-samples/cluster-api-provider-container/controllers/engines"
	"github.com/capi-samples/cluster-api-provider-container/controllers/extension"
	"github.com/capi-samples/cluster-api-provider-container/controllers/workload/storage"
	"github.com/capi-samples/cluster-api-provider-container/internal/clusterfilter"
	"github.com/capi-samples/cluster-api-provider-container/internal/endpoint"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/connect"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/metered"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
	"github.com/capi-samples/cluster-api-provider-container/internal/release"
	"github.com/capi-samples/cluster-api-provider-container/internal/webhooks"
)

const controllerName = "cluster-api-container-controller-manager"

// +kubebuilder:rbac:groups=authentication.k8s.io,resources=tokenreviews,verbs=create
// +kubebuilder:rbac:groups=authorization.k8s.io,resources=subjectaccessreviews,verbs=create
// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,verbs=get;list;watch

func main() {
	storage.SealScheme()
	opts := defaultOptions()
	opts.addFlags(pflag.CommandLine)
	// controller-runtime has registered --kubeconfig there.
	pflag.CommandLine.AddGoFlagSet(flag.CommandLine)
	pflag.CommandLine.SetNormalizeFunc(cliflag.WordSepNormalizeFunc)
	pflag.Parse()
	if err := run(ctrl.SetupSignalHandler(), opts); err != nil {
		fmt.Fprintln(os.Stderr, "manager:", err)
		os.Exit(1)
	}
}

// run runs the manager until ctx ends.
func run(ctx context.Context, opts *options) error {
	if err := logsv1.ValidateAndApply(opts.logs, nil); err != nil {
		return fmt.Errorf("set up logging: %w", err)
	}
	ctrl.SetLogger(klog.Background())
	if _, err := network.ParseHostPortRange(opts.hostPortRange); err != nil {
		return fmt.Errorf("read flags: --host-port-range %q %w", opts.hostPortRange, err)
	}
	if opts.contentionProfiling {
		goruntime.SetBlockProfileRate(1)
	}

	eng, err := connect.Lazy(opts.engine)
	if err != nil {
		return fmt.Errorf("create container engine client: %w", err)
	}
	opts.metered.Logger = ctrl.Log
	measured, err := metered.New(eng, metrics.Registry, opts.metered)
	if err != nil {
		return errors.Join(fmt.Errorf("register engine metrics: %w", err), eng.Close())
	}
	mgr, err := newManager(opts)
	if err != nil {
		return errors.Join(err, eng.Close())
	}
	if err := setup(ctx, mgr, measured, opts); err != nil {
		return errors.Join(err, eng.Close())
	}
	return errors.Join(mgr.Start(ctx), eng.Close())
}

// newManager returns a manager without controllers.
func newManager(opts *options) (ctrl.Manager, error) {
	config, err := ctrl.GetConfig()
	if err != nil {
		return nil, fmt.Errorf("get kubeconfig of the management cluster (use --kubeconfig, or run in a Pod): %w", err)
	}
	config.QPS, config.Burst = opts.kubeAPIQPS, opts.kubeAPIBurst
	config.UserAgent = remote.DefaultClusterAPIUserAgent(controllerName)
	config.WarningHandler = apiwarnings.DefaultHandler(klog.Background().WithName("API Server Warning"))
	options, err := managerOptions(opts)
	if err != nil {
		return nil, err
	}
	mgr, err := ctrl.NewManager(config, options)
	if err != nil {
		return nil, fmt.Errorf("create manager: %w", err)
	}
	return mgr, nil
}

func managerOptions(opts *options) (ctrl.Options, error) {
	tlsOptions, metricsOptions, err := flags.GetManagerOptions(opts.manager)
	if err != nil {
		return ctrl.Options{}, fmt.Errorf("read flags: %w", err)
	}
	scheme, err := newScheme()
	if err != nil {
		return ctrl.Options{}, err
	}
	return ctrl.Options{
		Scheme:                     scheme,
		LeaderElection:             opts.leaderElect,
		LeaderElectionID:           "controller-leader-election-container",
		LeaderElectionResourceLock: resourcelock.LeasesResourceLock,
		LeaseDuration:              &opts.leaseDuration,
		RenewDeadline:              &opts.renewDeadline,
		RetryPeriod:                &opts.retryPeriod,
		HealthProbeBindAddress:     opts.healthAddress,
		PprofBindAddress:           opts.profilerAddress,
		Metrics:                    *metricsOptions,
		Cache:                      cacheOptions(opts),
		// Secrets are read one at a time and never listed or watched: a cache
		// would hold those of everything in the management cluster. A cached binding
		// may lack what was applied just before.
		Client: client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{
			&corev1.Secret{}, &addonsv1.ClusterResourceSetBinding{},
		}}},
		WebhookServer: webhook.NewServer(webhook.Options{
			Port: opts.webhookPort, CertDir: opts.webhookCertDir,
			CertName: opts.webhookCertName, KeyName: opts.webhookKeyName, TLSOpts: tlsOptions,
		}),
	}, nil
}

func newScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, clusterv1.AddToScheme, addonsv1.AddToScheme, bootstrapv1.AddToScheme, infrav1.AddToScheme, infrav1alpha1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("register API types: %w", err)
		}
	}
	return scheme, nil
}

func cacheOptions(opts *options) cache.Options {
	options := cache.Options{SyncPeriod: &opts.syncPeriod}
	if opts.namespace != "" {
		options.DefaultNamespaces = map[string]cache.Config{opts.namespace: {}}
	}
	return options
}

// setup adds health checks, the webhooks, the cache of workload clusters and the
// controllers, unless the installed definitions would lose what these write.
func setup(ctx context.Context, mgr ctrl.Manager, eng engine.Engine, opts *options) error {
	if err := release.CheckDefinitions(ctx, mgr.GetAPIReader()); err != nil {
		return fmt.Errorf("check installed CRDs: %w", err)
	}
	if err := setupProbes(mgr); err != nil {
		return err
	}
	allowed, err := endpoint.ParseAllowed(opts.allowedEndpoints)
	if err != nil {
		return fmt.Errorf("read flags: --%s %w", endpoint.AllowedFlag, err)
	}
	if err := setupWebhooks(mgr, opts.webhookPort, allowed); err != nil {
		return err
	}
	if err := setupExtension(mgr, eng, opts); err != nil {
		return err
	}
	migrator := &crdmigrator.CRDMigrator{Client: mgr.GetClient(), APIReader: mgr.GetAPIReader(), Config: controllers.Migrations()}
	// One definition at a time, as Cluster API does: it writes every object.
	if err := migrator.SetupWithManager(ctx, mgr, controller.Options{MaxConcurrentReconciles: 1}); err != nil {
		return fmt.Errorf("set up CRDMigrator: %w", err)
	}
	clusterCache, err := clustercache.SetupWithManager(ctx, mgr, clustercache.Options{
		SecretClient:  mgr.GetClient(),
		ClusterFilter: clusterfilter.New(),
		Client: clustercache.ClientOptions{
			QPS: opts.clusterCacheQPS, Burst: opts.clusterCacheBurst,
			UserAgent: remote.DefaultClusterAPIUserAgent(controllerName),
			// Nodes are read one by one and seldom: a watch on all of them in
			// every cluster would cost more.
			Cache: clustercache.ClientCacheOptions{DisableFor: []client.Object{&corev1.Node{}}},
		},
		WatchFilterValue: opts.watchFilter,
	}, controller.Options{MaxConcurrentReconciles: opts.clusterCacheConcurrency})
	if err != nil {
		return fmt.Errorf("set up ClusterCache: %w", err)
	}
	return controllers.Setup(ctx, mgr, controllers.Options{
		Engine:                 eng,
		Engines:                engines.Options{Metered: opts.metered, Registerer: metrics.Registry},
		AllowedEndpoints:       allowed,
		ClusterCache:           clusterCache,
		LoadBalancerImage:      opts.loadBalancerImage,
		SelfContainer:          opts.selfContainer,
		Limits:                 opts.limits(),
		WatchFilterValue:       opts.watchFilter,
		ClusterConcurrency:     opts.clusterConcurrency,
		MachineConcurrency:     opts.machineConcurrency,
		MachinePoolConcurrency: opts.machinePoolConcurrency,
	})
}

// setupProbes lets the manager be ready without its engine: the webhooks, which
// the API server calls for every write to this provider's objects, do not need
// one. The engine's state is in the objects' conditions and in the metrics. It is
// not live where only a restart of its container leads to the engine again.
func setupProbes(mgr ctrl.Manager) error {
	if err := mgr.AddHealthzCheck("engine-socket", func(*http.Request) error { return connect.CheckSocket() }); err != nil {
		return fmt.Errorf("add health check: %w", err)
	}
	if err := mgr.AddReadyzCheck("ping", healthz.Ping); err != nil {
		return fmt.Errorf("add readiness check: %w", err)
	}
	return nil
}

// setupExtension serves the Runtime Extension where the flags say so.
func setupExtension(mgr ctrl.Manager, eng engine.Engine, opts *options) error {
	if !opts.runtimeExtension {
		return nil
	}
	if opts.webhookPort == 0 {
		return errors.New("read flags: --runtime-extension needs the webhook server; set --webhook-port")
	}
	return extension.Setup(mgr, &extension.Handlers{Client: mgr.GetClient(), Engine: eng, Host: eng})
}

// setupWebhooks leaves them out where there is no port: the server would wait
// for its certificate.
func setupWebhooks(mgr ctrl.Manager, port int, allowed endpoint.Allowed) error {
	if port == 0 {
		return nil
	}
	if err := webhooks.Setup(mgr, webhooks.Options{AllowedEndpoints: allowed}); err != nil {
		return err
	}
	// The API server calls only the Pods that are ready.
	if err := mgr.AddReadyzCheck("webhook", mgr.GetWebhookServer().StartedChecker()); err != nil {
		return fmt.Errorf("add readiness check: %w", err)
	}
	return nil
}
