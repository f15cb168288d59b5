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

package environment

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"time"
)

// stopTimeout after which a manager that does not end is killed.
const stopTimeout = 15 * time.Second

// tailSize is how much of a manager's output an error quotes.
const tailSize = 4 << 10

// errEnded means that a manager ended by itself.
var errEnded = errors.New("the provider's manager ended")

// process is a manager that runs as a command.
type process struct {
	command []string
	// variables replace ${NAME} in the command, and are in its environment.
	variables map[string]string
	// environment in addition to that of this process.
	environment []string
}

// run runs the process until ctx ends. It returns an error that quotes the last lines of its
// output if it ended by itself.
func (p process) run(ctx context.Context) error {
	args := make([]string, len(p.command))
	for i := range p.command {
		args[i] = os.Expand(p.command[i], func(name string) string {
			if value, ok := p.variables[name]; ok {
				return value
			}
			return os.Getenv(name)
		})
	}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env = append(os.Environ(), p.environment...)
	for name, value := range p.variables {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	output := &tail{}
	cmd.Stdout, cmd.Stderr = output, output
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = stopTimeout
	err := cmd.Run()
	if ctx.Err() != nil {
		return nil //nolint:nilerr // It was asked to end.
	}
	return fmt.Errorf("%w: %s: %w\n%s", errEnded, args[0], errors.Join(err), output.text())
}

// tail keeps the end of what is written to it.
type tail struct {
	mutex sync.Mutex
	kept  []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.kept = append(t.kept, p...)
	if surplus := len(t.kept) - tailSize; surplus > 0 {
		t.kept = bytes.Clone(t.kept[surplus:])
	}
	return len(p), nil
}

func (t *tail) text() string {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return string(t.kept)
}
