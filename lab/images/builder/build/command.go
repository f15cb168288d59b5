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

package build

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// OutputTail is how many lines of a failed command's output an error shows.
const OutputTail = 25

// Command is a program to run; its output is kept for the error.
type Command struct {
	Dir  string
	Env  []string
	Args []string
	// Hint says what to do when it fails, "" where its output says it all.
	Hint string
}

// Output runs c and returns what it wrote to standard output.
func (c Command) Output(ctx context.Context) (string, error) {
	cmd := exec.CommandContext(ctx, c.Args[0], c.Args[1:]...)
	cmd.Dir = c.Dir
	cmd.Env = append(os.Environ(), c.Env...)
	// A build that is interrupted ends its children in order.
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", c.explain(ctx, err, stdout.String()+stderr.String())
	}
	return stdout.String(), nil
}

// Run runs c, whose output is only needed where it fails.
func (c Command) Run(ctx context.Context) error {
	_, err := c.Output(ctx)
	return err
}

func (c Command) explain(ctx context.Context, err error, output string) error {
	if ctx.Err() != nil {
		return fmt.Errorf("run %s: %w", c.Args[0], ctx.Err())
	}
	if errors.Is(err, exec.ErrNotFound) {
		return fmt.Errorf("run %s: install it first: %w", c.Args[0], err)
	}
	text := fmt.Sprintf("run %s", strings.Join(c.Args, " "))
	if len(text) > 300 {
		text = text[:300] + "…"
	}
	lines := strings.Split(strings.TrimSpace(output), "\n")
	lines = lines[max(0, len(lines)-OutputTail):]
	err = fmt.Errorf("%s: %w\n    %s", text, err, strings.Join(lines, "\n    "))
	if c.Hint != "" {
		err = fmt.Errorf("%w\n  %s", err, c.Hint)
	}
	return err
}
