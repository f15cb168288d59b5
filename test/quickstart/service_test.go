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
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/capi-samples/cluster-api-provider-container/controllers/serviceloadbalancer"
)

// webExample is docs/how-to/load-balancer-services.md's: a web application behind a Service.
const webExample = "../../examples/web.yaml"

// serviceURLs are where the Service of the example answers: on the network of the cluster,
// and on 127.0.0.1.
func serviceURLs(t *testing.T, program *capcon) (address, hostPort string) {
	t.Helper()
	cluster := program.connectCluster()
	eventually(t, "the Service has an address", func(ctx context.Context) (string, error) {
		service, err := cluster.CoreV1().Services("default").Get(ctx, "web", metav1.GetOptions{})
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

// serviceAnswers on both its addresses.
func serviceAnswers(t *testing.T, program *capcon) {
	t.Helper()
	address, hostPort := serviceURLs(t, program)
	client := &http.Client{Timeout: patienceWithAnswer, Transport: &http.Transport{DisableKeepAlives: true}}
	for _, url := range []string{address, hostPort} {
		eventually(t, "an answer of "+url, func(ctx context.Context) (string, error) {
			_, err := get(ctx, client, url)
			return "", err
		})
	}
}

// underLoad calls change while clients of the Service never pause.
func underLoad(t *testing.T, program *capcon, change func()) {
	t.Helper()
	address, _ := serviceURLs(t, program)
	load := startTrafficTo(t, address, map[string]*http.Client{
		"new connections": {Timeout: patienceWithAnswer, Transport: &http.Transport{DisableKeepAlives: true}},
		"one connection":  {Timeout: patienceWithAnswer, Transport: &http.Transport{}},
	})
	change()
	load.stop()
	t.Logf("the Service meanwhile: %s", load)
}
