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

package cluster_test

import (
	"cmp"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/controllers/hostinfo"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
	"github.com/capi-samples/cluster-api-provider-container/test/world"
)

type simulatedCall = simulated.Call

const (
	// anyDelay accepts each positive delay, as what is left of a backoff.
	anyDelay = -time.Second

	passed = "True/" + infrav1.PreflightPassedReason
	usable = "True/Ready"
)

// reconcileTest reconciles a cluster until nothing changes, twice if change is set.
type reconcileTest struct {
	reason string
	args   args
	want   want
	// check of a lost status.
	check world.Check
	// assert what want has no field for.
	assert func(t *testing.T, w *world.World)
}

type args struct {
	options []builders.Option
	// setup runs before the first reconcile, change after nothing changes any more.
	setup, change func(t *testing.T, w *world.World)
}

type want struct {
	// Conditions as Status/Reason; the default of the first is passed, of the second usable.
	preflightPassed, networkReady, loadBalancerReady, ready string
	// message is part of one of their messages.
	message string
	// requeueAfter of the last reconcile; 0 = none.
	requeueAfter time.Duration
	// err = the last reconcile returns an error.
	err bool
	// provisioned = status.initialization.provisioned and the endpoint are set.
	provisioned bool
}

func TestReconcile(t *testing.T) {
	t.Parallel()
	for _, table := range []map[string]reconcileTest{provisioning(), endpoints(), invalidInput(), provisioned()} {
		for name, test := range table {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test.run(t)
			})
		}
	}
}

func (test reconcileTest) run(t *testing.T) {
	t.Helper()
	w := world.New(t, builders.New(test.args.options...))
	if test.args.setup != nil {
		test.args.setup(t, w)
	}
	outcome := w.SettleCluster()
	if test.args.change != nil {
		test.args.change(t, w)
		outcome = w.SettleCluster()
	}
	object := get(w)
	got := want{
		requeueAfter: outcome.Result.RequeueAfter, err: outcome.Err != nil,
		provisioned: object.Status.Initialization.Provisioned != nil,
	}
	var messages [4]string
	got.preflightPassed, messages[0] = world.State(object, infrav1.PreflightPassedCondition)
	got.networkReady, messages[1] = world.State(object, infrav1.NetworkReadyCondition)
	got.loadBalancerReady, messages[2] = world.State(object, infrav1.LoadBalancerReadyCondition)
	got.ready, messages[3] = world.State(object, infrav1.ClusterReadyCondition)
	got.message = strings.Join(messages[:], "\n")
	if diff := gocmp.Diff(test.want.complete(got), got, gocmp.AllowUnexported(want{})); diff != "" {
		t.Errorf("%s (-want +got):\n%s\nerror: %v", test.reason, diff, outcome.Err)
	}
	if endpoint := object.Spec.ControlPlaneEndpoint; got.provisioned && (endpoint.Host == "" || endpoint.Port == 0) {
		t.Errorf("%s\nprovisioned with the endpoint %q", test.reason, endpoint)
	}
	w.CheckCluster(test.check)
	if test.assert != nil {
		test.assert(t, w)
	}
}

// complete returns what is wanted, with its defaults, and with what of got it accepts.
func (w want) complete(got want) want {
	w.preflightPassed, w.networkReady = cmp.Or(w.preflightPassed, passed), cmp.Or(w.networkReady, usable)
	if strings.Contains(got.message, w.message) {
		w.message = got.message
	}
	if w.requeueAfter == anyDelay && got.requeueAfter > 0 {
		w.requeueAfter = got.requeueAfter
	}
	return w
}

func get(w *world.World) *infrav1.ContainerCluster {
	object, _ := world.Get(w, builders.Cluster, &infrav1.ContainerCluster{})
	return object
}

func balancer() string { return builders.Owner().LoadBalancerContainer() }

// spec returns an option that changes the ContainerCluster's spec.
func spec(change func(*infrav1.ContainerClusterSpec)) []builders.Option {
	return []builders.Option{func(o *builders.Objects) { change(&o.ContainerCluster.Spec) }}
}

// event checks that an Event holds a text.
func event(text string) func(*testing.T, *world.World) {
	return func(t *testing.T, w *world.World) {
		t.Helper()
		if sent := strings.Join(w.Events.Sent(), "\n"); !strings.Contains(sent, text) {
			t.Errorf("no Event holds %q:\n%s", text, sent)
		}
	}
}

func prefix(text string) netip.Prefix { return netip.MustParsePrefix(text) }

func failureDomains() []clusterv1.FailureDomain {
	return []clusterv1.FailureDomain{{Name: "zone-a"}, {Name: "zone-b"}}
}

// Limits are evaluated for all machines of all clusters, and a change of the
// host is found without a restart of the manager.
func TestPreflightOfAllMachines(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		instances := 100
		host := simulated.New()
		host.AddImage(engine.Image{Tags: []string{builders.NodeImage}}, nil)
		host.HandleExec(func(string, engine.Command) (engine.Output, error) {
			text := fmt.Sprintf("== /proc/sys/fs/inotify/max_user_instances\n%d\n", instances)
			return engine.Output{Stdout: []byte(text)}, nil
		})
		w := world.New(t, builders.New())
		w.Engines.Own().Host = hostinfo.NewObserver(host)
		must.Get(w.Engines.Own().Host.Observe(t.Context(), builders.NodeImage, ""))(t)
		expect := func(reason, want, words string) {
			t.Helper()
			w.SettleCluster()
			found, _ := world.Get(w, builders.Cluster, &infrav1.ContainerCluster{})
			state, message := world.State(found, infrav1.PreflightPassedCondition)
			if state != want || !strings.Contains(message, words) {
				t.Errorf("%s Got %s: %q, want %s with %q", reason, state, message, want, words)
			}
		}
		expect("One machine has enough.", "True/"+infrav1.PreflightPassedReason, "")
		for i := range 10 {
			_, machine := builders.MachinePair(fmt.Sprintf("another-%d", i))
			machine.Namespace = "elsewhere"
			must.Succeed(t, w.Client.Create(t.Context(), machine))
		}
		expect("The others use it up.", "False/"+infrav1.PreflightFailedReason, "InotifyInstances (error): fs.inotify.max_user_instances is 100, 11 nodes need")
		instances = 1024
		time.Sleep(time.Minute)
		expect("A user has corrected it.", "True/"+infrav1.PreflightPassedReason, "")
	})
}
