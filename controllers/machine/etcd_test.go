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

package machine_test

import (
	"cmp"
	"fmt"
	"strings"
	"testing"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
	"github.com/capi-samples/cluster-api-provider-container/test/world"
)

// etcd is that of a world: it runs in the container of the second control plane and has
// the first one as a member too.
type etcd struct {
	// requests as method and body; afterRemoval says that the container of the first
	// control plane was gone when one came.
	requests     []string
	afterRemoval bool
	// err of each request.
	err error
}

func runEtcd(t *testing.T, w *world.World, manifest string) *etcd {
	t.Helper()
	must.Succeed(t, w.Engine.WriteFile(builders.Container(second), "/etc/kubernetes/manifests/"+manifest, []byte("kind: Pod")))
	observed := must.Get(w.Engine.InspectContainer(t.Context(), container()))(t)
	address := network.Addresses(observed, network.DefaultName)[0]
	e := &etcd{}
	w.Engine.HandleExec(func(name string, command engine.Command) (engine.Output, error) {
		if name != builders.Container(second) || command.Args[0] != "curl" {
			return w.LoadBalancers.Exec(name, command)
		}
		last := len(command.Args) - 1
		_, method, _ := strings.Cut(command.Args[last], "/v3/cluster/")
		e.requests = append(e.requests, method+" "+command.Args[last-1])
		if _, err := w.Engine.InspectContainer(t.Context(), container()); err != nil {
			e.afterRemoval = true
		}
		if e.err != nil {
			return engine.Output{Stdout: []byte(`{"message":"etcdserver: no leader"}`)}, e.err
		}
		const list = `{"members":[{"ID":"17","peerURLs":["https://10.0.0.1:2380"]},{"ID":"18446744073709551615","peerURLs":["https://%s:2380"]}]}`
		return engine.Output{Stdout: fmt.Appendf(nil, list, address)}, nil
	})
	return e
}

// A control plane that is a member of etcd and never became a Node leaves etcd before its
// container is removed.
func TestControlPlaneLeavesEtcd(t *testing.T) {
	t.Parallel()
	const list, remove = "member/list {}", `member/remove {"ID":"18446744073709551615"}`
	cases := map[string]struct {
		reason string
		// manifest of the second control plane; default etcd.yaml.
		manifest string
		change   func(t *testing.T, w *world.World, e *etcd)
		want     []string
		// waits is for how many seconds the container stays.
		waits int
	}{
		"Member": {reason: "No other controller removes it.", want: []string{list, remove}, waits: 1},
		"Node": {reason: "The KubeadmControlPlane controller removes the member of a Node.", change: func(t *testing.T, w *world.World, _ *etcd) {
			t.Helper()
			becomesNode(t, w)
		}, waits: 1},
		"ClusterGoes": {reason: "etcd is removed with its cluster.", change: func(_ *testing.T, w *world.World, _ *etcd) { clusterGoes(w) }},
		"NoLeader": {reason: "An etcd without a leader agrees to nothing, and a deletion ends.", change: func(_ *testing.T, _ *world.World, e *etcd) {
			e.err = &engine.ExitError{Code: 22}
		}, waits: 61},
		"NoOtherRuns": {reason: "No other member can be asked.", change: func(t *testing.T, w *world.World, _ *etcd) {
			t.Helper()
			must.Succeed(t, w.Engine.KillContainer(builders.Container(second), 137, false))
		}, waits: 1},
		"ExternalEtcd": {reason: "Not every control plane runs kubeadm's etcd.", manifest: "kube-apiserver.yaml", waits: 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := twoControlPlanes(t)
			e := runEtcd(t, w, cmp.Or(tc.manifest, "etcd.yaml"))
			if tc.change != nil {
				tc.change(t, w, e)
			}
			if waited := secondsUntilGone(t, w, func() { w.SettleCluster() }); waited != tc.waits {
				t.Errorf("%s\nit waited for %d seconds, want %d", tc.reason, waited, tc.waits)
			}
			requests := e.requests
			if e.err != nil {
				requests = nil
			}
			if difference := diff(tc.want, requests); difference != "" || e.afterRemoval {
				t.Errorf("%s\nafter the container's removal: %t; requests to etcd (-want +got):\n%s", tc.reason, e.afterRemoval, difference)
			}
			if _, there := world.Get(w, second, &infrav1.ContainerMachine{}); !there {
				t.Error("the other control plane is gone")
			}
		})
	}
}

// A deletion that waits for etcd says what etcd answers.
func TestDeletionReportsEtcd(t *testing.T) {
	t.Parallel()
	w := twoControlPlanes(t)
	runEtcd(t, w, "etcd.yaml").err = &engine.ExitError{Code: 22}
	world.Delete(w, builders.Machine, &infrav1.ContainerMachine{})
	for range 2 {
		w.SettleCluster()
		must.Get(w.ReconcileMachine(builders.Machine))(t)
	}
	object, _ := world.Get(w, builders.Machine, &infrav1.ContainerMachine{})
	state, message := world.State(object, infrav1.MachineReadyCondition)
	if state != "False/"+clusterv1.DeletingReason || !strings.Contains(message, "etcdserver: no leader") {
		t.Errorf("Ready is %s (%s)", state, message)
	}
}
