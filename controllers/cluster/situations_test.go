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
	"net/netip"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1alpha1"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/world"
)

type simulatedCall = simulated.Call

const (
	// atLeisure is some time, that is what is left of a pause.
	atLeisure = -time.Second

	passed = "True/" + infrav1.PreflightPassedReason
	usable = "True/Ready"
)

// situation is something a cluster can get into, and what then has to be so.
type situation struct {
	reason  string
	options []builders.Option
	// begins before the controller first looks; happens after it first came
	// to rest.
	begins, happens func(t *testing.T, w *world.World)

	// What the conditions say, as Status/Reason: of preflight (passed where
	// empty), network (usable where empty), load balancer and Ready.
	preflight, network, loadBalancer, ready string
	// message is in one of them.
	message string
	// again is when the controller wants to look again; 0 = never.
	again time.Duration
	// fails says that the reconcile ends with an error.
	fails bool
	// provisioned says that Cluster API was told of the infrastructure.
	provisioned bool
	check       world.Check
	holds       func(t *testing.T, w *world.World)
}

func TestSituations(t *testing.T) {
	t.Parallel()
	for _, table := range []map[string]situation{provisioning(), endpoints(), refused(), afterwards()} {
		for name, s := range table {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				s.run(t)
			})
		}
	}
}

func (s situation) run(t *testing.T) {
	t.Helper()
	w := world.New(t, builders.New(s.options...))
	if s.begins != nil {
		s.begins(t, w)
	}
	outcome := w.SettleCluster()
	if s.happens != nil {
		s.happens(t, w)
		outcome = w.SettleCluster()
	}
	object := get(w)
	var got, messages []string
	for _, conditionType := range []string{
		infrav1.PreflightPassedCondition, infrav1.NetworkReadyCondition, infrav1.LoadBalancerReadyCondition, infrav1.ClusterReadyCondition,
	} {
		state, message := world.State(object, conditionType)
		got, messages = append(got, state), append(messages, message)
	}
	want := []string{cmp.Or(s.preflight, passed), cmp.Or(s.network, usable), s.loadBalancer, s.ready}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("%s\nPreflightPassed, NetworkReady, LoadBalancerReady, Ready (-want +got):\n%s\nmessages: %q\nerror: %v", s.reason, diff, messages, outcome.Err)
	}
	if !strings.Contains(strings.Join(messages, "\n"), s.message) {
		t.Errorf("%s\nno message of %q has %q", s.reason, messages, s.message)
	}
	if wrong := outcome.Result.RequeueAfter != s.again; wrong && (s.again != atLeisure || outcome.Result.RequeueAfter == 0) || (outcome.Err != nil) != s.fails {
		t.Errorf("%s\ngot %v and error %v, want again after %s and error %t", s.reason, outcome.Result, outcome.Err, s.again, s.fails)
	}
	if told := object.Status.Initialization.Provisioned != nil; told != s.provisioned {
		t.Errorf("%s\nprovisioned is %t, want %t", s.reason, told, s.provisioned)
	}
	if endpoint := object.Spec.ControlPlaneEndpoint; s.provisioned && (endpoint.Host == "" || endpoint.Port == 0) {
		t.Errorf("%s\nit is provisioned with the endpoint %q", s.reason, endpoint)
	}
	w.CheckCluster(s.check)
	if s.holds != nil {
		s.holds(t, w)
	}
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

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
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
