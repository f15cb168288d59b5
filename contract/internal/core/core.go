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

// Package core runs Cluster API's core provider in this process: the controllers of Clusters,
// Machines, MachineSets, MachineDeployments and MachinePools, with their webhooks. It must not
// import anything of a provider.
package core

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	addonsv1beta1 "sigs.k8s.io/cluster-api/api/addons/v1beta1"
	addonsv1 "sigs.k8s.io/cluster-api/api/addons/v1beta2"
	clusterv1beta1 "sigs.k8s.io/cluster-api/api/core/v1beta1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ipamv1alpha1 "sigs.k8s.io/cluster-api/api/ipam/v1alpha1"
	ipamv1beta1 "sigs.k8s.io/cluster-api/api/ipam/v1beta1"
	ipamv1 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	runtimev1alpha1 "sigs.k8s.io/cluster-api/api/runtime/v1alpha1"
	runtimev1 "sigs.k8s.io/cluster-api/api/runtime/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	"sigs.k8s.io/cluster-api/core/reconcilers/cluster"
	"sigs.k8s.io/cluster-api/core/reconcilers/machine"
	"sigs.k8s.io/cluster-api/core/reconcilers/machinedeployment"
	"sigs.k8s.io/cluster-api/core/reconcilers/machinepool"
	"sigs.k8s.io/cluster-api/core/reconcilers/machineset"
	coreadmission "sigs.k8s.io/cluster-api/core/webhooks/admission"
	coreconversion "sigs.k8s.io/cluster-api/core/webhooks/conversion"
	"sigs.k8s.io/cluster-api/util/index"
)

const (
	module = "sigs.k8s.io/cluster-api"
	// concurrency of each controller.
	concurrency = 10
	// gracePeriod of the conditions that depend on a workload cluster, which a contract needs none of.
	gracePeriod = 5 * time.Minute
)

// Options of Start.
type Options struct {
	// WebhookHost and WebhookPort serve the webhooks, with the certificate in WebhookCertDir.
	WebhookHost    string
	WebhookPort    int
	WebhookCertDir string
	Logger         logr.Logger
}

// Manifests is the directory with the manifests of the version of Cluster API that this program
// is built with. Go has it in its module cache.
func Manifests(ctx context.Context) (string, error) {
	directory, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return "", fmt.Errorf("find the module %s: %w: %s", module, err, exit.Stderr)
	}
	if err != nil {
		return "", fmt.Errorf("find the module %s: %w", module, err)
	}
	return filepath.Join(strings.TrimSpace(string(directory)), "core", "config", "default"), nil
}

// NewScheme has all APIs of Cluster API's core.
func NewScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, clusterv1beta1.AddToScheme, clusterv1.AddToScheme,
		addonsv1beta1.AddToScheme, addonsv1.AddToScheme, ipamv1alpha1.AddToScheme, ipamv1beta1.AddToScheme, ipamv1.AddToScheme,
		runtimev1alpha1.AddToScheme, runtimev1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("register API types: %w", err)
		}
	}
	return scheme, nil
}

// New returns a manager with the controllers and webhooks of core. Its CRDs must be installed.
func New(ctx context.Context, config *rest.Config, opts Options) (ctrl.Manager, error) {
	mgr, err := newManager(config, opts)
	if err != nil {
		return nil, err
	}
	if err := index.AddDefaultIndexes(ctx, mgr); err != nil {
		return nil, fmt.Errorf("add indexes: %w", err)
	}
	clusters, err := clustercache.SetupWithManager(ctx, mgr, clustercache.Options{
		SecretClient: mgr.GetClient(),
		Cache:        clustercache.CacheOptions{Indexes: []clustercache.CacheOptionsIndex{clustercache.NodeProviderIDIndex}},
		Client:       clustercache.ClientOptions{UserAgent: "contract"},
	}, controller.Options{MaxConcurrentReconciles: concurrency})
	if err != nil {
		return nil, fmt.Errorf("set up ClusterCache: %w", err)
	}
	if err := setupControllers(ctx, mgr, clusters); err != nil {
		return nil, err
	}
	return mgr, setupWebhooks(mgr, clusters)
}

func newManager(cfg *rest.Config, opts Options) (ctrl.Manager, error) {
	scheme, err := NewScheme()
	if err != nil {
		return nil, err
	}
	mgr, err := ctrl.NewManager(cfg, ctrl.Options{
		Scheme: scheme, Logger: opts.Logger, Metrics: metricsserver.Options{BindAddress: "0"},
		// Several may run in one process, one after the other.
		Controller: config.Controller{SkipNameValidation: ptr.To(true), Logger: opts.Logger},
		Client: client.Options{Cache: &client.CacheOptions{
			DisableFor: []client.Object{&corev1.ConfigMap{}, &corev1.Secret{}}, Unstructured: true,
		}},
		WebhookServer: webhook.NewServer(webhook.Options{
			Host: opts.WebhookHost, Port: opts.WebhookPort, CertDir: opts.WebhookCertDir,
		}),
	})
	if err != nil {
		return nil, fmt.Errorf("create manager: %w", err)
	}
	return mgr, nil
}

func setupControllers(ctx context.Context, mgr ctrl.Manager, clusters clustercache.ClusterCache) error {
	c, live := mgr.GetClient(), mgr.GetAPIReader()
	for _, reconciler := range []interface {
		SetupWithManager(context.Context, ctrl.Manager, controller.Options) error
	}{
		&cluster.Reconciler{Client: c, APIReader: live, ClusterCache: clusters, RemoteConnectionGracePeriod: gracePeriod},
		&machine.Reconciler{Client: c, APIReader: live, ClusterCache: clusters, RemoteConditionsGracePeriod: gracePeriod},
		&machineset.Reconciler{Client: c, APIReader: live, ClusterCache: clusters},
		&machinedeployment.Reconciler{Client: c, APIReader: live},
		&machinepool.Reconciler{Client: c, APIReader: live, ClusterCache: clusters},
	} {
		if err := reconciler.SetupWithManager(ctx, mgr, controller.Options{MaxConcurrentReconciles: concurrency}); err != nil {
			return fmt.Errorf("set up controller %T: %w", reconciler, err)
		}
	}
	return nil
}

// setupWebhooks serves those of all kinds that have a configuration.
func setupWebhooks(mgr ctrl.Manager, clusters clustercache.ClusterCache) error {
	coreconversion.SetAPIVersionGetter(versions{reader: mgr.GetClient()}.get)
	c := mgr.GetClient()
	for _, webhooks := range []interface {
		SetupWebhookWithManager(mgr ctrl.Manager) error
	}{
		&coreadmission.ClusterClass{Client: c}, &coreadmission.Cluster{Client: c, ClusterCacheReader: clusters},
		&coreadmission.Machine{}, &coreadmission.MachineSet{}, &coreadmission.MachineDeployment{},
		&coreadmission.MachineDrainRule{}, &coreadmission.MachinePool{}, &coreadmission.MachineHealthCheck{},
		&coreadmission.ClusterResourceSet{}, &coreadmission.ClusterResourceSetBinding{}, &coreadmission.ExtensionConfig{},
		&coreadmission.IPAddress{Client: mgr.GetAPIReader()}, &coreadmission.IPAddressClaim{},
	} {
		if err := webhooks.SetupWebhookWithManager(mgr); err != nil {
			return fmt.Errorf("set up webhooks %T: %w", webhooks, err)
		}
	}
	return nil
}
