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
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
)

// ErrNotReady means that a process did not become ready in time.
var ErrNotReady = errors.New("not ready in time")

// Process says what to run.
type Process struct {
	// Name marks the process in logs.
	Name string
	// Path of the program, and its arguments without the program's name.
	Path string
	Args []string
	// Environment is the whole environment, "KEY=value"; nothing is
	// inherited.
	Environment []string
	// Ready returns nil while the process does its work. Start calls it until
	// it succeeds, each time with a timeout of a second; it is the liveness
	// probe too, from the start on, see Options.LivenessPeriod. nil means that the
	// process is ready as soon as it runs, and is never probed.
	Ready func(ctx context.Context) error
	// StopGrace is the time between SIGTERM and SIGKILL. Default 10 s.
	StopGrace time.Duration
}

// Options of a Supervisor.
type Options struct {
	// Output gets what the processes print, a line at a time with the
	// process's name before it. Default: nowhere.
	Output io.Writer
	// Log gets what the supervisor itself does.
	Log logr.Logger
	// ReadyTimeout bounds how long Start waits. Default 2 min.
	ReadyTimeout time.Duration
	// LivenessPeriod is the time between two liveness probes of a process and
	// the timeout of each. A process that fails livenessFailures of them in
	// a row is killed and started again. Default 15 s.
	LivenessPeriod time.Duration
	// FirstDelay and LongestDelay bound the backoff before a process that
	// exited is restarted. It doubles each time and is reset once a process
	// ran for longer than LongestDelay. Defaults 100 ms and 10 s.
	FirstDelay, LongestDelay time.Duration
}

const (
	// probeInterval is short because it adds to the start of everything.
	probeInterval = 50 * time.Millisecond
	probeTimeout  = time.Second
	defaultGrace  = 10 * time.Second
	// defaultLiveness and livenessFailures are the timeout and the failure
	// threshold of the liveness probes that kubeadm gives to the same
	// components: a busy disk must not look like a deadlock. A process that
	// hangs is killed within two minutes, as long as Start waits for one.
	defaultLiveness  = 15 * time.Second
	livenessFailures = 8
)

// Supervisor runs processes until Stop.
type Supervisor struct {
	opts Options

	mu       sync.Mutex
	stopped  bool
	children []*child
}

// New returns a Supervisor that runs nothing yet.
func New(opts Options) *Supervisor {
	if opts.Output == nil {
		opts.Output = io.Discard
	}
	if opts.ReadyTimeout == 0 {
		opts.ReadyTimeout = 2 * time.Minute
	}
	if opts.LivenessPeriod == 0 {
		opts.LivenessPeriod = defaultLiveness
	}
	if opts.FirstDelay == 0 {
		opts.FirstDelay = 100 * time.Millisecond
	}
	if opts.LongestDelay == 0 {
		opts.LongestDelay = 10 * time.Second
	}
	opts.Output = &sharedWriter{out: opts.Output}
	return &Supervisor{opts: opts}
}

// Start runs processes at the same time and returns when all are ready. The error of each that
// does not become ready is ErrNotReady and carries its last lines, in the order of the
// processes: one may only wait for another. All are supervised all the same until Stop, which
// stops the last one first.
func (s *Supervisor) Start(ctx context.Context, processes ...Process) error {
	var wait sync.WaitGroup
	errs := make([]error, len(processes))
	for i, p := range processes {
		c, err := s.add(p)
		if err != nil {
			errs[i] = err
			continue
		}
		start := time.Now()
		s.opts.Log.Info("Starting process", "process", p.Name)
		wait.Go(func() {
			if errs[i] = s.await(ctx, c, p.Ready); errs[i] == nil {
				s.opts.Log.Info("Process is ready", "process", p.Name, "after", time.Since(start).Round(time.Millisecond).String())
			}
		})
	}
	wait.Wait()
	return errors.Join(errs...)
}

func (s *Supervisor) add(p Process) (*child, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return nil, fmt.Errorf("start %s: supervisor is stopped", p.Name)
	}
	c := newChild(p, s.opts)
	if i := slices.IndexFunc(s.children, func(old *child) bool { return old.process.Name == p.Name && old.isStopping() }); i >= 0 {
		s.children[i] = c // Stop keeps to the order of the first starts
	} else {
		s.children = append(s.children, c)
	}
	go c.run()
	return c, nil
}

// StopProcess stops one process, kills it after the grace period, and returns when
// it is gone. Start may start it again.
func (s *Supervisor) StopProcess(name string, grace time.Duration) error {
	c, err := s.child(name)
	if err != nil {
		return fmt.Errorf("stop %s: %w", name, err)
	}
	s.opts.Log.Info("Stopping process", "process", name)
	c.stop(grace)
	return nil
}

// Await waits until a started process fulfils a further condition, with the
// same bound and the same error as Start.
func (s *Supervisor) Await(ctx context.Context, name string, condition func(context.Context) error) error {
	c, err := s.child(name)
	if err != nil {
		return fmt.Errorf("wait for %s: %w", name, err)
	}
	return s.await(ctx, c, condition)
}

func (s *Supervisor) child(name string) (*child, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.children, func(c *child) bool { return c.process.Name == name })
	if i < 0 {
		return nil, errors.New("process not found")
	}
	return s.children[i], nil
}

func (s *Supervisor) await(ctx context.Context, c *child, condition func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, s.opts.ReadyTimeout, ErrNotReady)
	defer cancel()
	ticker := time.NewTicker(probeInterval)
	defer ticker.Stop()
	for {
		last := missing(c.State())
		if last == nil {
			if last = probe(ctx, condition, probeTimeout); last == nil {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w: %w; last lines:\n%s",
				c.process.Name, context.Cause(ctx), last, strings.Join(c.output.tail(), "\n"))
		case <-ticker.C:
		}
	}
}

// missing is an error unless the process runs.
func missing(state State) error {
	if state.PID != 0 {
		return nil
	}
	return fmt.Errorf("not running, restarted %d times", state.Restarts)
}

func probe(ctx context.Context, condition func(context.Context) error, timeout time.Duration) error {
	if condition == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return condition(ctx)
}

// State is what a process does now.
type State struct {
	Name string
	// PID is 0 while the process does not run.
	PID int
	// Restarts counts how often it was restarted.
	Restarts int
}

// Stop stops the processes in reverse order, each with its grace period, and
// returns when none is left. It may be called again.
func (s *Supervisor) Stop() {
	s.mu.Lock()
	s.stopped = true
	children := slices.Clone(s.children)
	s.mu.Unlock()
	for i := len(children) - 1; i >= 0; i-- {
		s.opts.Log.Info("Stopping process", "process", children[i].process.Name)
		children[i].stop(children[i].process.StopGrace)
	}
}
