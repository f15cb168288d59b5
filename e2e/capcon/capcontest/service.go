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

package capcontest

import (
	"context"
	"net"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/capi-samples/cluster-api-provider-container/controllers/workload/serviceloadbalancer"
)

// ServiceURLs are where a Service answers: on the network of the cluster, and on 127.0.0.1.
func ServiceURLs(t *testing.T, cluster kubernetes.Interface, name string) (address, hostPort string) {
	t.Helper()
	Eventually(t, "Service "+name+" has an address", func(ctx context.Context) (string, error) {
		service, err := cluster.CoreV1().Services("default").Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return "", err
		}
		published, _, found := strings.Cut(service.Annotations[serviceloadbalancer.HostPortsAnnotation], "->80/tcp")
		if len(service.Status.LoadBalancer.Ingress) == 0 || !found {
			return "it has none yet", nil
		}
		address, hostPort = "http://"+net.JoinHostPort(service.Status.LoadBalancer.Ingress[0].IP, "80"), "http://"+published
		return "", nil
	})
	return address, hostPort
}

// NewClient connects for each request.
func NewClient() *http.Client {
	return &http.Client{Timeout: PatienceWithAnswer, Transport: &http.Transport{DisableKeepAlives: true}}
}

// ServiceAnswers on both its addresses.
func ServiceAnswers(t *testing.T, cluster kubernetes.Interface, name string) {
	t.Helper()
	address, hostPort := ServiceURLs(t, cluster, name)
	for _, url := range []string{address, hostPort} {
		Eventually(t, "an answer of "+url, func(ctx context.Context) (string, error) {
			_, err := Get(ctx, NewClient(), url)
			return "", err
		})
	}
}
