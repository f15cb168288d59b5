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
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/clustercache"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
	"github.com/capi-samples/cluster-api-provider-container/test/world"
)

// etcd of a world: its members are the first control plane and others that are not
// machines of it. It answers in the containers of the other control planes.
type etcd struct {
	// members by ID, with their addresses.
	members map[string]string
	// requests to a member that answers, as method and body; afterRemoval says that the
	// container of the first control plane was gone when one came.
	requests     []string
	afterRemoval bool
	// unavailable names the containers in which etcd does not answer.
	unavailable map[string]bool
	// answers is what it prints there.
	answers string
}

const firstMember = "18446744073709551615"

func runEtcd(t *testing.T, w *world.World) *etcd {
	t.Helper()
	observed := must.Get(w.Engine.InspectContainer(t.Context(), container()))(t)
	e := &etcd{
		members:     map[string]string{firstMember: network.Addresses(observed, network.DefaultName)[0].String(), "17": "192.0.2.1"},
		unavailable: map[string]bool{},
	}
	w.Engine.HandleExec(func(name string, command engine.Command) (engine.Output, error) {
		if command.Args[0] != "curl" {
			return w.LoadBalancers.Exec(name, command)
		}
		if e.unavailable[name] {
			return engine.Output{Stdout: []byte(e.answers), Stderr: []byte("curl: (28) timed out after 5001 milliseconds")}, &engine.ExitError{Code: 28}
		}
		last := len(command.Args) - 1
		_, method, _ := strings.Cut(command.Args[last], "/v3/cluster/")
		e.requests = append(e.requests, method+" "+command.Args[last-1])
		if _, err := w.Engine.InspectContainer(t.Context(), container()); err != nil {
			e.afterRemoval = true
		}
		return e.answer(t, method, command.Args[last-1])
	})
	return e
}

func (e *etcd) answer(t *testing.T, method, body string) (engine.Output, error) {
	t.Helper()
	if method == "member/remove" {
		var request struct{ ID string }
		must.Succeed(t, json.Unmarshal([]byte(body), &request))
		delete(e.members, request.ID)
	}
	var list []string
	for id, address := range e.members {
		list = append(list, fmt.Sprintf(`{"ID":%q,"peerURLs":["https://%s:2380"]}`, id, address))
	}
	return engine.Output{Stdout: fmt.Appendf(nil, `{"members":[%s]}`, strings.Join(list, ","))}, nil
}

// peer is the state of another control plane.
type peer func(t *testing.T, w *world.World, e *etcd, machine string)

const etcdManifest = "/etc/kubernetes/manifests/etcd.yaml"

func isMember(t *testing.T, w *world.World, _ *etcd, machine string) {
	t.Helper()
	must.Succeed(t, w.Engine.WriteFile(builders.Container(machine), etcdManifest, []byte("kind: Pod")))
}

// joins, or failed before it wrote the manifest: there is no etcd in its container.
func joins(*testing.T, *world.World, *etcd, string) {}

func doesNotAnswer(t *testing.T, w *world.World, e *etcd, machine string) {
	t.Helper()
	isMember(t, w, e, machine)
	e.unavailable[builders.Container(machine)] = true
}

func isStopped(t *testing.T, w *world.World, e *etcd, machine string) {
	t.Helper()
	isMember(t, w, e, machine)
	must.Succeed(t, w.Engine.KillContainer(builders.Container(machine), 137, false))
}

func isFrozen(t *testing.T, w *world.World, e *etcd, machine string) {
	t.Helper()
	isMember(t, w, e, machine)
	must.Succeed(t, w.Engine.Pause(builders.Container(machine)))
}

// containerGoes removes the container of the first control plane.
func containerGoes(t *testing.T, w *world.World, _ *etcd) {
	t.Helper()
	must.Succeed(t, w.Engine.RemoveContainer(t.Context(), container()))
}

// A control plane leaves etcd before its container is removed, through any member that
// answers. No API server takes part: the ClusterCache of the world is not connected.
func TestControlPlaneLeavesEtcd(t *testing.T) {
	t.Parallel()
	const list, remove = `member/list {"linearizable":true}`, `member/remove {"ID":"` + firstMember + `"}`
	cases := map[string]struct {
		reason string
		// others are asked in this order.
		others []peer
		change func(t *testing.T, w *world.World, e *etcd)
		want   []string
		// stays says that the member does.
		stays bool
		// waits is for how many seconds the object stays.
		waits int
	}{
		"Member":          {reason: "No other controller removes it.", others: []peer{isMember}, want: []string{list, remove}, waits: 1},
		"FirstJoins":      {reason: "A control plane without etcd cannot answer for it.", others: []peer{joins, isMember}, want: []string{list, remove}, waits: 1},
		"LastJoins":       {reason: "One answer is enough.", others: []peer{isMember, joins}, want: []string{list, remove}, waits: 1},
		"FirstUnanswered": {reason: "The next member knows too.", others: []peer{doesNotAnswer, isMember}, want: []string{list, remove}, waits: 1},
		"FirstStopped":    {reason: "One that does not run is not asked.", others: []peer{isStopped, isMember}, want: []string{list, remove}, waits: 1},
		"FirstFrozen":     {reason: "One that does not run is not asked.", others: []peer{isFrozen, isMember}, want: []string{list, remove}, waits: 1},
		"NoLeader":        {reason: "An etcd without a leader agrees to nothing, and a deletion ends.", others: []peer{doesNotAnswer}, stays: true, waits: 61},
		"JoinsAndNoLeader": {
			reason: "That one has no etcd does not answer for those that have.", others: []peer{joins, doesNotAnswer}, stays: true, waits: 61,
		},
		"NoOtherRuns":  {reason: "One that does not run may be a member, and run soon.", others: []peer{isStopped}, stays: true, waits: 61},
		"ExternalEtcd": {reason: "Not every control plane runs kubeadm's etcd.", others: []peer{joins, joins}, stays: true, waits: 1},
		"Node": {
			reason: "The KubeadmControlPlane controller needs the API server, and not every Machine is one of it.", others: []peer{isMember},
			change: func(t *testing.T, w *world.World, _ *etcd) { t.Helper(); becomesNode(t, w) },
			want:   []string{list, remove}, waits: 1,
		},
		"LeftAlready": {
			reason: "Most often another controller was first.", others: []peer{isMember},
			change: func(_ *testing.T, _ *world.World, e *etcd) { delete(e.members, firstMember) },
			want:   []string{list}, waits: 1,
		},
		"ContainerGone": {
			reason: "Its addresses are recorded.", others: []peer{isMember}, change: containerGoes, want: []string{list, remove},
		},
		"AddressTaken": {
			reason: "A recorded address that another control plane has is no longer this one's.", others: []peer{isMember},
			change: func(t *testing.T, w *world.World, e *etcd) {
				t.Helper()
				containerGoes(t, w, e)
				other := must.Get(w.Engine.InspectContainer(t.Context(), builders.Container(second)))(t)
				world.Edit(w, builders.Machine, &infrav1.ContainerMachine{}, func(m *infrav1.ContainerMachine) {
					m.Spec.Bootstrap.Addresses = []string{network.Addresses(other, network.DefaultName)[0].String()}
				})
			},
			stays: true,
		},
		"ClusterGoes": {
			reason: "etcd is removed with its cluster.", others: []peer{isMember},
			change: func(_ *testing.T, w *world.World, _ *etcd) { clusterGoes(w) }, stays: true,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			names := []string{second, third}[:len(tc.others)]
			w := controlPlanes(t, names...)
			e := runEtcd(t, w)
			for i, change := range tc.others {
				change(t, w, e, names[i])
			}
			if tc.change != nil {
				tc.change(t, w, e)
			}
			if waited := secondsUntilGone(t, w, func() { w.SettleCluster() }); waited != tc.waits {
				t.Errorf("%s\nit waited for %d seconds, want %d", tc.reason, waited, tc.waits)
			}
			removed := e.afterRemoval && name != "ContainerGone"
			if difference := diff(tc.want, e.requests); difference != "" || removed {
				t.Errorf("%s\nafter the container's removal: %t; requests to etcd (-want +got):\n%s", tc.reason, removed, difference)
			}
			if _, stays := e.members[firstMember]; stays != tc.stays {
				t.Errorf("%s\nthe member stays: %t, want %t", tc.reason, stays, tc.stays)
			}
			if _, there := world.Get(w, second, &infrav1.ContainerMachine{}); !there {
				t.Error("the other control plane is gone")
			}
		})
	}
}

// Also a manager that sees the deletion later than etcd is waited for asks etcd.
func TestLateDeletionAsksEtcd(t *testing.T) {
	t.Parallel()
	w := twoControlPlanes(t)
	e := runEtcd(t, w)
	isMember(t, w, e, second)
	world.Delete(w, builders.Machine, &infrav1.ContainerMachine{})
	object, _ := world.Get(w, builders.Machine, &infrav1.ContainerMachine{})
	w.Clock.SetTime(object.DeletionTimestamp.Add(time.Hour))
	must.Get(w.ReconcileMachine(builders.Machine))(t)
	if _, there := world.Get(w, builders.Machine, &infrav1.ContainerMachine{}); there {
		t.Error("the object stays")
	}
	if _, stays := e.members[firstMember]; stays || e.afterRemoval {
		t.Errorf("the member stays: %t, is asked for after the container's removal: %t", stays, e.afterRemoval)
	}
}

// A deletion that waits for etcd says what etcd answers, the same each time.
func TestDeletionReportsEtcd(t *testing.T) {
	t.Parallel()
	for answers, want := range map[string]string{
		`{"error":"etcdserver: no leader","code":14,"message":"etcdserver: no leader"}`: "etcd answers: etcdserver: no leader",
		"": "etcd does not answer (curl: exit code 28)",
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			w := twoControlPlanes(t)
			e := runEtcd(t, w)
			doesNotAnswer(t, w, e, second)
			e.answers = answers
			world.Delete(w, builders.Machine, &infrav1.ContainerMachine{})
			for range 2 {
				w.SettleCluster()
				must.Get(w.ReconcileMachine(builders.Machine))(t)
			}
			object, _ := world.Get(w, builders.Machine, &infrav1.ContainerMachine{})
			state, message := world.State(object, infrav1.MachineReadyCondition)
			if state != "False/"+clusterv1.DeletingReason || !strings.HasSuffix(message, want) {
				t.Errorf("Ready is %s (%s), want ... %s", state, message, want)
			}
		})
	}
}

// A removed control plane does not keep the Leases by which one controller manager and one
// scheduler lead.
func TestRemovedControlPlaneReleasesLeases(t *testing.T) {
	t.Parallel()
	lease := func(name, holder string) *coordinationv1.Lease {
		return &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: name},
			Spec:       coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: ptr.To[int32](15)},
		}
	}
	const theirs = builders.Machine + "0_6f"
	cases := map[string]struct {
		holder string
		// err of each request to the API server.
		err    error
		change func(w *world.World)
		want   string
	}{
		"Leader":        {holder: builders.Machine + "_6f"},
		"AnotherLeads":  {holder: theirs, want: theirs},
		"ClusterGoes":   {holder: builders.Machine + "_6f", change: clusterGoes, want: builders.Machine + "_6f"},
		"DoesNotAnswer": {holder: builders.Machine + "_6f", err: errors.New("no leader of etcd"), want: builders.Machine + "_6f"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := twoControlPlanes(t)
			key := client.ObjectKey{Namespace: builders.Namespace, Name: builders.Cluster}
			workload := fake.NewClientBuilder().WithScheme(builders.Scheme(t)).
				WithObjects(lease("kube-controller-manager", tc.holder), lease("kube-scheduler", theirs)).Build()
			reached := interceptor.NewClient(workload, interceptor.Funcs{
				Get: func(ctx context.Context, api client.WithWatch, key client.ObjectKey, object client.Object, opts ...client.GetOption) error {
					if tc.err != nil {
						return tc.err
					}
					return api.Get(ctx, key, object, opts...)
				},
			})
			w.ClusterCache = clustercache.NewFakeClusterCache(reached, key)
			w.Restart()
			if tc.change != nil {
				tc.change(w)
			}
			secondsUntilGone(t, w, func() { w.SettleCluster() })
			if _, there := world.Get(w, builders.Machine, &infrav1.ContainerMachine{}); there {
				t.Error("the deletion waits for the Leases")
			}
			for name, want := range map[string]string{"kube-controller-manager": tc.want, "kube-scheduler": theirs} {
				found := &coordinationv1.Lease{}
				must.Succeed(t, workload.Get(t.Context(), client.ObjectKey{Namespace: "kube-system", Name: name}, found))
				if got := *found.Spec.HolderIdentity; got != want {
					t.Errorf("the holder of %s is %q, want %q", name, got, want)
				}
			}
		})
	}
}
