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
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// shared is an engine that several processes use, and what the daemons of its
// planes do: by volume, the Clusters, and whether it has retired.
type shared struct {
	t      *testing.T
	engine *simulated.Engine

	ports    uint16
	clusters map[string][]string
	retired  map[string]bool

	// mu guards what calls change that a process makes while it waits.
	mu sync.Mutex
	// processes that run, the last of which makes the calls.
	processes []*process
}

func newShared(t *testing.T) *shared {
	t.Helper()
	s := &shared{t: t, engine: simulated.New(), ports: testPort, clusters: map[string][]string{}, retired: map[string]bool{}}
	s.engine.AddImage(engine.Image{ID: "sha256:1", Tags: []string{testImage}}, nil)
	s.engine.OnStart(func(name string) {
		volume := s.engine.VolumesOf(name)[0]
		if err := s.engine.WriteFile(name, StateDir+"/"+AdminKubeconfig, []byte(volume)); err != nil {
			t.Errorf("write kubeconfig: %v", err)
		}
	})
	s.engine.HandleExec(s.exec)
	return s
}

// exec is "capcon-plane retire".
func (s *shared) exec(container string, _ engine.Command) (engine.Output, error) {
	volume := s.engine.VolumesOf(container)[0]
	answer := RetireAnswer{Clusters: s.clusters[volume]}
	if len(answer.Clusters) == 0 {
		s.retired[volume] = true
		if err := s.engine.WriteFile(container, StateDir+"/"+RetiredFile, nil); err != nil {
			s.t.Errorf("write mark: %v", err)
		}
	}
	encoded, err := json.Marshal(answer)
	return engine.Output{Stdout: encoded}, err
}

// process is one of several that use the engine.
type process struct {
	// calls it has made so far.
	calls int
	// at that call, before its effect, other happens.
	at    int
	other func()
	// kill it then: no call of it has an effect any more.
	kill, killed bool
}

var errKilled = errors.New("killed")

// run a process. What it does at a call, on its own goroutine, are other
// processes, which run to their end meanwhile.
func (s *shared) run(p *process, do func() error) error {
	s.mu.Lock()
	s.processes = append(s.processes, p)
	s.mu.Unlock()
	err := do()
	s.mu.Lock()
	s.processes = s.processes[:len(s.processes)-1]
	s.mu.Unlock()
	return err
}

func (s *shared) onCall(simulated.Call) error {
	s.mu.Lock()
	if len(s.processes) == 0 {
		s.mu.Unlock()
		return nil
	}
	p := s.processes[len(s.processes)-1]
	p.calls++
	now := p.calls == p.at
	p.killed = p.killed || now && p.kill
	killed := p.killed
	s.mu.Unlock()
	if now {
		p.other()
	}
	if killed {
		return errKilled
	}
	return nil
}

func (s *shared) plane() *Plane {
	p := New(s.engine, Options{})
	p.choosePort = func(context.Context) (uint16, error) {
		s.ports++
		return s.ports, nil
	}
	p.ready = func(ctx context.Context, kubeconfig []byte, _ func(error)) error {
		if s.serves(string(kubeconfig)) {
			return nil
		}
		<-ctx.Done()
		return ctx.Err()
	}
	p.answers = func(_ context.Context, kubeconfig []byte) error {
		if s.serves(string(kubeconfig)) {
			return nil
		}
		return errNoAnswer
	}
	return p
}

// serves reports whether the API server of a plane answers.
func (s *shared) serves(volume string) bool {
	container, err := s.engine.InspectContainer(context.Background(), DefaultName)
	return err == nil && container.Status == engine.StatusRunning && container.Labels[labelVolume] == volume && !s.retired[volume]
}

var errNoAnswer = errors.New("the API server does not answer")

// up creates a Cluster as "capcon up" does.
func (s *shared) up(cluster string) error {
	ctx, p := s.t.Context(), s.plane()
	for {
		ready, err := p.Ensure(ctx, testImage, nil)
		if err != nil {
			return err
		}
		if s.serves(ready.ID) {
			s.clusters[ready.ID] = append(s.clusters[ready.ID], cluster)
			return nil
		}
		if state, err := p.State(ctx); err != nil || state.ID == ready.ID {
			return errors.Join(errNoAnswer, err)
		}
	}
}

// upFails is an up that finds out late that its Cluster cannot be.
func (s *shared) upFails() error {
	p := s.plane()
	ready, err := p.Ensure(s.t.Context(), testImage, nil)
	if err != nil || !ready.Created {
		return err
	}
	_, err = p.Remove(s.t.Context())
	return err
}

// down removes the plane as "capcon down" does behind the last Cluster.
func (s *shared) down() error {
	ctx, p := s.t.Context(), s.plane()
	state, err := p.State(ctx)
	if err != nil {
		return err
	}
	if state.ID != "" && !state.Answers {
		if _, err := p.Ensure(ctx, testImage, nil); err != nil {
			return err
		}
	}
	_, err = p.Remove(ctx)
	return err
}

// check that no Cluster is lost, and that nothing is left once the last is gone.
func (s *shared) check(want ...string) {
	s.t.Helper()
	var got []string
	for volume, clusters := range s.clusters {
		if len(clusters) > 0 && !s.serves(volume) {
			s.t.Errorf("Clusters %v: their plane %s is gone", clusters, volume)
		}
		got = append(got, clusters...)
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		s.t.Errorf("Clusters: -want, +got:\n%s", diff)
	}
	clear(s.clusters)
	for state := (State{Exists: true}); state.Exists; {
		var err error
		if state, err = s.plane().State(s.t.Context()); err == nil {
			err = s.down()
		}
		if err != nil {
			s.t.Fatalf("down at the end: %v", err)
		}
	}
	containers, err := s.engine.ListContainers(s.t.Context(), nil)
	if err != nil || len(containers) > 0 {
		s.t.Errorf("containers at the end: want none, got %+v, %v", containers, err)
	}
	if diff := cmp.Diff([]string(nil), s.engine.VolumeNames()); diff != "" {
		s.t.Errorf("volumes at the end: -want, +got:\n%s", diff)
	}
	if _, err := s.engine.InspectNetwork(s.t.Context(), network.DefaultName); !errors.Is(err, engine.ErrNotFound) {
		s.t.Errorf("network at the end: want ErrNotFound, got %v", err)
	}
}

// actors are what processes do to a plane. Those of created create that Cluster.
func (s *shared) actor(name, cluster string) func() error {
	return map[string]func() error{
		"up":       func() error { return s.up(cluster) },
		"up fails": s.upFails,
		"down":     s.down,
	}[name]
}

// beginnings are what the processes find.
var beginnings = map[string]func(*shared) error{
	"nothing": func(*shared) error { return nil },
	"a plane": func(s *shared) error {
		_, err := s.plane().Ensure(s.t.Context(), testImage, nil)
		return err
	},
	"a retired plane": func(s *shared) error {
		_, err := s.plane().Ensure(s.t.Context(), testImage, nil)
		_, execErr := s.exec(DefaultName, engine.Command{})
		return errors.Join(err, execErr)
	},
	"a plane of another image": func(s *shared) error {
		_, err := s.plane().Ensure(s.t.Context(), testImage, nil)
		replaceImage(s.engine)
		return err
	},
	"a volume alone": func(s *shared) error {
		_, err := s.plane().Ensure(s.t.Context(), testImage, nil)
		return errors.Join(err, s.engine.RemoveContainer(s.t.Context(), DefaultName))
	},
}

// lastCall is more than any actor makes.
const lastCall = 60

// TestConcurrentProcesses stops one process before each of its calls while
// another runs to its end: what that one then finds is as far from what it saw as
// it can be. Or it kills that process there, and lets the other come across what it left.
func TestConcurrentProcesses(t *testing.T) {
	t.Parallel()
	actors := []string{"up", "up fails", "down"}
	for beginning, begin := range beginnings {
		for _, one := range actors {
			for _, other := range actors {
				for when, kill := range map[string]bool{"during": false, "after killed": true} {
					t.Run(fmt.Sprintf("%s: %s %s %s", beginning, other, when, one), func(t *testing.T) {
						t.Parallel()
						for at := 1; at <= lastCall; at++ {
							if calls := (scenario{begin, one, other, kill}).run(t, at); calls < at {
								return
							}
						}
						t.Errorf("it made more than %d calls", lastCall)
					})
				}
			}
		}
	}
}

// scenario is what one process does, and another before one of its calls.
type scenario struct {
	begin      func(*shared) error
	one, other string
	// kill one then; otherwise it continues.
	kill bool
}

// run it with the other before that call, and return how many calls one made.
func (c scenario) run(t *testing.T, at int) (calls int) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := newShared(t)
		must.Succeed(t, c.begin(s))
		s.engine.OnCall(s.onCall)
		var want []string
		first := &process{at: at, kill: c.kill}
		first.other = func() {
			if err := s.run(&process{}, s.actor(c.other, "other")); err != nil {
				t.Errorf("%s, at call %d of %s: %v", c.other, at, c.one, err)
			}
		}
		err := s.run(first, s.actor(c.one, "one"))
		if err != nil && !errors.Is(err, errKilled) {
			t.Errorf("%s, interrupted at call %d by %s: %v", c.one, at, c.other, err)
		}
		if c.one == "up" && err == nil {
			want = append(want, "one")
		}
		if c.other == "up" && first.calls >= at {
			want = append(want, "other")
		}
		s.check(want...)
		calls = first.calls
	})
	return calls
}
