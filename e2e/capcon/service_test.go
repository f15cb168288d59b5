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

package capcon_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/capi-samples/cluster-api-provider-container/controllers/workload/serviceloadbalancer"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// webExample is docs/how-to/load-balancer-services.md's: a web application behind a Service.
const webExample = "../../examples/web.yaml"

// serviceURLs are where a Service answers: on the network of the cluster, and on 127.0.0.1.
func serviceURLs(t *testing.T, cluster kubernetes.Interface, name string) (address, hostPort string) {
	t.Helper()
	eventually(t, "Service "+name+" has an address", func(ctx context.Context) (string, error) {
		service, err := cluster.CoreV1().Services("default").Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return "", err
		}
		published, _, found := strings.Cut(service.Annotations[serviceloadbalancer.HostPortsAnnotation], "->80/tcp")
		if len(service.Status.LoadBalancer.Ingress) == 0 || !found {
			return "it has none yet", nil
		}
		address, hostPort = "http://"+service.Status.LoadBalancer.Ingress[0].IP, "http://"+published
		return "", nil
	})
	return address, hostPort
}

// newClient connects for each request.
func newClient() *http.Client {
	return &http.Client{Timeout: patienceWithAnswer, Transport: &http.Transport{DisableKeepAlives: true}}
}

// serviceAnswers on both its addresses.
func serviceAnswers(t *testing.T, cluster kubernetes.Interface, name string) {
	t.Helper()
	address, hostPort := serviceURLs(t, cluster, name)
	for _, url := range []string{address, hostPort} {
		eventually(t, "an answer of "+url, func(ctx context.Context) (string, error) {
			_, err := get(ctx, newClient(), url)
			return "", err
		})
	}
}

// scaleUnderLoad adds a worker and removes one, while clients of a web application, which
// moves from node to node, never pause.
func scaleUnderLoad(t *testing.T, program *capcon) {
	cluster := program.connectCluster()
	// The nodes of before may have been replaced.
	loadWebtool(t, program)
	applyExample(t, program, webExample)
	serviceAnswers(t, cluster, "web")
	address, _ := serviceURLs(t, cluster, "web")
	load := startTrafficTo(t, address, map[string]*http.Client{
		"new connections": newClient(),
		"one connection":  {Timeout: patienceWithAnswer, Transport: &http.Transport{}},
	})
	program.mustRun("up", program.cluster, "--workers", "2")
	nodesReady(t, cluster, 3)
	program.mustRun("up", program.cluster, "--workers", "1", "--yes")
	nodesReady(t, cluster, 2)
	load.stop()
	t.Logf("the Service meanwhile: %s", load)
	deleteService(t, cluster, "web")
}

// deleteService and what is published for it.
func deleteService(t *testing.T, cluster kubernetes.Interface, name string) {
	t.Helper()
	must.Succeed(t, cluster.CoreV1().Services("default").Delete(t.Context(), name, metav1.DeleteOptions{}))
	eventually(t, "Service "+name+" is gone", func(ctx context.Context) (string, error) {
		_, err := cluster.CoreV1().Services("default").Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return "", nil
		}
		return "it is still there", err
	})
}
