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
	"encoding/json"
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/yaml"

	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	runtimecatalog "sigs.k8s.io/cluster-api/api/runtime/catalog"
	runtimehooksv1 "sigs.k8s.io/cluster-api/api/runtime/hooks/v1alpha1"
	runtimev1 "sigs.k8s.io/cluster-api/api/runtime/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/controllers/extension"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane/extensions"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
	"github.com/capi-samples/cluster-api-provider-container/test/world"
)

// served is the extension of a plane, whose webhook server listens on 127.0.0.1 as that of the test does.
func served(t *testing.T) *runtimev1.ExtensionConfig {
	t.Helper()
	w := world.New(t, builders.New())
	mux := http.NewServeMux()
	handlers := &extension.Handlers{Client: w.Client, Engine: w.Engine, Host: w.Engine}
	server := must.Get(extension.NewServer(webhook.NewServer(webhook.Options{WebhookMux: mux}), handlers))(t)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- server.Start(ctx) }()
	t.Cleanup(func() {
		stop()
		must.Succeed(t, <-ended)
	})
	listener := httptest.NewTLSServer(mux)
	t.Cleanup(listener.Close)
	port := must.Get(strconv.Atoi(must.Get(url.Parse(listener.URL))(t).Port()))(t)
	return extensionConfig(port, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: listener.Certificate().Raw}))
}

// foreign is an extension for the same hooks, in namespaces with its label. It is not called in this test.
func foreign() *runtimev1.ExtensionConfig {
	config := &runtimev1.ExtensionConfig{ObjectMeta: metav1.ObjectMeta{Name: "foreign"}}
	config.Spec.ClientConfig.URL = "https://127.0.0.1:1"
	config.Spec.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"foreign": ""}}
	for _, hook := range []string{"CanUpdateMachine", "CanUpdateMachineSet", "UpdateMachine"} {
		config.Status.Handlers = append(config.Status.Handlers, runtimev1.ExtensionHandler{
			Name: strings.ToLower(hook) + ".foreign", TimeoutSeconds: 1,
			RequestHook: runtimev1.GroupVersionHook{APIVersion: runtimehooksv1.GroupVersion.String(), Hook: hook},
		})
	}
	return config
}

// calling returns the client of a plane with namespaces that have the label of the plane's extension, that of another one, both
// and none, and with both extensions.
func calling(t *testing.T) *extensions.Client {
	t.Helper()
	catalog := runtimecatalog.New()
	must.Succeed(t, runtimehooksv1.AddToCatalog(catalog))
	own := map[string]string{infrav1.InPlaceUpdatesLabel: infrav1.InPlaceUpdatesEnabled}
	namespaces := fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme)
	for name, labels := range map[string]map[string]string{
		"own": own, "foreign": {"foreign": ""}, "both": {infrav1.InPlaceUpdatesLabel: infrav1.InPlaceUpdatesEnabled, "foreign": ""}, "none": nil,
	} {
		namespaces.WithObjects(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}})
	}
	c := extensions.New(catalog, namespaces.Build())
	must.Succeed(t, c.WarmUp(&runtimev1.ExtensionConfigList{Items: []runtimev1.ExtensionConfig{*foreign()}}))
	config := served(t)
	must.Eventually(t, 30*time.Second, "the extension is discovered", func(ctx context.Context) error {
		discovered, err := c.Discover(ctx, config)
		if err == nil && len(discovered.Status.Handlers) != 3 {
			err = errors.New("it has other handlers")
		}
		if err == nil {
			err = c.Register(discovered)
		}
		return err
	})
	return c
}

// The client of the plane calls its own extension in namespaces with the label. Another extension is alone in all others, and
// Cluster API refuses two in one.
func TestExtensionOfThePlane(t *testing.T) {
	t.Parallel()
	c := calling(t)
	for namespace, want := range map[string][]string{
		"own": {"can-update-machine.capcon-in-place-updates"}, "foreign": {"canupdatemachine.foreign"},
		"both": {"can-update-machine.capcon-in-place-updates", "canupdatemachine.foreign"}, "none": {},
	} {
		machine, _ := builders.MachinePair(builders.Machine)
		machine.Namespace = namespace
		got := must.Get(c.GetAllExtensions(t.Context(), runtimehooksv1.CanUpdateMachine, machine))(t)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("handlers for namespace %s (-want +got):\n%s", namespace, diff)
		}
	}

	request, response := question(t), &runtimehooksv1.CanUpdateMachineResponse{}
	machine := request.Current.Machine.DeepCopy()
	machine.Namespace = "own"
	must.Succeed(t, c.CallExtension(t.Context(), runtimehooksv1.CanUpdateMachine, machine, "can-update-machine.capcon-in-place-updates", request, response))
	if want := `{"spec":{"files":[{"content":"new","path":"/etc/motd"}]}}`; string(response.BootstrapConfigPatch.Patch) != want {
		t.Errorf("patch %s, want %s", response.BootstrapConfigPatch.Patch, want)
	}
	machine.Namespace = "foreign"
	if err := c.CallExtension(t.Context(), runtimehooksv1.CanUpdateMachine, machine, "can-update-machine.capcon-in-place-updates", request, response); !errors.Is(err, extensions.ErrNotSelected) {
		t.Errorf("the extension is called in a namespace of another: %v", err)
	}
}

// question of Cluster API about a Machine whose files change.
func question(t *testing.T) *runtimehooksv1.CanUpdateMachineRequest {
	t.Helper()
	raw := func(object any) runtime.RawExtension {
		return runtime.RawExtension{Raw: must.Get(json.Marshal(object))(t)}
	}
	machine, infrastructure := builders.MachinePair(builders.Machine)
	config := &bootstrapv1.KubeadmConfig{TypeMeta: metav1.TypeMeta{APIVersion: bootstrapv1.GroupVersion.String(), Kind: "KubeadmConfig"}}
	request := &runtimehooksv1.CanUpdateMachineRequest{}
	request.Current.Machine, request.Current.InfrastructureMachine, request.Current.BootstrapConfig = *machine, raw(infrastructure), raw(config)
	config.Spec.Files = []bootstrapv1.File{{Path: "/etc/motd", Content: "new"}}
	request.Desired.Machine, request.Desired.InfrastructureMachine, request.Desired.BootstrapConfig = *machine, raw(infrastructure), raw(config)
	return request
}

// Users opt in by the same label, whether the manager is in a cluster or in the plane.
func TestExtensionConfigIsThatOfTheManager(t *testing.T) {
	t.Parallel()
	applied := &runtimev1.ExtensionConfig{}
	file := must.Get(os.ReadFile(filepath.Join("..", "..", "config", "runtime-extension", "extension_config.yaml")))(t)
	must.Succeed(t, yaml.UnmarshalStrict(file, applied))
	own := extensionConfig(9443, []byte("authority"))
	if diff := cmp.Diff(applied.Spec.NamespaceSelector, own.Spec.NamespaceSelector); diff != "" || applied.Name != own.Name {
		t.Errorf("%s and %s (-in a cluster +in the plane):\n%s", applied.Name, own.Name, diff)
	}
	if own.Spec.ClientConfig.URL != "https://127.0.0.1:9443" {
		t.Errorf("the extension is at %s", own.Spec.ClientConfig.URL)
	}
}
