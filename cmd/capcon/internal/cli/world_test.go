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

package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	addonsv1 "sigs.k8s.io/cluster-api/api/addons/v1beta2"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/input"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/management"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/objects"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane/moves"
	"github.com/capi-samples/cluster-api-provider-container/templates"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// world is everything outside of capcon. Time passes only when a command
// waits, and each wait lets the controllers act once.
type world struct {
	t      *testing.T
	engine *simulated.Engine
	plane  *fakePlane
	// options of the plane that was asked for last.
	options plane.Options
	// others are planes of other names.
	others map[string]*fakePlane
	client client.WithWatch
	state  string
	// clientError is what reading from the management plane answers; nil = the
	// objects.
	clientError error
	// connectError is what connecting answers; nil = the engine.
	connectError error
	// passedOver are the endpoints that were tried before the engine's.
	passedOver []string
	// environment of the command, beside the state's directory.
	environment map[string]string
	// hostNetworks are what this host has routes to.
	hostNetworks []input.UsedRange
	// systemd has what its commands print.
	systemd map[string]string
	// answer of the user to a question; empty = there is no terminal.
	answer string
	// writes to the management plane, once countWrites was called.
	writes int
	// workload is what the API server of the cluster answers with; nil = it is down.
	workload client.WithWatch
	// controllers act on each wait.
	controllers func()

	mu  sync.Mutex
	now time.Time
}

type fakePlane struct {
	state   plane.State
	ensured []string
	// removed counts the removals, created the creations.
	removed, created int
	stateErr         error
	// meanwhile is what other processes do while a call is under way; nil = nothing.
	meanwhile func(call string)
	// clusters that keep it; nil = none.
	clusters func() []string
}

func (p *fakePlane) Ensure(_ context.Context, image string, _ func(string)) (plane.Ready, error) {
	p.ensured = append(p.ensured, image)
	fresh := p.state.ID == ""
	if fresh {
		p.created++
	}
	p.state = plane.State{ID: cmp.Or(p.state.ID, fmt.Sprintf("plane-%d", p.created)), Exists: true, Answers: true, Image: image, Kubeconfig: []byte("management")}
	ready := plane.Ready{ID: p.state.ID, Created: fresh, Kubeconfig: p.state.Kubeconfig}
	p.others("Ensure")
	return ready, nil
}

func (p *fakePlane) State(context.Context) (plane.State, error) { return p.state, p.stateErr }

func (p *fakePlane) Remove(context.Context) ([]string, error) {
	p.others("Remove")
	if p.clusters != nil {
		if clusters := p.clusters(); len(clusters) > 0 {
			return clusters, nil
		}
	}
	p.removed++
	p.state = plane.State{}
	return nil, nil
}

func (p *fakePlane) others(call string) {
	if p.meanwhile != nil {
		p.meanwhile(call)
	}
}

func newWorld(t *testing.T) *world {
	t.Helper()
	scheme := must.Get(management.Scheme())(t)
	w := &world{
		t: t, engine: simulated.New(), plane: &fakePlane{}, state: t.TempDir(), now: time.Unix(0, 0),
		client:      fake.NewClientBuilder().WithScheme(scheme).Build(),
		controllers: func() {},
	}
	must.Succeed(t, moves.Begin(t.Context(), w.client)) // as the manager of a plane does
	w.plane.clusters = w.clusters
	addImages(w.engine)
	return w
}

// addImages that capcon uses by default.
func addImages(e *simulated.Engine) {
	e.AddImage(engine.Image{Tags: []string{"localhost/capcon/node:v1.36.3"}}, map[string][]byte{
		"kind/version": []byte("v1.36.3"), "kind/manifests/default-cni.yaml": []byte(templates.Flannel),
	})
	e.AddImage(engine.Image{Tags: []string{"localhost/capcon/haproxy:2.6"}}, nil)
	e.AddImage(engine.Image{Tags: []string{"localhost/capcon/plane:dev"}}, nil)
}

// reader is the client, as long as there is no clientError.
func (w *world) reader() client.WithWatch {
	return interceptor.NewClient(w.client, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			return cmp.Or(w.clientError, c.Get(ctx, key, object, options...))
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			return cmp.Or(w.clientError, c.List(ctx, list, options...))
		},
	})
}

// cluster demo.
func (w *world) cluster() *clusterv1.Cluster {
	w.t.Helper()
	cluster := &clusterv1.Cluster{}
	must.Succeed(w.t, w.client.Get(w.t.Context(), client.ObjectKey{Namespace: "default", Name: "demo"}, cluster))
	return cluster
}

// variable of the cluster demo; nil where it is not set.
func (w *world) variable(name string) []byte {
	w.t.Helper()
	for _, variable := range w.cluster().Spec.Topology.Variables {
		if variable.Name == name {
			return variable.Value.Raw
		}
	}
	return nil
}

// clusters of the management plane.
func (w *world) clusters() []string {
	found, err := management.Clusters(w.t.Context(), w.client)
	if err != nil {
		w.t.Error(err)
	}
	var names []string
	for _, cluster := range found {
		names = append(names, cluster.Namespace+"/"+cluster.Name)
	}
	return names
}

func (w *world) deps() Deps {
	return Deps{
		Program: "capcon",
		Connect: func(context.Context, string) (engine.Engine, error) {
			return unclosed{w.engine, w.passedOver}, w.connectError
		},
		Plane: func(_ engine.Engine, options plane.Options) Plane {
			w.options = options
			if other := w.others[options.Name]; other != nil {
				return other
			}
			return w.plane
		},
		Client: func(kubeconfig []byte) (client.WithWatch, error) {
			if !strings.Contains(string(kubeconfig), "127.0.0.1:40123") {
				return w.reader(), nil
			}
			if w.workload == nil {
				return nil, errors.New("connection refused")
			}
			return w.workload, nil
		},
		Getenv: func(key string) string {
			if key == "XDG_STATE_HOME" {
				return w.state
			}
			return w.environment[key]
		},
		LookPath: func(string) (string, error) { return "", exec.ErrNotFound },
		Systemd: func(_ context.Context, name string, args ...string) string {
			return w.systemd[strings.Join(append([]string{name}, args...), " ")]
		},
		HostNetworks: func() []input.UsedRange { return w.hostNetworks },
		Size:         func(io.Writer) (int, int) { return 0, 0 },
		Interactive:  func() bool { return w.answer != "" },
		Now:          w.time,
		After: func(d time.Duration) <-chan time.Time {
			w.controllers()
			w.mu.Lock()
			defer w.mu.Unlock()
			w.now = w.now.Add(d)
			passed := make(chan time.Time, 1)
			passed <- w.now
			return passed
		},
	}
}

// unclosed keeps an engine usable for the next command.
type unclosed struct {
	*simulated.Engine
	passedOver []string
}

func (unclosed) Close() error { return nil }

func (u unclosed) Info(ctx context.Context) (engine.Info, error) {
	info, err := u.Engine.Info(ctx)
	info.PassedOver = u.passedOver
	return info, err //nolint:wrapcheck // It is the engine's.
}

func (w *world) time() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func (w *world) run(args ...string) (code int, out, errs string) {
	return w.runIn(w.t.Context(), args...)
}

// runUntilItWaits ends a command as soon as it begins to wait for others.
func (w *world) runUntilItWaits(args ...string) {
	ctx, cancel := context.WithCancel(w.t.Context())
	defer cancel()
	controllers := w.controllers
	defer func() { w.controllers = controllers }()
	w.controllers = cancel
	w.runIn(ctx, args...)
}

func (w *world) runIn(ctx context.Context, args ...string) (code int, out, errs string) {
	var stdout, stderr strings.Builder
	// A wait for what never comes passes no time that others see: end it here.
	const patience = 3 * time.Minute
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	code = Run(ctx, args, Streams{In: strings.NewReader(w.answer), Out: &stdout, Err: &stderr}, w.deps())
	return code, stdout.String(), stderr.String()
}

// follow is the topology's part: what the Cluster says, the others get.
func (w *world) follow(cluster *clusterv1.Cluster) {
	ctx, topology := w.t.Context(), cluster.Spec.Topology
	meta := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name), Labels: map[string]string{clusterv1.ClusterNameLabel: "demo"}}
	}
	for _, made := range []client.Object{
		&infrav1.ContainerCluster{ObjectMeta: meta("demo"), Spec: infrav1.ContainerClusterSpec{
			Network: infrav1.Network{Name: "capcon"}, LoadBalancer: infrav1.LoadBalancer{Image: "localhost/capcon/haproxy:2.6"},
		}},
		&controlplanev1.KubeadmControlPlane{
			ObjectMeta: meta(objects.ControlPlaneName("demo")),
			Spec:       controlplanev1.KubeadmControlPlaneSpec{Version: topology.Version, Replicas: topology.ControlPlane.Replicas},
		},
		&clusterv1.MachineDeployment{
			ObjectMeta: meta(objects.WorkersName("demo")),
			Spec:       clusterv1.MachineDeploymentSpec{ClusterName: "demo", Replicas: topology.Workers.MachineDeployments[0].Replicas},
		},
	} {
		if err := w.client.Create(ctx, made); err != nil && !apierrors.IsAlreadyExists(err) {
			w.t.Fatal(err)
		}
	}
	conditions.Set(cluster, metav1.Condition{
		Type: clusterv1.ClusterTopologyReconciledCondition, Status: metav1.ConditionTrue,
		Reason: clusterv1.ClusterTopologyReconcileSucceededReason,
	})
}

// become makes the cluster what controllers would make of it.
func (w *world) become() {
	ctx := w.t.Context()
	cluster := &clusterv1.Cluster{}
	if w.client.Get(ctx, client.ObjectKey{Namespace: "default", Name: "demo"}, cluster) != nil {
		return // not applied yet
	}
	w.follow(cluster)
	infrastructure := &infrav1.ContainerCluster{}
	controlPlane, workers := &controlplanev1.KubeadmControlPlane{}, &clusterv1.MachineDeployment{}
	key := client.ObjectKey{Namespace: "default", Name: "demo"}
	err := errors.Join(
		w.client.Get(ctx, key, infrastructure),
		w.client.Get(ctx, client.ObjectKey{Namespace: "default", Name: objects.ControlPlaneName("demo")}, controlPlane),
		w.client.Get(ctx, client.ObjectKey{Namespace: "default", Name: objects.WorkersName("demo")}, workers),
	)
	if err != nil || infrastructure.Spec.OwnerID != "" {
		return // done already
	}
	infrastructure.Spec.OwnerID = "owner"
	infrastructure.Spec.LoadBalancer.HostPort = 40123
	cluster.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{
		APIGroup: infrav1.GroupVersion.Group, Kind: "ContainerCluster", Name: infrastructure.Name,
	}
	cluster.Status.Initialization.InfrastructureProvisioned = ptr.To(true)
	controlPlane.Status = controlplanev1.KubeadmControlPlaneStatus{
		Initialization: controlplanev1.KubeadmControlPlaneInitializationStatus{ControlPlaneInitialized: ptr.To(true)},
		Replicas:       controlPlane.Spec.Replicas, AvailableReplicas: controlPlane.Spec.Replicas, UpToDateReplicas: controlPlane.Spec.Replicas,
		ObservedGeneration: controlPlane.Generation,
	}
	workers.Status = clusterv1.MachineDeploymentStatus{
		Replicas: workers.Spec.Replicas, AvailableReplicas: workers.Spec.Replicas, UpToDateReplicas: workers.Spec.Replicas,
		ObservedGeneration: workers.Generation,
	}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "demo-kubeconfig", Labels: map[string]string{clusterv1.ClusterNameLabel: "demo"}},
		Data:       map[string][]byte{"value": []byte("clusters: [{name: demo, cluster: {server: https://172.18.0.9:6443}}]")},
	}
	_, created := w.engine.CreateContainer(ctx, engine.Spec{
		Name: "demo-a-1234", Image: "localhost/capcon/node:v1.36.3",
		Labels: identity.Owner{Namespace: "default", Cluster: "demo", ID: "owner"}.ContainerLabels(identity.RoleControlPlane, "demo-a"),
	})
	err = errors.Join(created, w.engine.StartContainer(ctx, "demo-a-1234"),
		w.client.Update(ctx, cluster), w.client.Update(ctx, infrastructure), w.client.Update(ctx, controlPlane),
		w.client.Update(ctx, workers), w.client.Create(ctx, secret),
		w.client.Create(ctx, readyMachine("demo-a", clusterv1.MachineControlPlaneLabel, "")))
	for i := range ptr.Deref(workers.Spec.Replicas, 0) {
		name := fmt.Sprintf("demo-worker-%d", i)
		err = errors.Join(err, w.client.Create(ctx, readyMachine(name, clusterv1.MachineDeploymentNameLabel, workers.Name)))
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

func readyMachine(name, label, value string) *clusterv1.Machine {
	return &clusterv1.Machine{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name), Labels: map[string]string{
			clusterv1.ClusterNameLabel: "demo", label: value,
		}},
		Spec: clusterv1.MachineSpec{ClusterName: "demo"},
		Status: clusterv1.MachineStatus{
			NodeRef: clusterv1.MachineNodeReference{Name: name},
			Conditions: []metav1.Condition{
				{Type: "InfrastructureReady", Status: metav1.ConditionTrue}, {Type: "NodeReady", Status: metav1.ConditionTrue},
			},
		},
	}
}

// vanish is the deletion as controllers and the garbage collector do it.
func (w *world) vanish() {
	ctx := w.t.Context()
	cluster := &clusterv1.Cluster{}
	if err := w.client.Get(ctx, client.ObjectKey{Namespace: "default", Name: "demo"}, cluster); err != nil || cluster.DeletionTimestamp.IsZero() {
		return // not requested, or already deleted
	}
	if err := w.engine.RemoveContainer(ctx, "demo-a-1234"); err != nil {
		w.t.Fatal(err)
	}
	w.vanishObjects()
}

// vanishObjects of a Cluster that is being deleted, as where it has no containers.
func (w *world) vanishObjects() {
	ctx := w.t.Context()
	cluster := &clusterv1.Cluster{}
	if err := w.client.Get(ctx, client.ObjectKey{Namespace: "default", Name: "demo"}, cluster); err != nil || cluster.DeletionTimestamp.IsZero() {
		return
	}
	for _, kind := range goneWithTheCluster() {
		if err := w.client.DeleteAllOf(ctx, kind, client.InNamespace("default")); err != nil {
			w.t.Fatal(err)
		}
	}
	cluster.Finalizers = nil
	if err := w.client.Update(ctx, cluster); err != nil {
		w.t.Fatal(err)
	}
}

func mustContain(t *testing.T, text string, words ...string) {
	t.Helper()
	for _, word := range words {
		if !strings.Contains(text, word) {
			t.Errorf("Want %q in:\n%s", word, text)
		}
	}
}

func goneWithTheCluster() []client.Object {
	return []client.Object{
		&infrav1.ContainerCluster{}, &infrav1.ContainerMachineTemplate{}, &controlplanev1.KubeadmControlPlane{},
		&clusterv1.MachineDeployment{}, &clusterv1.Machine{}, &corev1.Secret{}, &corev1.ConfigMap{},
		&bootstrapv1.KubeadmConfigTemplate{}, &addonsv1.ClusterResourceSet{},
	}
}
