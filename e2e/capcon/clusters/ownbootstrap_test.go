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

package clusters_test

import (
	"bytes"
	"cmp"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	"github.com/capi-samples/cluster-api-provider-container/e2e/capcon/capcontest"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/loadbalancer"
	"github.com/capi-samples/cluster-api-provider-container/internal/node"
	"github.com/capi-samples/cluster-api-provider-container/test/clusterctl"
	"github.com/capi-samples/cluster-api-provider-container/test/integration"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

const ownCluster = "own-bootstrap-test"

// TestOwnBootstrap declares a cluster as docs/how-to/own-bootstrap.md does: a control plane
// without kubeadm and without a control plane provider, whose API server refuses anonymous
// requests, and a worker that joins through an additional port of the load balancer.
func TestOwnBootstrap(t *testing.T) {
	eng := integration.Engine(t)
	cluster := capcontest.Declare(t, eng, ownCluster)
	program := cluster.Program
	values := map[string]string{
		"CLUSTER_NAME": ownCluster, "NAMESPACE": metav1.NamespaceDefault, "KUBERNETES_VERSION": node.DefaultVersion,
		"CONTAINER_LOAD_BALANCER_IMAGE": capcontest.LoadBalancerImage, "CONTAINER_NODE_IMAGE": capcontest.NodeImage,
	}
	certificate, key := authority(t)
	cluster.Apply(t, &corev1.Secret{
		ObjectMeta: cluster.Meta(ownCluster + "-ca"), Type: clusterv1.ClusterSecretType,
		Data: map[string][]byte{"tls.crt": certificate, "tls.key": key},
	})
	for _, object := range fillIn(t, "cluster.yaml", values) {
		cluster.Apply(t, object)
	}
	values["ENDPOINT"] = endpointOf(t, program)
	values["CA_CERTIFICATE"] = base64.StdEncoding.EncodeToString(certificate)
	values["CA_KEY"] = base64.StdEncoding.EncodeToString(key)
	values["JOIN_TOKEN"] = rand.Text()
	for _, file := range []string{"control-plane.yaml", "workers.yaml"} {
		for _, object := range fillIn(t, file, values) {
			cluster.Apply(t, object)
		}
	}

	cluster.ComesUp(t, 2)
	refusesAnonymous(t, program)
	knowsToken(t, values["ENDPOINT"], values["JOIN_TOKEN"])
	backendUp(t, eng, capcontest.ControlPlaneOf(capcontest.NodeContainers(t, eng, ownCluster)))
	allReady(t, program)
	capcontest.LoadWebtool(t, program)
	// The control plane has a taint, so that it runs on the worker.
	pod := capcontest.StartPod(t, program, capcontest.WebtoolImage)
	must.Get(capcontest.Kubectl(t.Context(), eng, program, "", "exec", pod, "--", "/webtool", "get", "http://127.0.0.1:8080/"))(t)
	must.Get(capcontest.Kubectl(t.Context(), eng, program, "", "logs", pod))(t)
}

// fillIn the variables of a file of the guide, such as ${NAME} and ${NAME:=default}.
func fillIn(t *testing.T, file string, values map[string]string) []*unstructured.Unstructured {
	t.Helper()
	variable := regexp.MustCompile(`\$\{(\w+)(?::=(\w*))?\}`)
	text := string(must.Get(os.ReadFile("../../../docs/how-to/own-bootstrap/" + file))(t))
	return clusterctl.Decode(t, []byte(variable.ReplaceAllStringFunc(text, func(use string) string {
		match := variable.FindStringSubmatch(use)
		return cmp.Or(values[match[1]], match[2])
	})))
}

// knowsToken: only who knows the token gets a kubeconfig.
func knowsToken(t *testing.T, endpoint, token string) {
	t.Helper()
	//nolint:gosec // What it serves is verified by what it contains.
	insecure := &http.Client{Timeout: capcontest.PatienceWithAnswer, Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	for path, want := range map[string]bool{token: true, "": false, strings.ToLower(token): false, "../../../etc/kubernetes/admin.conf": false} {
		answer := must.Get(capcontest.Get(t.Context(), insecure, "https://"+net.JoinHostPort(endpoint, "9345")+"/"+path))(t)
		if got := bytes.Contains(answer, []byte("kind: Config")); got != want {
			t.Errorf("%q gets a kubeconfig: %t, want %t", path, got, want)
		}
	}
}

// authority makes what a user makes with openssl.
func authority(t *testing.T) (certificate, key []byte) {
	t.Helper()
	private := must.Get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: ownCluster},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	signed := must.Get(x509.CreateCertificate(rand.Reader, template, template, private.Public(), private))(t)
	encoded := must.Get(x509.MarshalECPrivateKey(private))(t)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed}),
		pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: encoded})
}

// endpointOf waits for the Cluster's.
func endpointOf(t *testing.T, program *capcontest.Program) string {
	t.Helper()
	cluster := &clusterv1.Cluster{}
	capcontest.Eventually(t, "an endpoint", func(ctx context.Context) (string, error) {
		key := client.ObjectKey{Namespace: metav1.NamespaceDefault, Name: program.Cluster}
		if err := capcontest.Management(t, program).Get(ctx, key, cluster); err != nil || cluster.Spec.ControlPlaneEndpoint.Host != "" {
			return "", err
		}
		return "there is none", nil
	})
	return cluster.Spec.ControlPlaneEndpoint.Host
}

// refusesAnonymous: the API server answers, and 401.
func refusesAnonymous(t *testing.T, program *capcontest.Program) {
	t.Helper()
	config := must.Get(clientcmd.RESTConfigFromKubeConfig(program.Kubeconfig(program.Cluster)))(t)
	anonymous := must.Get(kubernetes.NewForConfig(rest.AnonymousClientConfig(config)))(t)
	if _, err := anonymous.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(t.Context()); !apierrors.IsUnauthorized(err) {
		t.Errorf("/readyz without credentials: %v, want 401", err)
	}
}

// backendUp: the load balancer itself holds the API server for up.
func backendUp(t *testing.T, eng engine.Engine, backend string) {
	t.Helper()
	balancer := capcontest.LoadBalancerOf(t, eng, ownCluster).Name
	capcontest.Eventually(t, "the load balancer's backend is up", func(ctx context.Context) (string, error) {
		state, err := loadbalancer.Observe(ctx, eng, balancer)
		if err != nil {
			return "", err
		}
		if server, known := state.Backend(backend); !known || !server.Status.Up() {
			return "backend " + backend + " is " + string(server.Status), nil
		}
		return "", nil
	})
}

// allReady: no condition of a Machine waits for kubeadm or a control plane provider.
func allReady(t *testing.T, program *capcontest.Program) {
	t.Helper()
	api := capcontest.Management(t, program)
	capcontest.Eventually(t, "all Machines are Ready", func(ctx context.Context) (string, error) {
		found, err := capcontest.ListMachines(ctx, api, program.Cluster)
		if err != nil || len(found) == 0 {
			return "there is none", err
		}
		for i := range found {
			if ready := conditions.Get(&found[i], clusterv1.ReadyCondition); ready == nil || ready.Status != metav1.ConditionTrue {
				return fmt.Sprintf("%s: %s", found[i].Name, ready), nil
			}
		}
		return "", nil
	})
}
