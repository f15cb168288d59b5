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

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	addonsv1 "sigs.k8s.io/cluster-api/api/addons/v1beta2"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/clustercache"

	"github.com/capi-samples/cluster-api-provider-container/e2e/memory"
	"github.com/capi-samples/cluster-api-provider-container/internal/clusterfilter"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane/manager"
)

// runProvider runs this provider alone, with the caches of its ordinary manager, next to managers of Cluster API. As for these, the
// certificate of its webhooks is in the files tls.crt and tls.key.
func runProvider(ctx context.Context, opts manager.Options, clusters *memory.Host) error {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), apiextensionsv1.AddToScheme(scheme), clusterv1.AddToScheme(scheme),
		addonsv1.AddToScheme(scheme), bootstrapv1.AddToScheme(scheme)); err != nil {
		return fmt.Errorf("register API types: %w", err)
	}
	for _, add := range opts.Schemes {
		if err := add(scheme); err != nil {
			return fmt.Errorf("register API types: %w", err)
		}
	}
	config := rest.CopyConfig(opts.Config)
	config.QPS, config.Burst = 100, 200
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: scheme, Metrics: metricsserver.Options{BindAddress: opts.MetricsAddress}, HealthProbeBindAddress: opts.HealthAddress,
		Client: client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{}, &addonsv1.ClusterResourceSetBinding{}}}},
		WebhookServer: webhook.NewServer(webhook.Options{
			Host: memory.Address, Port: opts.WebhookPort, CertDir: opts.WebhookCertDir,
		}),
	})
	if err != nil {
		return fmt.Errorf("create manager: %w", err)
	}
	clusterCache, err := clustercache.SetupWithManager(ctx, mgr, clustercache.Options{
		SecretClient: mgr.GetClient(), ClusterFilter: clusterfilter.New(),
		Client: clustercache.ClientOptions{
			QPS: 20, Burst: 30, UserAgent: "capcon-memory",
			Cache: clustercache.ClientCacheOptions{DisableFor: []client.Object{&corev1.Node{}}},
		},
	}, controller.Options{MaxConcurrentReconciles: opts.Concurrency})
	if err != nil {
		return fmt.Errorf("set up ClusterCache: %w", err)
	}
	if err := clusters.Setup(ctx, mgr, clusterCache); err != nil {
		return err
	}
	return mgr.Start(ctx)
}
