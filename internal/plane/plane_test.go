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

package plane

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/docker"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/podman"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane/readiness"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

const (
	testImage = "localhost/capcon/plane:dev"
	testPort  = 20123
)

// newEngine has the plane's image, and a daemon that writes its kubeconfig
// into the volume when the container starts, as the real one keeps it, and
// retires when it is asked to.
func newEngine(t *testing.T) *simulated.Engine {
	t.Helper()
	eng := simulated.New()
	eng.AddImage(engine.Image{ID: "sha256:1", Tags: []string{testImage}}, nil)
	eng.OnStart(func(name string) {
		path := StateDir + "/" + AdminKubeconfig
		if _, err := eng.ReadFile(name, path); errors.Is(err, engine.ErrNotFound) {
			if err := eng.WriteFile(name, path, []byte("kubeconfig")); err != nil {
				t.Errorf("write kubeconfig: %v", err)
			}
		}
	})
	eng.HandleExec(func(name string, _ engine.Command) (engine.Output, error) {
		return engine.Output{Stdout: []byte(`{"clusters":null}`)}, eng.WriteFile(name, StateDir+"/"+RetiredFile, nil)
	})
	return eng
}

// newPlane is ready as soon as its kubeconfig is there.
func newPlane(eng Engine) *Plane {
	p := New(eng, Options{ReadyTimeout: 5 * time.Second})
	p.choosePort = func(context.Context) (uint16, error) { return testPort, nil }
	p.ready = func(context.Context, []byte, func(error)) error { return nil }
	p.answers = func(context.Context, []byte) error { return nil }
	return p
}

func mustEnsure(t *testing.T, p *Plane) {
	t.Helper()
	ready, err := p.Ensure(t.Context(), testImage, nil)
	if err != nil {
		t.Fatalf("Ensure(...): %v", err)
	}
	if diff := cmp.Diff("kubeconfig", string(ready.Kubeconfig)); diff != "" {
		t.Fatalf("Ensure(...): -want, +got:\n%s", diff)
	}
}

// mutations are the names of the calls that changed the engine.
func mutations(eng *simulated.Engine) []string {
	var names []string
	for _, call := range eng.MutatingCalls() {
		names = append(names, call.Method)
	}
	return names
}

func TestSpec(t *testing.T) {
	t.Parallel()
	d := description{name: "capcon-plane", volume: "capcon-plane-1", image: testImage, network: "capcon", port: testPort, engineName: "docker", traits: docker.Traits(), engineSocket: "/var/run/docker.sock"}
	spec, err := d.spec()
	if err != nil {
		t.Fatalf("spec(): %v", err)
	}
	for _, port := range spec.Ports {
		if !port.HostAddress.IsLoopback() {
			t.Errorf("port %d is published on %s: only this host may reach the plane", port.HostPort, port.HostAddress)
		}
	}
	want := engine.Security{DropAllCapabilities: true, NoNewPrivileges: true, EngineSocket: true}
	if diff := cmp.Diff(want, spec.Security); diff != "" {
		t.Errorf("security: -want, +got:\n%s", diff)
	}
	hash := func(change func(*description)) string {
		other := d
		change(&other)
		spec, err := other.spec()
		if err != nil {
			t.Fatalf("spec(): %v", err)
		}
		return spec.Labels[labelSpec]
	}
	same := hash(func(d *description) { d.image = "other" })
	if same != spec.Labels[labelSpec] {
		t.Error("another reference of the image changes the hash: want it compared by ID")
	}
	for name, change := range map[string]func(*description){
		"network": func(d *description) { d.network = "other" },
		"port":    func(d *description) { d.port++ },
		"engine":  func(d *description) { d.engineName = "podman" },
		"socket":  func(d *description) { d.engineSocket = "/other" },
		"users":   func(d *description) { d.remapped = true },
	} {
		if hash(change) == spec.Labels[labelSpec] {
			t.Errorf("another %s does not change the hash", name)
		}
	}
}

func TestEngineMount(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason      string
		description description
		mount       engine.Mount
		environment map[string]string
	}{
		"Docker": {
			reason:      "The socket alone: there is much else in its directory.",
			description: description{engineName: "docker", traits: docker.Traits(), engineSocket: "/var/run/docker.sock"},
			mount:       engine.Mount{Type: engine.MountBind, Source: "/var/run/docker.sock", Target: "/run/capcon/engine.sock"},
			environment: map[string]string{"DOCKER_HOST": "unix:///run/capcon/engine.sock"},
		},
		"Podman": {
			reason:      "A service that was restarted has a new socket in the same directory.",
			description: description{engineName: "podman", traits: podman.Traits(), engineSocket: "/run/user/1000/podman/podman.sock"},
			mount:       engine.Mount{Type: engine.MountBind, Source: "/run/user/1000/podman", Target: "/run/capcon/engine", ReadOnly: true},
			environment: map[string]string{"CONTAINER_HOST": "unix:///run/capcon/engine/podman.sock"},
		},
		"PodmanElsewhere": {
			reason:      "The rest of such a directory must not be mounted.",
			description: description{engineName: "podman", traits: podman.Traits(), engineSocket: "/srv/podman.sock"},
			mount:       engine.Mount{Type: engine.MountBind, Source: "/srv/podman.sock", Target: "/run/capcon/engine.sock"},
			environment: map[string]string{"CONTAINER_HOST": "unix:///run/capcon/engine.sock"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.mount, tc.description.engineMount()); diff != "" {
				t.Errorf("\n%s\nengineMount(): -want, +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.environment, tc.description.environment()); diff != "" {
				t.Errorf("\n%s\nenvironment(): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestRemove(t *testing.T) {
	t.Parallel()
	eng := newEngine(t)
	p := newPlane(eng)
	mustEnsure(t, p)
	for range 2 {
		if _, err := p.Remove(t.Context()); err != nil {
			t.Fatalf("Remove(...): %v", err)
		}
		state, err := p.State(t.Context())
		if err != nil {
			t.Fatalf("State(...): %v", err)
		}
		if diff := cmp.Diff(State{Detail: "not found"}, state); diff != "" {
			t.Errorf("state after Remove: -want, +got:\n%s", diff)
		}
	}
	if _, err := eng.InspectNetwork(t.Context(), network.DefaultName); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("network after Remove: want ErrNotFound, got %v", err)
	}
}

func TestRemoveKeepsWhatIsNotThePlanes(t *testing.T) {
	t.Parallel()
	eng := newEngine(t)
	p := newPlane(eng)
	mustEnsure(t, p)
	_, err := eng.CreateContainer(t.Context(), engine.Spec{Name: "node", Image: testImage, Attachment: engine.Attachment{Network: network.DefaultName}})
	must.Succeed(t, err)
	if _, err := p.Remove(t.Context()); err != nil {
		t.Fatalf("Remove(...): %v", err)
	}
	if _, err := eng.InspectNetwork(t.Context(), network.DefaultName); err != nil {
		t.Errorf("network that a node is on, after Remove: %v", err)
	}
	foreign := engine.Spec{Name: DefaultName, Image: testImage}
	must.Get(eng.CreateContainer(t.Context(), foreign))(t)
	if _, err := p.Remove(t.Context()); !errors.As(err, new(*ForeignError)) {
		t.Errorf("Remove(...) of a foreign container: want a ForeignError, got %v", err)
	}
}

func TestRemoveKeepsAPlaneInUse(t *testing.T) {
	t.Parallel()
	eng := newEngine(t)
	eng.HandleExec(func(string, engine.Command) (engine.Output, error) {
		return engine.Output{Stdout: []byte(`{"clusters":["default/demo"]}`)}, nil
	})
	p := newPlane(eng)
	mustEnsure(t, p)
	clusters, err := p.Remove(t.Context())
	if err != nil || !slices.Equal(clusters, []string{"default/demo"}) {
		t.Errorf("Remove(...): want the Cluster that keeps the plane, got %v, %v", clusters, err)
	}
	mustEnsure(t, p)
	must.Succeed(t, eng.StopContainer(t.Context(), DefaultName, 0))
	if _, err := p.Remove(t.Context()); !errors.Is(err, ErrNotReady) {
		t.Errorf("Remove(...) of a plane that cannot be asked: want ErrNotReady, got %v", err)
	}
	if state, err := p.State(t.Context()); err != nil || !state.Exists {
		t.Errorf("State(...): want the plane kept, got %+v, %v", state, err)
	}
}

func TestState(t *testing.T) {
	t.Parallel()
	ensured := func(ctx context.Context, eng *simulated.Engine) error {
		_, err := newPlane(eng).Ensure(ctx, testImage, nil)
		return err
	}
	cases := map[string]struct {
		reason  string
		given   func(ctx context.Context, eng *simulated.Engine) error
		answers error
		want    State
	}{
		"None": {
			reason: "Nothing is no error.",
			given:  func(context.Context, *simulated.Engine) error { return nil },
			want:   State{Detail: "not found"},
		},
		"Answers": {
			reason: "A plane that answers gives its kubeconfig.",
			given:  ensured,
			want:   State{Exists: true, Image: testImage, Answers: true, Detail: "ready", Kubeconfig: []byte("kubeconfig")},
		},
		"APIServerDown": {
			reason:  "What a plane lacks is its detail.",
			given:   ensured,
			answers: readiness.ErrAPIServer,
			want:    State{Exists: true, Image: testImage, Detail: "waiting for API server"},
		},
		"ControllersDown": {
			reason:  "What a plane lacks is its detail. Its API server can be asked why.",
			given:   ensured,
			answers: readiness.ErrControllers,
			want:    State{Exists: true, Image: testImage, Detail: "waiting for controllers", Kubeconfig: []byte("kubeconfig")},
		},
		"Stopped": {
			reason: "A stopped plane exists.",
			given: func(ctx context.Context, eng *simulated.Engine) error {
				return errors.Join(ensured(ctx, eng), eng.StopContainer(ctx, DefaultName, 0))
			},
			want: State{Exists: true, Image: testImage, Detail: "container is exited"},
		},
		"ContainerGone": {
			reason: "A plane whose container is gone exists: its data is there.",
			given: func(ctx context.Context, eng *simulated.Engine) error {
				return errors.Join(ensured(ctx, eng), eng.RemoveContainer(ctx, DefaultName))
			},
			want: State{Exists: true, Detail: "container not found, data volume exists"},
		},
		"Foreign": {
			reason: "A volume that is not ours is no plane.",
			given: func(ctx context.Context, eng *simulated.Engine) error {
				return eng.CreateVolume(ctx, DefaultName, nil)
			},
			want: State{Detail: "not found"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eng := newEngine(t)
			must.Succeed(t, tc.given(t.Context(), eng))
			p := newPlane(eng)
			p.answers = func(context.Context, []byte) error { return tc.answers }
			eng.ResetJournal()
			got, err := p.State(t.Context())
			if err != nil {
				t.Fatalf("State(...): %v", err)
			}
			if got.Exists != (got.ID != "") {
				t.Errorf("\n%s\nState(...): ID %q of a plane with Exists = %t", tc.reason, got.ID, got.Exists)
			}
			got.ID = "" // random
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("\n%s\nState(...): -want, +got:\n%s", tc.reason, diff)
			}
			if changed := mutations(eng); len(changed) > 0 {
				t.Errorf("State(...) changed the engine: %v", changed)
			}
		})
	}
}

func TestFreePort(t *testing.T) {
	t.Parallel()
	var ports []uint16
	for range 5 {
		port, err := freePort(t.Context())
		if err != nil {
			t.Fatalf("freePort(): %v", err)
		}
		if port < firstPort || port > lastPort {
			t.Errorf("freePort(): %d lies outside %d to %d", port, firstPort, lastPort)
		}
		ports = append(ports, port)
	}
	if len(slices.Compact(ports)) == 1 {
		t.Errorf("freePort(): always %d", ports[0])
	}
}

func TestLastKubeconfig(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		// answers are the kubeconfigs with which the plane answers.
		answers string
		last    string
		want    string
		// downloads: the mark of a retired plane, and a kubeconfig. checks of whether it answers.
		downloads, checks int
	}{
		"Answers":    {"It is the plane's.", "last", "last", "last", 1, 1},
		"OfAnother":  {"The plane that it was for was replaced.", "kubeconfig", "last", "kubeconfig", 2, 2},
		"Unanswered": {"With the plane's own kubeconfig it does not answer either.", "", "last", "", 2, 2},
		"Frozen":     {"The same kubeconfig is not tried twice.", "", "kubeconfig", "", 2, 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eng := newEngine(t)
			mustEnsure(t, newPlane(eng))
			p := newPlane(eng)
			p.opts.LastKubeconfig = []byte(tc.last)
			checks := 0
			p.answers = func(_ context.Context, kubeconfig []byte) error {
				checks++
				if string(kubeconfig) != tc.answers {
					return readiness.ErrAPIServer
				}
				return nil
			}
			eng.ResetJournal()
			state := must.Get(p.State(t.Context()))(t)
			if string(state.Kubeconfig) != tc.want || state.Answers != (tc.want != "") {
				t.Errorf("%s State: %+v, with kubeconfig %q", tc.reason, state, state.Kubeconfig)
			}
			calls := slices.DeleteFunc(eng.Journal(), func(call simulated.Call) bool { return call.Method != "Download" })
			if len(calls) != tc.downloads || checks != tc.checks {
				t.Errorf("%s %d downloads and %d checks, want %d and %d", tc.reason, len(calls), checks, tc.downloads, tc.checks)
			}
		})
	}
}
