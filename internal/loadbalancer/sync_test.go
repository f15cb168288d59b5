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

package loadbalancer_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/internal/haproxy"
	"github.com/capi-samples/cluster-api-provider-container/internal/loadbalancer"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

func TestSync(t *testing.T) {
	t.Parallel()
	eng, p, state := ensured(t)
	after := must.Get(synchronize(t.Context(), eng, state.Name, config("ab")))(t)
	if after.Generation == state.Generation || len(after.Backends) != 2 || after.Backends[0].Status != haproxy.StatusUp {
		t.Errorf("state %+v, want two backends that are up", after)
	}
	if server, found := after.Backend("b"); !found || server.Address != "10.7.0.98:6443" {
		t.Errorf("backend b = %+v, %t", server, found)
	}
	eng.ResetJournal()
	must.Get(synchronize(t.Context(), eng, state.Name, config("ba")))(t)
	for _, call := range eng.MutatingCalls() {
		if call.Method != "Exec" || !strings.Contains(strings.Join(call.Command, " "), "/dev/tcp") {
			t.Errorf("equal configuration, and it called %+v", call)
		}
	}
	if p.Reloads() != 1 {
		t.Errorf("%d reloads, want one", p.Reloads())
	}
}

func TestSyncRepairs(t *testing.T) {
	t.Parallel()
	want := must.Get(haproxy.Render(config("ab")))(t)
	behind := must.Get(haproxy.Render(config("a")))(t)
	cases := map[string]struct {
		reason string
		change func(write, load func(string))
		// reloads that it takes.
		reloads int
	}{
		"FileChanged": {"A file changed by hand is written back, before someone loads it.", func(write, _ func(string)) { write("broken") }, 0},
		"ProcessBehind": {
			"A crash between writing and loading left the process behind.", func(_, load func(string)) { load(behind) }, 1,
		},
		"ProcessOther": {
			"The process loaded a configuration that is not ours.",
			func(_, load func(string)) { load("global\n") }, 1,
		},
		"ProcessEdited": {
			"The process loaded ours after an edit by hand, which left the line of the generation.",
			func(write, load func(string)) {
				edited := strings.ReplaceAll(want, ":6443 ", ":6444 ")
				load(edited)
				write(edited)
			}, 1,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eng, p, state := ensured(t)
			must.Get(synchronize(t.Context(), eng, state.Name, config("ab")))(t)
			before := p.Reloads()
			tc.change(func(text string) {
				must.Succeed(t, eng.WriteFile(state.Name, haproxy.ConfigPath, []byte(text)))
			}, func(text string) { p.Load(state.Name, text) })
			after, err := synchronize(t.Context(), eng, state.Name, config("ab"))
			if err != nil {
				t.Fatalf("%s\nSync: %v", tc.reason, err)
			}
			content, err := eng.ReadFile(state.Name, haproxy.ConfigPath)
			if err != nil || string(content) != want {
				t.Errorf("%s\nstored %q, %v", tc.reason, content, err)
			}
			if after.Generation != haproxy.Generation(want) || p.Reloads()-before != tc.reloads {
				t.Errorf("%s\nstate %+v after %d reloads, want %d", tc.reason, after, p.Reloads()-before, tc.reloads)
			}
		})
	}
}

func TestSyncRejected(t *testing.T) {
	t.Parallel()
	eng, p, state := ensured(t)
	p.Refuse("config : parsing [/dev/fd/63:1]: unknown keyword 'foo' out of section.\n" +
		"[NOTICE]   (26) : haproxy version is 2.6.12\n" +
		"[ALERT]    (26) : config : Fatal errors found in configuration.\n")
	before, err := eng.ReadFile(state.Name, haproxy.ConfigPath)
	must.Succeed(t, err)
	_, err = synchronize(t.Context(), eng, state.Name, config("a"))
	var rejected *loadbalancer.RejectedError
	if !errors.As(err, &rejected) {
		t.Fatalf("Sync: %v, want a RejectedError", err)
	}
	if want := "config : parsing [/dev/fd/63:1]: unknown keyword 'foo' out of section.; config : Fatal errors found in configuration."; rejected.Message != want {
		t.Errorf("message %q, want %q", rejected.Message, want)
	}
	after, err := eng.ReadFile(state.Name, haproxy.ConfigPath)
	if err != nil || !bytes.Equal(after, before) || p.Reloads() != 0 {
		t.Errorf("a rejected configuration changed something: %d reloads, %v", p.Reloads(), err)
	}
}

func TestSyncNotRunning(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(context.Context, *simulated.Engine, string) error{
		"Absent": func(ctx context.Context, eng *simulated.Engine, name string) error {
			return eng.RemoveContainer(ctx, name)
		},
		"Stopped": func(ctx context.Context, eng *simulated.Engine, name string) error {
			return eng.StopContainer(ctx, name, 0)
		},
		"Paused": func(_ context.Context, eng *simulated.Engine, name string) error { return eng.Pause(name) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eng, _, state := ensured(t)
			must.Succeed(t, change(t.Context(), eng, state.Name))
			if _, err := synchronize(t.Context(), eng, state.Name, config("a")); !errors.Is(err, loadbalancer.ErrNotRunning) {
				t.Errorf("Sync: %v, want ErrNotRunning", err)
			}
			if serving, err := loadbalancer.Serving(t.Context(), eng, state.Name, "a"); err != nil || serving {
				t.Errorf("Serving = %t, %v, want false", serving, err)
			}
		})
	}
}

func TestSyncSignalsAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		eng, p, state := ensured(t)
		p.Ignore(2)
		after, err := synchronize(t.Context(), eng, state.Name, config("a"))
		if err != nil || len(after.Backends) != 1 || p.Reloads() != 3 {
			t.Errorf("state %+v, %v after %d signals, want the third to be heard", after, err, p.Reloads())
		}
	})
}

func TestSyncNotApplied(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		eng, p, state := ensured(t)
		p.Ignore(1000)
		after, err := synchronize(t.Context(), eng, state.Name, config("a"))
		if !errors.Is(err, loadbalancer.ErrNotApplied) || after.Generation != state.Generation {
			t.Errorf("Sync = %+v, %v, want ErrNotApplied", after, err)
		}
		p.Ignore(0)
		if _, err := synchronize(t.Context(), eng, state.Name, config("a")); err != nil {
			t.Errorf("Sync again: %v", err)
		}
	})
}

func TestSyncWaitsForStart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		eng, p, state := ensured(t)
		text := p.Loaded(state.Name)
		p.Load(state.Name, "")
		requests := 0
		eng.HandleExec(func(name string, command engine.Command) (engine.Output, error) {
			requests++
			if requests == 5 {
				p.Load(state.Name, text)
			}
			return p.Exec(name, command)
		})
		after, err := synchronize(t.Context(), eng, state.Name, spec().Config)
		if err != nil || after.Generation != state.Generation || p.Reloads() != 0 {
			t.Errorf("Sync = %+v, %v after %d signals, want it to wait without any", after, err, p.Reloads())
		}
	})
}

func TestServing(t *testing.T) {
	t.Parallel()
	eng, p, state := ensured(t)
	must.Get(synchronize(t.Context(), eng, state.Name, config("ab")))(t)
	serving := func(name string) bool {
		t.Helper()
		got := must.Get(loadbalancer.Serving(t.Context(), eng, state.Name, name))(t)
		return got
	}
	if !serving("a") || !serving("b") || serving("c") {
		t.Error("a and b are served, c is no backend")
	}
	observed := must.Get(loadbalancer.Observe(t.Context(), eng, state.Name))(t)
	leaving := machines("ab")
	leaving[0].Deleting = true
	draining := controlPlane(6443, loadbalancer.Backends(leaving, observed))
	after := must.Get(synchronize(t.Context(), eng, state.Name, draining))(t)
	if serving("a") || !serving("b") {
		t.Error("a was drained, b is served")
	}
	if server, _ := after.Backend("a"); !server.Status.Up() || server.Weight != 0 {
		t.Errorf("backend a = %+v, want it draining", server)
	}
	p.Load(state.Name, "")
	if serving("b") {
		t.Error("a process that does not answer serves no client")
	}
}

func TestObserveReportsOddAnswers(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		output string
		err    error
		// synced is what synchronizing it ends with.
		synced string
		fails  bool
	}{
		"NoBash":    {"An image without bash is named.", "", &engine.ExitError{Code: 127}, "bash", true},
		"Silent":    {"A connection that ends immediately is no answer yet.", "", nil, "did not apply", false},
		"CutOff":    {"Nor is one that ends in the middle.", "HTTP/1.1 200 OK\r\nContent-Length: 16\r\n\r\nabc", nil, "did not apply", false},
		"Denied":    {"An answer that is not ours comes from another configuration, and is reported where it stays.", "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\nHTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", nil, "404", false},
		"NoHTTP":    {"So is what is not HTTP.", "SSH-2.0\r\n\r\nSSH-2.0\r\n\r\n", nil, "malformed HTTP", false},
		"NoColumns": {"And other statistics.", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nxHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\ny", nil, "parse statistics", false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				eng, _, state := ensured(t)
				eng.HandleExec(func(string, engine.Command) (engine.Output, error) {
					return engine.Output{Stdout: []byte(tc.output)}, tc.err
				})
				got, err := loadbalancer.Observe(t.Context(), eng, state.Name)
				if tc.fails != (err != nil) || got.Generation != "" {
					t.Errorf("%s\nObserve = %+v, %v", tc.reason, got, err)
				}
				if _, err := synchronize(t.Context(), eng, state.Name, config("a")); err == nil || !strings.Contains(err.Error(), tc.synced) {
					t.Errorf("%s\nSync ends with %v, want %q", tc.reason, err, tc.synced)
				}
			})
		})
	}
}

// TestLargestConfigIsReadBack: one that is cut off would be stored again by each Sync.
func TestLargestConfigIsReadBack(t *testing.T) {
	t.Parallel()
	frontend := haproxy.Frontend{Check: haproxy.Check{Path: "/healthz", Statuses: "200", Port: 10256}}
	address := netip.MustParseAddr("fd00:1111:2222:3333:4444:5555:6666:7777")
	for i := range haproxy.MaxBackends {
		frontend.Backends = append(frontend.Backends, haproxy.Backend{
			Name: fmt.Sprintf("%0253d", i), Address: address, Port: 30080, Weight: haproxy.FullWeight,
		})
	}
	for range haproxy.MaxSources {
		frontend.Sources = append(frontend.Sources, netip.PrefixFrom(address, 128))
	}
	var config haproxy.Config
	for i := range haproxy.MaxFrontends {
		frontend.Name, frontend.Port = fmt.Sprintf("port-%d", i), uint16(i)+1 //nolint:gosec // Few.
		config.Frontends = append(config.Frontends, frontend)
	}
	if text := must.Get(haproxy.Render(config))(t); len(text) > loadbalancer.MaxStoredBytes {
		t.Errorf("%d bytes, want at most %d", len(text), loadbalancer.MaxStoredBytes)
	}
}

// frozen is an engine on which a container was paused after it was inspected:
// no command in it ends.
type frozen struct{ *simulated.Engine }

func (frozen) Exec(ctx context.Context, _ string, _ engine.Command) (engine.Output, error) {
	<-ctx.Done()
	return engine.Output{}, ctx.Err()
}

func TestObserveDoesNotWaitForAFrozenContainer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		eng, _, state := ensured(t)
		start := time.Now()
		_, err := loadbalancer.Observe(t.Context(), frozen{eng}, state.Name)
		if err == nil || !strings.Contains(err.Error(), "did not complete within 15s") || time.Since(start) != 15*time.Second {
			t.Errorf("after %s: %v, want an error after 15 s", time.Since(start), err)
		}
	})
}
