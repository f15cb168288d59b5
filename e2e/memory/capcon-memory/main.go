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

// Capcon-memory is a manager of a management plane whose clusters are in memory: "capcon-plane run
// --manager=capcon-memory". It is a program of its own, so that the in-memory API servers of
// Cluster API's tests are in no other.
package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/component-base/logs"
	logsv1 "k8s.io/component-base/logs/api/v1"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"sigs.k8s.io/cluster-api/feature"

	infrav1alpha1 "github.com/capi-samples/cluster-api-provider-container/api/v1alpha1"
	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/controllers"
	"github.com/capi-samples/cluster-api-provider-container/controllers/workload/storage"
	"github.com/capi-samples/cluster-api-provider-container/e2e/memory"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane/manager"
	"github.com/capi-samples/cluster-api-provider-container/internal/release"
)

func main() {
	if err := run(os.Args[1:]); err != nil && !errors.Is(err, pflag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "capcon-memory:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	storage.SealScheme()
	opts := manager.Options{
		Schemes:    []func(*runtime.Scheme) error{infrav1.AddToScheme, infrav1alpha1.AddToScheme},
		Migrations: controllers.Migrations(),
		Version:    release.Program(),
	}
	var kubeconfig string
	var alone bool
	var host memory.Options
	logging := logs.NewOptions()
	flags := pflag.NewFlagSet("capcon-memory", pflag.ContinueOnError)
	flags.StringVar(&kubeconfig, "kubeconfig", "", "kubeconfig of the plane's API server")
	flags.IntVar(&opts.WebhookPort, "webhook-port", 9443, "port of the webhooks")
	flags.StringVar(&opts.WebhookCertDir, "webhook-cert-dir", "", "directory of the webhooks' certificate")
	flags.StringVar(&opts.WebhookCertName, "webhook-cert-name", "tls.pem", "file in it with certificate and key")
	flags.StringVar(&opts.HealthAddress, "health-address", "127.0.0.1:9440", "address of /healthz and /readyz")
	flags.StringVar(&opts.MetricsAddress, "metrics-address", "0", "address of /metrics; 0 turns it off")
	flags.IntVar(&opts.Concurrency, "concurrency", manager.DefaultConcurrency, "objects of one kind reconciled concurrently")
	flags.BoolVar(&alone, "provider-alone", false, "run the controllers and webhooks of this provider alone, next to managers of Cluster API")
	flags.DurationVar(&host.BootstrapDuration, "bootstrap-duration", 0, "how long a node takes from the start of its container until kubeadm is done")
	flags.StringVar(&host.FaultsConfigMap.Namespace, "faults-namespace", "default", "namespace of the ConfigMap that says which calls of the engine are disturbed")
	flags.StringVar(&host.FaultsConfigMap.Name, "faults", "", "name of that ConfigMap, which need not exist; empty = none")
	logsv1.AddFlags(logging, flags)
	if err := feature.MutableGates.Set(manager.DefaultFeatures); err != nil {
		return fmt.Errorf("set feature gates: %w", err)
	}
	feature.MutableGates.AddFlag(flags)
	if err := flags.Parse(args); err != nil {
		return fmt.Errorf("read flags: %w", err)
	}
	if err := logsv1.ValidateAndApply(logging, nil); err != nil {
		return fmt.Errorf("set up logging: %w", err)
	}
	ctrl.SetLogger(klog.Background())
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return fmt.Errorf("read kubeconfig: %w", err)
	}
	ctx := ctrl.SetupSignalHandler()
	clusters, err := memory.NewHost(ctx, host)
	if err != nil {
		return err
	}
	opts.Config, opts.Setup = config, clusters.Setup
	if alone {
		return runProvider(ctx, opts, clusters)
	}
	return manager.Run(ctx, opts)
}
