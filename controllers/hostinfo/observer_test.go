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

package hostinfo_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/capi-samples/cluster-api-provider-container/controllers/hostinfo"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/node"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

const (
	image   = "example.test/node:1"
	network = "n1"
)

func newEngine(t *testing.T, options ...simulated.Option) *simulated.Engine {
	t.Helper()
	eng := simulated.New(options...)
	eng.AddImage(engine.Image{Tags: []string{image}}, nil)
	must.Get(eng.CreateNetwork(t.Context(), engine.NetworkSpec{Name: network}))(t)
	return eng
}

func left(t *testing.T, eng *simulated.Engine) []string {
	t.Helper()
	containers := must.Get(eng.ListContainers(t.Context(), nil))(t)
	var names []string
	for _, container := range containers {
		names = append(names, container.Name)
	}
	return names
}

// A host is inspected once, and nothing remains of that.
func TestObserve(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		info   engine.Info
		change func(eng *simulated.Engine)
		want   node.Host
	}{
		"Modern": {
			reason: "What the engine and the host have is passed on.", info: engine.Info{CgroupVersion: "2", StorageDriver: "overlay2"},
			want: node.Host{CgroupVersion: "2", StorageDriver: "overlay2", KernelModules: true},
		},
		"Rootless": {
			reason: "Root of a rootless engine is not root.", info: engine.Info{CgroupVersion: "2", Rootless: true},
			want: node.Host{CgroupVersion: "2", UserNamespace: true, KernelModules: true},
		},
		"Remapped": {
			reason: "Privileged containers are not remapped.", info: engine.Info{CgroupVersion: "1", UserNamespaceRemap: true},
			want: node.Host{CgroupVersion: "1", KernelModules: true},
		},
		"WithoutModules": {
			reason: "Some hosts have no directory of kernel modules.", info: engine.Info{CgroupVersion: "2"},
			change: func(eng *simulated.Engine) { eng.RemoveHostPath("/lib/modules") },
			want:   node.Host{CgroupVersion: "2"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eng := newEngine(t, simulated.WithInfo(tc.info))
			if tc.change != nil {
				tc.change(eng)
			}
			observer := hostinfo.NewObserver(eng)
			if _, known := observer.Known(); known {
				t.Error("before it looked it knows something")
			}
			facts, err := observer.Observe(t.Context(), image, network)
			if diff := cmp.Diff(tc.want, facts.Node); diff != "" || err != nil {
				t.Errorf("%s\nerror %v, facts (-want +got):\n%s", tc.reason, err, diff)
			}
			calls := len(eng.Journal())
			if _, err := observer.Observe(t.Context(), image, network); err != nil || len(eng.Journal()) != calls {
				t.Errorf("a second look takes %d calls, error %v", len(eng.Journal())-calls, err)
			}
			if known, ok := observer.Known(); !ok || !cmp.Equal(known.Node, facts.Node) {
				t.Errorf("it knows %t, %+v", ok, known)
			}
			if names := left(t, eng); len(names) > 0 {
				t.Errorf("left are %v", names)
			}
		})
	}
}

// An engine that refuses a privileged container is reported, and probed again:
// the user may have changed its configuration.
func TestObserveRefused(t *testing.T) {
	t.Parallel()
	eng := newEngine(t)
	eng.FailNext("StartContainer", errors.New("operation not permitted"))
	observer := hostinfo.NewObserver(eng)
	facts, err := observer.Observe(t.Context(), image, network)
	if err != nil || facts.Probed.PrivilegedError == nil {
		t.Errorf("facts are %+v, %v", facts, err)
	}
	if facts, err = observer.Observe(t.Context(), image, network); err != nil || facts.Probed.PrivilegedError != nil {
		t.Errorf("after the engine allows it, facts are %+v, %v", facts, err)
	}
}

// What an engine says of itself is asked again after a while, and immediately where
// it said nothing.
func TestAsk(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		eng := newEngine(t)
		observer := hostinfo.NewObserver(eng)
		asked := func() int {
			return len(slices.DeleteFunc(eng.Journal(), func(call simulated.Call) bool { return call.Method != "Info" }))
		}
		ask := func(reason string, want int) {
			t.Helper()
			before := asked()
			answer, err := observer.Ask(t.Context(), eng)
			if err != nil || answer.Info.Name == "" || time.Since(answer.Asked) >= 15*time.Second {
				t.Errorf("%s Got %+v, %v", reason, answer, err)
			}
			if got := asked() - before; got != want {
				t.Errorf("%s It was asked %d times, want %d", reason, got, want)
			}
		}
		eng.FailNext("Info", engine.ErrUnavailable)
		if _, err := observer.Ask(t.Context(), eng); !errors.Is(err, engine.ErrUnavailable) {
			t.Errorf("the error is %v", err)
		}
		ask("An error is not kept.", 1)
		ask("An answer is.", 0)
		time.Sleep(15 * time.Second)
		ask("Not for long.", 1)
	})
}

// A host that was changed is seen by a new probe, one at a time.
func TestRenew(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		eng := newEngine(t)
		instances := "128"
		eng.HandleExec(func(string, engine.Command) (engine.Output, error) {
			return engine.Output{Stdout: []byte("== /proc/sys/fs/inotify/max_user_instances\n" + instances + "\n")}, nil
		})
		observer := hostinfo.NewObserver(eng)
		if facts, err := observer.Renew(t.Context()); err != nil || len(eng.Journal()) > 1 {
			t.Errorf("before anything was observed it finds %+v, %v", facts, err)
		}
		look := func(want int64, find func() (hostinfo.Facts, error)) {
			t.Helper()
			facts, err := find()
			if err != nil || facts.Probed.InotifyInstances != want || !facts.Node.KernelModules {
				t.Errorf("facts are %+v, %v, want %d instances", facts, err, want)
			}
		}
		again := func() (hostinfo.Facts, error) { return observer.Renew(t.Context()) }
		look(128, func() (hostinfo.Facts, error) { return observer.Observe(t.Context(), image, network) })
		instances = "512"
		look(128, again)
		time.Sleep(time.Minute)
		look(512, again)
		if known, _ := observer.Known(); known.Probed.InotifyInstances != 512 {
			t.Errorf("it knows %+v", known)
		}
		must.Succeed(t, eng.RemoveNetwork(t.Context(), network))
		time.Sleep(time.Minute)
		look(512, again)
		if names := left(t, eng); len(names) > 0 {
			t.Errorf("left are %v", names)
		}
	})
}

// A manager that is killed anywhere on the way leaves nothing for long: the
// next one finishes, and removes what the first left.
func TestObserveKilled(t *testing.T) {
	t.Parallel()
	eng := newEngine(t)
	must.Get(hostinfo.NewObserver(eng).Observe(t.Context(), image, network))(t)
	calls := len(eng.Journal())
	for number := range calls {
		t.Run(fmt.Sprintf("call-%d", number+1), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				eng := newEngine(t)
				kill(eng, number+1, func() { _, _ = hostinfo.NewObserver(eng).Observe(t.Context(), image, network) })
				observer := hostinfo.NewObserver(eng)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				go func() { _ = observer.Start(ctx) }()
				if _, err := observer.Observe(t.Context(), image, network); err != nil {
					t.Errorf("the next manager: %v", err)
				}
				time.Sleep(2 * time.Minute)
				if names := left(t, eng); len(names) > 0 {
					t.Errorf("left are %v", names)
				}
			})
		})
	}
}

// kill ends what f does after a call, and all it would do then.
func kill(eng *simulated.Engine, number int, f func()) {
	dead := false
	eng.ResetJournal()
	eng.OnCall(func(simulated.Call) error {
		if dead {
			panic("killed")
		}
		return nil
	})
	eng.AfterCall(func(call simulated.Call) error {
		if call.Number == number {
			dead = true
			panic("killed")
		}
		return nil
	})
	defer func() {
		_ = recover()
		eng.ResetHooks()
	}()
	f()
}

// A call that the engine does not answer blocks only the callers that need its
// result, and each no longer than its own context.
func TestHungEngine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		eng := newEngine(t)
		observer := hostinfo.NewObserver(eng)
		must.Get(observer.Observe(t.Context(), image, network))(t)
		release := make(chan struct{})
		eng.OnCall(func(simulated.Call) error {
			<-release
			return nil
		})
		asked := make(chan error, 1)
		go func() {
			_, err := observer.Ask(t.Context(), eng)
			asked <- err
		}()
		synctest.Wait()
		// What waits for the engine here would end the test.
		must.Get(observer.Observe(t.Context(), image, network))(t)
		if _, known := observer.Known(); !known {
			t.Error("nothing is known any more")
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := observer.Ask(ctx, eng); !errors.Is(err, context.Canceled) {
			t.Errorf("a caller who gave up: %v", err)
		}
		close(release)
		must.Succeed(t, <-asked)
	})
}

// A host may be upgraded, and another engine may answer after one that was
// unavailable.
func TestFactsAreRenewed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		eng := newEngine(t)
		observer := hostinfo.NewObserver(eng)
		observe := func(reason string, want bool) {
			t.Helper()
			facts, err := observer.Observe(t.Context(), image, network)
			if err != nil || facts.Node.KernelModules != want {
				t.Errorf("%s Got %+v, %v", reason, facts.Node, err)
			}
		}
		observe("The host has kernel modules.", true)
		eng.RemoveHostPath("/lib/modules")
		observe("The machines of one cluster share a probe.", true)
		time.Sleep(5 * time.Minute)
		observe("A later one sees that they are gone.", false)

		calls := len(eng.Journal())
		observe("Again a probe is shared.", false)
		if more := len(eng.Journal()) - calls; more > 0 {
			t.Errorf("a shared probe takes %d calls", more)
		}
		eng.FailNext("Info", engine.ErrUnavailable)
		if _, err := observer.Ask(t.Context(), eng); !errors.Is(err, engine.ErrUnavailable) {
			t.Errorf("the engine is down, and Ask says %v", err)
		}
		if _, known := observer.Known(); !known {
			t.Error("While the engine is down the last facts are kept.")
		}
		calls = len(eng.Journal())
		observe("An engine that comes back may be another.", false)
		if len(eng.Journal()) == calls {
			t.Error("An engine that comes back may be another, and was not probed.")
		}
		if names := left(t, eng); len(names) > 0 {
			t.Errorf("left are %v", names)
		}
	})
}

// Another manager may be probing right now.
func TestOthersAreLeftAlone(t *testing.T) {
	t.Parallel()
	eng := newEngine(t)
	labels := map[string]string{identity.LabelRole: string(identity.RoleProbe)}
	must.Get(eng.CreateContainer(t.Context(), engine.Spec{Name: "another", Image: image, Labels: labels}))(t)
	must.Get(hostinfo.NewObserver(eng).Observe(t.Context(), image, network))(t)
	if diff := cmp.Diff([]string{"another"}, left(t, eng)); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
}
