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
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

func TestEnsureIsIdempotent(t *testing.T) {
	t.Parallel()
	eng := newEngine(t)
	mustEnsure(t, newPlane(eng))
	want := []string{"CreateVolume", "CreateNetwork", "CreateContainer", "StartContainer"}
	if diff := cmp.Diff(want, mutations(eng)); diff != "" {
		t.Errorf("first Ensure: -want, +got:\n%s", diff)
	}
	eng.ResetJournal()
	p := newPlane(eng)
	p.choosePort = func(context.Context) (uint16, error) { return 0, errors.New("the port is chosen once") }
	mustEnsure(t, p)
	if diff := cmp.Diff([]string(nil), mutations(eng)); diff != "" {
		t.Errorf("second Ensure: -want, +got:\n%s", diff)
	}
}

// The port is chosen on this host, and the engine may be on another one.
func TestEnsureChoosesAnotherPortForFirstStart(t *testing.T) {
	t.Parallel()
	eng := newEngine(t)
	eng.OccupyHostPort(testPort)
	p, next := newPlane(eng), uint16(testPort)
	p.choosePort = func(context.Context) (uint16, error) { next++; return next - 1, nil }
	mustEnsure(t, p)
	spec, _ := eng.Spec(DefaultName)
	if got := spec.Ports[0].HostPort; got != testPort+1 {
		t.Errorf("port of the plane: %d, want the second one, %d", got, testPort+1)
	}
	volumes := must.Get(eng.ListVolumes(t.Context(), map[string]string{identity.LabelRole: string(identity.RolePlane)}))(t)
	if len(volumes) != 1 {
		t.Errorf("volumes: %v, want that of the plane alone", volumes)
	}
}

// A plane that has run keeps its port: kubeconfigs of users have it.
func TestEnsureKeepsThePortOfAPlane(t *testing.T) {
	t.Parallel()
	eng := newEngine(t)
	mustEnsure(t, newPlane(eng))
	must.Succeed(t, eng.RemoveContainer(t.Context(), DefaultName))
	eng.OccupyHostPort(testPort)
	eng.ResetJournal()
	_, err := newPlane(eng).Ensure(t.Context(), testImage, nil)
	if taken := (*PortTakenError)(nil); !errors.As(err, &taken) {
		t.Errorf("Ensure: %v, want a PortTakenError", err)
	}
	if diff := cmp.Diff([]string{"CreateContainer", "StartContainer"}, mutations(eng)); diff != "" {
		t.Errorf("Ensure removes nothing: -want, +got:\n%s", diff)
	}
}

// One socket has several paths, and two terminals may spell the endpoint differently.
func TestEnsureKeepsTheSocketOfAPlaneThatRuns(t *testing.T) {
	t.Parallel()
	eng := newEngine(t)
	at := func(endpoint string) *Plane {
		p := newPlane(eng)
		p.opts.Info = must.Get(eng.Info(t.Context()))(t)
		p.opts.Info.Endpoint, p.opts.Info.Kernel = endpoint, ownKernel()
		return p
	}
	mustEnsure(t, at("unix:///run/docker.sock"))
	for name, tc := range map[string]struct {
		endpoint, option string
		stop             bool
		want             []string
	}{
		"other path":            {endpoint: "unix:///var/run/docker.sock"},
		"user's path":           {endpoint: "unix:///run/docker.sock", option: "/run/docker.sock"},
		"of one that has ended": {endpoint: "unix:///run/docker.sock", stop: true, want: []string{"StartContainer"}},
	} {
		if tc.stop {
			must.Succeed(t, eng.StopContainer(t.Context(), DefaultName, 0))
		}
		eng.ResetJournal()
		p := at(tc.endpoint)
		p.opts.EngineSocket = tc.option
		mustEnsure(t, p)
		if diff := cmp.Diff(tc.want, mutations(eng)); diff != "" {
			t.Errorf("Ensure with %s: -want, +got:\n%s", name, diff)
		}
	}
	eng.ResetJournal()
	moved := at("unix:///run/docker.sock")
	moved.opts.EngineSocket = "/moved/docker.sock"
	mustEnsure(t, moved)
	if spec, _ := eng.Spec(DefaultName); spec.Labels[labelSocket] != "/moved/docker.sock" {
		t.Errorf("socket: %q, want the one that the user named", spec.Labels[labelSocket])
	}
}

// neverReady within its timeout.
func neverReady(p *Plane) {
	p.opts.ReadyTimeout = 10 * time.Millisecond
	p.ready = func(ctx context.Context, _ []byte, _ func(error)) error {
		<-ctx.Done()
		return ctx.Err()
	}
}

// What engines are allowed replaces the container once, and stays when it is not requested again.
func TestEnsureKeepsAllowedEngines(t *testing.T) {
	t.Parallel()
	eng := newEngine(t)
	p := newPlane(eng)
	ensure := func(allowed string) engine.Container {
		p.opts.AllowedEngines = allowed
		mustEnsure(t, p)
		return must.Get(eng.InspectContainer(t.Context(), DefaultName))(t)
	}
	without := ensure("")
	with := ensure("default=ssh://me@a:22")
	if with.ID == without.ID || with.Labels[labelAllowedEngines] != "default=ssh://me@a:22" {
		t.Errorf("with an engine, the container is %s with %v, was %s", with.ID, with.Labels, without.ID)
	}
	if kept := ensure(""); kept.ID != with.ID {
		t.Error("where none is requested, the container is replaced")
	}
	if none := ensure(NoEngines); none.ID == with.ID {
		t.Error("where none is allowed any more, the container stays")
	}
	command := description{allowedEngines: "tcp://a"}.command()
	if at := slices.Index(command, "--allowed-engine-endpoints=tcp://a"); at < 0 || at > slices.Index(command, "--") {
		t.Errorf("the command is %q, want what is allowed before the arguments of the manager", command)
	}
}

// Feature gates replace the container once, and stay when they are not requested again.
func TestEnsureKeepsFeatureGates(t *testing.T) {
	t.Parallel()
	eng := newEngine(t)
	p := newPlane(eng)
	ensure := func(gates string) engine.Container {
		p.opts.FeatureGates = gates
		mustEnsure(t, p)
		return must.Get(eng.InspectContainer(t.Context(), DefaultName))(t)
	}
	without := ensure("")
	with := ensure("RuntimeSDK=true")
	if with.ID == without.ID || with.Labels[labelFeatureGates] != "RuntimeSDK=true" {
		t.Errorf("with feature gates, the container is %s with %v, was %s", with.ID, with.Labels, without.ID)
	}
	if kept := ensure(""); kept.ID != with.ID {
		t.Error("without feature gates, the container is replaced")
	}
	if other := ensure("RuntimeSDK=false"); other.ID == with.ID {
		t.Error("with other feature gates, the container stays")
	}
	command := description{featureGates: "A=true"}.command()
	if at := slices.Index(command, "--feature-gates=A=true"); at < 0 || at > slices.Index(command, "--") {
		t.Errorf("the command is %q, want the feature gates before the arguments of the manager", command)
	}
}

// Clusters are in memory, or not, for the life of a plane: also of one that lost its container.
func TestEnsureKeepsTheMode(t *testing.T) {
	t.Parallel()
	for mode, tc := range map[string]struct {
		inMemory bool
		remedy   []string
	}{
		"in memory":  {true, []string{"are in memory, and cannot be containers", "capcon plane down"}},
		"containers": {false, []string{"are containers, and cannot be in memory", "capcon plane down"}},
	} {
		eng := newEngine(t)
		p := newPlane(eng)
		p.opts.InMemory = &tc.inMemory
		mustEnsure(t, p)
		first := must.Get(eng.InspectContainer(t.Context(), DefaultName))(t)
		refuses := func() {
			other := newPlane(eng)
			other.opts.InMemory = ptr.To(!tc.inMemory)
			eng.ResetJournal()
			_, err := other.Ensure(t.Context(), testImage, nil)
			if refused := (*ModeError)(nil); !errors.As(err, &refused) || refused.InMemory != tc.inMemory {
				t.Errorf("%s, and the other mode is requested: %v, want a ModeError", mode, err)
			} else if text := err.Error(); !strings.Contains(text, tc.remedy[0]) || !strings.Contains(text, tc.remedy[1]) {
				t.Errorf("%s: the error is %q, want %q", mode, text, tc.remedy)
			}
			if changed := mutations(eng); len(changed) > 0 {
				t.Errorf("%s, and the other mode is requested: %v, want no change", mode, changed)
			}
		}
		refuses()
		keeps := func() engine.Container {
			p := newPlane(eng)
			if state := must.Get(p.State(t.Context()))(t); state.InMemory != tc.inMemory {
				t.Errorf("%s: the state is %+v", mode, state)
			}
			if ready := must.Get(p.Ensure(t.Context(), testImage, nil))(t); ready.InMemory != tc.inMemory {
				t.Errorf("%s: Ensure returns %+v", mode, ready)
			}
			return must.Get(eng.InspectContainer(t.Context(), DefaultName))(t)
		}
		if again := keeps(); again.ID != first.ID {
			t.Errorf("%s, and no mode is requested: the container is replaced", mode)
		}
		must.Succeed(t, eng.RemoveContainer(t.Context(), DefaultName))
		refuses()
		keeps()
	}
}

// In memory, the engine is not used, and another program has the controllers.
func TestSpecInMemory(t *testing.T) {
	t.Parallel()
	d := description{
		name: "capcon-plane", volume: "capcon-plane-1", image: testImage, port: testPort, engineName: "docker",
		engineSocket: "/var/run/docker.sock", inMemory: true, featureGates: "A=true",
	}
	spec := must.Get(d.spec())(t)
	if spec.Security.EngineSocket || len(spec.Mounts) != 1 || len(spec.Environment) > 0 {
		t.Errorf("the container has mounts %v, environment %v and security %+v, want no engine", spec.Mounts, spec.Environment, spec.Security)
	}
	want := []string{
		"run", "--state-dir=/var/lib/capcon-plane", "--public-url=https://127.0.0.1:20123", "--feature-gates=A=true",
		"--manager=/usr/local/bin/capcon-memory", "--", "--faults=capcon-faults",
	}
	if diff := cmp.Diff(want, spec.Command); diff != "" {
		t.Errorf("command: -want, +got:\n%s", diff)
	}
}

func TestEnsureRefuses(t *testing.T) {
	t.Parallel()
	foreign := engine.Spec{Name: DefaultName, Image: testImage}
	cases := map[string]struct {
		reason string
		given  func(ctx context.Context, eng *simulated.Engine) error
		change func(*Plane)
		want   func(error) bool
	}{
		"NoImage": {
			reason: "A missing image is the caller's to get.",
			given: func(_ context.Context, eng *simulated.Engine) error {
				eng.RemoveImage(testImage)
				return nil
			},
			want: func(err error) bool { return errors.Is(err, engine.ErrNotFound) },
		},
		"ForeignContainer": {
			reason: "A container of the plane's name that is not ours is not touched.",
			given: func(ctx context.Context, eng *simulated.Engine) error {
				_, err := eng.CreateContainer(ctx, foreign)
				return err
			},
			want: func(err error) bool { return errors.As(err, new(*ForeignError)) },
		},
		"ForeignVolume": {
			reason: "A container that ran with a volume of another origin is not replaced.",
			given: func(ctx context.Context, eng *simulated.Engine) error {
				_, err := newPlane(eng).Ensure(ctx, testImage, nil)
				spec, _ := eng.Spec(DefaultName)
				err = errors.Join(err, eng.RemoveContainer(ctx, DefaultName))
				err = errors.Join(err, eng.RemoveVolume(ctx, spec.Labels[labelVolume]))
				_, createErr := eng.CreateContainer(ctx, spec)
				return errors.Join(err, createErr, eng.StartContainer(ctx, DefaultName))
			},
			want: func(err error) bool { return errors.As(err, new(*ForeignError)) },
		},
		"PortTaken": {
			reason: "The port is fixed, so the error names it.",
			given: func(_ context.Context, eng *simulated.Engine) error {
				eng.OccupyHostPort(testPort)
				return nil
			},
			want: func(err error) bool {
				var taken *PortTakenError
				return errors.As(err, &taken) && taken.Port == testPort
			},
		},
		"Paused": {
			reason: "A container that a user paused is neither stopped nor started.",
			given: func(ctx context.Context, eng *simulated.Engine) error {
				if _, err := newPlane(eng).Ensure(ctx, testImage, nil); err != nil {
					return err
				}
				return eng.Pause(DefaultName)
			},
			want: func(err error) bool { return errors.Is(err, ErrPaused) },
		},
		"Exits": {
			reason: "A plane that exits is reported with its exit code.",
			given: func(_ context.Context, eng *simulated.Engine) error {
				eng.OnStart(func(name string) {
					if err := eng.KillContainer(name, 3, false); err != nil {
						t.Error(err)
					}
				})
				return nil
			},
			change: neverReady,
			want: func(err error) bool {
				return errors.Is(err, ErrNotReady) && strings.Contains(err.Error(), "last exit code 3")
			},
		},
		"NotReady": {
			reason: "A plane that does not become ready is reported with its container's state.",
			given:  func(context.Context, *simulated.Engine) error { return nil },
			change: neverReady,
			want:   func(err error) bool { return errors.Is(err, ErrNotReady) },
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eng := newEngine(t)
			must.Succeed(t, tc.given(t.Context(), eng))
			p := newPlane(eng)
			if tc.change != nil {
				tc.change(p)
			}
			if _, err := p.Ensure(t.Context(), testImage, nil); err == nil || !tc.want(err) {
				t.Errorf("\n%s\nEnsure(...): got error %v", tc.reason, err)
			}
		})
	}
}
