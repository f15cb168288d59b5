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
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/capi-samples/cluster-api-provider-container/e2e/capcon/capcontest"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// webExample is docs/how-to/load-balancer-services.md's: a web application behind a Service.
const webExample = "../../../examples/web.yaml"

// scaleUnderLoad adds a worker and removes one, while clients of a web application, which
// moves from node to node, never pause.
func scaleUnderLoad(t *testing.T, program *capcontest.Program) {
	cluster := program.ConnectCluster()
	// The earlier nodes may have been replaced.
	capcontest.LoadWebtool(t, program)
	applyExample(t, program, webExample)
	capcontest.ServiceAnswers(t, cluster, "web")
	address, _ := capcontest.ServiceURLs(t, cluster, "web")
	load := capcontest.StartTrafficTo(t, address, map[string]*http.Client{
		"new connections": capcontest.NewClient(),
		"one connection":  {Timeout: capcontest.PatienceWithAnswer, Transport: &http.Transport{}},
	})
	program.MustRun("up", program.Cluster, "--workers", "2")
	capcontest.NodesReady(t, cluster, 3)
	program.MustRun("up", program.Cluster, "--workers", "1", "--yes")
	capcontest.NodesReady(t, cluster, 2)
	load.Stop()
	t.Logf("the Service meanwhile: %s", load)
	deleteService(t, cluster, "web")
}

// deleteService and what is published for it.
func deleteService(t *testing.T, cluster kubernetes.Interface, name string) {
	t.Helper()
	must.Succeed(t, cluster.CoreV1().Services("default").Delete(t.Context(), name, metav1.DeleteOptions{}))
	capcontest.Eventually(t, "Service "+name+" is gone", func(ctx context.Context) (string, error) {
		_, err := cluster.CoreV1().Services("default").Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return "", nil
		}
		return "it is still there", err
	})
}
