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
	"fmt"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"

	"sigs.k8s.io/cluster-api/feature"

	infrav1alpha1 "github.com/capi-samples/cluster-api-provider-container/api/v1alpha1"
	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/controllers"
	"github.com/capi-samples/cluster-api-provider-container/controllers/workload/storage"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane/manager"
	"github.com/capi-samples/cluster-api-provider-container/internal/release"
)

// runManager runs the controllers until the process is terminated.
func runManager(args []string) error {
	storage.SealScheme()
	opts := manager.Options{
		Schemes:    []func(*runtime.Scheme) error{infrav1.AddToScheme, infrav1alpha1.AddToScheme},
		Migrations: controllers.Migrations(),
	}
	var provider containerProvider
	opts.Setup = provider.setup
	var kubeconfig string
	flags := pflag.NewFlagSet("capcon-plane manager", pflag.ContinueOnError)
	flags.StringVar(&kubeconfig, "kubeconfig", "", "kubeconfig of the plane's API server")
	flags.IntVar(&opts.WebhookPort, "webhook-port", 9443, "port of the webhooks")
	flags.StringVar(&opts.WebhookCertDir, "webhook-cert-dir", "", "directory of the webhooks' certificate")
	flags.StringVar(&opts.WebhookCertName, "webhook-cert-name", "tls.pem", "file in it with certificate and key")
	flags.StringVar(&opts.HealthAddress, "health-address", "127.0.0.1:9440", "address of /healthz and /readyz")
	flags.StringVar(&opts.MetricsAddress, "metrics-address", "0", "address of /metrics; 0 turns it off")
	flags.IntVar(&opts.Concurrency, "concurrency", manager.DefaultConcurrency, "objects of one kind reconciled concurrently")
	provider.addFlags(flags)
	if err := feature.MutableGates.Set(manager.DefaultFeatures); err != nil {
		return fmt.Errorf("set feature gates: %w", err)
	}
	feature.MutableGates.AddFlag(flags)
	if err := parse(flags, args); err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return fmt.Errorf("read kubeconfig: %w", err)
	}
	opts.Config, opts.Version = config, release.Program()
	provider.webhookPort = opts.WebhookPort
	return manager.Run(ctrl.SetupSignalHandler(), opts)
}
