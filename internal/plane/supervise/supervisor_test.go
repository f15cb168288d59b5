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

package supervise

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"

	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// shell is a process that runs a script.
func shell(name, script string) Process {
	return Process{Name: name, Path: "/bin/sh", Args: []string{"-c", script}, StopGrace: 5 * time.Second}
}

func newTestSupervisor(t *testing.T, out *syncBuffer) *Supervisor {
	t.Helper()
	s := New(Options{Output: out, Log: logr.Discard(), ReadyTimeout: 20 * time.Second, FirstDelay: time.Millisecond, LongestDelay: 50 * time.Millisecond})
	t.Cleanup(s.Stop)
	return s
}

type syncBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	must.Eventually(t, 20*time.Second, what, func(context.Context) error {
		if !is() {
			return errors.New("not yet")
		}
		return nil
	})
}

func fileExists(path string) func(context.Context) error {
	return func(context.Context) error {
		_, err := os.Stat(path)
		return err
	}
}

func TestStartStartsProcessesAtTheSameTime(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := newTestSupervisor(t, &syncBuffer{})
	process := func(name, ready string) Process {
		p := shell(name, "touch "+filepath.Join(dir, name)+"; exec sleep 60")
		p.Ready = fileExists(filepath.Join(dir, ready))
		return p
	}
	if err := s.Start(t.Context(), process("a", "b"), process("b", "a")); err != nil {
		t.Errorf("Start(...) of two processes that wait for each other: %v", err)
	}
	for _, name := range []string{"a", "b"} {
		if err := fileExists(filepath.Join(dir, name))(t.Context()); err != nil {
			t.Errorf("Start returned before %s was ready: %v", name, err)
		}
	}
}

func TestStartReportsEachProcessThatIsNotReady(t *testing.T) {
	t.Parallel()
	s := New(Options{Log: logr.Discard(), ReadyTimeout: 200 * time.Millisecond})
	t.Cleanup(s.Stop)
	needed, waiting := shell("needed", "exec sleep 60"), shell("waiting", "exec sleep 60")
	needed.Ready = func(context.Context) error { return errors.New("no space") }
	waiting.Ready = func(context.Context) error { return errors.New("no connection") }
	message := fmt.Sprint(s.Start(t.Context(), needed, waiting))
	if cause, effect := strings.Index(message, "no space"), strings.Index(message, "no connection"); cause < 0 || effect < cause {
		t.Errorf("Start(...): want the error of each process in their order, got %s", message)
	}
}

func TestAwaitReportsWhyAProcessIsNotReady(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason, script string
		ends           bool
		want           []string
	}{
		"Silent": {
			reason: "One that runs and is not ready says what was asked of it.",
			script: "echo the disk is full >&2; exec sleep 60",
			want:   []string{"no answer", "the disk is full"},
		},
		"Ends": {
			reason: "One that ends again and again is not said to be silent.",
			script: "echo the disk is full >&2; exit 3",
			ends:   true,
			want:   []string{"not running", "the disk is full"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// With this delay a process that ends does not run again in time.
			s := New(Options{Log: logr.Discard(), ReadyTimeout: 100 * time.Millisecond, FirstDelay: time.Minute, LongestDelay: time.Minute})
			t.Cleanup(s.Stop)
			p := shell("a", c.script)
			p.Ready = func(context.Context) error { return errors.New("no answer") }
			process := must.Get(s.add(p))(t)
			eventually(t, "it has done what it does", func() bool {
				return len(process.output.tail()) > 0 && (process.State().PID == 0) == c.ends
			})
			err := s.Await(t.Context(), p.Name, p.Ready)
			if !errors.Is(err, ErrNotReady) {
				t.Fatalf("%s Await(...): want ErrNotReady, got %v", c.reason, err)
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%s Await(...): error lacks %q: %v", c.reason, want, err)
				}
			}
		})
	}
}

// states of the processes, in the order they were started.
func states(s *Supervisor) []State {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []State
	for _, c := range s.children {
		all = append(all, c.State())
	}
	return all
}

// signaled returns the state of the only process, which gets the signal. PID 0 would be this
// test and all that run alongside it.
func signaled(t *testing.T, s *Supervisor, signal syscall.Signal) State {
	t.Helper()
	state := states(s)[0]
	if state.PID == 0 {
		t.Fatalf("the process does not run: %+v", state)
	}
	must.Succeed(t, syscall.Kill(state.PID, signal))
	return state
}

func TestAKilledProcessComesBack(t *testing.T) {
	t.Parallel()
	s := newTestSupervisor(t, &syncBuffer{})
	if err := s.Start(t.Context(), shell("a", "exec sleep 60")); err != nil {
		t.Fatalf("Start(...): %v", err)
	}
	for range 3 {
		before := signaled(t, s, syscall.SIGKILL)
		eventually(t, "the process is back", func() bool {
			now := states(s)[0]
			return now.PID != 0 && now.PID != before.PID && now.Restarts == before.Restarts+1
		})
	}
}

// serveVariable makes this test's program a server on the Unix socket it names.
const serveVariable = "SUPERVISE_TEST_SERVE"

func TestMain(m *testing.M) {
	path := os.Getenv(serveVariable)
	if path == "" {
		os.Exit(m.Run())
	}
	// Of the process before this one.
	_ = os.Remove(path)
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "unix", path)
	if err != nil {
		panic(err)
	}
	for {
		connection, err := listener.Accept()
		if err != nil {
			panic(err)
		}
		_, _ = io.WriteString(connection, "ok")
		_ = connection.Close()
	}
}

// server is a process that answers on a Unix socket.
func server(t *testing.T) Process {
	t.Helper()
	program := must.Get(os.Executable())(t)
	path := filepath.Join(t.TempDir(), "socket")
	return Process{
		Name: "server", Path: program, Environment: []string{serveVariable + "=" + path}, StopGrace: 50 * time.Millisecond,
		Ready: func(ctx context.Context) error {
			connection, err := (&net.Dialer{}).DialContext(ctx, "unix", path)
			if err != nil {
				return err
			}
			defer connection.Close()
			if deadline, ok := ctx.Deadline(); ok {
				if err := connection.SetDeadline(deadline); err != nil {
					return err
				}
			}
			_, err = io.ReadFull(connection, make([]byte, 2))
			return err
		},
	}
}

// A stopped process keeps its sockets: clients connect and wait, as they do
// with one that is deadlocked.
func TestHungProcessIsRestarted(t *testing.T) {
	t.Parallel()
	s := New(Options{
		Log: logr.Discard(), ReadyTimeout: 20 * time.Second, LivenessPeriod: 100 * time.Millisecond,
		FirstDelay: time.Millisecond, LongestDelay: 50 * time.Millisecond,
	})
	t.Cleanup(s.Stop)
	p := server(t)
	if err := s.Start(t.Context(), p); err != nil {
		t.Fatalf("Start(...): %v", err)
	}
	for range 2 {
		before := signaled(t, s, syscall.SIGSTOP)
		eventually(t, "the process is restarted", func() bool {
			now := states(s)[0]
			return now.PID != 0 && now.PID != before.PID && now.Restarts > before.Restarts
		})
		if err := s.Await(t.Context(), p.Name, p.Ready); err != nil {
			t.Errorf("Await(...): %v", err)
		}
	}
}

// A process is killed only for failures in a row, and only while it is not
// being stopped.
func TestLivenessFailureThreshold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cases := map[string]struct {
			reason string
			// answers in turn; the last is given from then on.
			answers []bool
			want    int
		}{
			"Healthy":   {"A process that answers is never killed.", []bool{true}, 100},
			"Recovers":  {"One success resets the count.", []bool{false, false, false, false, false, false, false, true, false, false, false, false, false, false, false, true}, 100},
			"Hangs":     {"As many failures as the threshold are enough.", []bool{false}, livenessFailures},
			"Deadlocks": {"The failures count from the last success on.", []bool{true, false}, 1 + livenessFailures},
		}
		for name, tc := range cases {
			probes := 0
			ctx, cancel := context.WithTimeout(t.Context(), 100*defaultLiveness+time.Second)
			c := newChild(Process{Name: "a", Ready: func(context.Context) error {
				answer := tc.answers[min(probes, len(tc.answers)-1)]
				probes++
				if !answer {
					return errors.New("no answer")
				}
				return nil
			}}, New(Options{Log: logr.Discard()}).opts)
			c.killIfHung(ctx)
			cancel()
			if diff := cmp.Diff(tc.want, probes); diff != "" {
				t.Errorf("%s: %s\nprobes in 100 periods: -want, +got:\n%s", name, tc.reason, diff)
			}
		}
	})
}

func TestStopIsInReverseOrder(t *testing.T) {
	t.Parallel()
	dir, out := t.TempDir(), &syncBuffer{}
	s := newTestSupervisor(t, out)
	for _, name := range []string{"a", "b", "c"} {
		mark := filepath.Join(dir, name)
		p := shell(name, "trap 'echo bye; exit 0' TERM; touch "+mark+"; while :; do sleep 0.05; done")
		p.Ready = fileExists(mark)
		if err := s.Start(t.Context(), p); err != nil {
			t.Fatalf("Start(%s): %v", name, err)
		}
	}
	s.Stop()
	if diff := cmp.Diff("c | bye\nb | bye\na | bye\n", out.String()); diff != "" {
		t.Errorf("output: -want, +got:\n%s", diff)
	}
	if err := s.Start(t.Context(), shell("d", "exit 0")); err == nil {
		t.Error("Start after Stop: want an error")
	}
}

func TestStopProcess(t *testing.T) {
	t.Parallel()
	var out syncBuffer
	s := newTestSupervisor(t, &out)
	stopping := func(name string) Process {
		return shell(name, "trap 'echo stopping; exit' TERM; echo ready; while :; do sleep 0.01; done")
	}
	for _, name := range []string{"a", "b"} {
		must.Succeed(t, s.Start(t.Context(), stopping(name)))
		eventually(t, name+" traps the signal", func() bool { return strings.Count(out.String(), "ready") == strings.Index("ab", name)+1 })
	}
	if err := s.StopProcess("a", time.Minute); err != nil {
		t.Fatalf("StopProcess(a): %v", err)
	}
	if got := states(s); got[0].PID != 0 || got[1].PID == 0 {
		t.Errorf("after StopProcess(a): want only b to run, got %+v", got)
	}
	if s.StopProcess("c", 0) == nil || s.Await(t.Context(), "c", nil) == nil {
		t.Error("StopProcess(c) and Await(c): want errors, there is no such process")
	}
	deaf := shell("a", "trap '' TERM; echo deaf; while :; do sleep 0.01; done")
	must.Succeed(t, s.Start(t.Context(), deaf))
	eventually(t, "it ignores the signal", func() bool { return strings.Contains(out.String(), "deaf") })
	if got := states(s); len(got) != 2 || got[0].Name != "a" || got[0].PID == 0 {
		t.Errorf("after Start(a): want it in its old place, got %+v", got)
	}
	if err := s.StopProcess("a", 0); err != nil || states(s)[0].PID != 0 {
		t.Errorf("StopProcess of one that ignores the signal: want it killed, got %v, %+v", err, states(s))
	}
}

func TestTheEnvironmentIsNotInherited(t *testing.T) {
	t.Setenv("SUPERVISE_TEST_SECRET", "secret")
	out := &syncBuffer{}
	s := newTestSupervisor(t, out)
	p := shell("a", `echo "$SUPERVISE_TEST_SECRET$GIVEN"; exec sleep 60`)
	p.Environment = []string{"GIVEN=given"}
	if err := s.Start(t.Context(), p); err != nil {
		t.Fatalf("Start(...): %v", err)
	}
	eventually(t, "it printed", func() bool { return out.String() != "" })
	if diff := cmp.Diff("a | given\n", out.String()); diff != "" {
		t.Errorf("output: -want, +got:\n%s", diff)
	}
}
