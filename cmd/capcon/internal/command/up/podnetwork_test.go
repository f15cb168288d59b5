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

package up_test

import (
	"os"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/command/commandtest"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// nodes get this condition.
func setNodes(w *commandtest.World, condition metav1.Condition) {
	w.T.Helper()
	machines := &clusterv1.MachineList{}
	must.Succeed(w.T, w.Client.List(w.T.Context(), machines, client.InNamespace("default")))
	for i := range machines.Items {
		conditions.Set(&machines.Items[i], condition)
		must.Succeed(w.T, w.Client.Update(w.T.Context(), &machines.Items[i]))
	}
}

// A cluster whose Pod network is the user's is done when nothing else is missing.
func TestUpWithoutPodNetwork(t *testing.T) {
	t.Parallel()
	w := commandtest.New(t)
	w.Controllers = func() {
		w.Become()
		setNodes(w, metav1.Condition{
			Type: clusterv1.MachineNodeReadyCondition, Status: metav1.ConditionFalse, Reason: clusterv1.MachineNodeNotReadyReason,
			Message: "* Node.Ready: container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady " +
				"message:Network plugin returns error: cni plugin not initialized",
		})
	}
	for range 2 {
		out := w.MustRun("up", "demo", "--cni", "none", "--pod-cidr", "10.77.0.0/16", "--timeout", "2m")
		commandtest.Contains(t, out, "but for its Pod network: --cni none leaves it to you, for Pods in 10.77.0.0/16",
			"simulated exec -i demo-a-1234 kubectl --kubeconfig /etc/kubernetes/admin.conf apply -f - < MANIFEST")
		commandtest.Lacks(t, out, "is ready after 0s.")
	}
	path := w.Directory().KubeconfigPath("demo")
	must.Get(os.Stat(path))(t)
	for _, args := range [][]string{{"status"}, {"status", "demo"}} {
		commandtest.Contains(t, w.MustRun(args...), "0/1             0/1      waiting for the Pod network, which --cni none leaves to you",
			"--cni none leaves it to you, for Pods in 10.77.0.0/16", "remedy: install it: simulated exec -i demo-a-1234")
	}

	w.Controllers = w.Become
	setNodes(w, metav1.Condition{Type: clusterv1.MachineNodeReadyCondition, Status: metav1.ConditionTrue, Reason: clusterv1.MachineNodeReadyReason})
	out := w.MustRun("up", "demo")
	commandtest.Lacks(t, out, "Pod network")
	commandtest.Contains(t, out, "Cluster demo is ready after")
}
