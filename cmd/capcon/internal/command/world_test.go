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

package command

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

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/input"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/management"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/session"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
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
	// environment of the command, other than the state's directory.
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
		t: t, plane: &fakePlane{}, state: t.TempDir(), now: time.Unix(0, 0),
		client:      fake.NewClientBuilder().WithScheme(scheme).Build(),
		controllers: func() {},
	}
	w.engine = simulated.New(simulated.WithClock(w.time))
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

func (w *world) deps() session.Deps {
	return session.Deps{
		Program: "capcon",
		ConnectTo: func(context.Context, string) (engine.Engine, error) {
			return unclosed{w.engine, w.passedOver}, w.connectError
		},
		NewPlane: func(_ engine.Engine, options plane.Options) session.Plane {
			w.options = options
			if other := w.others[options.Name]; other != nil {
				return other
			}
			return w.plane
		},
		NewClient: func(kubeconfig []byte) (client.WithWatch, error) {
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
		Clock:        session.Clock{Now: w.time, After: w.after},
	}
}

func (w *world) after(d time.Duration) <-chan time.Time {
	w.controllers()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
	passed := make(chan time.Time, 1)
	passed <- w.now
	return passed
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
	code = Run(ctx, args, session.Streams{In: strings.NewReader(w.answer), Out: &stdout, Err: &stderr}, w.deps())
	return code, stdout.String(), stderr.String()
}

func mustContain(t *testing.T, text string, words ...string) {
	t.Helper()
	for _, word := range words {
		if !strings.Contains(text, word) {
			t.Errorf("Want %q in:\n%s", word, text)
		}
	}
}
