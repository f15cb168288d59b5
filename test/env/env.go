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

// Package env runs an etcd and a kube-apiserver for tests that need what no
// fake has: validation by CRDs and webhooks, subresources, tables and watches.
package env

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	infrav1alpha1 "github.com/capi-samples/cluster-api-provider-container/api/v1alpha1"
	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/config/crd"
	configurations "github.com/capi-samples/cluster-api-provider-container/config/webhook"
	"github.com/capi-samples/cluster-api-provider-container/internal/endpoint"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane/manifests"
	"github.com/capi-samples/cluster-api-provider-container/internal/webhooks"
	"github.com/capi-samples/cluster-api-provider-container/test/inputs"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// startTimeout is many times what a start takes; a busy host needs some of it.
const startTimeout = 5 * time.Minute

// discardLogs of the environment, and of what watches the webhooks' certificate:
// they log to the logger of the process, which tests share that run concurrently.
var discardLogs = sync.OnceFunc(func() { ctrl.SetLogger(logr.Discard()) })

// Start runs an API server with the CRDs of Cluster API and of this provider,
// and serves this provider's webhooks to it, until the test ends. It skips
// tests under -short, and fails where the programs are missing.
func Start(tb testing.TB) *rest.Config {
	tb.Helper()
	config := StartEmpty(tb)
	server := serve(tb, config)
	must.Succeed(tb, Install(tb.Context(), config, server))
	return config
}

// StartEmpty is Start with nothing in the API server that it does not come with.
func StartEmpty(tb testing.TB) *rest.Config {
	tb.Helper()
	if testing.Short() {
		tb.Skip("runs etcd and kube-apiserver; leave out -short for it")
	}
	discardLogs()
	etcd, apiServer := program(tb, "program-etcd", "etcd"), program(tb, "program-kubernetes", "kube-apiserver")
	environment := &envtest.Environment{
		ControlPlaneStartTimeout: startTimeout,
		ControlPlaneStopTimeout:  startTimeout,
		ControlPlane: envtest.ControlPlane{
			Etcd:      &envtest.Etcd{Path: etcd},
			APIServer: &envtest.APIServer{Path: apiServer},
		},
	}
	// Without it the API server looks for the address of the default route,
	// and a host that is offline has none.
	environment.ControlPlane.APIServer.Configure().Set("advertise-address", "127.0.0.1")
	config, err := environment.Start()
	if err != nil {
		tb.Fatalf("start the API server: %v", err)
	}
	tb.Cleanup(func() {
		if err := environment.Stop(); err != nil {
			tb.Errorf("stop the API server: %v", err)
		}
	})
	return config
}

// serve runs a manager that has nothing but webhooks.
func serve(tb testing.TB, config *rest.Config) manifests.Server {
	tb.Helper()
	local := envtest.WebhookInstallOptions{}
	if err := local.PrepWithoutInstalling(); err != nil {
		tb.Fatalf("prepare webhooks: %v", err)
	}
	scheme := runtime.NewScheme()
	must.Succeed(tb, errors.Join(infrav1.AddToScheme(scheme), infrav1alpha1.AddToScheme(scheme)))
	server := webhook.NewServer(webhook.Options{
		Host: local.LocalServingHost, Port: local.LocalServingPort, CertDir: local.LocalServingCertDir,
	})
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: scheme, Logger: logr.Discard(), WebhookServer: server, Metrics: metricsserver.Options{BindAddress: "0"},
	})
	if err != nil {
		tb.Fatalf("create manager: %v", err)
	}
	must.Succeed(tb, webhooks.Setup(mgr, webhooks.Options{AllowedEndpoints: must.Get(endpoint.ParseAllowed(inputs.AllowedEndpoints()))(tb)}))
	ctx, cancel := context.WithCancel(tb.Context())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	tb.Cleanup(func() {
		cancel()
		if err := errors.Join(<-ended, local.Cleanup()); err != nil {
			tb.Errorf("stop webhooks: %v", err)
		}
	})
	err = wait.PollUntilContextTimeout(ctx, 10*time.Millisecond, startTimeout, true, func(context.Context) (bool, error) {
		return server.StartedChecker()(nil) == nil, nil
	})
	if err != nil {
		tb.Fatalf("wait for webhooks: %v", err)
	}
	return manifests.Server{
		URL:      "https://" + net.JoinHostPort(local.LocalServingHost, strconv.Itoa(local.LocalServingPort)),
		CABundle: local.LocalServingCAData,
	}
}

// Install applies the CRDs of Cluster API and of this provider, and this
// provider's webhook configurations. Cluster API's webhooks have no server here;
// conversion has none either: all is read in the version it is stored in.
func Install(ctx context.Context, config *rest.Config, server manifests.Server) error {
	all, err := manifests.Objects(server, crd.FS, configurations.FS)
	if err != nil {
		return fmt.Errorf("read manifests: %w", err)
	}
	served := slices.DeleteFunc(all, func(object *unstructured.Unstructured) bool {
		if object.GetKind() == "CustomResourceDefinition" {
			return false
		}
		// clusterctl's inventory is a plane's.
		return strings.HasPrefix(object.GetName(), "capi-") || !strings.HasSuffix(object.GetKind(), "WebhookConfiguration")
	})
	if err := manifests.Install(ctx, config, served); err != nil {
		return fmt.Errorf("install CRDs and webhooks: %w", err)
	}
	return nil
}

// Kubeconfig of an API server.
func Kubeconfig(tb testing.TB, config *rest.Config) []byte {
	tb.Helper()
	const name = "test"
	return must.Get(clientcmd.Write(clientcmdapi.Config{
		Clusters: map[string]*clientcmdapi.Cluster{name: {Server: config.Host, CertificateAuthorityData: config.CAData}},
		AuthInfos: map[string]*clientcmdapi.AuthInfo{name: {
			ClientCertificateData: config.CertData, ClientKeyData: config.KeyData, Token: config.BearerToken,
		}},
		Contexts:       map[string]*clientcmdapi.Context{name: {Cluster: name, AuthInfo: name}},
		CurrentContext: name,
	}))(tb)
}

// program finds a program among KUBEBUILDER_ASSETS, or among what the images
// are made of.
func program(tb testing.TB, artifact, name string) string {
	tb.Helper()
	if assets := os.Getenv("KUBEBUILDER_ASSETS"); assets != "" {
		return filepath.Join(assets, name)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		tb.Fatalf("find the cache: %v", err)
	}
	pattern := filepath.Join(cache, "cluster-api-provider-container", "images", "artifacts", artifact, "*", name)
	found, err := filepath.Glob(pattern)
	if err != nil || len(found) == 0 {
		tb.Fatalf("%s is missing (%s): run \"make images\" first, or name a directory that has it in KUBEBUILDER_ASSETS", name, pattern)
	}
	return found[len(found)-1]
}
