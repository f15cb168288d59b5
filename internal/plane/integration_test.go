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

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane"
	"github.com/capi-samples/cluster-api-provider-container/test/integration"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

const image = "localhost/capcon/plane:dev"

// TestIntegrationContainer takes a plane's container through its life, alongside
// any other plane of the engine.
func TestIntegrationContainer(t *testing.T) {
	t.Parallel()
	eng := integration.Engine(t, image)
	name := "capcon-test-" + identity.NewOwnerID()
	// A host that runs other suites may need some minutes.
	p := plane.New(eng, plane.Options{Name: name, Network: name, ReadyTimeout: 10 * time.Minute})
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
		defer cancel()
		if _, err := p.Remove(ctx); err != nil {
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
	mustKeepClusters(t, p, c)
	mustLeaveNothing(t, eng, p, name)
}

// mustKeepClusters checks that a plane with a Cluster stays, and serves as before.
func mustKeepClusters(t *testing.T, p *plane.Plane, c client.Client) {
	t.Helper()
	cluster := &clusterv1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "kept"},
		Spec: clusterv1.ClusterSpec{
			Paused:            new(true),
			InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: "infrastructure.cluster.x-k8s.io", Kind: "ContainerCluster", Name: "kept"},
		},
	}
	if err := c.Create(t.Context(), cluster); err != nil {
		t.Fatalf("create Cluster: %v", err)
	}
	clusters, err := p.Remove(t.Context())
	if diff := cmp.Diff([]string{"default/kept"}, clusters); diff != "" || err != nil {
		t.Errorf("Remove(...): -want, +got:\n%s%v", diff, err)
	}
	// Its controllers leave it alone, and its finalizer too. In this order: a controller
	// adds its finalizer again unless the object is being deleted.
	patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
	must.Succeed(t, client.IgnoreNotFound(c.Delete(t.Context(), cluster)))
	must.Succeed(t, client.IgnoreNotFound(c.Patch(t.Context(), cluster, patch)))
}

func mustEnsure(t *testing.T, p *plane.Plane) []byte {
	t.Helper()
	began := time.Now()
	ready, err := p.Ensure(t.Context(), image, nil)
	if err != nil {
		t.Fatalf("Ensure(...): %v", err)
	}
	t.Logf("ready after %s", time.Since(began).Round(time.Millisecond))
	return ready.Kubeconfig
}

func mustConnect(t *testing.T, kubeconfig []byte) client.Client {
	t.Helper()
	config := must.Get(clientcmd.RESTConfigFromKubeConfig(kubeconfig))(t)
	scheme := runtime.NewScheme()
	must.Succeed(t, errors.Join(corev1.AddToScheme(scheme), clusterv1.AddToScheme(scheme)))
	c := must.Get(client.New(config, client.Options{Scheme: scheme}))(t)
	return c
}

// mustBeLocal checks that only this host's users reach the plane.
func mustBeLocal(t *testing.T, eng engine.Engine, name string) {
	t.Helper()
	container := must.Get(eng.InspectContainer(t.Context(), name))(t)
	if len(container.Ports) != 1 || !container.Ports[0].HostAddress.IsLoopback() {
		t.Errorf("published ports: want one on 127.0.0.1, got %+v", container.Ports)
	}
}

func mustLeaveNothing(t *testing.T, eng engine.Engine, p *plane.Plane, name string) {
	t.Helper()
	container := must.Get(eng.InspectContainer(t.Context(), name))(t)
	if clusters, err := p.Remove(t.Context()); err != nil || len(clusters) > 0 {
		t.Fatalf("Remove(...): %v, %v", clusters, err)
	}
	_, containerErr := eng.InspectContainer(t.Context(), name)
	_, volumeErr := eng.InspectVolume(t.Context(), container.Labels["capcon.cluster.x-k8s.io/volume"])
	_, networkErr := eng.InspectNetwork(t.Context(), name)
	for what, err := range map[string]error{"container": containerErr, "volume": volumeErr, "network": networkErr} {
		if !errors.Is(err, engine.ErrNotFound) {
			t.Errorf("%s after Remove: want ErrNotFound, got %v", what, err)
		}
	}
}
