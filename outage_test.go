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
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/connect"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/enginetest"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane/manifests"
	"github.com/capi-samples/cluster-api-provider-container/internal/release"
	"github.com/capi-samples/cluster-api-provider-container/test/env"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// TestIntegrationEngineOutage runs the manager without an engine. The API stays
// usable: objects report the outage and can be annotated, paused and deleted,
// although every write to them calls the manager's webhooks.
func TestIntegrationEngineOutage(t *testing.T) {
	config := env.StartEmpty(t)
	certificate := envtest.WebhookInstallOptions{}
	must.Succeed(t, certificate.PrepWithoutInstalling())
	t.Cleanup(func() { _ = certificate.Cleanup() })
	server := manifests.Server{
		URL:      "https://" + net.JoinHostPort(certificate.LocalServingHost, strconv.Itoa(certificate.LocalServingPort)),
		CABundle: certificate.LocalServingCAData,
	}
	t.Setenv(clientcmd.RecommendedConfigPathEnvVar, kubeconfigFile(t, config))
	needsDefinitions(t)
	must.Succeed(t, env.Install(t.Context(), config, server))
	health := net.JoinHostPort("127.0.0.1", strconv.Itoa(int(enginetest.FreeLocalPort(t))))
	runManager(t,
		"--health-addr="+health, "--diagnostics-address=0",
		"--webhook-port="+strconv.Itoa(certificate.LocalServingPort), "--webhook-cert-dir="+certificate.LocalServingCertDir)

	must.Eventually(t, time.Minute, "the manager is ready", func(ctx context.Context) error { return get(ctx, "http://"+health+"/readyz") })
	scheme := must.Get(newScheme())(t)
	api := must.Get(client.New(config, client.Options{Scheme: scheme}))(t)
	cluster, infrastructure := createCluster(t, api)
	key := client.ObjectKeyFromObject(infrastructure)
	must.Eventually(t, time.Minute, "the object reports the outage", func(ctx context.Context) error {
		if err := api.Get(ctx, key, infrastructure); err != nil {
			return err
		}
		ready := conditions.Get(infrastructure, infrav1.PreflightPassedCondition)
		if ready == nil || ready.Status != metav1.ConditionUnknown || ready.Reason != infrav1.EngineUnavailableReason {
			return fmt.Errorf("its condition is %+v", ready)
		}
		return nil
	})
	ready := conditions.Get(infrastructure, infrav1.PreflightPassedCondition)
	t.Log(ready.Message)
	for _, want := range []string{"/docker.sock: connect: no such file or directory", "start the container engine"} {
		if !strings.Contains(ready.Message, want) {
			t.Errorf("the condition does not say %q", want)
		}
	}
	must.Eventually(t, time.Minute, "the metrics count failed calls", func(context.Context) error { return unavailableCalls() })

	patch(t, api, infrastructure, func() { metav1.SetMetaDataAnnotation(&infrastructure.ObjectMeta, "example.test/note", "kept") })
	patch(t, api, cluster, func() { cluster.Spec.Paused = ptr.To(true) })
	if err := api.Delete(t.Context(), infrastructure); err != nil {
		t.Fatalf("delete ContainerCluster: %v", err)
	}
	if err := api.Get(t.Context(), key, infrastructure); err != nil {
		t.Fatalf("get ContainerCluster, which its finalizer keeps: %v", err)
	}
	patch(t, api, infrastructure, func() { infrastructure.Finalizers = nil })
	must.Eventually(t, time.Minute, "the object is gone", func(ctx context.Context) error {
		if err := api.Get(ctx, key, infrastructure); err == nil {
			return errors.New("it is there")
		} else if client.IgnoreNotFound(err) != nil {
			return err
		}
		return nil
	})
}

// needsDefinitions: without them the manager does not start.
func needsDefinitions(t *testing.T) {
	t.Helper()
	opts := defaultOptions()
	opts.healthAddress = "0"
	mgr := must.Get(newManager(opts))(t)
	var outdated *release.OutdatedError
	if err := setup(t.Context(), mgr, nil, opts); !errors.As(err, &outdated) {
		t.Fatalf("without any definition the manager's start ends with %v", err)
	}
	t.Log(outdated)
}

// runManager as main does, with an engine that does not exist.
func runManager(t *testing.T, args ...string) {
	t.Helper()
	opts := defaultOptions()
	set := pflag.NewFlagSet("manager", pflag.ContinueOnError)
	opts.addFlags(set)
	must.Succeed(t, set.Parse(args))
	opts.engine.Engine = connect.Docker
	absent := "unix://" + filepath.Join(t.TempDir(), "docker.sock")
	opts.engine.Getenv = func(name string) string { return map[string]string{"DOCKER_HOST": absent}[name] }
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, opts) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the manager ended with %v", err)
		}
	})
}

// createCluster creates a Cluster and its ContainerCluster.
func createCluster(t *testing.T, api client.Client) (*clusterv1.Cluster, *infrav1.ContainerCluster) {
	t.Helper()
	meta := metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "outage"}
	cluster := &clusterv1.Cluster{ObjectMeta: meta}
	cluster.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{
		APIGroup: infrav1.GroupVersion.Group, Kind: "ContainerCluster", Name: meta.Name,
	}
	must.Succeed(t, api.Create(t.Context(), cluster))
	infrastructure := &infrav1.ContainerCluster{ObjectMeta: meta}
	infrastructure.OwnerReferences = []metav1.OwnerReference{
		{APIVersion: clusterv1.GroupVersion.String(), Kind: "Cluster", Name: cluster.Name, UID: cluster.UID},
	}
	must.Succeed(t, api.Create(t.Context(), infrastructure))
	return cluster, infrastructure
}

func patch(t *testing.T, api client.Client, object client.Object, change func()) {
	t.Helper()
	before, ok := object.DeepCopyObject().(client.Object)
	if !ok {
		t.Fatalf("%T is no object", object)
	}
	change()
	if err := api.Patch(t.Context(), object, client.MergeFrom(before)); err != nil {
		t.Fatalf("patch %T: %v", object, err)
	}
}

// unavailableCalls is an error unless calls of an engine that is not available
// were counted.
func unavailableCalls() error {
	families, err := metrics.Registry.Gather()
	if err != nil {
		return err
	}
	for _, family := range families {
		if family.GetName() != "container_engine_call_errors_total" {
			continue
		}
		for _, metric := range family.GetMetric() {
			for _, label := range metric.GetLabel() {
				if label.GetName() == "kind" && label.GetValue() == "unavailable" && metric.GetCounter().GetValue() > 0 {
					return nil
				}
			}
		}
	}
	return errors.New("none was")
}

func get(ctx context.Context, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return errors.New(response.Status)
	}
	return nil
}

// kubeconfigFile reaches what config does.
func kubeconfigFile(t *testing.T, config *rest.Config) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	must.Succeed(t, os.WriteFile(path, env.Kubeconfig(t, config), 0o600))
	return path
}
