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
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/cert-manager/cert-manager/pkg/controller"

	// Each registers its controller, and the last two the kinds of issuers.
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/approver"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/ca"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/selfsigned"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/issuing"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/keymanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/readiness"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/requestmanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/revisionmanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/trigger"
	_ "github.com/cert-manager/cert-manager/pkg/controller/clusterissuers"
	_ "github.com/cert-manager/cert-manager/pkg/controller/issuers"
	_ "github.com/cert-manager/cert-manager/pkg/issuer/ca"
	_ "github.com/cert-manager/cert-manager/pkg/issuer/selfsigned"
)

const (
	// livenessAddress and livenessPath are what the chart's probe asks.
	livenessAddress, livenessPath = ":9403", "/livez"
	// workers of each controller, cert-manager's default.
	workers = 5
)

func newController() *command {
	program := &elected{component: "controller", lease: "cert-manager-controller"}
	c := program.command()
	options := controllerOptions()
	c.flags.StringVar(&options.ClusterResourceNamespace, "cluster-resource-namespace", "kube-system", "namespace of the Secrets of ClusterIssuers")
	// The chart sets them, but there is no ACME here.
	c.flags.String("acme-http01-solver-image", "", "ignored")
	c.flags.Int("max-concurrent-challenges", 0, "ignored")
	c.run = func(ctx context.Context) error {
		mgr, err := program.manager(ctrl.Options{HealthProbeBindAddress: livenessAddress, LivenessEndpointName: livenessPath})
		if err != nil {
			return err
		}
		if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
			return fmt.Errorf("add liveness check: %w", err)
		}
		options.Kubeconfig = program.kubeconfig
		runControllers := func(ctx context.Context) error { return runControllers(ctx, *options) }
		if err := mgr.Add(manager.RunnableFunc(runControllers)); err != nil {
			return fmt.Errorf("add controllers: %w", err)
		}
		return mgr.Start(ctx)
	}
	return c
}

// controllerOptions are those of cert-manager's defaults that the controllers
// here read. Its own function for them imports the controllers left out.
func controllerOptions() *controller.ContextOptions {
	return &controller.ContextOptions{
		KubernetesAPIQPS: 20, KubernetesAPIBurst: 50,
		CertificateOptions: controller.CertificateOptions{
			CopiedAnnotationPrefixes:                 []string{"*", "-kubectl.kubernetes.io/"},
			CertificateRequestMinimumBackoffDuration: time.Hour,
			CertificateRequestMaximumBackoffDuration: 32 * time.Hour,
		},
	}
}

// runControllers runs all that are registered, until the first one fails.
func runControllers(ctx context.Context, options controller.ContextOptions) error {
	group, ctx := errgroup.WithContext(ctx)
	factory, err := controller.NewContextFactory(ctx, options)
	if err != nil {
		return fmt.Errorf("create clients: %w", err)
	}
	shared, err := factory.Build()
	if err != nil {
		return fmt.Errorf("create informers: %w", err)
	}
	var loops []controller.Interface
	for name, construct := range controller.Known() {
		loop, err := construct(factory)
		if err != nil {
			return fmt.Errorf("create controller %s: %w", name, err)
		}
		loops = append(loops, loop)
	}
	shared.SharedInformerFactory.Start(ctx.Done())
	shared.KubeSharedInformerFactory.Start(ctx.Done())
	for _, loop := range loops {
		group.Go(func() error { return loop.Run(workers, ctx) })
	}
	return group.Wait()
}
