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

package quickstart_test

import (
	"context"
	"encoding/pem"
	"fmt"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/e2e/capcon/capcontest"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// pullsFromRegistries: a Pod runs an image that was just pushed to the local registry, and
// nodes pull from a private one once its certificate and credentials are right. No node is
// recreated for it.
func pullsFromRegistries(t *testing.T, eng engine.Engine, program *capcontest.Program) {
	// Another image than the one that was loaded into the nodes: kubelet verifies an image that
	// it has pulled once again for each other name.
	image := must.Get(mutate.Config(capcontest.BuiltWebtool(t), v1.Config{Entrypoint: []string{"/webtool"}, Labels: map[string]string{"from": "registry"}}))(t)
	before := capcontest.NodeContainers(t, eng, program.Cluster)
	port := strconv.Itoa(freePort(t))
	program.MustRun("registry", "up", "--port", port, "--network", before[0].Labels[identity.LabelNetwork])
	t.Cleanup(func() { _, _ = program.Run(context.WithoutCancel(t.Context()), "registry", "down") })
	start := time.Now()
	push(t, image, "localhost:"+port+"/web:v1", authn.Anonymous, nil)
	runPod(t, program, "localhost:"+port+"/web:v1")
	t.Logf("from the push of an image to its Pod: %s", time.Since(start).Round(100*time.Millisecond))
	privateRegistry(t, eng, program, image)
	for i, container := range capcontest.NodeContainers(t, eng, program.Cluster) {
		if container.ID != before[i].ID {
			t.Errorf("container %s was recreated", container.Name)
		}
	}
}

func freePort(t *testing.T) int {
	t.Helper()
	listener := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer listener.Close()
	address, isTCP := listener.Addr().(*net.TCPAddr)
	if !isTCP {
		t.Fatalf("address %s", listener.Addr())
	}
	return address.Port
}

func push(t *testing.T, image v1.Image, reference string, auth authn.Authenticator, transport http.RoundTripper) {
	t.Helper()
	tag := must.Get(name.NewTag(reference))(t)
	options := []remote.Option{remote.WithAuth(auth), remote.WithContext(t.Context())}
	if transport != nil {
		options = append(options, remote.WithTransport(transport))
	}
	must.Succeed(t, remote.Write(tag, image, options...))
}

// runPod until it runs.
func runPod(t *testing.T, program *capcontest.Program, image string) {
	t.Helper()
	pod := capcontest.StartPod(t, program, image)
	must.Succeed(t, program.ConnectCluster().CoreV1().Pods("default").Delete(t.Context(), pod, metav1.DeleteOptions{}))
}

// privateRegistry of this process, which has a certificate of its own authority and asks for
// a password. Nodes reach it at the gateway of their network.
func privateRegistry(t *testing.T, eng engine.Engine, program *capcontest.Program, image v1.Image) {
	t.Helper()
	const user, password = "puller", "quickstart-registry-password"
	images := registry.New(registry.Logger(log.New(t.Output(), "", 0)))
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if given, secret, _ := r.BasicAuth(); given != user || secret != password {
			w.Header().Set("WWW-Authenticate", `Basic realm="private"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		images.ServeHTTP(w, r)
	}))
	server.Listener = must.Get(net.Listen("tcp", "0.0.0.0:0"))(t)
	server.StartTLS()
	t.Cleanup(server.Close)
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	must.Succeed(t, err)
	// The certificate is one for example.com: the mirror's name is in /etc/hosts of the nodes.
	mirror, reference := "https://example.com:"+port, "private.example/web:v1"
	push(t, image, "127.0.0.1:"+port+"/web:v1", &authn.Basic{Username: user, Password: password}, server.Client().Transport)
	nodes := capcontest.NodeContainers(t, eng, program.Cluster)
	gateway := must.Get(eng.InspectNetwork(t.Context(), nodes[0].Labels[identity.LabelNetwork]))(t).Subnets[0].Gateway
	for _, node := range nodes {
		must.Get(eng.Exec(t.Context(), node.Name, engine.Command{
			Args: []string{"sh", "-c", fmt.Sprintf("grep -q example.com /etc/hosts || echo %s example.com >> /etc/hosts", gateway)},
		}))(t)
	}
	bundle := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	api := capcontest.Management(t, program)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "private-registry"}, Type: corev1.SecretTypeDockerConfigJson}
	setPassword := func(password string) {
		secret.Data, secret.StringData = nil, map[string]string{
			corev1.DockerConfigJsonKey: fmt.Sprintf(`{"auths":{"example.com:%s":{"username":%q,"password":%q}}}`, port, user, password),
		}
	}
	setPassword("wrong")
	must.Succeed(t, api.Create(t.Context(), secret))
	t.Cleanup(func() { _ = api.Delete(context.WithoutCancel(t.Context()), secret) })

	configured := infrav1.Registry{Host: "private.example", Mirrors: []infrav1.RegistryMirror{{URL: mirror}}, CredentialsSecretName: secret.Name}
	configure(t, api, program.Cluster, configured)
	pulls(t, eng, nodes, reference, "certificate")
	configured.Mirrors[0].CABundle = bundle
	configure(t, api, program.Cluster, configured)
	pulls(t, eng, nodes, reference, "no basic auth credentials")
	setPassword(password)
	must.Succeed(t, api.Update(t.Context(), secret))
	// The next reconcile reads it, at the latest after a minute; a change of the spec is one.
	configured.CABundle = bundle
	configure(t, api, program.Cluster, configured)
	pulls(t, eng, nodes, reference, "")
	server.Close()
	pulls(t, eng, nodes, "private.example/web:v2", "connection refused")
	configure(t, api, program.Cluster, infrav1.Registry{Host: "private.example"})
}

// configure a registry in the nodes of a cluster, alongside the local one.
func configure(t *testing.T, api client.Client, cluster string, wanted infrav1.Registry) {
	t.Helper()
	must.Eventually(t, capcontest.Patience, "registry "+wanted.Host+" is configured", func(ctx context.Context) error {
		containerCluster := &infrav1.ContainerCluster{}
		if err := api.Get(ctx, client.ObjectKey{Namespace: "default", Name: cluster}, containerCluster); err != nil {
			return err
		}
		var registries []infrav1.Registry
		for _, registry := range containerCluster.Spec.Registries {
			if registry.Host != wanted.Host {
				registries = append(registries, registry)
			}
		}
		if wanted.CredentialsSecretName != "" {
			registries = append(registries, wanted)
		}
		containerCluster.Spec.Registries = registries
		return api.Update(ctx, containerCluster)
	})
}

// pulls reports whether all nodes pull an image, or fail with a message.
func pulls(t *testing.T, eng engine.Engine, nodes []engine.Container, reference, message string) {
	t.Helper()
	for _, node := range nodes {
		capcontest.Eventually(t, fmt.Sprintf("node %s pulls %s: %q", node.Name, reference, message), func(ctx context.Context) (string, error) {
			output, err := eng.Exec(ctx, node.Name, engine.Command{Args: []string{"crictl", "pull", reference}})
			printed := string(output.Stdout) + string(output.Stderr)
			if (err == nil) == (message == "") && strings.Contains(printed, message) {
				return "", nil
			}
			return fmt.Sprintf("%v: %s", err, printed), nil
		})
	}
}
