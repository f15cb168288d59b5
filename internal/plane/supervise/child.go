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
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// child is one supervised process through all its lives.
type child struct {
	process Process
	opts    Options
	output  *lineWriter
	// stopping is closed by stop, done when the last life ended.
	stopping chan struct{}
	done     chan struct{}
	stopOnce sync.Once

	mu       sync.Mutex
	running  *os.Process
	restarts int
}

func newChild(p Process, opts Options) *child {
	if p.StopGrace == 0 {
		p.StopGrace = defaultGrace
	}
	return &child{
		process:  p,
		opts:     opts,
		output:   newLineWriter(opts.Output, p.Name),
		stopping: make(chan struct{}),
		done:     make(chan struct{}),
	}
}

// State returns what the process does now.
func (c *child) State() State {
	c.mu.Lock()
	defer c.mu.Unlock()
	state := State{Name: c.process.Name, Restarts: c.restarts}
	if c.running != nil {
		state.PID = c.running.Pid
	}
	return state
}

// run starts the process again and again until stop.
func (c *child) run() {
	// The kernel signals the child when the thread that forked it ends, not
	// when the process does: the thread must stay.
	runtime.LockOSThread()
	defer close(c.done)

	delay := c.opts.FirstDelay
	for {
		start := time.Now()
		err := c.live()
		if c.isStopping() {
			return
		}
		if time.Since(start) > c.opts.LongestDelay {
			delay = c.opts.FirstDelay
		}
		c.opts.Log.Error(err, "Process exited, restarting it",
			"process", c.process.Name, "ran", time.Since(start).Round(time.Millisecond).String(), "delay", delay.String())
		select {
		case <-c.stopping:
			return
		case <-time.After(delay):
		}
		delay = min(2*delay, c.opts.LongestDelay)
		c.mu.Lock()
		c.restarts++
		c.mu.Unlock()
	}
}

// errEnded: the process ended by itself, with exit code 0.
var errEnded = errors.New("process exited")

// live is one life of the process. It never returns nil.
func (c *child) live() error {
	cmd := exec.Command(c.process.Path, c.process.Args...) //nolint:noctx // its life ends with stop, in order and with a grace period
	// An empty list would mean to inherit everything.
	cmd.Env = append([]string{"PATH=/usr/local/bin:/usr/bin:/bin"}, c.process.Environment...)
	cmd.Stdout, cmd.Stderr = c.output, c.output
	cmd.SysProcAttr = attributes()
	// Its own children may outlive it and hold the pipe open.
	cmd.WaitDelay = time.Second

	if err := c.start(cmd); err != nil {
		return err
	}
	ctx, exited := context.WithCancel(context.Background()) //nolint:forbidigo // it ends when the process exits
	var liveness sync.WaitGroup
	liveness.Go(func() { c.killIfHung(ctx) })
	err := cmd.Wait()
	exited()
	liveness.Wait()
	c.mu.Lock()
	c.running = nil
	c.mu.Unlock()
	c.output.flush()
	if err == nil {
		return errEnded
	}
	return fmt.Errorf("run %s: %w", c.process.Name, err)
}

// killIfHung probes the process until it exits (ctx) or is stopped, as a
// kubelet does with a livenessProbe, and kills it when too many probes in a row
// failed. run then restarts it.
func (c *child) killIfHung(ctx context.Context) {
	if c.process.Ready == nil {
		return
	}
	ticker := time.NewTicker(c.opts.LivenessPeriod)
	defer ticker.Stop()
	for failures := 0; failures < livenessFailures; {
		select {
		case <-ctx.Done():
			return
		case <-c.stopping:
			return
		case <-ticker.C:
		}
		err := probe(ctx, c.process.Ready, c.opts.LivenessPeriod)
		if err == nil {
			failures = 0
			continue
		}
		failures++
		c.opts.Log.Info("Liveness probe failed", "process", c.process.Name, "failures", failures, "threshold", livenessFailures, "error", err.Error())
	}
	if !c.isStopping() && ctx.Err() == nil {
		c.opts.Log.Info("Killing process after failed liveness probes", "process", c.process.Name)
		// A process that hangs does not handle SIGTERM.
		c.signal(syscall.SIGKILL)
	}
}

// start starts the process, unless stop came first.
func (c *child) start(cmd *exec.Cmd) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.isStopping() {
		return errEnded
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", c.process.Name, err)
	}
	c.running = cmd.Process
	return nil
}

func (c *child) isStopping() bool {
	select {
	case <-c.stopping:
		return true
	default:
		return false
	}
}

// stop ends the process and returns when it is gone.
func (c *child) stop(grace time.Duration) {
	c.stopOnce.Do(func() {
		close(c.stopping)
		c.signal(syscall.SIGTERM)
	})
	select {
	case <-c.done:
		return
	case <-time.After(grace):
	}
	c.opts.Log.Info("Process did not stop in time, killing it", "process", c.process.Name, "grace", grace.String())
	c.signal(syscall.SIGKILL)
	<-c.done
}

func (c *child) signal(s syscall.Signal) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running == nil {
		return
	}
	if err := c.running.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		c.opts.Log.Error(err, "Failed to signal process", "process", c.process.Name, "signal", s.String())
	}
}
