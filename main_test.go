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
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/capi-samples/cluster-api-provider-container/internal/endpoint"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// The manager serves webhooks unless they are disabled. Then it
// never asks for the server, which would wait for a certificate.
func TestWebhookPort(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason string
		args   []string
		want   bool
	}{
		"Default": {"A management cluster asks them.", nil, true},
		"Other":   {"Where they are served does not matter.", []string{"--webhook-port=29443"}, true},
		"Zero":    {"A manager without a certificate runs as well.", []string{"--webhook-port=0"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			opts := defaultOptions()
			flags := pflag.NewFlagSet("manager", pflag.ContinueOnError)
			opts.addServingFlags(flags)
			must.Succeed(t, flags.Parse(tc.args))
			scheme := must.Get(newScheme())(t)
			server := &countedServer{Server: webhook.NewServer(webhook.Options{})}
			mgr := must.Get(ctrl.NewManager(&rest.Config{Host: "http://127.0.0.1:1"}, ctrl.Options{
				Scheme: scheme, Logger: logr.Discard(), WebhookServer: server, Metrics: metricsserver.Options{BindAddress: "0"},
			}))(t)
			must.Succeed(t, setupWebhooks(mgr, opts.webhookPort, endpoint.Allowed{}))
			if got := server.registered > 0; got != tc.want {
				t.Errorf("%s\n%d webhooks are served", tc.reason, server.registered)
			}
		})
	}
}

// The flags are those of Cluster API's managers, and do what theirs do.
func TestFlags(t *testing.T) {
	t.Parallel()
	opts := defaultOptions()
	set := pflag.NewFlagSet("manager", pflag.ContinueOnError)
	opts.addFlags(set)
	for _, name := range []string{
		"namespace", "watch-filter", "leader-elect", "leader-elect-lease-duration", "leader-elect-renew-deadline", "leader-elect-retry-period",
		"sync-period", "kube-api-qps", "kube-api-burst", "health-addr", "profiler-address", "contention-profiling", "feature-gates",
		"webhook-port", "webhook-cert-dir", "webhook-cert-name", "webhook-key-name", "logging-format", "v",
		"diagnostics-address", "insecure-diagnostics", "tls-min-version", "tls-cipher-suites",
		"containercluster-concurrency", "containermachine-concurrency", "containermachinepool-concurrency",
		"clustercache-concurrency", "clustercache-client-qps", "clustercache-client-burst",
	} {
		if set.Lookup(name) == nil {
			t.Errorf("there is no flag --%s", name)
		}
	}
	if all := cacheOptions(opts).DefaultNamespaces; len(all) > 0 {
		t.Errorf("without a flag the namespaces %v are watched", all)
	}
	opts.namespace = ""
	must.Succeed(t, set.Parse([]string{"--namespace=only"}))
	if _, only := cacheOptions(opts).DefaultNamespaces["only"]; !only {
		t.Errorf("with --namespace=only the namespaces %v are watched", cacheOptions(opts).DefaultNamespaces)
	}
}

// Secrets are read from the API server and from no cache.
func TestSecretsAreReadLive(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"apiVersion": "v1", "kind": "Secret", "metadata": {"namespace": "default", "name": "own"}}`)
	}))
	t.Cleanup(server.Close)
	opts := defaultOptions()
	opts.healthAddress, opts.leaderElect = "0", false
	options := must.Get(managerOptions(opts))(t)
	options.Logger = logr.Discard()
	options.MapperProvider = func(*rest.Config, *http.Client) (meta.RESTMapper, error) {
		mapper := meta.NewDefaultRESTMapper(nil)
		mapper.Add(corev1.SchemeGroupVersion.WithKind("Secret"), meta.RESTScopeNamespace)
		return mapper, nil
	}
	mgr := must.Get(ctrl.NewManager(&rest.Config{Host: server.URL}, options))(t)
	// The manager does not run, and so has nothing in its cache.
	found := &corev1.Secret{}
	if err := mgr.GetClient().Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "own"}, found); err != nil || found.Name != "own" {
		t.Errorf("the Secret is %q, %v", found.Name, err)
	}
}

// countedServer counts the webhooks.
type countedServer struct {
	webhook.Server
	registered int
}

// Register implements webhook.Server.
func (s *countedServer) Register(path string, hook http.Handler) {
	s.registered++
	s.Server.Register(path, hook)
}
