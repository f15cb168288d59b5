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

// The manager of the provider.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/capi-samples/cluster-api-provider-container/contract/memory"
	infrav1 "github.com/capi-samples/cluster-api-provider-container/template/api/v1alpha1"
	"github.com/capi-samples/cluster-api-provider-container/template/controllers"
	"github.com/capi-samples/cluster-api-provider-container/template/servers"
	"github.com/capi-samples/cluster-api-provider-container/template/webhooks"
)

// options are the flags.
type options struct {
	namespace      string
	webhookHost    string
	webhookPort    int
	webhookCertDir string
	healthAddress  string
	leaderElect    bool
	host           string
	// several managers run in this process, as in tests.
	several bool
}

func main() {
	opts := options{}
	pflag.StringVar(&opts.namespace, "namespace", "", "Namespace whose objects are reconciled; empty means all.")
	pflag.IntVar(&opts.webhookPort, "webhook-port", 9443, "Port of the webhook server; 0 means no webhooks.")
	pflag.StringVar(&opts.webhookCertDir, "webhook-cert-dir", "/tmp/k8s-webhook-server/serving-certs/", "Directory of the webhook server's certificate.")
	pflag.StringVar(&opts.healthAddress, "health-addr", ":9440", "Address of /healthz and /readyz.")
	pflag.BoolVar(&opts.leaderElect, "leader-elect", false, "Let only one of several managers be active at a time.")
	pflag.StringVar(&opts.host, "memory-host", "127.0.0.1", "Where Cluster API reaches this process, as the host of clusters in memory.")
	pflag.CommandLine.AddGoFlagSet(flag.CommandLine)
	pflag.Parse()
	ctrl.SetLogger(klog.Background())
	if err := start(ctrl.SetupSignalHandler(), opts); err != nil {
		fmt.Fprintln(os.Stderr, "manager:", err)
		os.Exit(1)
	}
}

func start(ctx context.Context, opts options) error {
	cfg, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("read kubeconfig: %w", err)
	}
	clusters, err := memory.New(ctx, opts.host)
	if err != nil {
		return err
	}
	// Both lose what they have when the process ends: replace them with a client of your API.
	return run(ctx, cfg, opts, servers.Memory{Servers: servers.NewFake(), Clusters: clusters})
}

// run runs the manager until ctx ends.
func run(ctx context.Context, cfg *rest.Config, opts options, infrastructure servers.Servers) error {
	mgr, err := newManager(cfg, opts)
	if err != nil {
		return err
	}
	if err := (&controllers.ClusterReconciler{Client: mgr.GetClient(), Servers: infrastructure}).SetupWithManager(ctx, mgr); err != nil {
		return fmt.Errorf("set up SampleCluster controller: %w", err)
	}
	if err := (&controllers.MachineReconciler{Client: mgr.GetClient(), Servers: infrastructure}).SetupWithManager(ctx, mgr); err != nil {
		return fmt.Errorf("set up SampleMachine controller: %w", err)
	}
	if opts.webhookPort == 0 {
		return mgr.Start(ctx)
	}
	if err := (&webhooks.MachineTemplates{}).SetupWithManager(mgr); err != nil {
		return fmt.Errorf("set up webhooks: %w", err)
	}
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return fmt.Errorf("add health check: %w", err)
	}
	if err := mgr.AddReadyzCheck("webhook", mgr.GetWebhookServer().StartedChecker()); err != nil {
		return fmt.Errorf("add readiness check: %w", err)
	}
	return mgr.Start(ctx)
}

func newManager(cfg *rest.Config, opts options) (ctrl.Manager, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, clusterv1.AddToScheme, infrav1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("register API types: %w", err)
		}
	}
	caches := cache.Options{}
	if opts.namespace != "" {
		caches.DefaultNamespaces = map[string]cache.Config{opts.namespace: {}}
	}
	mgr, err := ctrl.NewManager(cfg, ctrl.Options{
		Scheme: scheme, Cache: caches, Metrics: metricsserver.Options{BindAddress: "0"},
		// A cache of Secrets would need the permission to read all.
		Client:         client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{}}}},
		LeaderElection: opts.leaderElect, LeaderElectionID: "controller-leader-election-sample",
		HealthProbeBindAddress: opts.healthAddress,
		Controller:             config.Controller{SkipNameValidation: ptr.To(opts.several)},
		WebhookServer: webhook.NewServer(webhook.Options{
			Host: opts.webhookHost, Port: opts.webhookPort, CertDir: opts.webhookCertDir,
		}),
	})
	if err != nil {
		return nil, fmt.Errorf("create manager: %w", err)
	}
	return mgr, nil
}
