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

package containerengine_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/controllers/containerengine"
	"github.com/capi-samples/cluster-api-provider-container/controllers/engines"
	"github.com/capi-samples/cluster-api-provider-container/internal/endpoint"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/engineobjects"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
	"github.com/capi-samples/cluster-api-provider-container/test/world"
)

const namespace = "team"

// fixture is a ContainerEngine with its Secret, and the engine behind it.
type fixture struct {
	t          *testing.T
	client     client.Client
	engine     *simulated.Engine
	engines    *engines.Engines
	events     world.Recorder
	reconciler *containerengine.Reconciler
}

func newFixture(t *testing.T, change func(*infrav1.ContainerEngine, *corev1.Secret), others ...client.Object) *fixture {
	t.Helper()
	key, known := engineobjects.Key(t)
	object := &infrav1.ContainerEngine{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "build", UID: "build-uid"},
		Spec:       infrav1.ContainerEngineSpec{Endpoint: "ssh://me@build.example.org", CredentialsSecretName: "credentials"},
	}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "credentials"},
		Data:       map[string][]byte{infrav1.EngineSSHKeyKey: key, infrav1.EngineKnownHostsKey: known},
	}
	if change != nil {
		change(object, secret)
	}
	f := &fixture{
		t:      t,
		engine: simulated.New(simulated.WithInfo(engine.Info{Name: "simulated", Version: "29.1", StorageID: "a", CPUs: 8, MemoryBytes: 16 << 30})),
		client: fake.NewClientBuilder().WithScheme(builders.Scheme(t)).WithObjects(object, secret).WithObjects(others...).
			WithStatusSubresource(&infrav1.ContainerEngine{}).Build(),
	}
	f.restart()
	return f
}

// restart the manager.
func (f *fixture) restart() {
	f.engines = engines.New(engines.Own(simulated.New()), engines.Options{
		Open: engineobjects.Open(map[string]engine.Engine{"build.example.org": keptOpen{f.engine}}),
	})
	f.reconciler = &containerengine.Reconciler{
		Client: f.client, Engines: f.engines, Events: &f.events, Allowed: must.Get(endpoint.ParseAllowed([]string{namespace + "=ssh://*.example.org"}))(f.t),
	}
}

// keptOpen is an engine that another client connects to after one has gone.
type keptOpen struct{ engine.Engine }

func (keptOpen) Close() error { return nil }

func (f *fixture) reconcile() (ctrl.Result, error) {
	return f.reconciler.Reconcile(f.t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: "build"}})
}

func (f *fixture) get() *infrav1.ContainerEngine {
	f.t.Helper()
	found := &infrav1.ContainerEngine{}
	must.Succeed(f.t, f.client.Get(f.t.Context(), client.ObjectKey{Namespace: namespace, Name: "build"}, found))
	return found
}

func (f *fixture) edit(change func(*infrav1.ContainerEngine)) {
	f.t.Helper()
	found := f.get()
	change(found)
	must.Succeed(f.t, f.client.Update(f.t.Context(), found))
}

func (f *fixture) secret() *corev1.Secret {
	f.t.Helper()
	secret := &corev1.Secret{}
	must.Succeed(f.t, f.client.Get(f.t.Context(), client.ObjectKey{Namespace: namespace, Name: "credentials"}, secret))
	return secret
}

// expect what one reconcile reports, as "Status Reason" of each condition, and whether the engine is used.
func (f *fixture) expect(reason string, want state) {
	f.t.Helper()
	result, err := f.reconcile()
	must.Succeed(f.t, err)
	found := f.get()
	_, lookup := f.engines.For(clusterOn("c"))
	got := state{
		ready: condition(found, infrav1.EngineReadyCondition), reachable: condition(found, infrav1.EngineReachableCondition),
		host: condition(found, infrav1.EngineHostReadyCondition), used: lookup == nil, after: result.RequeueAfter,
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(state{})); diff != "" {
		f.t.Errorf("%s (-want, +got):\n%s\n%s", reason, diff, conditions.GetMessage(found, infrav1.EngineReachableCondition))
	}
}

type state struct {
	ready, reachable, host string
	used                   bool
	after                  time.Duration
}

const interval = 15 * time.Second

func well() state {
	return state{"True Ready", "True Reachable", "True HostReady", true, interval}
}

// unused is the state of an engine that is tried again.
func unused(reason string, after time.Duration) state {
	return state{"False " + reason, "False " + reason, "Unknown HostUnknown", false, after}
}

func condition(of conditions.Getter, conditionType string) string {
	found := conditions.Get(of, conditionType)
	if found == nil {
		return ""
	}
	return string(found.Status) + " " + found.Reason
}

func clusterOn(name string) *infrav1.ContainerCluster {
	return &infrav1.ContainerCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{clusterv1.ClusterNameLabel: name}},
		Spec:       infrav1.ContainerClusterSpec{EngineName: "build", OwnerID: "owner-" + name},
	}
}

func machineOf(cluster, name string, change func(*infrav1.ContainerMachine)) *infrav1.ContainerMachine {
	machine := &infrav1.ContainerMachine{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: name, Labels: map[string]string{clusterv1.ClusterNameLabel: cluster},
	}}
	if change != nil {
		change(machine)
	}
	return machine
}

func TestStates(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		change func(*infrav1.ContainerEngine, *corev1.Secret)
		setup  func(*fixture)
		want   state
		text   string
	}{
		"Well": {reason: "The engine responds.", want: well()},
		"OtherNamespace": {
			reason: "Without webhooks, the manager still dials nothing that is not allowed.",
			change: func(e *infrav1.ContainerEngine, _ *corev1.Secret) { e.Spec.Endpoint = "ssh://me@10.0.0.1" },
			want:   unused(infrav1.EngineEndpointNotAllowedReason, 0), text: "--allowed-engine-endpoints",
		},
		"Socket": {
			reason: "Nor a socket of its host.",
			change: func(e *infrav1.ContainerEngine, _ *corev1.Secret) { e.Spec.Endpoint = "unix:///var/run/docker.sock" },
			want:   unused(infrav1.EngineEndpointInvalidReason, 0), text: "spec.endpoint has a scheme",
		},
		"NoSecret": {
			reason: "It may come later.",
			change: func(e *infrav1.ContainerEngine, _ *corev1.Secret) { e.Spec.CredentialsSecretName = "absent" },
			want:   unused(infrav1.EngineCredentialsInvalidReason, interval), text: `Secret "absent"`,
		},
		"NoKey": {
			reason: "Known hosts are mandatory.",
			change: func(_ *infrav1.ContainerEngine, s *corev1.Secret) { delete(s.Data, infrav1.EngineKnownHostsKey) },
			want:   unused(infrav1.EngineCredentialsInvalidReason, interval), text: "known_hosts is not set",
		},
		"Down": {
			reason: "The engine is not used until it responds.",
			setup:  func(f *fixture) { f.engine.Down() },
			want:   unused(infrav1.EngineUnreachableReason, interval),
		},
		"Refused": {
			reason: "The credentials are not those of the engine.",
			setup:  func(f *fixture) { f.engine.FailNext("Info", engine.ErrUnauthorized) },
			want:   unused(infrav1.EngineCredentialsInvalidReason, interval),
		},
		"Lost": {
			reason: "Who says that an engine is lost does not want it to be reached.",
			change: func(e *infrav1.ContainerEngine, _ *corev1.Secret) { e.Spec.Lost = ptr.To(true) },
			want:   unused(infrav1.EngineLostReason, 0),
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, tc.change)
			if tc.setup != nil {
				tc.setup(f)
			}
			f.expect(tc.reason, tc.want)
			if message := conditions.GetMessage(f.get(), infrav1.EngineReachableCondition); !strings.Contains(message, tc.text) {
				t.Errorf("the message is %q, want %q", message, tc.text)
			}
			version := f.get().ResourceVersion
			if _, err := f.reconcile(); err != nil {
				t.Error(err)
			}
			if tc.setup == nil && f.get().ResourceVersion != version {
				t.Error("a second reconcile writes")
			}
		})
	}
}

// TestReturns: an engine that is reached again is used again, with what changed meanwhile.
func TestReturns(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	f.expect("at first", well())
	f.engine.Down()
	f.expect("it does not respond", unused(infrav1.EngineUnreachableReason, interval))
	f.engine.Up()
	f.expect("it responds again", well())
	secret := f.secret()
	was := secret.Data[infrav1.EngineSSHKeyKey]
	secret.Data[infrav1.EngineSSHKeyKey] = []byte("no key")
	must.Succeed(t, f.client.Update(t.Context(), secret))
	f.expect("its key is replaced by something else", unused(infrav1.EngineCredentialsInvalidReason, interval))
	secret = f.secret()
	secret.Data[infrav1.EngineSSHKeyKey] = was
	must.Succeed(t, f.client.Update(t.Context(), secret))
	f.expect("and corrected, without a restart", well())
	f.restart()
	f.expect("another manager finds the same", well())
}

// TestReplaced: another engine at the endpoint is not the one, and nothing is done on it.
func TestReplaced(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil, clusterOn("c"))
	f.expect("at first", well())
	if got := f.get(); got.Annotations[infrav1.EngineAnnotation] != got.Status.ID || got.Status.ID == "" {
		t.Errorf("recorded %v, responded %q", got.Annotations, got.Status.ID)
	}
	f.engine.SwitchStorage("b")
	f.expect("another one responds", unused(infrav1.EngineReplacedReason, interval))
	f.restart()
	f.expect("another manager finds the same", unused(infrav1.EngineReplacedReason, interval))
	if calls := f.engine.MutatingCalls(); len(calls) > 0 {
		t.Errorf("changed the other engine: %v", calls)
	}
	f.engine.AddImage(engine.Image{Tags: []string{builders.NodeImage}}, nil)
	owner := identity.Owner{Namespace: namespace, Cluster: "c", ID: "owner-c"}
	must.Get(f.engine.CreateContainer(t.Context(), engine.Spec{
		Name: "node", Image: builders.NodeImage, Labels: owner.ContainerLabels(identity.RoleWorker, "m"),
	}))(t)
	f.expect("it has a container of a cluster: it is the one, with another identity", well())
	must.Succeed(t, f.engine.RemoveContainer(t.Context(), "node"))
	f.expect("which is recorded", well())
	f.engine.SwitchStorage("c")
	f.expect("a third one responds", unused(infrav1.EngineReplacedReason, interval))
	f.edit(func(e *infrav1.ContainerEngine) { delete(e.Annotations, infrav1.EngineAnnotation) })
	f.expect("the administrator says that the former one is lost", well())
}

// TestDuplicate: the engine of another object is refused, although it has containers of a cluster that is on both.
func TestDuplicate(t *testing.T) {
	t.Parallel()
	other := &infrav1.ContainerEngine{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: "other", Annotations: map[string]string{infrav1.EngineAnnotation: "other-storage"},
	}}
	elsewhere := other.DeepCopy()
	elsewhere.Namespace = "elsewhere"
	elsewhere.Annotations[infrav1.EngineAnnotation] = "a" // of the fixture's engine
	over := clusterOn("c")
	over.Spec.EngineNames = []string{"build", "other"}
	f := newFixture(t, nil, over, other, elsewhere)
	f.expect("that of another namespace is for other users", well())
	f.engine.AddImage(engine.Image{Tags: []string{builders.NodeImage}}, nil)
	owner := identity.Owner{Namespace: namespace, Cluster: "c", ID: "owner-c"}
	must.Get(f.engine.CreateContainer(t.Context(), engine.Spec{
		Name: "node", Image: builders.NodeImage, Labels: owner.ContainerLabels(identity.RoleWorker, "m"),
	}))(t)
	f.engine.SwitchStorage("other-storage")
	f.expect("the endpoint leads to that of the other object", unused(infrav1.EngineDuplicateReason, interval))
	f.engine.SwitchStorage("a")
	f.expect("it is corrected", well())
}
