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

package daemon_test

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	runtimehooksv1 "sigs.k8s.io/cluster-api/api/runtime/hooks/v1alpha1"
	runtimev1 "sigs.k8s.io/cluster-api/api/runtime/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// TestIntegrationExtensions starts a plane with both feature gates, an extension that is alive
// and one that is dead. It becomes ready with the dead one, which it knows since before, and
// without being asked for the gates again. The extension of the plane itself is there while
// the gates are, without an engine that responds; those of users stay.
func TestIntegrationExtensions(t *testing.T) {
	t.Parallel()
	p := newTestPlane(t)
	p.args[len(p.args)-1] = "--engine=docker"
	p.environment = []string{"DOCKER_HOST=unix://" + filepath.Join(t.TempDir(), "no-engine.sock")}
	requested := p.args
	p.args = append([]string{"run", "--feature-gates=RuntimeSDK=true,InPlaceUpdates=true"}, requested[1:]...)
	p.start(t)
	p.connect(t)
	p.awaitReady(t)
	scheme := runtime.NewScheme()
	must.Succeed(t, runtimev1.AddToScheme(scheme))
	must.Succeed(t, corev1.AddToScheme(scheme))
	p.client = must.Get(client.New(p.config, client.Options{Scheme: scheme}))(t)

	alive, dead := startExtension(t), startExtension(t)
	ca := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "extension"},
		Data:       map[string][]byte{"ca.crt": certificateOf(alive)},
	}
	must.Succeed(t, p.client.Create(t.Context(), ca))
	injected := extensionConfig("alive", alive)
	injected.Spec.ClientConfig.CABundle = nil
	injected.Annotations = map[string]string{runtimev1.InjectCAFromSecretAnnotation: ca.Namespace + "/" + ca.Name}
	must.Succeed(t, p.client.Create(t.Context(), injected))
	must.Succeed(t, p.client.Create(t.Context(), extensionConfig("dead", dead)))
	plain := extensionConfig("plain", alive)
	plain.Spec.ClientConfig.URL = strings.Replace(alive.URL, "https", "http", 1)
	if err := p.client.Create(t.Context(), plain); err == nil {
		t.Error("an ExtensionConfig without TLS is accepted")
	}
	p.awaitDiscovered(t, "alive", metav1.ConditionTrue)
	p.awaitDiscovered(t, "dead", metav1.ConditionTrue)
	p.awaitDiscovered(t, infrav1.InPlaceUpdatesExtension, metav1.ConditionTrue)
	own := &runtimev1.ExtensionConfig{ObjectMeta: metav1.ObjectMeta{Name: infrav1.InPlaceUpdatesExtension}}
	must.Succeed(t, p.client.Delete(t.Context(), own))
	p.awaitDiscovered(t, infrav1.InPlaceUpdatesExtension, metav1.ConditionTrue)

	dead.Close()
	p.restart(t, requested)
	p.awaitDiscovered(t, "dead", metav1.ConditionFalse)
	p.awaitDiscovered(t, "alive", metav1.ConditionTrue)
	p.awaitDiscovered(t, infrav1.InPlaceUpdatesExtension, metav1.ConditionTrue)

	p.restart(t, append([]string{"run", "--feature-gates=RuntimeSDK=false,InPlaceUpdates=false"}, requested[1:]...))
	eventually(t, "the extension of the plane is removed, and no other", func() error {
		var left runtimev1.ExtensionConfigList
		if err := p.client.List(t.Context(), &left); err != nil {
			return err
		}
		if len(left.Items) != 2 {
			return fmt.Errorf("there are %+v", left.Items)
		}
		return nil
	})
}

// restart the plane with other arguments.
func (p *testPlane) restart(t *testing.T, args []string) {
	t.Helper()
	must.Succeed(t, p.cmd.Process.Signal(syscall.SIGTERM))
	must.Succeed(t, p.cmd.Wait())
	p.args = args
	p.start(t)
	p.awaitReady(t)
}

func (p *testPlane) awaitDiscovered(t *testing.T, name string, status metav1.ConditionStatus) {
	t.Helper()
	eventually(t, fmt.Sprintf("Discovered of %s is %s", name, status), func() error {
		config := &runtimev1.ExtensionConfig{}
		if err := p.client.Get(t.Context(), client.ObjectKey{Name: name}, config); err != nil {
			return err
		}
		condition := meta.FindStatusCondition(config.Status.Conditions, runtimev1.ExtensionConfigDiscoveredCondition)
		handlers := 1
		if name == infrav1.InPlaceUpdatesExtension {
			handlers = 3
		}
		if condition == nil || condition.Status != status || len(config.Status.Handlers) != handlers {
			return fmt.Errorf("the status is %+v", config.Status)
		}
		return nil
	})
}

// startExtension has one handler.
func startExtension(t *testing.T) *httptest.Server {
	t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(&runtimehooksv1.DiscoveryResponse{
			CommonResponse: runtimehooksv1.CommonResponse{Status: runtimehooksv1.ResponseStatusSuccess},
			Handlers: []runtimehooksv1.ExtensionHandler{{
				Name:        "update",
				RequestHook: runtimehooksv1.GroupVersionHook{APIVersion: runtimehooksv1.GroupVersion.String(), Hook: "UpdateMachine"},
			}},
		})
	}))
	t.Cleanup(server.Close)
	return server
}

func certificateOf(server *httptest.Server) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
}

func extensionConfig(name string, server *httptest.Server) *runtimev1.ExtensionConfig {
	return &runtimev1.ExtensionConfig{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       runtimev1.ExtensionConfigSpec{ClientConfig: runtimev1.ClientConfig{URL: server.URL, CABundle: certificateOf(server)}},
	}
}
