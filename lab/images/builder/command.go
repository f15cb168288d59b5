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

package main

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

// outputTail is how many lines of a failed command's output an error shows.
const outputTail = 25

// command is a program to run; its output is kept for the error.
type command struct {
	dir  string
	env  []string
	args []string
	// hint says what to do when it fails, "" where its output says it all.
	hint string
}

// output runs c and returns what it wrote to standard output.
func (c command) output(ctx context.Context) (string, error) {
	cmd := exec.CommandContext(ctx, c.args[0], c.args[1:]...)
	cmd.Dir = c.dir
	cmd.Env = append(os.Environ(), c.env...)
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

func (c command) run(ctx context.Context) error {
	_, err := c.output(ctx)
	return err
}

func (c command) explain(ctx context.Context, err error, output string) error {
	if ctx.Err() != nil {
		return fmt.Errorf("run %s: %w", c.args[0], ctx.Err())
	}
	if errors.Is(err, exec.ErrNotFound) {
		return fmt.Errorf("run %s: install it first: %w", c.args[0], err)
	}
	text := fmt.Sprintf("run %s", strings.Join(c.args, " "))
	if len(text) > 300 {
		text = text[:300] + "…"
	}
	lines := strings.Split(strings.TrimSpace(output), "\n")
	lines = lines[max(0, len(lines)-outputTail):]
	err = fmt.Errorf("%s: %w\n    %s", text, err, strings.Join(lines, "\n    "))
	if c.hint != "" {
		err = fmt.Errorf("%w\n  %s", err, c.hint)
	}
	return err
}
