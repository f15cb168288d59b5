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

package enginetest

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// Daemon is an engine of the test's own, which it can restart.
type Daemon struct {
	// Name is what messages call it.
	Name string
	// Log is the file that gets what it prints.
	Log string
	// Command makes a process of it.
	Command func() *exec.Cmd
	// Ping fails while it does not answer.
	Ping func(ctx context.Context) error

	process *os.Process
	ended   chan struct{}
}

// daemonPatience bounds a start and a stop.
const daemonPatience = time.Minute

// Start returns when the daemon answers.
func (d *Daemon) Start(t *testing.T) {
	t.Helper()
	log := must.Get(os.OpenFile(d.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600))(t)
	defer func() { _ = log.Close() }()
	command := d.Command()
	command.Stdout, command.Stderr = log, log
	must.Succeed(t, command.Start())
	d.process, d.ended = command.Process, make(chan struct{})
	go func() {
		defer close(d.ended)
		_ = command.Wait()
	}()
	must.Eventually(t, daemonPatience, d.Name+" answers", func(ctx context.Context) error {
		err := d.Ping(ctx)
		select {
		case <-d.ended:
			printed, _ := os.ReadFile(d.Log)
			t.Fatalf("%s exited: %v\n%s", d.Name, err, printed)
		default:
		}
		return err
	})
}

// Stop ends the process that Start started, and no other.
func (d *Daemon) Stop(t *testing.T) {
	t.Helper()
	if err := d.process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("stop %s: %v", d.Name, err)
	}
	select {
	case <-d.ended:
	case <-time.After(daemonPatience):
		t.Errorf("%s did not stop within %s", d.Name, daemonPatience)
		_ = d.process.Kill()
		<-d.ended
	}
}

// Restart stops the daemon and starts it.
func (d *Daemon) Restart(t *testing.T) {
	t.Helper()
	d.Stop(t)
	d.Start(t)
}
