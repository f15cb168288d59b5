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

package plane_test

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane"
	"github.com/capi-samples/cluster-api-provider-container/test/integration"
)

const image = "localhost/capcon/plane:dev"

// TestIntegrationContainer takes a plane's container through its life, beside
// any other plane of the engine.
func TestIntegrationContainer(t *testing.T) {
	t.Parallel()
	eng := integration.Engine(t, image)
	name := "capcon-test-" + identity.NewOwnerID()
	p := plane.New(eng, plane.Options{Name: name, Network: name})
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
		defer cancel()
		if err := p.Remove(ctx); err != nil {
			t.Errorf("Remove(...): %v", err)
		}
	})

	first := mustEnsure(t, p)
	mustBeLocal(t, eng, name)
	c := mustConnect(t, first)
	kept := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "kept"}}
	if err := c.Create(t.Context(), kept); err != nil {
		t.Fatalf("create ConfigMap: %v", err)
	}
	for _, harm := range []struct {
		what string
		do   func(context.Context) error
	}{
		{"nothing happened", func(context.Context) error { return nil }},
		{"its container was killed", func(ctx context.Context) error { return eng.StopContainer(ctx, name, 0) }},
		{"its container was removed", func(ctx context.Context) error { return eng.RemoveContainer(ctx, name) }},
	} {
		if err := harm.do(t.Context()); err != nil {
			t.Fatalf("%s: %v", harm.what, err)
		}
		if again := mustEnsure(t, p); !bytes.Equal(first, again) {
			t.Errorf("the kubeconfig is another one after %s", harm.what)
		}
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(kept), kept); err != nil {
			t.Errorf("get with the first kubeconfig after %s: %v", harm.what, err)
		}
	}
	mustLeaveNothing(t, eng, p, name)
}

func mustEnsure(t *testing.T, p *plane.Plane) []byte {
	t.Helper()
	began := time.Now()
	kubeconfig, err := p.Ensure(t.Context(), image, nil)
	if err != nil {
		t.Fatalf("Ensure(...): %v", err)
	}
	t.Logf("ready after %s", time.Since(began).Round(time.Millisecond))
	return kubeconfig
}

func mustConnect(t *testing.T, kubeconfig []byte) client.Client {
	t.Helper()
	config, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// mustBeLocal checks that only this host's users reach the plane.
func mustBeLocal(t *testing.T, eng engine.Engine, name string) {
	t.Helper()
	container, err := eng.InspectContainer(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	if len(container.Ports) != 1 || !container.Ports[0].HostAddress.IsLoopback() {
		t.Errorf("published ports: want one on 127.0.0.1, got %+v", container.Ports)
	}
}

func mustLeaveNothing(t *testing.T, eng engine.Engine, p *plane.Plane, name string) {
	t.Helper()
	if err := p.Remove(t.Context()); err != nil {
		t.Fatalf("Remove(...): %v", err)
	}
	_, containerErr := eng.InspectContainer(t.Context(), name)
	_, volumeErr := eng.InspectVolume(t.Context(), name)
	_, networkErr := eng.InspectNetwork(t.Context(), name)
	for what, err := range map[string]error{"container": containerErr, "volume": volumeErr, "network": networkErr} {
		if !errors.Is(err, engine.ErrNotFound) {
			t.Errorf("%s after Remove: want ErrNotFound, got %v", what, err)
		}
	}
}
