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
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/adapter"
)

const mebibyte = 1 << 20

func execChecks() checks {
	return checks{
		// Runs the command to its end and returns what it printed, both streams apart. An exit code
		// other than 0 is an *ExitError, returned together with the output.
		"output and exit code": func(t *testing.T, c *fixture) {
			c.run(t, c.spec("a"))
			c.wantExec(t, tool("print", "out", "err"), "out", "err", 0)
			c.wantExec(t, tool("unknown"), "", "no command unknown\n", 1)
			for _, code := range []int{2, 42, 125, 126, 127, 128, 137, 255} {
				c.wantExec(t, tool("exit", fmt.Sprint(code)), "", "", code)
			}
			const size = 8 * mebibyte
			c.wantExec(t, tool("big", fmt.Sprint(size)), strings.Repeat("o", size), strings.Repeat("e", size), 0)
		},
		// With ErrTooLarge when the command prints more than MaxReadBytes to a stream.
		"too much output": func(t *testing.T, c *fixture) {
			c.run(t, c.spec("a"))
			for size, want := range map[int]error{engine.MaxReadBytes: nil, engine.MaxReadBytes + 1: engine.ErrTooLarge} {
				wantKind(t, fmt.Sprint(size, " bytes"), failure(c.Exec(t.Context(), c.named("a"), tool("big", fmt.Sprint(size)))), want)
			}
		},
		// A program that cannot be run ends with 126 or 127, as in a shell.
		"program absent": func(t *testing.T, c *fixture) {
			c.run(t, c.spec("a"))
			err := failure(c.Exec(t.Context(), c.named("a"), engine.Command{Args: []string{"/absent"}}))
			var exit *engine.ExitError
			if !errors.As(err, &exit) || (exit.Code != 126 && exit.Code != 127) {
				t.Errorf("error %v, want exit code 126 or 127", err)
			}
		},
		// Stdin is given to the process; nil = none. A command need not read its input.
		"stdin": func(t *testing.T, c *fixture) {
			c.run(t, c.spec("a"))
			c.wantExec(t, tool("cat"), "", "", 0)
			large := strings.Repeat("0123456789abcdef", mebibyte/16)
			for _, input := range []string{"", "line\n", large} {
				c.wantExec(t, withStdin(tool("cat"), strings.NewReader(input)), input, "", 0)
			}
			for _, code := range []int{0, 3} {
				c.wantExec(t, withStdin(tool("exit", fmt.Sprint(code)), strings.NewReader(large)), "", "", code)
			}
		},
		// An error of Stdin is an error of the call.
		"stdin fails": func(t *testing.T, c *fixture) {
			c.run(t, c.spec("a"))
			broken := errors.New("broken")
			err := failure(c.Exec(t.Context(), c.named("a"), withStdin(tool("cat"), iotest.ErrReader(broken))))
			wantKind(t, "an input that fails", err, broken)
		},
		// Stdout gets what the process prints there, as it comes; Stdin is closed when the process has ended.
		"both ways": answersWhileItAsks,
		// Each stream goes to its writer, as it comes, and is not in the Output.
		"writers of both streams": func(t *testing.T, c *fixture) {
			c.run(t, c.spec("a"))
			var stdout, stderr bytes.Buffer
			command := tool("print", "out", "err")
			command.Stdout, command.Stderr = &stdout, &stderr
			output, err := c.Exec(t.Context(), c.named("a"), command)
			succeed(t, "Exec", err)
			if got := []string{stdout.String(), stderr.String(), string(output.Stdout) + string(output.Stderr)}; !slices.Equal(got, []string{"out", "err", ""}) {
				t.Errorf("stdout, stderr and Output are %q", got)
			}
		},
		// The process has a terminal of the size, which changes.
		"terminal": func(t *testing.T, c *fixture) {
			c.run(t, c.spec("a"))
			for _, columns := range []uint16{91, 101} {
				sizes := make(chan engine.TerminalSize)
				ended, end := context.WithCancel(t.Context())
				go func() {
					// Like a window that is dragged: Podman may lose a size while the process starts.
					for columns != 91 && adapter.Wait(ended, time.Second) == nil {
						select {
						case <-ended.Done():
						case sizes <- engine.TerminalSize{Columns: 101, Rows: 37}:
						}
					}
				}()
				var stdout bytes.Buffer
				command := tool("terminal", fmt.Sprint(columns))
				command.Stdout = &stdout
				command.Terminal = &engine.Terminal{Size: engine.TerminalSize{Columns: 91, Rows: 37}, Sizes: sizes}
				succeed(t, "Exec with a terminal", failure(c.Exec(t.Context(), c.named("a"), command)))
				end()
				if want := fmt.Sprintf("%dx37", columns); stdout.String() != want {
					t.Errorf("the terminal is %q, want %q", stdout.String(), want)
				}
			}
		},
		// Output is the command's own also where the container has a terminal.
		"with a terminal": func(t *testing.T, c *fixture) {
			spec := c.spec("a")
			spec.TTY = true
			c.run(t, spec)
			c.wantExec(t, tool("print", "out\n", "err\n"), "out\n", "err\n", 0)
		},
		// Safe for concurrent use.
		"concurrent": func(t *testing.T, c *fixture) {
			c.run(t, c.spec("a"))
			var group sync.WaitGroup
			for i := range 10 {
				group.Go(func() {
					text := fmt.Sprint("number ", i)
					c.wantExec(t, tool("print", text), text, "", 0)
				})
			}
			group.Wait()
		},
		// Container not running: ErrConflict; a command without a program: ErrInvalid.
		"not running, no command": func(t *testing.T, c *fixture) {
			c.create(t, c.spec("a"))
			exec := func(command engine.Command) error { return failure(c.Exec(t.Context(), c.named("a"), command)) }
			wantKind(t, "container that never ran", exec(tool("exit", "0")), engine.ErrConflict)
			c.start(t, c.named("a"))
			wantKind(t, "no program", exec(engine.Command{}), engine.ErrInvalid)
			c.stop(t, c.named("a"))
			wantKind(t, "stopped container", exec(tool("exit", "0")), engine.ErrConflict)
		},
	}
}

func withStdin(command engine.Command, stdin io.Reader) engine.Command {
	command.Stdin = stdin
	return command
}

// wantExec runs a command in the container "a".
func (c *fixture) wantExec(t *testing.T, command engine.Command, stdout, stderr string, code int) {
	t.Helper()
	output, err := c.Exec(t.Context(), c.named("a"), command)
	var exit *engine.ExitError
	switch {
	case code == 0 && err != nil:
		t.Errorf("%v: %v, want success", command.Args, err)
	case code != 0 && (!errors.As(err, &exit) || exit.Code != code):
		t.Errorf("%v: error %v, want exit code %d", command.Args, err, code)
	}
	for what, pair := range map[string][2]string{"stdout": {string(output.Stdout), stdout}, "stderr": {string(output.Stderr), stderr}} {
		if pair[0] != pair[1] {
			t.Errorf("%v: %s of %d bytes %.40q, want %d bytes %.40q", command.Args, what, len(pair[0]), pair[0], len(pair[1]), pair[1])
		}
	}
}

// answersWhileItAsks: the second line is given when the first one has come back. The
// process ends with its input, or before it.
func answersWhileItAsks(t *testing.T, c *fixture) {
	c.run(t, c.spec("a"))
	toProcess, input := io.Pipe()
	output, fromProcess := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		command := withStdin(tool("cat"), toProcess)
		command.Stdout = fromProcess
		got, err := c.Exec(t.Context(), c.named("a"), command)
		if len(got.Stdout) > 0 {
			t.Errorf("the Output has %q too", got.Stdout)
		}
		ended <- err
	}()
	lines := bufio.NewReader(output)
	for _, line := range []string{"one\n", "two\n"} {
		succeed(t, "write", failure(io.WriteString(input, line)))
		if got, err := lines.ReadString('\n'); err != nil || got != line {
			t.Fatalf("read %q, %v, want %q", got, err, line)
		}
	}
	succeed(t, "close the input", input.Close())
	succeed(t, "Exec", <-ended)

	waiting, silent := io.Pipe()
	defer func() { _ = silent.Close() }()
	command := withStdin(tool("exit", "0"), waiting)
	command.Stdout = io.Discard
	succeed(t, "Exec with an input that does not end", failure(c.Exec(t.Context(), c.named("a"), command)))
}

// returnsWhenContextEnds though the command itself never ends.
func returnsWhenContextEnds(t *testing.T, c *fixture) {
	c.run(t, c.spec("a"))
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	err := failure(c.Exec(ctx, c.named("a"), withStdin(tool("hang"), strings.NewReader("x"))))
	wantKind(t, "command that hangs", err, context.DeadlineExceeded)
}
